"""The status of a link's comparison."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from anabranch.kafka.cluster import Cluster
from anabranch.model.clock import now_ms
from anabranch.state.codecs.verified import NeverVerifiedError, VerifyStatus
from anabranch.state.topics.verified import VerifiedTopic

LOOK_S = 1.0
"""How often a comparison is looked at that is followed."""

TellStatus = Callable[[VerifyStatus], Awaitable[None]]
"""Hears what a look at a comparison that runs has found."""


async def nobody(_: VerifyStatus) -> None:
    """Nobody follows it."""


async def show(target: Cluster, link_id: str) -> VerifyStatus:
    """The link's comparison; raises NeverVerifiedError."""
    verified = VerifiedTopic(target)
    await verified.sync()
    return status_of(verified, link_id)


async def follow(target: Cluster, link_id: str, tell: TellStatus = nobody, look_s: float = LOOK_S) -> VerifyStatus:
    """The link's comparison once it no longer runs, as far as one can tell from its target.

    ``tell`` hears what each look before has found.  Raises NeverVerifiedError, ClusterError.
    """
    while (found := await show(target, link_id)).running:
        await tell(found)
        await asyncio.sleep(look_s)
    return found


def status_of(verified: VerifiedTopic, link_id: str) -> VerifyStatus:
    """The status from control topics that were read; raises NeverVerifiedError."""
    run = verified.runs.get(link_id)
    if run is None:
        raise NeverVerifiedError(link_id)
    lanes = tuple(lane for name, lane in sorted(verified.lanes.items()) if name.startswith(f"{link_id}/"))
    return VerifyStatus(run, lanes, verified.reports.get(link_id), now_ms())
