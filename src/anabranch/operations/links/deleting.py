"""Deleting a link: the topics are given back their own configs, and the control topics forget it."""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from dataclasses import dataclass, replace

from anabranch.errors import AnabranchError, RefusedError
from anabranch.kafka import admin
from anabranch.kafka.cluster import Cluster
from anabranch.model import configs as rules
from anabranch.model.clock import now_ms
from anabranch.model.link import UnknownLinkError
from anabranch.model.reports import DeletePlan, Finding, LinkStatus, Severity
from anabranch.operations.links.standing import statuses
from anabranch.state.codecs import topics as control_topics
from anabranch.state.codecs.links import topic_key
from anabranch.state.topics.control import Links, Progress, Runs, ensure_topics, present
from anabranch.state.topics.journal import Journal, Jumps
from anabranch.state.topics.positions import Positions

#: Workers file once a second; one that has read of its link's deletion files nothing more.
_SILENCE_MS = 2500
_LONGEST_LAST_WORD_S = 15.0


@dataclass(eq=False)
class WorldMovedError(RefusedError):
    """What a plan saw is no longer so."""

    link: str

    @property
    def message(self) -> str:
        return f"link {self.link!r} changed since its deletion was planned"

    @property
    def hint(self) -> str:
        return f"look again: `anabranch link delete {self.link}`"


async def delete(cluster: Cluster, link_id: str, execute: bool, fingerprint: str | None) -> DeletePlan:
    """Plan the deletion, and carry it out if ``execute``.  Control topics that are missing hold nothing to forget.

    Raises UnknownLinkError, and WorldMovedError where ``fingerprint`` is given and the plan is another one by now.
    Workers that have not read of the deletion yet go on filing: what they filed is forgotten a second time.
    """
    status = next((s for s in await statuses(cluster) if s.spec.id == link_id), None)
    if status is None:
        raise UnknownLinkError(link_id, cluster.name)
    links, runs, journal, jumps = Links(cluster), Runs(cluster), Journal(cluster), Jumps(cluster)
    progress, positions = Progress(cluster), Positions(cluster)
    if execute:
        await ensure_topics(cluster)
    there = await present(cluster)
    for name, read in (
        (control_topics.LINKS, links.sync),
        (control_topics.RUNS, runs.sync),
        (control_topics.PROGRESS, progress.sync),
        (control_topics.CLAIMS, journal.read),
        (control_topics.JUMPS, jumps.read),
    ):
        if name in there:
            await read()
    await positions.sync()
    claims = journal.claims
    topics = links.topics_of(link_id)
    lanes = {str(lane) for lane in {*progress.lanes, *runs.segments} if lane.link == link_id}
    ids = {lane: claims.producer_ids(lane) for lane in lanes}
    plan = DeletePlan(
        link=link_id,
        topics=tuple(sorted(topics, key=lambda topic: topic.target)),
        restore={topic.target: rules.restored_configs(topic.configs) for topic in topics},
        forget={
            control_topics.LINKS: 1 + len(topics) + len(links.decisions[link_id]),
            control_topics.CLAIMS: sum(map(len, ids.values())),
            control_topics.JUMPS: sum(len(jumps.jumps.keys(lane)) for lane in lanes),
            control_topics.RUNS: sum(len(n) for lane, n in runs.segments.items() if lane.link == link_id),
            control_topics.PROGRESS: sum(lane.link == link_id for lane in progress.lanes)
            + (status.plan is not None)
            + (link_id in progress.stops),
            control_topics.POSITIONS: positions.number(link_id),
        },
        running=status.running,
        fingerprint=_fingerprint(status, [topic_key(link_id, topic.target_id) for topic in topics]),
    )
    if not execute:
        return plan
    if fingerprint is not None and fingerprint != plan.fingerprint:
        raise WorldMovedError(link_id)
    findings = await _restore(cluster, plan)
    await links.forget(link_id)
    if await _quiet(progress, link_id):
        # Until it read of the deletion, a planner held the topics open again and workers went on filing.
        findings = await _restore(cluster, plan)
        for part in (links, runs, progress):
            await part.sync()
        claims = await journal.read()
        ids = {lane: claims.producer_ids(lane) for lane in lanes}
        await links.forget(link_id)
    await positions.sync()
    await positions.forget(link_id)
    await progress.forget(link_id)
    await runs.forget(link_id)
    await jumps.read()
    await jumps.forget(key for lane in lanes for key in jumps.jumps.keys(lane))
    await journal.forget({lane: producer_ids for lane, producer_ids in ids.items() if producer_ids})
    return replace(plan, executed=True, findings=(*plan.findings, *findings))


async def _restore(cluster: Cluster, plan: DeletePlan) -> list[Finding]:
    """Give the topics their wanted configs; what cannot be done is a finding."""
    findings = []
    for name, changes in plan.restore.items():
        try:
            await admin.alter_topic_configs(cluster, name, changes)
        except AnabranchError as error:
            findings.append(Finding(Severity.WARNING, f"topic {name}: {error.message}", error.hint))
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


def _fingerprint(status: LinkStatus, topics: list[bytes]) -> str:
    seen = json.dumps(
        [
            status.spec.id,
            status.wanted.revision,
            status.record.created_at_ms,
            sorted(key.decode() for key in topics),
        ]
    )
    return hashlib.sha256(seen.encode()).hexdigest()[:16]
