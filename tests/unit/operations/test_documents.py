"""What is written of an answer is what its schema says."""

from __future__ import annotations

import json
from enum import Enum
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.groups.plan import GroupsMoved, GroupsPlan
from anabranch.groups.select import GroupSelection
from anabranch.model.link import ClusterRef, GroupRules, LinkSpec
from anabranch.model.plugins import PluginSpec
from anabranch.model.reasons import Reason, ReasonKind, Severity
from anabranch.model.reports import DeleteReport, LinkStatus, StopReport
from anabranch.model.secrets import SecretRef
from anabranch.model.start import StartPosition
from anabranch.model.transactions import AbortPlan
from anabranch.operations.documents import Schemas, plain
from anabranch.operations.links.change import ChangeLinkPlan

pytestmark = pytest.mark.test

SPEC = LinkSpec("old-new", ClusterRef("old", "a"), ClusterRef("new", "b"))
st.register_type_strategy(LinkSpec, st.just(SPEC))
st.register_type_strategy(StartPosition, st.just(StartPosition()))
_TEXT = st.text(max_size=5)
st.register_type_strategy(
    Reason, st.builds(Reason, st.sampled_from(ReasonKind), _TEXT, _TEXT, severity=st.sampled_from(Severity))
)
st.register_type_strategy(GroupSelection, st.just(GroupSelection(("a.*",))))
st.register_type_strategy(PluginSpec, st.just(PluginSpec("regex", {"include": ["a.*"]})))
st.register_type_strategy(GroupRules, st.just(GroupRules(("a.*",), ("b",), 5_000)))
st.register_type_strategy(float, st.floats(allow_nan=False, allow_infinity=False))


@pytest.mark.parametrize(
    "kind", [LinkStatus, StopReport, DeleteReport, AbortPlan, ChangeLinkPlan, GroupsPlan, GroupsMoved]
)
def test_an_answer_is_as_its_schema_says(kind: Any) -> None:
    """Every field, however deep; as JSON it is the same."""
    schemas = Schemas("#/$defs/")
    schema = {**schemas.of(kind), "$defs": schemas.named}
    jsonschema.Draft202012Validator.check_schema(schema)
    check = jsonschema.Draft202012Validator(schema)

    @given(st.from_type(kind))
    def told(value: Any) -> None:
        document = plain(value)
        check.validate(json.loads(json.dumps(document)))
        assert json.loads(json.dumps(document)) == document

    told()


def test_what_only_apply_needs_is_in_neither() -> None:
    """A plan's request is not written, and its schema does not tell of it."""
    schemas = Schemas()
    schemas.of(ChangeLinkPlan)
    assert set(schemas.named["ChangeLinkPlan"]["properties"]) == {"link", "before", "after", "hash"}


def test_two_kinds_of_one_name_are_refused() -> None:
    """A client could not tell them apart."""
    schemas = Schemas()
    schemas.of(SecretRef)
    schemas.of(Severity)
    other = Enum("Severity", ["LOW"])
    with pytest.raises(TypeError, match="the name of"):
        schemas.of(other)


def test_what_cannot_be_written_has_no_schema() -> None:
    """It is found when the service's description is made, and not when somebody asks."""
    with pytest.raises(TypeError, match="nothing is known"):
        Schemas().of(complex)
