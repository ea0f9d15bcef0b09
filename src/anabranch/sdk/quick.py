"""What applications call for each record, made quick: a function with what it needs at hand, and one look-up.

Invariants
    Q1  a call takes the way once, between entering and leaving its gate: whoever has shut the way and finds the gate
        empty knows that no call hands over to the old client any more.
    Q2  a call that an application keeps (``produce = producer.produce``) follows the way as any other.
    Q3  neither function keeps its client alive.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from anabranch.sdk.era import Era
from anabranch.sdk.gate import Gate
from anabranch.sdk.names import Names

SLICE_S = 0.5
"""The longest that a producer's callbacks are waited for in one go: the way may have been shut meanwhile."""
ReadWay = tuple[Callable[[float], Any], Era, Names]
"""How a message is read; and the era, and the names, of what is read so."""
Way = tuple[Callable[..., None], Mapping[str, str], Callable[[float], int] | None]
"""How a record is handed over, what each topic is called there, and how callbacks are served; the last may be shut."""


def _nowhere(*_: Any) -> None:
    raise AssertionError("no topic is known here")


SHUT: Way = (_nowhere, {}, None)


def _alive(client: Callable[[], Any]) -> Any:
    one = client()
    if one is None:
        raise RuntimeError("Producer has been closed")
    return one


def quick_calls(
    cell: list[Way], gate: Gate, client: Callable[[], Any], counted: Callable[[Any], Any] | None = None
) -> tuple[Callable[..., None], Callable[..., int]]:
    """``produce`` and ``poll`` by the way in the cell; ``client`` is a weak reference to whom they belong.

    ``counted`` makes of a delivery callback the one that is to be called in its place.
    """
    enter, leave = gate.enter, gate.leave

    def produce(
        topic: str,
        value: str | bytes | None = None,
        key: str | bytes | None = None,
        partition: int = -1,
        callback: Any = None,
        on_delivery: Any = None,
        timestamp: int = 0,
        headers: Any = None,
    ) -> None:
        enter()
        try:
            hand_over, names, _ = cell[0]
            there = names.get(topic)
            if there is not None:
                told = callback or on_delivery
                if told is not None and counted is not None:
                    told = counted(told)
                # As short as it can be: what is left out need not be looked at there.
                if headers is None and not timestamp:
                    hand_over(there, value, key, partition, told)
                else:
                    hand_over(there, value, key, partition, told, None, timestamp, headers)
                return
        except Exception as error:
            _alive(client).failed(error)
            raise
        finally:
            leave()
        _alive(client).produce_slowly(topic, value, key, partition, callback or on_delivery, timestamp, headers)

    def poll(timeout: float = -1) -> int:
        serve = cell[0][2]
        if serve is None or not 0 <= timeout <= SLICE_S:
            found: int = _alive(client).poll_slowly(timeout)
            return found
        return serve(timeout)

    return produce, poll


def quick_poll(
    cell: list[ReadWay], slice_s: float, client: Callable[[], Any]
) -> tuple[Callable[..., Any], Callable[[], tuple[int, int]]]:
    """A consumer's ``poll``, which reads by the cell in slices, and what it has counted: records and bytes.

    What was read by a way that is none any more is looked at before it is given out.
    """
    records = size = 0

    def poll(timeout: float = -1) -> Any:
        nonlocal records, size
        way = cell[0]
        try:
            message = way[0](slice_s if timeout > slice_s or timeout < 0 else timeout)
        except RuntimeError as error:
            one = client()
            if one is None or not one.was_left(error):
                raise
            message = None
        if message is None:
            one = client()
            message = None if one is None else one.poll_on(timeout)
            if message is None:
                return None
        elif cell[0] is not way:
            one = client()
            message = message if one is None else one.given(message, *way[1:])
        wrong = message.error()
        if wrong is None:
            more = len(message)
            records += 1
            size += more
        else:
            one = client()
            if one is not None:
                one.read_error(wrong)
        return message

    return poll, lambda: (records, size)
