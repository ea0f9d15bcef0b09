"""Watching clients: one stream each, told what concerns them, dropped where they take nothing."""

from __future__ import annotations

import asyncio
import json

import pytest

from anabranch.service.watching import MOST, RETRY_EACH_MS, RETRY_MS, Watcher, Watching, event

pytestmark = pytest.mark.unit


def taken(watcher: Watcher) -> list[bytes]:
    """What waits for a watcher; what only wakes it is left out."""
    found = []
    while not watcher.events.empty():
        found.append(watcher.events.get_nowait())
    return [one for one in found if one]


def test_a_client_is_told_by_the_stream_that_it_opened_last() -> None:
    """The former one is over, and its end closes nothing of the new one."""
    watching = Watching()
    first, second = watching.open("a"), watching.open("a")
    watching.close("a", first)
    watching.tell("a", b"1")
    watching.tell("b", b"of nobody")
    assert (first.is_over, second.is_over, len(watching)) == (True, False, 1)
    assert (taken(first), taken(second)) == ([], [b"1"])
    watching.close("a", second)
    assert (second.is_over, len(watching)) == (True, 0)


def test_a_client_that_takes_nothing_is_dropped_with_what_waits() -> None:
    """It takes that, and comes again; others are not held up."""
    watching = Watching()
    slow, quick = watching.open("slow"), watching.open("quick")
    for number in range(MOST + 1):
        watching.tell("slow", b"%d" % number)
        watching.tell("quick", b"%d" % number)
        assert taken(quick) == [b"%d" % number]
    assert (slow.is_over, quick.is_over, len(watching)) == (True, False, 1)
    assert len(taken(slow)) == MOST


@pytest.mark.parametrize("count", [1, 1000])
def test_all_are_told_when_to_come_again_as_an_instance_ends(count: int) -> None:
    """Within a time that grows with how many there are; then every stream is over."""
    watching = Watching()
    watchers = [watching.open(str(number)) for number in range(count)]
    watching.end()
    assert len(watching) == 0
    for watcher in watchers:
        (told,) = taken(watcher)
        kind, data = told.decode().splitlines()[:2]
        assert kind == "event: ending"
        assert json.loads(data.removeprefix("data: ")) == {"retry_within_ms": max(RETRY_MS, RETRY_EACH_MS * count)}
        assert watcher.is_over


async def _woken() -> bytes:
    watching = Watching()
    watcher = watching.open("a")
    waiting = asyncio.create_task(watcher.events.get())
    await asyncio.sleep(0)
    watching.close("a")
    return await waiting


def test_whoever_waits_is_woken_by_the_end() -> None:
    """No stream waits for a comment's time to see that it is over."""
    assert asyncio.run(_woken()) == b""


def test_an_event_is_one_line_of_data() -> None:
    """Also where texts have more lines."""
    assert event("route", {"a": "b\nc"}) == b'event: route\ndata: {"a":"b\\nc"}\n\n'
