"""What a stream is given of the catalog: what its account may use, and of the rest the names alone."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.config.catalogspec import CatalogSpec
from anabranch.config.jobspec import JobSpecError
from anabranch.operations.catalog.desk import KnownCatalog
from anabranch.operations.catalog.entries import document_of, entry_of, object_of, says_the_same
from anabranch.operations.catalog.loading import spec_of
from anabranch.streams.catalog.ddl import definitions
from anabranch.streams.grants import Authority, Grant, Need, Privilege
from anabranch.streams.inline import InlinePolicy, TableAccess, denied
from anabranch.streams.needed import PlanNeeds

pytestmark = pytest.mark.unit

SCRIPT = """
CREATE DATABASE shop;
CREATE TABLE shop.orders (secret_orders BIGINT) USING kafka OPTIONS (cluster 'main', topic 'secret_topic') COMMENT 'c';
CREATE TABLE shop.paid (secret_paid STRING COMMENT 'k') USING rate;
CREATE VIEW shop.large AS SELECT secret_large FROM shop.paid;
CREATE FUNCTION pay.twice(x INT) RETURNS INT RETURN x * secret_twice();
"""
OBJECTS = {str(one.object.name): one.object for one in definitions(SCRIPT)}
ENTRIES = {name: entry_of(one, "jo", 5, None) for name, one in OBJECTS.items()}
NAMES = [name for name in OBJECTS if name != "spark_catalog.shop"]
SECURABLES = st.sampled_from([*OBJECTS, "spark_catalog", "spark_catalog.pay"])
GRANTS = st.frozensets(
    st.builds(Grant, SECURABLES, st.sampled_from(["user:mei", "group:shop"]), st.sampled_from(Privilege)), max_size=4
)


def catalog(grants: frozenset[Grant], groups: frozenset[str] = frozenset(), owner: str = "jo") -> KnownCatalog:
    """As mei may use it."""
    owners: Mapping[str, str] = dict.fromkeys(OBJECTS, owner)
    topics = {("main", "secret_topic"): ("spark_catalog.shop.orders",)}
    return KnownCatalog(ENTRIES, OBJECTS, Authority("mei", groups, grants, owners), topics, {})


@given(GRANTS, st.booleans())
def test_of_what_is_not_allowed_the_names_alone_are_given(grants: frozenset[Grant], in_group: bool) -> None:
    """H1."""
    found = catalog(grants, frozenset({"shop"}) if in_group else frozenset())
    spec = spec_of(found, InlinePolicy())
    text = json.dumps([str(one) for one in (spec.tables, spec.views, spec.functions)])
    for name in NAMES:
        may = [one for one in Privilege if found.authority.may(OBJECTS[name].name, one)]  # type: ignore[arg-type]
        word = f"secret_{name.rpartition('.')[2]}"
        assert (word in text) == bool(may)
        assert (name.removeprefix("spark_catalog.") in spec.hidden) != bool(may)
        assert spec.access.may.get(name, ()) == tuple(may)
    assert CatalogSpec.from_json(spec.to_json()) == spec


@given(GRANTS, st.sampled_from(NAMES), st.sampled_from(Privilege))
def test_a_run_decides_as_the_service_does(grants: frozenset[Grant], name: str, privilege: Privilege) -> None:
    """From what it was told."""
    found = catalog(grants)
    need = Need(OBJECTS[name].name, privilege)  # type: ignore[arg-type]
    spec = CatalogSpec.from_json(spec_of(found, InlinePolicy()).to_json())
    assert (not denied(PlanNeeds((need,)), {}, spec.access)) is found.authority.may(need.name, privilege)


@pytest.mark.parametrize("name", OBJECTS)
def test_an_object_is_read_as_it_was_kept(name: str) -> None:
    """Through JSON."""
    kept = ENTRIES[name]
    assert object_of(kept) == OBJECTS[name]
    assert json.loads(json.dumps(kept.document)) == document_of(OBJECTS[name])
    made = entry_of(OBJECTS[name], "mei", 9, kept, made_topic=True)
    assert says_the_same(made, OBJECTS[name]) and object_of(made) == OBJECTS[name]
    assert (made.owner, made.created, made.changed, made.author) == ("jo", 5, 9, "mei")


def test_an_owner_may_use_what_is_his() -> None:
    """And names in scripts are without the session catalog."""
    spec = spec_of(catalog(frozenset(), owner="mei"), InlinePolicy())
    assert [one.name for one in spec.tables] == ["shop.orders", "shop.paid"]
    assert [one.name for one in spec.views] == ["shop.large"] and not spec.hidden
    assert spec.access.topics == {"main/secret_topic": ("spark_catalog.shop.orders",)}


def test_what_is_no_specification_is_an_error() -> None:
    """Of another version, or broken."""
    text = CatalogSpec(TableAccess("mei")).to_json()
    for broken in ("{}", text.replace('"mei"', "7"), text[:-1]):
        with pytest.raises(JobSpecError):
            CatalogSpec.from_json(broken)
