"""The status of the links of a target, from its control topics."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import replace

from anabranch.kafka.cluster import Cluster
from anabranch.kafka.settling import SETTLE_S
from anabranch.model.clock import now_ms
from anabranch.model.link import LinkRecord, UnknownLinkError
from anabranch.model.reports import LinkStatus
from anabranch.model.topics import TopicId
from anabranch.state.codecs import topics as control_topics
from anabranch.state.topics.control import Links, Progress, present
from anabranch.state.topics.recreated import finding, recreated, topic_ids
from anabranch.state.topics.status import status_of

_NO_LEADER = 5


async def has_control_topics(cluster: Cluster) -> bool:
    """Whether there are any: the one that names links.  Those that were made just now are waited for."""
    deadline = time.monotonic() + SETTLE_S
    while True:
        answer = await cluster.metadata(list(control_topics.ALL))
        errors = {answer.topics[name].error for name in control_topics.ALL}
        if _NO_LEADER not in errors or time.monotonic() > deadline:
            return answer.topics[control_topics.LINKS].error == 0
        await asyncio.sleep(0.05)


async def stored(target: Cluster, link_id: str) -> tuple[Links, LinkRecord]:
    """What a target stores of its links, and of this one; raises UnknownLinkError, ClusterError."""
    links = Links(target)
    if await has_control_topics(target):
        await links.sync()
    record = links.links.get(link_id)
    if record is None:
        raise UnknownLinkError(link_id, target.name)
    return links, record


class LinkStatusReader:
    """The links of one target, read again and again: what was read before is kept, and only what is new is fetched."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._links = Links(cluster)
        self._progress = Progress(cluster)
        self._is_there = False
        self._has_progress = False

    async def read(self) -> list[LinkStatus]:
        """Every link of the cluster by id, with its lanes, its plan and when this was read; raises ClusterError.

        After an error begin with a new one: a control topic may have been truncated or recreated.
        """
        if not self._is_there and not await has_control_topics(self._cluster):
            return []
        self._is_there = True
        links, progress = self._links, self._progress
        await links.sync()
        self._has_progress = self._has_progress or bool(await present(self._cluster, [control_topics.PROGRESS]))
        if self._has_progress:
            await progress.sync()
        read_at = now_ms()
        found = []
        for name in sorted(links.links):
            await progress.lanes.decode(name)
            found.append(status_of(links, progress, name, read_at))
        now = await topic_ids(self._cluster)
        return [await self._compared(status, now) for status in found]

    async def _compared(self, status: LinkStatus, now: Mapping[str, TopicId]) -> LinkStatus:
        """With a finding where control topics are not those that the link was begun with."""
        others = await recreated(self._cluster, status.record.control_topics, now)
        return replace(status, findings=(finding(status.spec.id, others), *status.findings)) if others else status

    async def of(self, link_id: str) -> LinkStatus:
        """One link, as ``read`` has it; raises UnknownLinkError, ClusterError."""
        for status in await self.read():
            if status.spec.id == link_id:
                return status
        raise UnknownLinkError(link_id, self._cluster.name)


async def statuses(cluster: Cluster) -> list[LinkStatus]:
    """Every link of the cluster by id, with its lanes, its plan and when this was read."""
    return await LinkStatusReader(cluster).read()
