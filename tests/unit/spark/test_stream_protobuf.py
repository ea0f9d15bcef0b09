"""Messages of Protobuf as JSON, and back."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.spark.streams.formats.protobuf_wire import (
    UnknownMessageError,
    columns_of_message,
    message_class,
    to_bytes,
    to_text,
)
from tests.unit.spark.protobuf_messages import descriptors

pytestmark = pytest.mark.unit

VIEW = descriptors(), "shop.View"
VIEWS = st.fixed_dictionaries(
    {
        "page": st.text(max_size=5),
        "n": st.integers(-(2**63), 2**63 - 1),
        "maybe": st.none() | st.integers(-(2**63), 2**63 - 1),
        "colour": st.sampled_from(("NONE", "RED")),
        "inner": st.none() | st.fixed_dictionaries({"x": st.floats(allow_nan=False, allow_infinity=False)}),
        "tags": st.lists(st.text(max_size=3), max_size=3),
        "counts": st.dictionaries(st.text(max_size=3), st.integers(0, 9), max_size=3),
        "big": st.integers(0, 2**64 - 1),
        "yes": st.booleans(),
    }
)


@given(VIEWS)
def test_what_was_written_is_read(view: dict[str, object]) -> None:
    """Numbers stay numbers, whatever their size; what was not set is null."""
    found = json.loads(to_text(*VIEW, to_bytes(*VIEW, json.dumps(view))) or "")

    assert {name: found[name] for name in view} == view
    assert found["at"] is None


def test_times_and_bytes_are_as_sparks_json_has_them_and_other_bytes_are_no_message() -> None:
    """A tombstone stays one."""
    text = json.dumps({"at": "2026-01-01T00:00:00Z", "raw": "AP8="})
    found = json.loads(to_text(*VIEW, to_bytes(*VIEW, text)) or "")

    assert (found["at"], found["raw"], found["n"]) == ("2026-01-01T00:00:00Z", "AP8=", 0)
    assert to_text(*VIEW, b"\xff\xff") is None
    assert to_text(*VIEW, None) is None
    assert to_bytes(*VIEW, None) is None


def test_a_message_has_columns_and_one_that_is_not_there_is_named() -> None:
    """Types as Spark's SQL writes them."""
    assert columns_of_message(message_class(*VIEW).DESCRIPTOR) == [
        ("page", "STRING"),
        ("n", "BIGINT"),
        ("at", "TIMESTAMP"),
        ("maybe", "BIGINT"),
        ("raw", "BINARY"),
        ("colour", "STRING"),
        ("inner", "STRUCT<`x`: DOUBLE>"),
        ("tags", "ARRAY<STRING>"),
        ("counts", "MAP<STRING, BIGINT>"),
        ("big", "DECIMAL(20,0)"),
        ("small", "BIGINT"),
        ("yes", "BOOLEAN"),
    ]
    with pytest.raises(UnknownMessageError, match=r"no message 'shop\.Vew', but .*shop\.View"):
        message_class(descriptors(), "shop.Vew")
    with pytest.raises(UnknownMessageError, match="no set of descriptors"):
        message_class(b"\xff", "shop.View")
    with pytest.raises(UnknownMessageError, match="holds itself"):
        columns_of_message(message_class(descriptors(), "shop.Tree").DESCRIPTOR)
