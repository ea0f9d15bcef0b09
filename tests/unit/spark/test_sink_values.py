"""What sinks send for names and values: nothing that stands in one is read as anything else."""

from __future__ import annotations

import json
import pickle
import re
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import types as T

from anabranch.spark.streams.sinks import mysql_table, postgresql_table, redis_commands
from anabranch.spark.streams.sinks.bulk import BulkAnswer, BulkRows, version_of
from anabranch.spark.streams.sinks.chunks import ValueProblem
from anabranch.spark.streams.sinks.copy_text import escaped
from anabranch.spark.streams.sinks.keys import key_text, timestamp_text
from anabranch.spark.streams.sinks.mysql_literals import literal_of, text
from anabranch.spark.streams.sinks.redis_commands import RedisRows
from anabranch.spark.streams.sinks.state import BatchState

pytestmark = pytest.mark.unit

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
_ESCAPES = {"\\\\": "\\", "\\t": "\t", "\\n": "\n", "\\r": "\r"}


@given(TEXTS.filter(lambda one: "\0" not in one))
def test_a_text_of_copy_ends_no_column_and_reads_back(value: str) -> None:
    """T1: no tab, no line break, and each backslash escapes."""
    sent = escaped(value)
    assert not set("\t\n\r") & set(sent)
    assert re.sub(r"\\.", lambda found: _ESCAPES[found[0]], sent) == value
    assert sent != "\\N"


@given(TEXTS)
def test_a_literal_of_mysql_is_hexadecimal(value: str) -> None:
    """L1: nothing of a text stands in the statement."""
    found = re.fullmatch(r"_utf8mb4 X'([0-9a-f]*)'", text(value))
    assert found is not None
    assert bytes.fromhex(found[1]).decode() == value


@given(st.one_of(st.floats(), st.integers(), st.decimals(), st.datetimes(), st.dates(), st.binary(), TEXTS))
def test_a_literal_has_no_character_of_a_statement(value: Any) -> None:
    """L1, for each type; what MySQL has not is refused."""
    kinds = {float: T.DoubleType(), int: T.LongType(), bytes: T.BinaryType(), str: T.StringType()}
    kinds |= {datetime: T.TimestampType(), Decimal: T.DecimalType(38, 10)}
    if isinstance(value, Decimal) and not value.is_finite():
        return
    try:
        sent = literal_of(kinds.get(type(value), T.DateType()))(value)
    except ValueProblem:
        assert isinstance(value, float)
        return
    assert re.fullmatch(r"[-+0-9.e]+|(_utf8mb4 )?X'[0-9a-f]*'|'[-0-9: .]+'", sent)


@given(TEXTS)
def test_a_quoted_name_is_one_name(name: str) -> None:
    """A quote within it is doubled, so the name ends where it ends."""
    for quoted, mark in ((postgresql_table.quoted(name), '"'), (mysql_table.quoted(name), "`")):
        assert quoted[0] == quoted[-1] == mark
        assert quoted[1:-1].replace(2 * mark, "").count(mark) == 0
        assert quoted[1:-1].replace(2 * mark, mark) == name


@given(st.lists(TEXTS, min_size=2, max_size=3), st.lists(TEXTS, min_size=2, max_size=3))
def test_different_keys_have_different_texts(one: list[str], other: list[str]) -> None:
    """K1, for keys of as many columns."""
    if len(one) == len(other):
        assert (key_text(one) == key_text(other)) == (one == other)


@given(st.datetimes(timezones=st.timezones()))
def test_a_point_in_time_has_one_text(value: datetime) -> None:
    """Whatever zone it is told in."""
    try:
        in_utc = value.astimezone(UTC)
    except OverflowError:
        return
    assert timestamp_text(value) == timestamp_text(in_utc)
    assert datetime.fromisoformat(timestamp_text(value)) == in_utc


@given(st.lists(st.tuples(st.integers(), st.none() | TEXTS, st.none() | st.binary()), min_size=1, max_size=5))
def test_a_command_of_redis_reads_back(rows: list[tuple[int, str | None, bytes | None]]) -> None:
    """Words are counted, so none is read as two; nulls are fields that go."""
    encoder = RedisRows(("id", "name", "raw"), (0,), "p:", 7, "state", "tag", False)
    read = _words(encoder.chunk(list(encoder.rows(list(zip(*rows, strict=True))))))
    assert read[:6] == [b"EVALSHA", redis_commands.sha(redis_commands.WRITE).encode(), b"1", b"state", b"tag", b"7"]
    rest = read[6:]
    for number, name, raw in rows:
        key, sets, gone = rest[0], int(rest[1]), int(rest[2])
        has = dict(zip(rest[3 : 3 + sets : 2], rest[4 : 3 + sets : 2], strict=True))
        assert key == f"p:{number}".encode()
        assert has.get(b"name") == (None if name is None else name.encode())
        assert has.get(b"raw") == raw
        assert gone == (name is None) + (raw is None)
        rest = rest[3 + sets + gone :]
    assert not rest


def _words(command: bytes) -> list[bytes]:
    head, _, rest = command.partition(b"\r\n")
    words = []
    for _ in range(int(head[1:])):
        size, _, rest = rest.partition(b"\r\n")
        words.append(rest[: int(size[1:])])
        rest = rest[int(size[1:]) + 2 :]
    assert not rest
    return words


@given(st.integers(0, 1000), st.integers(0, 1000), st.integers(0, 10**9), st.integers(0, 10**9))
def test_versions_rise_with_starts_and_then_with_batches(fence: int, later: int, batch: int, other: int) -> None:
    """V1."""
    one, two = BatchState(fence, "", batch), BatchState(later, "", other)
    assert (version_of(one) < version_of(two)) == ((fence, batch) < (later, other))


def test_a_line_of_bulk_is_two_lines_of_json() -> None:
    """The action with its version, and the document as Spark made it."""
    (lines,) = BulkRows(1, None, "version").rows([["a\n"], [3], ['{"id":"a\\n"}']])
    action, document, end = lines.decode().split("\n")
    assert json.loads(action) == {"index": {"_id": "a\n", "version": 3, "version_type": "external_gte"}}
    assert (document, end) == ('{"id":"a\\n"}', "")
    with pytest.raises(ValueProblem, match="513 bytes"):
        list(BulkRows(1, 1, "").rows([["x" * 513], ["{}"]]))


def test_an_answer_of_bulk_tells_what_was_not_taken() -> None:
    """Older documents, those that may be taken later, and those that never are."""
    items = [
        {"index": {"_id": "1", "status": 201}},
        {"index": {"_id": "2", "status": 409, "error": {"type": "version_conflict", "reason": "r"}}},
        {"index": {"_id": "3", "status": 429, "error": {"type": "rejected", "reason": "busy"}}},
        {
            "index": {
                "_id": "4",
                "status": 400,
                "error": {"type": "mapper", "reason": "r", "caused_by": {"reason": "b"}},
            }
        },
    ]
    told = BulkAnswer.of({"errors": True, "items": items})
    assert told == BulkAnswer(("2",), "rejected: busy", ("document '4': r: b",), 1)
    assert pickle.loads(pickle.dumps(BulkRows(1, 2, "v"))) == BulkRows(1, 2, "v")
