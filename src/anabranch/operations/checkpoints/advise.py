"""What advice rests on, gathered: the checkpoint's positions, where they lead, both clusters as they live.

Nothing is written. Both clusters are looked at twice, ``measure_s`` apart, where a group is named that tells how fast
the job reads: its commits rise with the job's checkpoints, so that a shorter look than their interval may see none.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from anabranch.checkpoints.advice import Advice, Answer, Attempt, Facts, GroupFacts, Lane, Log, Onward, There
from anabranch.checkpoints.advice import advise as ranked
from anabranch.checkpoints.advice.facts import READ_FROM
from anabranch.checkpoints.flink.checkpoint import FlinkCheckpoint
from anabranch.checkpoints.job import Checkpoint, Format, Page
from anabranch.checkpoints.plan import Transactions, Uncommitted, Wish
from anabranch.checkpoints.position import Position, Role
from anabranch.checkpoints.route import Moved, Route
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.clusters import Clusters
from anabranch.kafka.groups import committed
from anabranch.kafka.log_ends import LogBounds, log_ends
from anabranch.model.cluster import ClusterContext
from anabranch.model.reasons import Reason, ReasonKind
from anabranch.model.topics import TopicPartition
from anabranch.operations.checkpoints.asked import Asked, ByLinks, ByMaps
from anabranch.operations.checkpoints.blocking import in_thread
from anabranch.operations.checkpoints.live import look
from anabranch.operations.checkpoints.planning import opened
from anabranch.operations.checkpoints.told import Told
from anabranch.operations.links.show import show
from anabranch.storage.opening import open_files

#: The version of Flink's _metadata that began to store the operators' names and uids.
_UIDS_SINCE = 5


@dataclass(frozen=True, slots=True)
class _Looked:
    """Both clusters at one moment."""

    at_s: float
    old: Mapping[TopicPartition, LogBounds]
    new: Mapping[TopicPartition, LogBounds]
    commits: Mapping[TopicPartition, int]
    there: Mapping[TopicPartition, int]


async def advise(
    clusters: Clusters,
    path: str,
    told: Told,
    wish: Wish,
    asked: Asked | None = None,
    source: ClusterContext | None = None,
) -> tuple[Advice, Onward | Reason]:
    """Every way to move the job of a checkpoint, the best first; and where it goes on on the target, if that is exact.

    ``source`` is the old cluster, where the route does not tell it. Without a route nothing is said of where positions
    lead, without a cluster nothing of its logs. Raises what reading the checkpoint and what looking at the route raise.
    """
    checkpoint = await in_thread(partial(opened, open_files(path)))
    stored, page = checkpoint.positions(), checkpoint.page()
    here, theres = await _clusters(clusters, asked, source)
    there = theres[0] if theres else None
    partitions = {one.partition for one in stored if one.role in READ_FROM}
    route: Route | None = None
    if asked is not None:
        route, _ = await look(clusters, asked, stored)
    attempts = () if route is None else _attempts(checkpoint, wish, route)
    positions = _chosen(checkpoint, wish, attempts)
    answers: dict[Position, Answer] = {} if route is None else {one: route.move(one) for one in positions}
    targets = _targets(route, answers, partitions)
    on = {answer.partition.topic: answer.cluster for answer in answers.values() if isinstance(answer, Moved)}
    sides = [(one, {at for at in targets if on.get(at.topic, "") in ("", one.name)}) for one in theres]
    first, last = await _look(clusters, here, partitions, sides, told)
    translates = asked is not None and isinstance(asked.way, ByLinks | ByMaps)
    facts = Facts(
        path,
        page,
        positions,
        told.flags,
        "" if here is None else here.name,
        "" if there is None else there.name,
        () if there is None else there.bootstrap,
        answers,
        attempts,
        _drop(checkpoint, positions, answers),
        await _lanes(clusters, asked),
        _logs(first.old, last.old, last.at_s - first.at_s),
        _logs(first.new, last.new, last.at_s - first.at_s),
        _group(told.group, route if translates else None, positions, first, last),
        *_uids(checkpoint, told),
        told.sql,
        told.downtime_s,
        _several(asked, answers) if len(theres) > 1 else (),
        _unread(page, wish),
    )
    return ranked(facts), exact_positions(answers)


def _unread(page: Page, wish: Wish) -> tuple[Reason, ...]:
    """What is wrong with the sources in question."""
    chosen = [one for one in page.sources if wish.sources is None or {one.source, one.name} & wish.sources]
    return tuple(dict.fromkeys(problem for one in chosen for problem in one.problems))


def _several(asked: Asked | None, answers: Mapping[Position, Answer]) -> tuple[There, ...]:
    """The clusters that positions lead to, where these are several, with the links and topics of each."""
    assert asked is not None and isinstance(asked.way, ByLinks)
    led: dict[str, set[tuple[str, str]]] = {}
    for one, answer in answers.items():
        if isinstance(answer, Moved):
            led.setdefault(answer.cluster, set()).add((one.partition.topic, answer.partition.topic))
    found = []
    for name in dict.fromkeys(link.target.name for link in asked.way.links if link.target.name in led):
        links = [link for link in asked.way.links if link.target.name == name]
        typed = tuple(word for link in links for word in (f"{link.link}@{name}", link.link))
        old, new = ({pair[side] for pair in led[name]} for side in (0, 1))
        found.append(There(name, links[0].target.bootstrap, typed, tuple(sorted(old)), tuple(sorted(new))))
    return tuple(found) if len(found) > 1 else ()


def _uids(checkpoint: Checkpoint, told: Told) -> tuple[bool | None, str]:
    """Whether every operator has a uid: by the user's word, else by the bytes, which tell since Flink 2.0."""
    if told.uids is not None:
        return told.uids, f"{'every' if told.uids else 'not every'} operator has one, as you say"
    if not isinstance(checkpoint, FlinkCheckpoint):
        return None, ""
    if checkpoint.metadata.version < _UIDS_SINCE:
        return None, "Flink before 2.0 stores no uids, only hashes of them"
    operators = checkpoint.metadata.operators
    without = [one.name or one.hex for one in operators if not one.uid]
    if without:
        return False, f"{len(without):,} of {len(operators):,} operators have none: {', '.join(without[:3])}"
    return True, f"all {len(operators):,} operators have one"


