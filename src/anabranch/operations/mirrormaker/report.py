"""Compare MirrorMaker 2's offsets with the exact ones, for every group with commits on a topic that it copies."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import replace

from anabranch.errors import ClusterError
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.groups import UnstableCommitsError, committed, list_groups
from anabranch.mirrormaker.names import SEPARATOR
from anabranch.mirrormaker.report import Evidence, JudgedPosition, MirrorReport
from anabranch.mirrormaker.store import most_between, translate
from anabranch.mirrormaker.wire import MirrorCheckpoint
from anabranch.model.clock import now_ms
from anabranch.model.groups import Commit
from anabranch.model.topics import TopicPartition
from anabranch.offsets.translate import Exact, to_target
from anabranch.operations.mirrormaker.content import PartitionSnapshot, find, read_snapshot
from anabranch.operations.mirrormaker.flow import Flow, read_flow
from anabranch.state.maps.reading import LaneInDoubtError, LinkMaps, read_maps

LOOKED_AT = 500
_AT_ONCE = 8


async def report(
    source: Cluster,
    target: Cluster,
    source_alias: str | None = None,
    target_alias: str | None = None,
    *,
    separator: str = SEPARATOR,
    link: str | None = None,
    look: int = LOOKED_AT,
) -> MirrorReport:
    """``judge`` the flow between these clusters; raises AnabranchError."""
    flow = await read_flow(source, target, source_alias, target_alias, separator)
    return await judge(source, target, flow, link=link, look=look)


async def judge(
    source: Cluster, target: Cluster, flow: Flow, *, link: str | None = None, look: int = LOOKED_AT
) -> MirrorReport:
    """Compare every position that a group has committed, on a topic of the flow, with MirrorMaker's answer for it.

    Exact positions come from the ``link``'s maps where it fills the very partition, else from the records of at most
    ``look`` positions (``content.find``); else there are bounds.  Raises AnabranchError.
    """
    notes = [] if flow.syncs_topic else ["no offset-syncs topic was found, so nothing is said of its next answers"]
    maps = await read_maps(target, link) if link is not None else None
    names = {one.name for one in await list_groups(source)} | {one.group for one in flow.checkpoints}
    try:
        commits: Mapping[str, Mapping[TopicPartition, Commit]] = await committed(source, sorted(names))
    except UnstableCommitsError as error:
        commits = error.read
        notes.append(f"left out: {error.message}")
    topics = (await target.metadata(None)).topics
    rows = [_answer(flow, row, maps) for row in _positions(flow, commits, topics)]
    rows.sort(key=lambda row: (row.group, row.source))
    judge = Judge(source, target, flow, look)
    judged = list(await asyncio.gather(*(judge.row(row) for row in rows)))
    if judge.passed_over:
        notes.append(f"{judge.passed_over:,} positions have bounds only: {look:,} were looked up in the logs")
    beat = now_ms() - flow.heartbeat.timestamp if flow.heartbeat else None
    syncs = sum(map(len, flow.syncs.values()))
    return MirrorReport(flow.source_alias, flow.target_alias, syncs, beat, judged, tuple(notes))


def _positions(
    flow: Flow, commits: Mapping[str, Mapping[TopicPartition, Commit]], topics: Iterable[str]
) -> Iterable[JudgedPosition]:
    """A row for each commit on a topic that MirrorMaker copies, with its checkpoint if it has one."""
    copied = {partition.topic for partition in flow.syncs}
    checkpoints: dict[tuple[str, TopicPartition], MirrorCheckpoint] = {}
    for one in flow.checkpoints:
        origin = TopicPartition(flow.source_of(one.partition.topic), one.partition.partition)
        checkpoints[one.group, origin] = one
        copied.add(origin.topic)
    known = frozenset(topics)
    for group, positions in commits.items():
        for at, commit in positions.items():
            if at.topic not in copied:
                continue
            found = checkpoints.get((group, at))
            if found is not None:
                yield JudgedPosition(group, at, found.partition, commit.offset, found.upstream, found.downstream)
                continue
            yield JudgedPosition(group, at, flow.copy_of(at, known), commit.offset, note="no checkpoint")


def _answer(flow: Flow, row: JudgedPosition, maps: LinkMaps | None) -> JudgedPosition:
    """The row with what the stored syncs give, and with what a link's map gives."""
    stored = translate(flow.syncs.get(row.source, ()), row.committed)
    ours, exact, evidence, note = None, None, Evidence.NONE, row.note
    if maps is not None:
        try:
            lane = maps.of_source(row.source)
        except LaneInDoubtError as error:
            lane, note = None, error.message
        position = to_target(lane.ranges, row.committed) if lane is not None else None
        if lane is not None and isinstance(position, Exact):
            ours = (lane.target, position.offset)
            if lane.target == row.target:
                exact, evidence = position.offset, Evidence.MAP
    return replace(row, stored=stored, ours=ours, exact=exact, evidence=evidence, note=note)


class Judge:
    """Looks up positions in the two logs, each once, a bounded number of them."""

    def __init__(self, source: Cluster, target: Cluster, flow: Flow, look: int) -> None:
        self.passed_over = 0
        self._source, self._target, self._flow = source, target, flow
        self._left = look
        self._places: dict[tuple[TopicPartition, int, TopicPartition], asyncio.Task[int | None]] = {}
        self._snapshots: dict[tuple[str, TopicPartition], asyncio.Task[PartitionSnapshot]] = {}
        self._at_once = asyncio.Semaphore(_AT_ONCE)

    async def exact(self, row: JudgedPosition) -> int | None:
        """Where the position is in the copy, by the records around it; None where they do not tell, or too many were
        looked up.  Raises ClusterError.
        """
        key = (row.source, row.committed, row.target)
        if key not in self._places:
            if self._left <= 0:
                self.passed_over += 1
                return None
            self._left -= 1
            self._places[key] = asyncio.create_task(self._find(row))
        return await self._places[key]

    async def row(self, row: JudgedPosition) -> JudgedPosition:
        """The row with its exact position, or with bounds, or with what hindered both."""
        if row.exact is None:
            try:
                exact = await self.exact(row)
            except ClusterError as error:
                return replace(row, note=error.message)
            if exact is not None:
                row = replace(row, exact=exact, evidence=Evidence.CONTENT)
        if row.downstream is None:
            return row
        if row.exact is not None:
            return replace(row, least=row.exact - row.downstream, most=row.exact - row.downstream)
        return replace(
            row, least=0, most=most_between(self._flow.syncs.get(row.source, ()), row.downstream, row.committed)
        )

    async def _find(self, row: JudgedPosition) -> int | None:
        async with self._at_once:
            source, copy = (
                await self._snapshot(self._source, row.source),
                await self._snapshot(self._target, row.target),
            )
            known = row.downstream if row.downstream is not None else row.stored
            return await find(source, row.committed, copy, copy.start if known is None else known)

    async def _snapshot(self, cluster: Cluster, partition: TopicPartition) -> PartitionSnapshot:
        key = (cluster.name, partition)
        if key not in self._snapshots:
            self._snapshots[key] = asyncio.create_task(read_snapshot(cluster, partition))
        return await self._snapshots[key]
