"""Gather the facts for advice: the checkpoint's positions, their translations, snapshots of both clusters.

Nothing is written. Both clusters are read twice, ``measure_s`` apart, if a group is named that tells how fast the job
reads: its commits rise with the job's checkpoints, so that two snapshots within one interval may show no rise.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from anabranch.checkpoints.advice import (
    Advice,
    Answer,
    Attempt,
    Facts,
    GroupFacts,
    LaneFacts,
    LogFacts,
    ResumeOffsets,
    TargetFacts,
)
from anabranch.checkpoints.advice import advise as ranked
from anabranch.checkpoints.advice.facts import READ_FROM
from anabranch.checkpoints.flink.checkpoint import FlinkCheckpoint
from anabranch.checkpoints.job import Checkpoint, CheckpointFormat, Page
from anabranch.checkpoints.plan import PendingTransactions, RewriteSpec, Uncommitted
from anabranch.checkpoints.position import OffsetRole, Position
from anabranch.checkpoints.route import PositionRoute, TranslatedPosition
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.clusters import Clusters
from anabranch.kafka.groups import committed
from anabranch.kafka.log_ends import LogBounds, log_ends
from anabranch.model.cluster import ClusterContext
from anabranch.model.reasons import Reason, ReasonKind
from anabranch.model.topics import TopicPartition
from anabranch.operations.checkpoints.advice_input import AdviceInput
from anabranch.operations.checkpoints.blocking import in_thread
from anabranch.operations.checkpoints.live import read_route
from anabranch.operations.checkpoints.planning import opened
from anabranch.operations.checkpoints.translation_source import ByLinks, ByMaps, TranslationSource
from anabranch.operations.links.show import show
from anabranch.storage.opening import open_files

#: The version of Flink's _metadata that began to store the operators' names and uids.
_UIDS_SINCE = 5


@dataclass(frozen=True, slots=True)
class _Snapshot:
    """Both clusters at one time."""

    at_s: float
    old: Mapping[TopicPartition, LogBounds]
    new: Mapping[TopicPartition, LogBounds]
    commits: Mapping[TopicPartition, int]
    target_commits: Mapping[TopicPartition, int]


async def advise(
    clusters: Clusters,
    path: str,
    inputs: AdviceInput,
    rewrite_spec: RewriteSpec,
    translation: TranslationSource | None = None,
    source: ClusterContext | None = None,
) -> tuple[Advice, ResumeOffsets | Reason]:
    """Every way to move the job of a checkpoint, the best first; and the offsets at which it resumes, if exact.

    ``source`` is the old cluster, where the route does not tell it. Without a route nothing is said of where positions
    lead, without a cluster nothing of its logs. Raises what reading the checkpoint and what looking at the route raise.
    """
    checkpoint = await in_thread(partial(opened, open_files(path)))
    stored, page = checkpoint.positions(), checkpoint.page()
    old_cluster, targets = await _clusters(clusters, translation, source)
    target = targets[0] if targets else None
    partitions = {one.partition for one in stored if one.role in READ_FROM}
    route: PositionRoute | None = None
    if translation is not None:
        route, _ = await read_route(clusters, translation, stored)
    attempts = () if route is None else _attempts(checkpoint, rewrite_spec, route)
    positions = _chosen(checkpoint, rewrite_spec, attempts)
    answers: dict[Position, Answer] = {} if route is None else {one: route.move(one) for one in positions}
    looked_at = _targets(route, answers, partitions)
    on = {
        answer.partition.topic: answer.cluster for answer in answers.values() if isinstance(answer, TranslatedPosition)
    }
    sides = [(one, {at for at in looked_at if on.get(at.topic, "") in ("", one.name)}) for one in targets]
    first, last = await _snapshots(clusters, old_cluster, partitions, sides, inputs)
    translates = translation is not None and isinstance(translation.method, ByLinks | ByMaps)
    facts = Facts(
        path,
        page,
        positions,
        inputs.flags,
        "" if old_cluster is None else old_cluster.name,
        "" if target is None else target.name,
        () if target is None else target.bootstrap,
        answers,
        attempts,
        _drop(checkpoint, positions, answers),
        await _lanes(clusters, translation),
        _logs(first.old, last.old, last.at_s - first.at_s),
        _logs(first.new, last.new, last.at_s - first.at_s),
        _group(inputs.group, route if translates else None, positions, first, last),
        *_uids(checkpoint, inputs),
        inputs.sql,
        inputs.downtime_s,
        _several(translation, answers) if len(targets) > 1 else (),
        _unread(page, rewrite_spec),
    )
    return ranked(facts), exact_positions(answers)


def _unread(page: Page, rewrite_spec: RewriteSpec) -> tuple[Reason, ...]:
    """What is wrong with the sources in question."""
    chosen = [
        one for one in page.sources if rewrite_spec.sources is None or {one.source, one.name} & rewrite_spec.sources
    ]
    return tuple(dict.fromkeys(problem for one in chosen for problem in one.problems))


def _several(translation: TranslationSource | None, answers: Mapping[Position, Answer]) -> tuple[TargetFacts, ...]:
    """The clusters that positions lead to, where these are several, with the links and topics of each."""
    assert translation is not None and isinstance(translation.method, ByLinks)
    led: dict[str, set[tuple[str, str]]] = {}
    for one, answer in answers.items():
        if isinstance(answer, TranslatedPosition):
            led.setdefault(answer.cluster, set()).add((one.partition.topic, answer.partition.topic))
    found = []
    for name in dict.fromkeys(link.target.name for link in translation.method.links if link.target.name in led):
        links = [link for link in translation.method.links if link.target.name == name]
        typed = tuple(word for link in links for word in (f"{link.link}@{name}", link.link))
        old, new = ({pair[side] for pair in led[name]} for side in (0, 1))
        found.append(TargetFacts(name, links[0].target.bootstrap, typed, tuple(sorted(old)), tuple(sorted(new))))
    return tuple(found) if len(found) > 1 else ()


def _uids(checkpoint: Checkpoint, inputs: AdviceInput) -> tuple[bool | None, str]:
    """Whether every operator has a uid: by the user's word, else by the bytes, which tell since Flink 2.0."""
    if inputs.uids is not None:
        return inputs.uids, f"{'every' if inputs.uids else 'not every'} operator has one, as you say"
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
    clusters: Clusters, translation: TranslationSource | None, source: ClusterContext | None
) -> tuple[ClusterContext | None, tuple[ClusterContext, ...]]:
    """The old cluster, of several links the first one's, and the new ones, as far as they are known."""
    if translation is None:
        return source, ()
    if isinstance(translation.method, ByLinks):
        first = translation.method.links[0]
        if source is None:
            shown = await show(clusters.of(first.target), first.link)
            source = clusters.context(shown.spec.source.context)
        return source, tuple({one.target.name: one.target for one in translation.method.links}.values())
    if isinstance(translation.method, ByMaps):
        return source or translation.method.source, (translation.method.target,)
    return source, (translation.method.target,)


