"""Each stored value with one thing altered: a value that is written again just so, or an error that names the field."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from test_control_golden import CASES, GOLDEN

from anabranch.copier.planning import assignments
from anabranch.state.codecs import access, claims, gap_records, links, positions, progress, verified
from anabranch.state.codecs.errors import MalformedRecordError, NewerFormatError

pytestmark = pytest.mark.unit

ENCODERS: dict[str, Callable[[Any], bytes]] = {
    "link": links.encode_link,
    "quota": access.encode_quota,
    "mark": positions.encode_baseline,
    "round": positions.encode_round,
    "since": positions.encode_since,
    "undo": positions.encode_undo,
    "topic": links.encode_topic,
    "decision": links.encode_decision,
    "claim": claims.encode,
    "killed": claims.encode_fence,
    "jump": gap_records.encode,
    "lane": progress.encode_lane,
    "plan": progress.encode_plan,
    "stop": progress.encode_stop,
    "assignment": lambda value: assignments.encode(value).encode(),
    "verified lane": verified.encode_lane,
    "verified run": verified.encode_run,
    "verified stop": verified.encode_stop,
}
DECODERS = {
    "lane": verified.decode_lane,
    "run": verified.decode_run,
    "stop": lambda _, value: verified.decode_stop(value),
}
VERIFIED = GOLDEN.parent / "verify"
JSON: list[Any] = [case for case in CASES if case[0].partition("-")[0] in ENCODERS]
for stored_as, decode_it in DECODERS.items():
    golden = ((VERIFIED / f"{stored_as}-v1.{part}").read_bytes() for part in ("key", "value"))
    JSON.append((f"verified {stored_as}-v1", *golden, decode_it, None))
OTHERS: tuple[Any, ...] = (None, True, 0, -1, 1 << 70, 1.5, "", "x", "\ud800", [], {}, [0], [None], {"x": None})

Path = tuple[str | int, ...]


def places(value: Any, path: Path = ()) -> Iterator[Path]:
    """The way to every part of a JSON value."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, part in inside:
        yield (*path, name)
        yield from places(part, (*path, name))


def put(value: Any, path: Path, other: Any) -> bytes:
    """The bytes with another part at that place; ``...`` takes it away."""
    altered = copy.deepcopy(value)
    where = altered
    for name in path[:-1]:
        where = where[name]
    if other is ...:
        del where[path[-1]]
    else:
        where[path[-1]] = other
    return json.dumps(altered).encode()


def canonical(data: bytes) -> Any:
    """Equal for equal values: a null is a field that is not there, lists of objects have any order, 1 is not true.

    The version is left out: the lowest that holds the value is written.
    """
    return _plain({name: part for name, part in json.loads(data).items() if name != "v"})


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items() if part is not None}
    if isinstance(value, list):
        parts = [_plain(part) for part in value]
        return sorted(parts, key=str) if all(isinstance(part, dict) for part in parts) else parts
    return str(value) if isinstance(value, bool) else value


def read(case: Any, value: bytes) -> bytes | None:
    """The value as it is written again; None where it was refused with words."""
    name, key, _, decode, _ = case
    try:
        decoded = decode(key, value)
    except (MalformedRecordError, NewerFormatError) as error:
        refused = error
    else:
        written = ENCODERS[name.partition("-")[0]](decoded)
        assert decode(key, written) == decoded
        return written
    assert len(refused.message) > 10
    return None


@pytest.mark.parametrize("case", JSON, ids=[case[0] for case in JSON])
def test_a_part_that_was_altered_is_refused_or_written_again_as_it_is(case: Any) -> None:
    """Every part of every value, against every kind of JSON."""
    stored = case[2]
    value = json.loads(stored)
    taken = refused = 0
    assert read(case, stored) == stored
    for path in places(value):
        for other in OTHERS:
            altered = put(value, path, other)
            written = read(case, altered)
            taken, refused = taken + (written is not None), refused + (written is None)
            assert written is None or canonical(written) == canonical(altered), (path, other)
    assert taken >= 1
    assert refused > taken


@pytest.mark.parametrize("case", JSON, ids=[case[0] for case in JSON])
def test_a_text_where_there_was_something_else_is_refused(case: Any) -> None:
    """Numbers, lists and objects have their kind; only the options of a plugin or of a run are of any."""
    value = json.loads(case[2])
    for path in places(value):
        part = value
        for name in path:
            part = part[name]
        if part is not None and not isinstance(part, str) and "options" not in path[:-1]:
            assert read(case, put(value, path, "x")) is None, path


@pytest.mark.parametrize("case", JSON, ids=[case[0] for case in JSON])
def test_a_field_that_nobody_knows_is_refused_or_kept(case: Any) -> None:
    """In every object of every value; at its top nothing is of any name."""
    value = json.loads(case[2])
    assert read(case, put(value, ("surprise",), 1)) is None
    for path in places(value):
        part = value
        for name in path:
            part = part[name]
        if isinstance(part, dict):
            altered = put(value, (*path, "surprise"), 1)
            written = read(case, altered)
            assert written is None or canonical(written) == canonical(altered), path


@pytest.mark.parametrize("case", JSON, ids=[case[0] for case in JSON])
def test_a_field_that_is_missing_is_refused_or_has_one_value(case: Any) -> None:
    """Fields that an older version did not write: all that is there is kept."""
    value = json.loads(case[2])
    for path in places(value):
        if isinstance(path[-1], str):
            altered = put(value, path, ...)
            written = read(case, altered)
            if written is not None:
                assert within(canonical(altered), canonical(written)), path


def within(part: Any, whole: Any) -> bool:
    """Whether every field of an object, and of those in it, is in another with the same value."""
    if isinstance(part, dict) and isinstance(whole, dict):
        return all(name in whole and within(inner, whole[name]) for name, inner in part.items())
    return bool(part == whole)


@pytest.mark.parametrize("case", JSON, ids=[case[0] for case in JSON])
def test_what_is_no_json_is_refused(case: Any) -> None:
    """Cut off at any byte, nested without end, with a number of thousands of digits, or with what follows."""
    stored = case[2]
    for size in range(len(stored)):
        assert read(case, stored[:size]) is None
    for junk in (b"[" * 100_000, b'{"v":' * 100_000, b'{"v":' + b"9" * 5000 + b"}", stored + b"x", b"null"):
        assert read(case, junk) is None


@pytest.mark.parametrize("case", [one for one in JSON if one[1]], ids=[one[0] for one in JSON if one[1]])
def test_what_is_no_text_is_refused(case: Any) -> None:
    """A byte that is no UTF-8, wherever it stands."""
    stored = case[2]
    for at in range(len(stored)):
        assert read(case, stored[:at] + b"\xff" + stored[at + 1 :]) is None
