"""Watching clients: one stream each, told what concerns them, dropped where they take nothing."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable
from types import SimpleNamespace
from typing import Any

import pytest

from anabranch.service.event_stream import AT_ONCE
from anabranch.service.rest.clients import _Stream
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


def test_what_is_told_passes_the_queue_only_while_nothing_waits_in_it() -> None:
    """W1: also where the connection takes it again before the stream has sent what waits."""
    watching = Watching()
    watcher = watching.open("a")
    taken_at_once: list[bytes] = []
    is_behind = False

    def at_once(told: bytes) -> bool:
        if not is_behind:
            taken_at_once.append(told)
        return not is_behind

    watcher.at_once = at_once
    watching.tell("a", b"1")
    is_behind = True
    watching.tell("a", b"2")
    is_behind = False
    watching.tell("a", b"3")
    assert (taken_at_once, taken(watcher)) == ([b"1"], [b"2", b"3"])
    watcher.at_once = None
    watching.tell("a", b"4")
    assert (taken_at_once, taken(watcher)) == ([b"1"], [b"4"])


def stream(watching: Watching, watcher: Watcher, sent: list[bytes], may_send: asyncio.Event) -> Awaitable[None]:
    """A stream that sends to a connection, which takes what its task sends only once it may."""
    instance: Any = SimpleNamespace(watching=watching)

    async def known() -> bool:
        return True

    async def send(message: Any) -> None:
        if message["type"] == "http.response.body":
            await may_send.wait()
            sent.append(message["body"])

    async def receive() -> Any:
        await asyncio.Event().wait()

    def at_once(told: bytes) -> bool:
        sent.append(told)
        return True

    return _Stream(instance, "a", watcher, known)({"extensions": {AT_ONCE: at_once}}, receive, send)


async def _in_order() -> list[bytes]:
    watching, sent, may_send = Watching(), list[bytes](), asyncio.Event()
    watcher = watching.open("a")
    watching.tell("a", b"1")
    running = asyncio.ensure_future(stream(watching, watcher, sent, may_send))
    for number in (2, 3):  # the task holds the first one, which is not sent yet
        await asyncio.sleep(0)
        watching.tell("a", b"%d" % number)
    may_send.set()
    while len(sent) < 3:
        await asyncio.sleep(0)
    await asyncio.sleep(0)
    watching.tell("a", b"4")
    watching.close("a")
    await running
    return sent


def test_a_stream_sends_in_the_order_in_which_it_was_told() -> None:
    """W1: what comes while its task still sends waits, and what comes while it sleeps does not."""
    assert asyncio.run(_in_order()) == [b"1", b"2", b"3", b"4", b""]


def test_an_event_is_one_line_of_data() -> None:
    """Also where texts have more lines."""
    assert event("route", {"a": "b\nc"}) == b'event: route\ndata: {"a":"b\\nc"}\n\n'
