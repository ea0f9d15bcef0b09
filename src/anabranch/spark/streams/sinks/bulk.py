"""Rows as lines of OpenSearch's and Elasticsearch's bulk API.

Invariants
    V1  Versions rise with the start of the query, and within it with the batch; the same batch of the same start has
        the same.  So of two writers the later one's document stays, whichever arrives last.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from pyspark.sql import types as T

from anabranch.spark.streams.sinks.chunks import ValueProblem
from anabranch.spark.streams.sinks.keys import key_text
from anabranch.spark.streams.sinks.state import BatchState

_BATCHES = 2**32
_LONGEST_ID_BYTES = 512
_SHOWN = 3
_INTEGERS = {"byte": 1, "short": 2, "integer": 4, "long": 8}
_WIDTHS = {T.ByteType: 1, T.ShortType: 2, T.IntegerType: 4, T.LongType: 8}
_FLOATS = frozenset({"float", "double", "half_float", "scaled_float"})
_TEXTS = frozenset({"keyword", "text", "wildcard", "constant_keyword", "match_only_text", "search_as_you_type"})
_OBJECTS = frozenset({"object", "nested", "flattened", "flat_object"})


def version_of(state: BatchState) -> int:
    """The version of a batch's documents (V1)."""
    return state.fence * _BATCHES + state.batch


@dataclass(frozen=True, slots=True)
class BulkRows:
    """An encoder of rows: of columns the keys, then the version where a column has it, then the document."""

    keys: int
    version: int | None
    column: str

    def rows(self, columns: Sequence[Sequence[Any]]) -> Iterator[bytes]:
        for row in zip(*columns, strict=True):
            name = key_text(row[: self.keys])
            if not name or len(name.encode()) > _LONGEST_ID_BYTES:
                raise ValueProblem(
                    f"a key of {len(name.encode())} bytes; 1 to {_LONGEST_ID_BYTES} can be a document's id"
                )
            version = row[self.keys] if self.version is None else self.version
            if version is None or version < 0:
                raise ValueProblem(f"column {self.column}: {version} is no version")
            action = {"index": {"_id": name, "version": version, "version_type": "external_gte"}}
            yield f"{json.dumps(action)}\n{row[-1]}\n".encode()

    def chunk(self, rows: Sequence[bytes]) -> bytes:
        return b"".join(rows)


@dataclass(frozen=True, slots=True)
class BulkAnswer:
    """What was not taken: ``older`` documents, of which a newer version is there, and others with their reasons."""

    older: tuple[str, ...] = ()
    passing: str = ""
    refused: tuple[str, ...] = ()
    others: int = 0

    @classmethod
    def of(cls, answer: Any) -> BulkAnswer:
        """By the server's answer; of what it refuses the first three are told."""
        if not answer.get("errors"):
            return cls()
        older: list[str] = []
        refused: list[str] = []
        passing, count = "", 0
        for one in answer["items"]:
            (item,) = one.values()
            error = item.get("error")
            if error is None:
                continue
            kind, reason = error.get("type", ""), str(error.get("reason", ""))
            if item["status"] == 409:
                older.append(item["_id"])
            elif item["status"] in (429, 502, 503, 504) or kind == "cluster_block_exception":
                passing = f"{kind}: {reason}"[:300]
            else:
                count += 1
                if len(refused) < _SHOWN:
                    refused.append(f"document {item['_id']!r}: {_why(error)}"[:300])
        return cls(tuple(older), passing, tuple(refused), count)


def _why(error: Any) -> str:
    """The reason, and the one below it, which names the value's fault."""
    below = error.get("caused_by") or {}
    return ": ".join(one for one in (error.get("reason"), below.get("reason")) if one)


def mapping_problems(mapping: Any, schema: T.StructType) -> list[str]:
    """How an index's fields differ from the columns; a field that is not there is made by the index, where it may."""
    fields = mapping.get("properties", {})
    strict = mapping.get("dynamic") == "strict"
    found = []
    for field in schema.fields:
        declared = fields.get(field.name)
        if declared is None:
            if strict:
                near = get_close_matches(field.name, fields, 1) or sorted(fields)
                found.append(f"it has no field {field.name} and makes none, but {', '.join(near)}")
        elif not _fits(field.dataType, declared.get("type", "object")):
            shown = field.dataType.simpleString()
            found.append(f"field {field.name} is {declared.get('type', 'object')}, which does not hold {shown}")
    return found


def _fits(kind: T.DataType, field: str) -> bool:
    """Whether a field of the types that are known here takes each value of a Spark type."""
    if isinstance(kind, T.ArrayType):
        return _fits(kind.elementType, field)
    if isinstance(kind, T.MapType | T.StructType | T.VariantType):
        return field not in _INTEGERS and field not in _FLOATS and field not in _TEXTS and field != "boolean"
    if field in _OBJECTS:
        return False
    if field in _INTEGERS:
        return _INTEGERS[field] >= _WIDTHS.get(type(kind), 9)
    if field in _FLOATS:
        return isinstance(kind, T.NumericType)
    if field == "boolean":
        return isinstance(kind, T.BooleanType)
    if field == "binary":
        return isinstance(kind, T.BinaryType)
    if field in ("date", "date_nanos"):
        return not isinstance(kind, T.BooleanType | T.BinaryType | T.FractionalType)
    return True
