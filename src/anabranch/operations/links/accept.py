"""Accept what a link may not do by itself: planned first, stored when applied."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from anabranch.errors import InvalidFieldError, RefusedError
from anabranch.kafka.cluster import Cluster
from anabranch.model.decisions import AcceptPlan, AcceptReport
from anabranch.model.plans import PlanChangedError, check_holds
from anabranch.operations.links.map_recovery import keep
from anabranch.operations.links.pending_decisions import LinkSnapshot
from anabranch.state.topics.control import OvertakenError, ensure_topics
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

    _hint = "`anabranch link show {link}` says why a lane is stopped; after a fix, `link resume` goes on"


async def plan(
    source: Cluster, target: Cluster, link_id: str, where: str | None = None, at: int | None = None
) -> AcceptPlan:
    """What accepting means for a link, a source topic or ``topic-partition``.

    ``at`` is the source offset at which one lane, ``topic-partition``, is to go on.
    Raises NothingToAcceptError, HistoryLostError, InvalidFieldError, UnknownLinkError.
    """
    return await _plan(await LinkSnapshot.read(source, target, link_id), link_id, where, at)


async def apply(source: Cluster, target: Cluster, planned: AcceptPlan) -> AcceptReport:
    """Store what was decided; raises PlanChangedError where something else waits by now, and what ``plan`` raises.

    So it does where somebody changes the link meanwhile, and then nothing was decided.
    """
    snapshot = await LinkSnapshot.read(source, target, planned.link)
    now = await _plan(snapshot, planned.link, planned.where, planned.at)
    check_holds(f"link {planned.link!r}", planned, now, _command(planned))
    if now.remake:
        await ensure_topics(target, now.remake)
    await keep(target, now.pending)
    wanted = replace(snapshot.record.wanted, revision=snapshot.record.wanted.revision + 1)
    ids = {**snapshot.record.control_topics}
    for name in (*now.remake, *now.recreated):
        ids.pop(name, None)  # where a broker does not know the new one yet, the next plan stores its id
    ids |= await topic_ids(target)
    record = replace(snapshot.record, wanted=wanted, control_topics=ids)
    try:
        await snapshot.links.decide(record, [pending.decision for pending in now.pending], now.remember, now.forget)
    except OvertakenError as error:
        raise PlanChangedError(f"link {planned.link!r}", planned.hash, "", _command(planned)) from error
    return AcceptReport(now)


async def _plan(snapshot: LinkSnapshot, link_id: str, where: str | None, at: int | None) -> AcceptPlan:
    topic, partition = parse_partition(where, [one.source for one in snapshot.links.topics_of(link_id)])
    if at is not None and partition is None:
        fix = f"anabranch link accept {link_id} TOPIC-PARTITION --at {at}"
        raise InvalidFieldError("link accept", "--at", "an offset is of one partition", fix)
    found = await snapshot.plan(topic, partition, at)
    if not (found.pending or found.remake or found.recreated):
        raise NothingToAcceptError(link_id, where or "")
    return replace(found, where=where, at=at)


def _command(planned: AcceptPlan) -> str:
    """The command that shows what waits."""
    where = "" if planned.where is None else f" {planned.where}"
    return f"anabranch link accept {planned.link}{where}" + ("" if planned.at is None else f" --at {planned.at}")


def parse_partition(where: str | None, topics: Collection[str] | None = None) -> tuple[str | None, int | None]:
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
            raise InvalidFieldError("link", "partition", problem, f"for the partition write {topic}:{partition}")
        if not is_partition and topics is not None:
            return where, None
    if not (topic and _is_number(partition)):
        raise InvalidFieldError("link", "partition", f"{where!r} is not TOPIC-PARTITION", "for example orders-3")
    return topic, int(partition)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal()
