"""Deleting a link: the topics are given back their own configs, and the control topics forget it."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass

from anabranch.errors import AnabranchError
from anabranch.kafka import admin
from anabranch.kafka.cluster import Cluster
from anabranch.model import configs as rules
from anabranch.model.clock import now_ms
from anabranch.model.plans import check_holds, plan_hash
from anabranch.model.reasons import Reason, Severity
from anabranch.model.reports import DeletePlan, DeleteReport, LinkStatus
from anabranch.operations.links.show import show
from anabranch.state.codecs import topics as control_topics
from anabranch.state.codecs.links import topic_key
from anabranch.state.topics.control import Links, Progress, Runs, ensure_topics, present
from anabranch.state.topics.journal import GapRecords, Journal
from anabranch.state.topics.positions import Positions

#: Workers file once a second; one that has read of its link's deletion files nothing more.
_SILENCE_MS = 2500
_LONGEST_LAST_WORD_S = 15.0


@dataclass(frozen=True, slots=True)
class _Stored:
    """What the control topics of a target hold, as a deletion reads and forgets it."""

    links: Links
    runs: Runs
    progress: Progress
    journal: Journal
    gap_records: GapRecords
    positions: Positions

    @classmethod
    async def read(cls, target: Cluster) -> _Stored:
        """Control topics that are missing hold nothing to forget."""
        stored = cls(
            Links(target), Runs(target), Progress(target), Journal(target), GapRecords(target), Positions(target)
        )
        there = await present(target)
        for name, read in (
            (control_topics.LINKS, stored.links.sync),
            (control_topics.RUNS, stored.runs.sync),
            (control_topics.PROGRESS, stored.progress.sync),
            (control_topics.CLAIMS, stored.journal.read),
            (control_topics.GAP_RECORDS, stored.gap_records.read),
        ):
            if name in there:
                await read()
        await stored.positions.sync()
        return stored

    def lanes(self, link_id: str) -> set[str]:
        """The lanes that a link has progress or runs of."""
        return {str(lane) for lane in {*self.progress.lanes, *self.runs.segments} if lane.link == link_id}

    def plan(self, status: LinkStatus) -> DeletePlan:
        """What would be forgotten, and given back."""
        link_id = status.spec.id
        topics, lanes, claims = self.links.topics_of(link_id), self.lanes(link_id), self.journal.claims
        return DeletePlan(
            link=link_id,
            topics=tuple(sorted(topics, key=lambda topic: topic.target)),
            restore={topic.target: rules.restored_configs(topic.configs) for topic in topics},
            forget={
                control_topics.LINKS: 1 + len(topics) + len(self.links.decisions[link_id]),
                control_topics.CLAIMS: sum(len(claims.producer_ids(lane)) for lane in lanes),
                control_topics.GAP_RECORDS: sum(len(self.gap_records.gap_records.keys(lane)) for lane in lanes),
                control_topics.RUNS: sum(len(n) for lane, n in self.runs.segments.items() if lane.link == link_id),
                control_topics.PROGRESS: sum(lane.link == link_id for lane in self.progress.lanes)
                + (status.plan is not None)
                + (link_id in self.progress.stops),
                control_topics.POSITIONS: self.positions.number(link_id),
            },
            running=status.running,
            hash=_hash(status, [topic_key(link_id, topic.target_id) for topic in topics]),
        )


async def plan(target: Cluster, link_id: str) -> DeletePlan:
    """What deleting a link means; raises UnknownLinkError."""
    stored = await _Stored.read(target)
    return stored.plan(await show(target, link_id))


async def apply(target: Cluster, planned: DeletePlan) -> DeleteReport:
    """Delete the link; raises UnknownLinkError, and PlanChangedError where the plan is another one by now.

    Workers that have not read of the deletion yet go on filing: what they persisted is forgotten a second time.
    """
    link_id = planned.link
    status = await show(target, link_id)
    await ensure_topics(target)
    stored = await _Stored.read(target)
    now = stored.plan(status)
    check_holds(f"link {link_id!r}", planned, now, f"anabranch link delete {link_id}")
    lanes = stored.lanes(link_id)
    ids = {lane: stored.journal.claims.producer_ids(lane) for lane in lanes}
    findings = await _restore(target, now)
    await stored.links.forget(link_id)
    if await _quiet(stored.progress, link_id):
        # Until it read of the deletion, a planner held the topics open again and workers went on filing.
        findings = await _restore(target, now)
        for part in (stored.links, stored.runs, stored.progress):
            await part.sync()
        claims = await stored.journal.read()
        ids = {lane: claims.producer_ids(lane) for lane in lanes}
        await stored.links.forget(link_id)
    await stored.positions.sync()
    await stored.positions.forget(link_id)
    await stored.progress.forget(link_id)
    await stored.runs.forget(link_id)
    await stored.gap_records.read()
    await stored.gap_records.forget(key for lane in lanes for key in stored.gap_records.gap_records.keys(lane))
    await stored.journal.forget({lane: producer_ids for lane, producer_ids in ids.items() if producer_ids})
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


async def _quiet(progress: Progress, link_id: str) -> bool:
    """Wait until no worker files the link's progress any more; False where none did to begin with."""
    deadline = time.monotonic() + _LONGEST_LAST_WORD_S
    waited = False
    while time.monotonic() < deadline:
        heard = [lane.updated_at_ms for lane in progress.lanes.of(link_id)]
        if not heard or now_ms() - max(heard) > _SILENCE_MS:
            break
        waited = True
        await asyncio.sleep(0.2)
        await progress.sync()
    return waited


def _hash(status: LinkStatus, topics: list[bytes]) -> str:
    keys = sorted(key.decode() for key in topics)
    return plan_hash(status.spec.id, status.wanted.revision, status.record.created_at_ms, keys)
