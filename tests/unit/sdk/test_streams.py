"""Events out of bytes, however they are cut."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.sdk import stream
from anabranch.sdk.errors import MalformedRouteError
from anabranch.sdk.stream import Chunks, Events, ServerEvent
from tests.chance import examples

pytestmark = pytest.mark.unit
_DATA = st.dictionaries(st.text(max_size=4), st.integers() | st.text(max_size=10), max_size=3)
_EVENTS = st.lists(st.tuples(st.sampled_from(["route", "go", "ending"]), _DATA), max_size=5)
_CUTS = st.lists(st.integers(1, 9), min_size=1, max_size=6)


def cut(data: bytes, sizes: list[int]) -> list[bytes]:
    """The bytes in pieces of these sizes, over and over."""
    found, at, number = [], 0, 0
    while at < len(data):
        size = sizes[number % len(sizes)]
        found.append(data[at : at + size])
        at, number = at + size, number + 1
    return found


@examples(300)
@given(_EVENTS, _CUTS, _CUTS, st.sampled_from(["\n", "\r\n"]))
def test_events_are_the_same_however_they_are_cut(
    events: list[tuple[str, dict[str, object]]], chunks: list[int], pieces: list[int], end: str
) -> None:
    """E1, through chunks of any size and reads of any size; comments are passed over."""
    lines = [f": quiet{end}{end}event: {kind}{end}data: {json.dumps(data)}{end}{end}" for kind, data in events]
    body = b"".join(b"%x\r\n%s\r\n" % (len(one), one) for one in cut("".join(lines).encode(), chunks)) + b"0\r\n\r\n"
    reader, found = Chunks(), Events()
    told = [event for piece in cut(body, pieces) for event in found.feed(reader.feed(piece))]
    assert told == [ServerEvent(kind, data) for kind, data in events]
    assert reader.ended


def test_an_event_of_several_lines_is_one() -> None:
    """As the standard has it: lines of data are joined, and an event without data is none."""
    found = Events()
    told = list(found.feed(b"event: a\nid: 7\ndata: [1,\ndata: 2]\n\nevent: b\n\ndata: 3\n\n"))
    assert told == [ServerEvent("a", [1, 2]), ServerEvent("message", 3)]


@pytest.mark.parametrize("body", [b"zz\r\n", b"x" * 1001, b"-\r\n"])
def test_what_is_not_in_chunks_is_refused(body: bytes) -> None:
    """It is another protocol, or a proxy that garbles it."""
    with pytest.raises(MalformedRouteError):
        Chunks().feed(body)


def test_what_is_no_json_and_what_is_endless_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """E2: nothing makes a client hold what a stranger sends."""
    with pytest.raises(MalformedRouteError, match="event go"):
        list(Events().feed(b"event: go\ndata: {\n\n"))
    monkeypatch.setattr(stream, "LONGEST", 100)
    with pytest.raises(MalformedRouteError, match="more than 100"):
        list(Events().feed(b"data: " + b"x" * 200))
    with pytest.raises(MalformedRouteError, match="more than 100"):
        list(Events().feed(b"data: xxxxxxxxxxxxxxxxxxxxx\n" * 9))
