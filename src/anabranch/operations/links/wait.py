"""Waiting until a link has copied what its source holds at the start, read from the source itself."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import ClassVar

from anabranch.errors import RefusedError
from anabranch.kafka.cluster import Cluster
from anabranch.model.caughtup import Goal, Remaining, remaining_of
from anabranch.model.reports import LinkStatus
from anabranch.model.totals import lanes_of, state_word, totals
from anabranch.operations.links.caughtup import check_held, goal
from anabranch.operations.links.status import LinkStatusReader
from anabranch.protocol.ways import ways_out

INTERVAL_S = 1.0

Tell = Callable[[Remaining, LinkStatus], Awaitable[None]]
"""Hears what is left, at each look that does not end the wait."""


@dataclass(eq=False)
class NotCaughtUpError(RefusedError):
    """The timeout was over before the link had caught up."""

    link: str
    waited_s: float
    why: str

    exit_code: ClassVar[int] = 7

    _message = "link {link!r} has not caught up within {waited_s:g} s: {why}"
    _hint = "`anabranch link show {link}` says what holds it up; wait again with a longer --timeout"


@dataclass(eq=False)
class LanesStoppedError(RefusedError):
    """Lanes have stopped, so that the link cannot catch up."""

    link: str
    lane: str
    more: int
    why: str
    way: str

    @property
    def message(self) -> str:
        others = f", and {self.more:,} more" if self.more else ""
        return f"link {self.link!r} does not catch up: lane {self.lane} has stopped: {self.why}{others}"

    @property
    def hint(self) -> str:
        return self.way or f"anabranch link show {self.link}"


@dataclass(frozen=True, slots=True)
class CaughtUp:
    """A link that has copied what its source held at ``read_at_ms``, but for ``behind`` records that were allowed."""

    link: str
    read_at_ms: int
    behind: int


async def wait(
    source: Cluster, target: Cluster, link_id: str, lag: int, longest_s: float | None, tell: Tell
) -> CaughtUp:
    """Wait until no lane is further behind than ``lag``, and the target holds what was copied.

    Raises UnknownLinkError, NotCaughtUpError, LanesStoppedError, CopyGoneError, ControlTopicsRecreatedError,
    ClusterError.
    """
    aim = await goal(source, target, link_id)
    statuses = LinkStatusReader(target)
    found, status = await until_within(aim, lambda: statuses.of(link_id), lag, longest_s, tell)
    await check_held(target, status)
    return CaughtUp(link_id, aim.read_at_ms, found.records)


async def until_within(
    goal: Goal,
    read: Callable[[], Awaitable[LinkStatus]],
    lag: int,
    longest_s: float | None,
    tell: Tell,
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> tuple[Remaining, LinkStatus]:
    """Look every second until no lane is further behind than ``lag``, and return what was seen then.

    Raises NotCaughtUpError, LanesStoppedError.
    """
    began = clock()
    while True:
        status = await read()
        found = remaining_of(goal, status)
        if found.within(lag):
            return found, status
        if found.stopped:
            raise _stopped(goal.link, found)
        if longest_s is not None and clock() - began >= longest_s:
            raise NotCaughtUpError(goal.link, longest_s, why(found, status))
        await tell(found, status)
        await sleep(INTERVAL_S)


def why(found: Remaining, status: LinkStatus) -> str:
    """What is left, in words."""
    number = sum(1 for one in found.behind.values() if one)
    waiting = len(found.not_begun) or found.missing
    parts = [f"{found.records:,} records of {lanes_of(number)} left"] if found.records else []
    parts += [f"{lanes_of(waiting)} not begun"] if waiting else []
    return ", ".join([*parts, f"the link is {state_word(status, totals(status))}"])


def _stopped(link: str, found: Remaining) -> LanesStoppedError:
    lane = found.stopped[0]
    ways = ways_out(lane.stop_reason, link, lane.source.topic, lane.source.partition)
    reason = lane.stop_reason or "no reason persisted"
    return LanesStoppedError(link, str(lane.source), len(found.stopped) - 1, reason, ways[0] if ways else "")
