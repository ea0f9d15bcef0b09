"""The worker processes of a link's Spark job: who owns lanes, and a SIGKILL to one of them."""

from __future__ import annotations

import os
import re
import signal
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from anabranch.errors import AnabranchError
from anabranch.model.cluster import ClusterContext
from anabranch.model.lane import LaneProgress, LaneState
from anabranch.model.reports import LinkStatus
from qa import links

_OWNER = re.compile(r"-(\d+)-[0-9a-f]{8}$")
_LOOK_S, _LONGEST_S = 0.5, 300.0


@dataclass(frozen=True, slots=True)
class Killed:
    """A worker that was killed while it held ``lanes`` of ``of``, and after how many seconds others had taken over."""

    pid: int
    lanes: int
    of: int
    seconds: float


def kill_one(target: ClusterContext, link: str, goes_on: Callable[[], bool]) -> Killed | None:
    """Kill the worker that owns most lanes, and wait until others copy them on.

    None where ``goes_on`` ends before, or that takes longer than anybody watches.
    """
    status = _until(target, link, goes_on, lambda found: bool(_owned(found)))
    if status is None:
        return None
    ((pid, lanes),) = _owned(status).most_common(1)
    before = {lane.lane: lane for lane in status.lanes if owner_pid(lane) == pid}
    os.kill(pid, signal.SIGKILL)  # nothing is said to anyone and nothing is flushed
    struck = time.monotonic()

    def taken_over(found: LinkStatus) -> bool:
        mine = [lane for lane in found.lanes if lane.lane in before]
        return bool(mine) and all(owner_pid(lane) not in (None, pid) for lane in mine)

    if _until(target, link, goes_on, taken_over) is None:
        return None
    return Killed(pid, lanes, len(status.lanes), time.monotonic() - struck)


def owner_pid(lane: LaneProgress) -> int | None:
    """The process id of the worker that last persisted the lane: owners are named after their process."""
    found = _OWNER.search(lane.owner)
    return int(found.group(1)) if found else None


def _owned(status: LinkStatus) -> Counter[int]:
    active = [lane for lane in status.lanes if lane.state in (LaneState.COPYING, LaneState.FOLLOWING)]
    return Counter(pid for lane in active if (pid := owner_pid(lane)) is not None)


def _until(
    target: ClusterContext, link: str, goes_on: Callable[[], bool], there: Callable[[LinkStatus], bool]
) -> LinkStatus | None:
    deadline = time.monotonic() + _LONGEST_S
    while goes_on() and time.monotonic() < deadline:
        try:
            status = links.show(target, link)
        except AnabranchError:  # it is not made yet
            status = None
        if status is not None and there(status):
            return status
        time.sleep(_LOOK_S)
    return None
