"""Accepting what a link may not do by itself: shown first, stored when told."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from dataclasses import dataclass, replace

from anabranch.errors import InvalidFieldError, RefusedError
from anabranch.kafka.security import open_cluster
from anabranch.model.cluster import ClusterContext
from anabranch.model.decisions import AcceptPlan
from anabranch.operations.links.choices import Seen
from anabranch.operations.links.recovering import keep
from anabranch.state.topics.control import ensure_topics
from anabranch.state.topics.recreated import topic_ids


@dataclass(eq=False)
class NothingToAcceptError(RefusedError):
    """Nothing waits for a decision."""

    link: str
    where: str

    @property
    def message(self) -> str:
        where = f" about {self.where}" if self.where else ""
        return f"nothing in link {self.link!r} waits for a decision{where}"

    @property
    def hint(self) -> str:
        return (
            f"`anabranch link show {self.link}` says why a lane stands; what you have mended goes on with `link resume`"
        )


@dataclass(eq=False)
class DecisionMovedError(RefusedError):
    """What was shown is no longer so."""

    link: str

    @property
    def message(self) -> str:
        return f"link {self.link!r} changed since its plan was shown"

    @property
    def hint(self) -> str:
        return f"look again: `anabranch link accept {self.link}`"


def accept(
    source: ClusterContext,
    target: ClusterContext,
    link_id: str,
    where: str | None,
    execute: bool,
    fingerprint: str | None = None,
    at: int | None = None,
) -> AcceptPlan:
    """Plan what accepting means for a link, a source topic or ``topic-partition``; store it if ``execute``.

    ``at`` is the source offset at which one lane, ``topic-partition``, is to go on.
    Raises NothingToAcceptError; with a fingerprint DecisionMovedError where the plan is no longer that one.
    """
    return asyncio.run(_accept(source, target, link_id, where, execute, fingerprint, at))


def parse_place(where: str | None, topics: Collection[str] | None = None) -> tuple[str | None, int | None]:
    """The topic and the partition of ``TOPIC`` or ``TOPIC-PARTITION``; raises InvalidFieldError.

    ``topics`` are those that there are, and tell whether ``flights-2`` is a topic; without them it is a partition.
    ``TOPIC:PARTITION`` is read as well.
    """
    if where is None:
        return None, None
    topic, colon, partition = where.rpartition(":")
    if not colon:
        topic, dash, partition = where.rpartition("-")
        is_partition = bool(topic and dash and _is_number(partition)) and (topics is None or topic in topics)
        if topics is not None and where in topics and is_partition:
            problem = f"{where!r} is a topic, and a partition of topic {topic!r}"
            raise InvalidFieldError("link", "place", problem, f"for the partition write {topic}:{partition}")
        if not is_partition and topics is not None:
            return where, None
    if not (topic and _is_number(partition)):
        raise InvalidFieldError("link", "place", f"{where!r} is not TOPIC-PARTITION", "for example orders-3")
    return topic, int(partition)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal()


async def _accept(
    source: ClusterContext,
    target: ClusterContext,
    link_id: str,
    where: str | None,
    execute: bool,
    fingerprint: str | None,
    at: int | None,
) -> AcceptPlan:
    async with open_cluster(source) as source_cluster, open_cluster(target) as target_cluster:
        seen = await Seen.look(source_cluster, target_cluster, link_id)
        topic, partition = parse_place(where, [one.source for one in seen.links.topics_of(link_id)])
        if at is not None and partition is None:
            fix = f"anabranch link accept {link_id} TOPIC-PARTITION --at {at}"
            raise InvalidFieldError("link accept", "--at", "an offset is of one partition", fix)
        plan = await seen.plan(topic, partition, at)
        if not (plan.choices or plan.remake or plan.recreated):
            raise NothingToAcceptError(link_id, where or "")
        if not execute:
            return plan
        if fingerprint is not None and fingerprint != plan.fingerprint:
            raise DecisionMovedError(link_id)
        if plan.remake:
            await ensure_topics(target_cluster, plan.remake)
        await keep(target_cluster, plan.choices)
        wanted = replace(seen.record.wanted, revision=seen.record.wanted.revision + 1)
        decisions = [choice.decision for choice in plan.choices]
        ids = {**seen.record.control_topics}
        for name in (*plan.remake, *plan.recreated):
            ids.pop(name, None)  # where a broker does not know the new one yet, the next plan stores its id
        ids |= await topic_ids(target_cluster)
        record = replace(seen.record, wanted=wanted, control_topics=ids)
        await seen.links.decide(record, decisions, plan.remember, plan.forget)
        return replace(plan, executed=True)