def exact_positions(answers: Mapping[Position, Answer]) -> ResumeOffsets | Reason:
    """The target offsets at which the job resumes, or the first reason why they are not exact."""
    found: dict[TopicPartition, int] = {}
    unread: list[TopicPartition] = []
    for one, answer in sorted(answers.items(), key=lambda item: item[0].partition):
        if one.role not in READ_FROM | {OffsetRole.UNASSIGNED} or answer is None:
            continue
        if isinstance(answer, Reason):
            return answer
        if answer.offset is None and one.role is OffsetRole.UNASSIGNED:
            unread.append(answer.partition)
            continue
        if answer.offset is None:
            return Reason(ReasonKind.MARKER, f"{one.partition} is stored without an offset")
        if found.setdefault(answer.partition, answer.offset) != answer.offset:
            return Reason(
                ReasonKind.COLLISION,
                f"{answer.partition} is reached at {found[answer.partition]:,} and {answer.offset:,}",
            )
    return ResumeOffsets(found, tuple(unread))


def _attempts(checkpoint: Checkpoint, rewrite_spec: RewriteSpec, route: PositionRoute) -> tuple[Attempt, ...]:
    """The rewrite as it was wished for, and with what its refusals ask for, where that was not wished for already."""
    plain = checkpoint.rewrite(rewrite_spec, route)
    found = [Attempt((), plain)]
    reasons = {one.why for one in plain.refusals}
    if ReasonKind.UNCOMMITTED in reasons and rewrite_spec.uncommitted is Uncommitted.REFUSE:
        other = replace(rewrite_spec, uncommitted=Uncommitted.TRANSLATE)
        found.append(Attempt(("--uncommitted", "translate"), checkpoint.rewrite(other, route)))
    if ReasonKind.PENDING_TRANSACTIONS in reasons and rewrite_spec.transactions is PendingTransactions.REFUSE:
        other = replace(rewrite_spec, transactions=PendingTransactions.DISCARD)
        found.append(Attempt(("--transactions", "discard"), checkpoint.rewrite(other, route)))
    return tuple(found)


