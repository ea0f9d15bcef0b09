"""Naming what a lane waits for: the open transaction that holds its source at the last stable offset.

A lane that has read all that is stable, while the source has more, stands before the first record of an open
transaction.  Usually for an instant; if it stands longer, the source is asked who holds it.  A lane without an
open transaction costs one comparison a look.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from anabranch.copier.lane.lane import Lane, LanePhase
from anabranch.errors import AnabranchError
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.transactions import dated, open_transactions
from anabranch.model.clock import now_ms
from anabranch.model.transactions import SourceTransaction

PURPOSE = "look"
LOOK_S = 1.0
HELD_S = 3.0
ASK_S = 10.0


@dataclass(slots=True)
class _Watch:
    stable: int
    since: float
    asked_at: float = 0.0


class OpenTransactionWatch:
    """Watches lanes; ``held_by`` of a lane's status is a sentence while an open transaction holds it."""

    def __init__(self, source: Cluster) -> None:
        self._source = source
        self._watched: dict[str, _Watch] = {}

    async def run(self, lanes: Iterable[Lane]) -> None:
        """Look once a second until cancelled."""
        while True:
            await asyncio.sleep(LOOK_S)
            for lane in tuple(lanes):  # lanes come and go while one is looked at
                if is_held(lane):
                    await self._look(lane, time.monotonic())
                elif self._watched.pop(lane.key, None) is not None:
                    lane.status.held_by = ""

    async def _look(self, lane: Lane, now: float) -> None:
        watch = self._watched.get(lane.key)
        if watch is None or watch.stable != lane.source.stable:
            self._watched[lane.key] = _Watch(lane.source.stable, now)
            lane.status.held_by = ""
        elif now - watch.since >= HELD_S and (not watch.asked_at or now - watch.asked_at >= ASK_S):
            watch.asked_at = now
            lane.status.held_by = await self._ask(lane)

    async def _ask(self, lane: Lane) -> str:
        source, topic_id = lane.assignment.source, lane.assignment.source_id.uuid
        try:
            connection = await self._source.connection(lane.source.leader, PURPOSE)
            code, found = await open_transactions(connection, source.topic, source.partition)
            self._source.check(code, "DescribeProducers", f"partition {source}")
            named = [await dated(connection, source.topic, topic_id, source.partition, one) for one in found[:1]]
        except AnabranchError as error:
            return (
                f"an open transaction begins at offset {lane.source.stable:,}; "
                f"the source does not tell whose: {error.message}"
            )
        return sentence(named, now_ms(), more=len(found) - len(named))


def is_held(lane: Lane) -> bool:
    """Whether the lane has read all that is stable, and the source holds more than that."""
    is_open = lane.source.stable < lane.source.high_watermark
    return lane.phase is LanePhase.RUNNING and is_open and lane.has_fetched_stable


def sentence(found: Sequence[SourceTransaction], now_ms: int, more: int = 0) -> str:
    """What holds a lane, given the open transaction with the lowest offset; empty where it has just ended."""
    if not found:
        return ""
    others = f", and {more:,} more are open after it" if more else ""
    return f"{found[0].sentence(now_ms)}{others}: nothing after it may be copied before it ends"