async def _clusters(
    clusters: Clusters, asked: Asked | None, source: ClusterContext | None
) -> tuple[ClusterContext | None, tuple[ClusterContext, ...]]:
    """The old cluster, of several links the first one's, and the new ones, as far as they are known."""
    if asked is None:
        return source, ()
    if isinstance(asked.way, ByLinks):
        first = asked.way.links[0]
        if source is None:
            shown = await show(clusters.of(first.target), first.link)
            source = clusters.context(shown.spec.source.context)
        return source, tuple({one.target.name: one.target for one in asked.way.links}.values())
    if isinstance(asked.way, ByMaps):
        return source or asked.way.source, (asked.way.target,)
    return source, (asked.way.target,)


def exact_positions(answers: Mapping[Position, Answer]) -> Onward | Reason:
    """Where the job goes on on the target by partition, or the first reason why that is not exact."""
    found: dict[TopicPartition, int] = {}
    unread: list[TopicPartition] = []
    for one, answer in sorted(answers.items(), key=lambda item: item[0].partition):
        if one.role not in READ_FROM | {Role.UNASSIGNED} or answer is None:
            continue
        if isinstance(answer, Reason):
            return answer
        if answer.offset is None and one.role is Role.UNASSIGNED:
            unread.append(answer.partition)
            continue
        if answer.offset is None:
            return Reason(ReasonKind.MARKER, f"{one.partition} is stored without an offset")
        if found.setdefault(answer.partition, answer.offset) != answer.offset:
            return Reason(
                ReasonKind.COLLISION,
                f"{answer.partition} is reached at {found[answer.partition]:,} and {answer.offset:,}",
            )
    return Onward(found, tuple(unread))


def _attempts(checkpoint: Checkpoint, wish: Wish, route: Route) -> tuple[Attempt, ...]:
    """The rewrite as it was wished for, and with what its refusals ask for, where that was not wished for already."""
    plain = checkpoint.rewrite(wish, route)
    found = [Attempt((), plain)]
    reasons = {one.why for one in plain.refusals}
    if ReasonKind.UNCOMMITTED in reasons and wish.uncommitted is Uncommitted.REFUSE:
        other = replace(wish, uncommitted=Uncommitted.TRANSLATE)
        found.append(Attempt(("--uncommitted", "translate"), checkpoint.rewrite(other, route)))
    if ReasonKind.PENDING_TRANSACTIONS in reasons and wish.transactions is Transactions.REFUSE:
        other = replace(wish, transactions=Transactions.DISCARD)
        found.append(Attempt(("--transactions", "discard"), checkpoint.rewrite(other, route)))
    return tuple(found)


def _chosen(checkpoint: Checkpoint, wish: Wish, attempts: Sequence[Attempt]) -> tuple[Position, ...]:
    """The positions of the sources that are to be moved; the rewrite tells which a wish names."""
    every = checkpoint.positions()
    if wish.sources is None or not attempts:
        return every
    named = {change.old.source for attempt in attempts for change in attempt.rewrite.changes} | wish.sources
    return tuple(one for one in every if one.source in named)