def _chosen(checkpoint: Checkpoint, rewrite_spec: RewriteSpec, attempts: Sequence[Attempt]) -> tuple[Position, ...]:
    """The positions of the sources that are to be moved; the rewrite tells which a rewrite spec names."""
    every = checkpoint.positions()
    if rewrite_spec.sources is None or not attempts:
        return every
    named = {change.old.source for attempt in attempts for change in attempt.rewrite.changes} | rewrite_spec.sources
    return tuple(one for one in every if one.source in named)


def _drop(checkpoint: Checkpoint, positions: Iterable[Position], answers: Mapping[Position, Answer]) -> Attempt | None:
    """A Flink rewrite that takes the moved sources' entries out and leaves everything else where it is."""
    sources = sorted({one.source for one in positions if answers.get(one, ReasonKind.UNKNOWN) is not None})
    if checkpoint.format is not CheckpointFormat.FLINK or not sources:
        return None
    rewrite = checkpoint.rewrite(RewriteSpec(drop=frozenset(sources)), _Stays())
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
    route: PositionRoute | None, answers: Mapping[Position, Answer], partitions: Collection[TopicPartition]
) -> set[TopicPartition]:
    """The partitions to look at on the target: every one of each topic that positions lead to."""
    topics = {answer.partition.topic for answer in answers.values() if isinstance(answer, TranslatedPosition)}
    if route is None or not topics:
        return set(partitions)
    found: set[TopicPartition] = set()
    for topic in topics:
        numbers = route.partitions(topic)
        if not isinstance(numbers, Reason):
            found |= {TopicPartition(topic, number) for number in numbers}
    return found


_Side = tuple[ClusterContext, Collection[TopicPartition]]


async def _snapshots(
    clusters: Clusters,
    source: ClusterContext | None,
    partitions: Collection[TopicPartition],
    targets: Sequence[_Side],
    inputs: AdviceInput,
) -> tuple[_Snapshot, _Snapshot]:
    """Two snapshots, or the same one twice if there is nothing to measure."""
    first = await _snapshot(clusters, source, partitions, targets, inputs.group)
    if source is None or inputs.measure_s <= 0:
        return first, first
    await asyncio.sleep(inputs.measure_s)
    return first, await _snapshot(clusters, source, partitions, targets, inputs.group)


async def _snapshot(
    clusters: Clusters,
    source: ClusterContext | None,
    partitions: Collection[TopicPartition],
    targets: Sequence[_Side],
    group: str | None,
) -> _Snapshot:
    at = time.monotonic()
    (old, commits), *sides = await asyncio.gather(
        _side(None if source is None else clusters.of(source), partitions, group),
        *(_side(clusters.of(target), wanted, group) for target, wanted in targets),
    )
    new: dict[TopicPartition, LogBounds] = {}
    target: dict[TopicPartition, int] = {}
    for (ends, committed_there), (_, wanted) in zip(sides, targets, strict=True):
        new |= ends
        target |= {one: offset for one, offset in committed_there.items() if len(targets) == 1 or one in wanted}
    return _Snapshot(at, old, new, commits, target)


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
) -> dict[TopicPartition, LogFacts]:
    return {
        at: LogFacts(
            ends.start, ends.end, (ends.end - first[at].end) / seconds if seconds > 0 and at in first else None
        )
        for at, ends in last.items()
    }


def _group(
    name: str | None, route: PositionRoute | None, positions: Iterable[Position], first: _Snapshot, last: _Snapshot
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
    return GroupFacts(
        name, commits, answers, last.target_commits, risen / seconds if risen > 0 and seconds > 0 else None
    )


async def _lanes(clusters: Clusters, translation: TranslationSource | None) -> dict[TopicPartition, LaneFacts]:
    """How the links copy each partition."""
    if translation is None or not isinstance(translation.method, ByLinks):
        return {}
    return {
        lane.source: LaneFacts(one.link, lane.target, lane.mode, lane.mode_reason, lane.lag_records, lane.records_per_s)
        for one in translation.method.links
        for lane in (await show(clusters.of(one.target), one.link)).lanes
    }
