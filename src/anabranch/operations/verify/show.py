"""The status of a link's comparison."""

from __future__ import annotations

from anabranch.kafka.cluster import Cluster
from anabranch.model.clock import now_ms
from anabranch.state.codecs.verified import NeverVerifiedError, VerifyStatus
from anabranch.state.topics.verified import VerifiedTopic


async def show(target: Cluster, link_id: str) -> VerifyStatus:
    """The link's comparison; raises NeverVerifiedError."""
    verified = VerifiedTopic(target)
    await verified.sync()
    return status_of(verified, link_id)


def status_of(verified: VerifiedTopic, link_id: str) -> VerifyStatus:
    """The status from control topics that were read; raises NeverVerifiedError."""
    run = verified.runs.get(link_id)
    if run is None:
        raise NeverVerifiedError(link_id)
    lanes = tuple(lane for name, lane in sorted(verified.lanes.items()) if name.startswith(f"{link_id}/"))
    return VerifyStatus(run, lanes, verified.reports.get(link_id), now_ms())
