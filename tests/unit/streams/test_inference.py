"""Columns that are inferred from samples: each sample decodes under them."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.streams.inference import infer
from anabranch.streams.sqltypes import Array, Scalar, SqlType, Struct, read

pytestmark = pytest.mark.unit

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**45), 10**45)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abcd"), inner, max_size=3),
    max_leaves=5,
)
RECORDS = st.lists(st.dictionaries(st.sampled_from("abcde"), VALUES, max_size=3), max_size=4)


def fits(value: Any, kind: SqlType) -> bool:
    """Whether Spark's from_json makes of a value something that is not null, with nothing inside it lost."""
    if value is None:
        return True
    if isinstance(kind, Struct):
        names = {one.name: one.type for one in kind.fields}
        return isinstance(value, dict) and all(name in names and fits(one, names[name]) for name, one in value.items())
    if isinstance(kind, Array):
        return isinstance(value, list) and all(fits(one, kind.item) for one in value)
    assert isinstance(kind, Scalar)
    if kind.name == "STRING":
        return True
    if kind.name == "BOOLEAN":
        return isinstance(value, bool)
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return False
    if kind.name == "BIGINT":
        return isinstance(value, int) and -(2**63) <= value < 2**63
    if kind.name == "DECIMAL":
        return isinstance(value, int) and abs(value) < 10 ** kind.size[0]
    return kind.name == "DOUBLE"


@given(RECORDS)
def test_every_sample_decodes_under_what_was_inferred(records: list[dict[str, Any]]) -> None:
    """F1."""
    found = infer(json.dumps(one).encode() for one in records)
    assert (found.samples, found.fit) == (len(records), len(records))
    kinds = {one.name: read(one.type) for one in found.columns}
    for record in records:
        assert all(fits(value, kinds[name]) for name, value in record.items()), (record, kinds)


@given(RECORDS, st.randoms())
def test_the_order_of_samples_does_not_count(records: list[dict[str, Any]], chance: Any) -> None:
    """F2."""
    shuffled = list(records)
    chance.shuffle(shuffled)
    first, second = (infer(json.dumps(one).encode() for one in some) for some in (records, shuffled))

    def sorted_fields(kind: SqlType) -> object:
        if isinstance(kind, Struct):
            return sorted((one.name, sorted_fields(one.type)) for one in kind.fields)
        return ("array", sorted_fields(kind.item)) if isinstance(kind, Array) else repr(kind)

    told = [{one.name: repr(sorted_fields(read(one.type))) for one in some.columns} for some in (first, second)]
    assert told[0] == told[1]
    assert sorted(first.notes) == sorted(second.notes)


def test_kinds_that_differ_are_told() -> None:
    """F3: with where, and what was found."""
    samples = [
        b'{"id": 1, "x": {"y": 1, "z": []}, "n": null}',
        b'{"id": 2.5, "x": {"y": "a", "z": [1]}}',
        b"[1]",
        b"\xff",
    ]
    found = infer(samples)
    assert [(one.name, one.type) for one in found.columns] == [
        ("id", "DOUBLE"),
        ("x", "STRUCT<y: STRING, z: ARRAY<BIGINT>>"),
        ("n", "STRING"),
    ]
    assert (found.fit, found.samples, found.share) == (2, 4, 0.5)
    assert found.notes == (
        "2 of 4 samples are no JSON objects, and are null in every column",
        "x.y is INTEGER, STRING by turns: STRING keeps the JSON text",
        "n was null in every sample: STRING is a guess",
    )


def test_numbers_that_are_too_large_are_kept_whole() -> None:
    """As DECIMAL, or as their text; names that Spark takes for one are told."""
    found = infer([b'{"a": 9223372036854775808, "b": 1' + b"0" * 40 + b', "C": 1, "c": 2}'])
    assert [one.type for one in found.columns] == ["DECIMAL(38, 0)", "STRING", "BIGINT"]
    assert "c is spelled in several ways, which Spark takes for one" in found.notes
    assert infer([]).share == 0.0