def _drop(checkpoint: Checkpoint, positions: Iterable[Position], answers: Mapping[Position, Answer]) -> Attempt | None:
    """A Flink rewrite that takes the moved sources' entries out and leaves everything else where it is."""
    sources = sorted({one.source for one in positions if answers.get(one, ReasonKind.UNKNOWN) is not None})
    if checkpoint.format is not Format.FLINK or not sources:
        return None
    rewrite = checkpoint.rewrite(Wish(drop=frozenset(sources)), _Stays())
    return Attempt(tuple(word for one in sources for word in ("--drop-source", one)), rewrite)


class _Stays:
    """A route for what is not to be moved at all."""

    def move(self, position: Position) -> None:
        """It stays."""

    def equal(self, partition: TopicPartition, start: int, end: int) -> None:
        """It is the same range."""

    def partitions(self, topic: str) -> frozenset[int]:  # noqa: ARG002
        """Nothing is asked of the target."""
        return frozenset()


def _targets(
    route: Route | None, answers: Mapping[Position, Answer], partitions: Collection[TopicPartition]
) -> set[TopicPartition]:
    """The partitions to look at on the target: every one of each topic that positions lead to."""
    topics = {answer.partition.topic for answer in answers.values() if isinstance(answer, Moved)}
    if route is None or not topics:
        return set(partitions)
    found: set[TopicPartition] = set()
    for topic in topics:
        numbers = route.partitions(topic)
        if not isinstance(numbers, Reason):
            found |= {TopicPartition(topic, number) for number in numbers}
    return found


_Side = tuple[ClusterContext, Collection[TopicPartition]]


async def _look(
    clusters: Clusters,
    source: ClusterContext | None,
    partitions: Collection[TopicPartition],
    targets: Sequence[_Side],
    told: Told,
) -> tuple[_Looked, _Looked]:
    """Two looks, or the same one twice where there is nothing to measure."""
    first = await _once(clusters, source, partitions, targets, told.group)
    if source is None or told.measure_s <= 0:
        return first, first
    await asyncio.sleep(told.measure_s)
    return first, await _once(clusters, source, partitions, targets, told.group)


async def _once(
    clusters: Clusters,
    source: ClusterContext | None,
    partitions: Collection[TopicPartition],
    targets: Sequence[_Side],
    group: str | None,
) -> _Looked:
    at = time.monotonic()
    (old, commits), *sides = await asyncio.gather(
        _side(None if source is None else clusters.of(source), partitions, group),
        *(_side(clusters.of(target), wanted, group) for target, wanted in targets),
    )
    new: dict[TopicPartition, LogBounds] = {}
    there: dict[TopicPartition, int] = {}
    for (ends, committed_there), (_, wanted) in zip(sides, targets, strict=True):
        new |= ends
        there |= {one: offset for one, offset in committed_there.items() if len(targets) == 1 or one in wanted}
    return _Looked(at, old, new, commits, there)


async def _side(
    cluster: Cluster | None, partitions: Collection[TopicPartition], group: str | None
) -> tuple[Mapping[TopicPartition, LogBounds], Mapping[TopicPartition, int]]:
    if cluster is None:
        return {}, {}
    ends = await log_ends(cluster, partitions)
    if group is None:
        return ends, {}
    found = (await committed(cluster, [group])).get(group, {})
    return ends, {at: commit.offset for at, commit in found.items()}


def _logs(
    first: Mapping[TopicPartition, LogBounds], last: Mapping[TopicPartition, LogBounds], seconds: float
) -> dict[TopicPartition, Log]:
    return {
        at: Log(ends.start, ends.end, (ends.end - first[at].end) / seconds if seconds > 0 and at in first else None)
        for at, ends in last.items()
    }


def _group(
    name: str | None, route: Route | None, positions: Iterable[Position], first: _Looked, last: _Looked
) -> GroupFacts | None:
    """The group's commits of the partitions in question, and where they lead."""
    if name is None:
        return None
    reading = {one.partition: one for one in positions if one.role in READ_FROM}
    commits = {at: offset for at, offset in last.commits.items() if at in reading}
    answers: dict[TopicPartition, Answer] = {}
    if route is not None:
        answers = {at: route.move(replace(reading[at], offset=offset)) for at, offset in commits.items()}
    risen = sum(offset - first.commits.get(at, offset) for at, offset in commits.items())
    seconds = last.at_s - first.at_s
    return GroupFacts(name, commits, answers, last.there, risen / seconds if risen > 0 and seconds > 0 else None)


async def _lanes(clusters: Clusters, asked: Asked | None) -> dict[TopicPartition, Lane]:
    """How the links copy each partition."""
    if asked is None or not isinstance(asked.way, ByLinks):
        return {}
    return {
        lane.source: Lane(one.link, lane.target, lane.mode, lane.mode_reason, lane.lag_records, lane.records_per_s)
        for one in asked.way.links
        for lane in (await show(clusters.of(one.target), one.link)).lanes
    }
