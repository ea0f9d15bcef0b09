"""Deleting a link: the topics are given back their own configs, and the control topics forget it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from anabranch.errors import AnabranchError
from anabranch.kafka import admin
from anabranch.kafka.cluster import Cluster
from anabranch.model import configs as rules
from anabranch.model.clock import now_ms
from anabranch.model.link import UnknownLinkError
from anabranch.model.plans import PlanChangedError, check_holds, plan_hash
from anabranch.model.reasons import Reason, Severity
from anabranch.model.reports import DeletePlan, DeleteReport
from anabranch.operations.links.status import has_control_topics
from anabranch.state.codecs import topics as control_topics
from anabranch.state.codecs.links import topic_key
from anabranch.state.topics.control import Links, MappedRanges, OvertakenError, Progress, ensure_topics, present
from anabranch.state.topics.journal import GapRecords, Journal
from anabranch.state.topics.positions import Positions
from anabranch.state.topics.status import status_of

#: Workers file once a second; one that has read of its link's deletion files nothing more.
_SILENCE_MS = 2500
_LONGEST_LAST_WORD_S = 15.0


@dataclass(frozen=True, slots=True)
class _Stored:
    """What the control topics of a target hold, as a deletion reads and forgets it."""

    links: Links
    ranges: MappedRanges
    progress: Progress
    journal: Journal
    gap_records: GapRecords
    positions: Positions

    @classmethod
    async def read(cls, target: Cluster) -> _Stored:
        """Control topics that are missing hold nothing to forget."""
        stored = cls(
            Links(target),
            MappedRanges(target),
            Progress(target),
            Journal(target),
            GapRecords(target),
            Positions(target),
        )
        there = await present(target)
        for name, read in (
            (control_topics.LINKS, stored.links.sync),
            (control_topics.RUNS, stored.ranges.sync),
            (control_topics.PROGRESS, stored.progress.sync),
            (control_topics.CLAIMS, stored.journal.read),
            (control_topics.GAP_RECORDS, stored.gap_records.read),
        ):
            if name in there:
                await read()
        await stored.positions.sync()
        return stored

    async def sync(self) -> None:
        """Read what changed, where no control topic is missing."""
        for part in (self.links, self.ranges, self.progress, self.positions):
            await part.sync()
        await self.journal.read()
        await self.gap_records.read()

    def lanes(self, link_id: str) -> set[str]:
        """The lanes that a link has progress or ranges of."""
        return {str(lane) for lane in {*self.progress.lanes, *self.ranges.segments} if lane.link == link_id}

    def plan(self, link_id: str) -> DeletePlan:
        """What would be forgotten, and given back; of a link whose deletion broke off, what is left of it."""
        topics, lanes, claims = self.links.topics_of(link_id), self.lanes(link_id), self.journal.claims
        is_stored = link_id in self.links.links
        status = status_of(self.links, self.progress, link_id, now_ms()) if is_stored else None
        keys = sorted(topic_key(link_id, topic.target_id).decode() for topic in topics)
        rests_on: list[object] = [link_id, keys]
        if status is not None:
            rests_on = [link_id, status.wanted.revision, status.record.created_at_ms, keys]
        return DeletePlan(
            link=link_id,
            topics=tuple(sorted(topics, key=lambda topic: topic.target)),
            restore={topic.target: rules.restored_configs(topic.configs) for topic in topics},
            forget={
                control_topics.LINKS: is_stored + len(topics) + len(self.links.decisions[link_id]),
                control_topics.CLAIMS: sum(len(claims.claims(lane)) for lane in lanes),
                control_topics.GAP_RECORDS: sum(len(self.gap_records.gap_records.keys(lane)) for lane in lanes),
                control_topics.RUNS: sum(len(n) for lane, n in self.ranges.segments.items() if lane.link == link_id),
                control_topics.PROGRESS: sum(lane.link == link_id for lane in self.progress.lanes)
                + (link_id in self.progress.plans)
                + (link_id in self.progress.stops),
                control_topics.POSITIONS: self.positions.number(link_id),
            },
            running=status is not None and status.running,
            hash=plan_hash(*rests_on),
        )

    async def drop(self, target: Cluster, planned: DeletePlan) -> None:
        """Delete the link's own record; raises PlanChangedError, UnknownLinkError where somebody was faster."""
        link_id = planned.link
        try:
            await self.links.drop(link_id)
        except OvertakenError as error:
            if link_id not in self.links.links:
                raise UnknownLinkError(link_id, target.name) from error
            raise PlanChangedError(f"link {link_id!r}", planned.hash, "", f"anabranch link delete {link_id}") from error

    async def forget(self, link_id: str) -> bool:
        """Forget all that is left of a link that is stored no more, last its topics and decisions.

        By these `link create` knows that a deletion is under way, or broke off, and by progress and runs the next
        deletion finds the lanes: so a new link of the name begins when all is forgotten, and what is forgotten here
        is never its own.  A link that never had a topic has nothing to know it by: False, and the rest is left, where
        one is stored again.
        """
        lanes = self.lanes(link_id)
        ids = {lane: found for lane in lanes if (found := self.journal.claims.producer_ids(lane))}
        keys = [key for lane in lanes for key in self.gap_records.gap_records.keys(lane)]
        forgets: tuple[Callable[[], Awaitable[None]], ...] = (
            lambda: self.positions.forget(link_id),
            lambda: self.gap_records.forget(keys),
            lambda: self.journal.forget(ids),
            lambda: self.ranges.forget(link_id),
            lambda: self.progress.forget(link_id),
            lambda: self.links.forget(link_id),
        )
        for forget in forgets:
            await self.links.sync()
            if link_id in self.links.links:
                return False
            await forget()
        return True


