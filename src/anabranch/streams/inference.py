"""The columns of a topic, inferred from samples of its records.

Spark's ``from_json`` decodes with them what was sampled: a number without a point that fits is BIGINT, one that does
not is DOUBLE or DECIMAL, kinds that differ meet in STRING, since a STRING keeps the JSON text of whatever stands there.

Invariants
    F1  each sample that is a JSON object decodes under the columns that were inferred, every field of it that is not
        null into something that is not null.
    F2  the order of the samples does not count, but for the order of columns.
    F3  a conflict is in the notes, with where it is and what was found there.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from anabranch.streams.sqltypes import Array, Field, Scalar, SqlType, Struct, text_of
from anabranch.streams.tables import Column

BIGINT, DOUBLE, STRING = Scalar("BIGINT"), Scalar("DOUBLE"), Scalar("STRING")
SAMPLES = 200
"""Records of a topic that are looked at where nobody says how many."""
_WIDEST = 38
_LONG = 2**63
_EXACT = 2**53


@dataclass(frozen=True, slots=True)
class Inferred:
    """``columns`` are those of the ``fit`` samples that are JSON objects, of ``samples`` in all.

    ``notes`` say what is not as it seems: kinds that differ, columns that were always null, samples that do not fit.
    """

    columns: tuple[Column, ...]
    samples: int
    fit: int
    notes: tuple[str, ...]

    @property
    def share(self) -> float:
        """The share of samples that fit; 0 where there was none."""
        return self.fit / self.samples if self.samples else 0.0


@dataclass(slots=True)
class _Seen:
    """What was found at one place of the samples."""

    kinds: set[str] = field(default_factory=set)
    whole_digits: int = 1
    inexact: bool = False
    fields: dict[str, _Seen] = field(default_factory=dict)
    spelled: dict[str, str] = field(default_factory=dict)
    clash: set[str] = field(default_factory=set)
    item: _Seen | None = None


def infer(samples: Iterable[bytes]) -> Inferred:
    """The columns of records whose values are JSON objects."""
    seen = _Seen()
    count = fit = 0
    for sample in samples:
        count += 1
        value = _read(sample)
        if isinstance(value, dict):
            fit += 1
            _add(seen, value)
    notes: list[str] = []
    if fit < count:
        notes.append(f"{count - fit} of {count} samples are no JSON objects, and are null in every column")
    columns = []
    for name, below in seen.fields.items():
        found = _type(below, name, notes)
        columns.append(Column(seen.spelled[name], text_of(found)))
    _clashes(seen, "", notes)
    return Inferred(tuple(columns), count, fit, tuple(notes))


def _read(sample: bytes) -> Any:
    try:
        return json.loads(sample.decode("utf-8"), parse_float=Decimal, parse_constant=_no_constant)
    except (ValueError, RecursionError):  # UnicodeDecodeError is a ValueError
        return None


def _no_constant(text: str) -> Any:
    raise ValueError(text)


def _add(seen: _Seen, value: Any) -> None:
    if value is None:
        return
    if isinstance(value, bool):
        seen.kinds.add("BOOLEAN")
    elif isinstance(value, int):
        seen.kinds.add("INTEGER")
        seen.whole_digits = max(seen.whole_digits, len(str(abs(value))))
        seen.inexact = seen.inexact or abs(value) > _EXACT
        if not -_LONG <= value < _LONG:
            seen.kinds.add("LARGE")
    elif isinstance(value, Decimal):
        seen.kinds.add("FRACTION")
    elif isinstance(value, str):
        seen.kinds.add("STRING")
    elif isinstance(value, list):
        seen.kinds.add("ARRAY")
        seen.item = seen.item or _Seen()
        for one in value:
            _add(seen.item, one)
    else:
        seen.kinds.add("STRUCT")
        for name, one in value.items():
            _field(seen, name, one)


def _field(seen: _Seen, name: str, value: Any) -> None:
    """Names that differ by case alone are one column to Spark."""
    key = name.lower()
    if seen.spelled.setdefault(key, name) != name:
        seen.clash.add(key)
    _add(seen.fields.setdefault(key, _Seen()), value)


def _type(seen: _Seen, where: str, notes: list[str]) -> SqlType:
    kinds = seen.kinds
    if not kinds:
        notes.append(f"{where} was null in every sample: STRING is a guess")
        return STRING
    if kinds <= {"INTEGER", "LARGE", "FRACTION"}:
        return _number(seen, where, notes)
    if len(kinds) > 1:
        found = ", ".join(sorted(kinds - {"LARGE"}))
        notes.append(f"{where} is {found} by turns: STRING keeps the JSON text")
        return STRING
    (kind,) = kinds
    if kind == "ARRAY":
        assert seen.item is not None
        return Array(_type(seen.item, f"{where}[]", notes))
    if kind == "STRUCT":
        return _struct(seen, where, notes)
    return Scalar(kind)


def _number(seen: _Seen, where: str, notes: list[str]) -> SqlType:
    if "FRACTION" in seen.kinds:
        if seen.inexact:
            notes.append(f"{where} has numbers with more digits than DOUBLE keeps")
        return DOUBLE
    if "LARGE" not in seen.kinds:
        return BIGINT
    if seen.whole_digits > _WIDEST:
        notes.append(f"{where} has numbers of {seen.whole_digits} digits: STRING keeps them")
        return STRING
    notes.append(f"{where} has numbers that BIGINT does not hold")
    return Scalar("DECIMAL", (_WIDEST, 0))


def _struct(seen: _Seen, where: str, notes: list[str]) -> SqlType:
    if not seen.fields:
        notes.append(f"{where} is an object without fields: STRING keeps the JSON text")
        return STRING
    _clashes(seen, f"{where}.", notes)
    fields = [Field(seen.spelled[key], _type(one, f"{where}.{key}", notes)) for key, one in seen.fields.items()]
    return Struct(tuple(fields))


def _clashes(seen: _Seen, begin: str, notes: list[str]) -> None:
    notes += [f"{begin}{key} is spelled in several ways, which Spark takes for one" for key in sorted(seen.clash)]