async def _look(target: Cluster, link_id: str) -> tuple[_Stored, DeletePlan]:
    """What is stored of a link, and the plan to delete it; raises UnknownLinkError where nothing is."""
    stored = await _Stored.read(target)
    found = stored.plan(link_id)
    if not any(found.forget.values()):
        raise UnknownLinkError(link_id, target.name)
    return stored, found


async def plan(target: Cluster, link_id: str) -> DeletePlan:
    """What deleting a link means, or finishing a deletion that broke off; raises UnknownLinkError."""
    if not await has_control_topics(target):
        raise UnknownLinkError(link_id, target.name)
    return (await _look(target, link_id))[1]


async def apply(target: Cluster, planned: DeletePlan) -> DeleteReport:
    """Delete the link; raises UnknownLinkError, and PlanChangedError where the plan is another one by now.

    First the link's own record goes, by which its workers end; then all that is left of it.  Wherever this ends
    early, deleting the link once more does the rest, and nobody creates a link of the name before.

    The race: workers that have not read of the deletion yet go on filing, so what they persist is waited for and
    forgotten with the rest, and the configs are given back after a planner may have held them again.
    """
    link_id = planned.link
    if not await has_control_topics(target):
        raise UnknownLinkError(link_id, target.name)
    stored, now = await _look(target, link_id)
    check_holds(f"link {link_id!r}", planned, now, f"anabranch link delete {link_id}")
    await ensure_topics(target)
    if link_id in stored.links.links:
        await stored.drop(target, now)
    await _quiet(stored.progress, link_id)
    await stored.sync()
    findings = await _restore(target, stored.plan(link_id)) if link_id not in stored.links.links else []
    if not await stored.forget(link_id):
        what = f"link {link_id!r} was created again meanwhile: what is stored under its name now was left"
        findings.append(Reason.found(Severity.WARNING, what, f"anabranch link show {link_id}"))
    return DeleteReport(now, tuple(findings))


async def _restore(cluster: Cluster, plan: DeletePlan) -> list[Reason]:
    """Give the topics their wanted configs; what cannot be done is a finding."""
    findings = []
    for name, changes in plan.restore.items():
        try:
            await admin.alter_topic_configs(cluster, name, changes)
        except AnabranchError as error:
            findings.append(Reason.found(Severity.WARNING, f"topic {name}: {error.message}", error.hint))
    return findings


async def _quiet(progress: Progress, link_id: str) -> None:
    """Wait until no worker files the link's progress any more."""
    deadline = time.monotonic() + _LONGEST_LAST_WORD_S
    while time.monotonic() < deadline:
        heard = [lane.updated_at_ms for lane in progress.lanes.of(link_id)]
        if not heard or now_ms() - max(heard) > _SILENCE_MS:
            break
        await asyncio.sleep(0.2)
        await progress.sync()
