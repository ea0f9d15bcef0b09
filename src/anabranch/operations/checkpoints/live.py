"""Routes from live clusters: maps, the target's log ends of now, and what only the logs themselves prove.

Maps are read before the target's ends: what a map tells of lies in the log by then.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from uuid import UUID

from anabranch.checkpoints.position import OffsetRole, Position, SymbolicOffset
from anabranch.errors import AnabranchError
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.clusters import Clusters
from anabranch.kafka.errors import UNKNOWN_TOPIC
from anabranch.kafka.log_ends import log_ends
from anabranch.kafka.partitions import EARLIEST, LATEST, list_offsets
from anabranch.kafka.start import look_up
from anabranch.model.cluster import ClusterContext
from anabranch.model.reasons import Reason, ReasonKind
from anabranch.model.start import StartKind
from anabranch.model.topics import TopicPartition
from anabranch.operations.checkpoints.proving import prove
from anabranch.operations.checkpoints.routes import (
    ExplicitRoute,
    LiveRoute,
    MappedLane,
    MapRoute,
    Range,
    TargetSnapshot,
    target_offset,
    unequal,
)
from anabranch.operations.checkpoints.translation_source import ByLinks, ByMaps, ByOffsets, ByStart, TranslationSource
from anabranch.operations.checkpoints.unmodified_restart import ReadableRange
from anabranch.state.maps.backwards import backwards
from anabranch.state.maps.reading import read_maps

_PURPOSE = "ends"
_READ_COMMITTED = 1


async def read_route(
    clusters: Clusters, translation: TranslationSource, positions: Sequence[Position] | None
) -> tuple[LiveRoute, tuple[str, ...]]:
    """The route for these positions, None for all that the maps have, and notes.

    Raises UnknownLinkError, OutsideLogError, NothingCommittedError, ClusterError, ConfigError.
    """
    at = None
    if positions is not None:
        at = {one.partition for one in positions if one.partition.topic not in translation.stay}
    if isinstance(translation.method, ByOffsets | ByStart):
        return await _given(clusters, translation, translation.method, at or ())
    if isinstance(translation.method, ByLinks):
        maps = await _linked(clusters, translation, translation.method, at)
    else:
        maps = _persisted(clusters, translation, translation.method)
    return await maps.route(at, positions or ()), ()


class _Maps:
    """Maps of one or more sources and targets, before the logs are looked at."""

    def __init__(self, clusters: Clusters, translation: TranslationSource) -> None:
        self.clusters = clusters
        self.translation = translation
        self.topics: dict[str, str | Reason] = {}
        self.lanes: dict[TopicPartition, MappedLane | Reason] = {}
        self.targets: dict[str, ClusterContext] = {}
        self.on: dict[str, str] = {}
        """The context of the cluster that each target topic is on."""
        self.sources: dict[TopicPartition, ClusterContext] = {}
        self.ids: dict[str, UUID] = {}
        """The ids of target topics, where maps tell them."""

    def add_topic(self, source: str, target: str, on: ClusterContext) -> None:
        """A topic that a map is of; one that two maps are of leads nowhere, nor does one name on two clusters."""
        if source in self.topics or self.on.get(target, on.name) != on.name:
            self.topics[source] = Reason(
                ReasonKind.AMBIGUOUS,
                f"topic {source} is copied by more than one of {self.translation}, or to topics of one name on two "
                "clusters",
                "name one link at a time, with the sources that it is for: --source",
            )
            for at in [one for one in self.lanes if one.topic == source]:
                del self.lanes[at]
            return
        self.topics[source] = target
        self.targets[on.name] = on
        self.on[target] = on.name

    async def route(self, at: Collection[TopicPartition] | None, positions: Sequence[Position]) -> MapRoute:
        """With the logs that these positions need, and those of all partitions of their topics."""
        if at is None:
            at = set(self.lanes)
        topics = {one.topic for one in at}
        lanes = {one: lane for one, lane in self.lanes.items() if one.topic in topics}
        wanted = {name for one in at if isinstance(name := self.topics.get(one.topic), str)}
        target = TargetSnapshot()
        for name in {self.on[topic] for topic in wanted}:
            seen = await read_target(
                self.clusters.of(self.targets[name]), {topic for topic in wanted if self.on[topic] == name}
            )
            target = TargetSnapshot(
                {**target.logs, **seen.logs}, {**target.topics, **seen.topics}, {**target.ids, **seen.ids}, self.on
            )
        lanes = await self._with_starts(
            {one: self._same(lane, target) for one, lane in lanes.items()}, positions, target
        )
        route = MapRoute(str(self.translation), self.topics, lanes, target, self.translation.stay)
        return replace(route, proofs=await self._proofs(route, positions))

    def _same(self, lane: MappedLane | Reason, target: TargetSnapshot) -> MappedLane | Reason:
        """The lane, unless its map is of a topic that was made again since."""
        if isinstance(lane, Reason) or self.ids.get(lane.target.topic) in (None, target.ids.get(lane.target.topic)):
            return lane
        what = f"topic {lane.target.topic} was deleted and made again since {lane.name} were made"
        return Reason(ReasonKind.IN_DOUBT, what, lane.wait)

    async def _with_starts(
        self, lanes: Mapping[TopicPartition, MappedLane | Reason], positions: Sequence[Position], target: TargetSnapshot
    ) -> dict[TopicPartition, MappedLane | Reason]:
        """With the starts of the source's logs, where a position may have expired there; unknown ones stay 0.

        A partition without a position, which the job has not found yet, is read from its beginning.
        """
        found = dict(lanes)
        translation: dict[str, set[TopicPartition]] = {}
        stored = [(one.partition, one.offset) for one in positions]
        unseen = lanes.keys() - {partition for partition, _ in stored} if stored else set()
        for partition, told_offset in [*stored, *((one, SymbolicOffset.EARLIEST) for one in sorted(unseen))]:
            lane = lanes.get(partition)
            earliest = told_offset is SymbolicOffset.EARLIEST
            offset = 0 if earliest else told_offset
            if not isinstance(lane, MappedLane) or not isinstance(offset, int) or partition not in self.sources:
                continue
            log = target.log(lane.target)
            if isinstance(log, Reason):
                continue
            answer = target_offset(lane, offset, log)
            if earliest or (isinstance(answer, Reason) and answer.why in (ReasonKind.BEFORE_START, ReasonKind.EXPIRED)):
                translation.setdefault(self.sources[partition].name, set()).add(partition)
        contexts = {context.name: context for context in self.sources.values()}
        for name, partitions in translation.items():
            try:
                ends = await log_ends(self.clusters.of(contexts[name]), partitions)
            except AnabranchError:
                continue  # the old cluster may be gone; then its start stays unknown
            for at, end in ends.items():
                lane = found[at]
                if isinstance(lane, MappedLane):
                    found[at] = replace(lane, source_start=end.start)
        return found

    async def _proofs(self, route: MapRoute, positions: Sequence[Position]) -> dict[Range, Reason | None]:
        """What the logs say of batches that have begun, where the map alone does not prove their ranges equal."""
        found: dict[Range, Reason | None] = {}
        for at, start, end in batches(positions):
            lane = route.lanes.get(at)
            if not isinstance(lane, MappedLane) or at not in self.sources or at.topic in route.stay:
                continue
            log = route.target.log(lane.target)
            if isinstance(log, Reason):
                continue
            doubt = unequal(lane, start, end, log)
            if doubt is None or doubt.why is not ReasonKind.NOT_EQUAL:
                continue
            try:
                source = self.clusters.of(self.sources[at])
                there = self.clusters.of(self.targets[self.on[lane.target.topic]])
                found[(at, start, end)] = await prove(source, there, lane, start, end, log)
            except AnabranchError as error:
                found[(at, start, end)] = replace(
                    doubt, what=f"{doubt.what}; the logs cannot be asked: {error.message}"
                )
        return found


async def _linked(
    clusters: Clusters, translation: TranslationSource, way: ByLinks, at: Collection[TopicPartition] | None
) -> _Maps:
    maps = _Maps(clusters, translation)
    # All partitions of a topic: a job may not have found the newest of them yet.
    topics = None if at is None else {partition.topic for partition in at}
    for one in way.links:
        name, wait = f"link {one.link}", f"wait until it is copied: anabranch link show {one.link}"
        if one.stored is None:
            read = await read_maps(clusters.of(one.target), one.link, of_topics=topics)
        else:
            read = backwards(await read_maps(clusters.of(one.stored), one.link))
        try:
            source: ClusterContext | None = clusters.context(read.spec.source.context)
        except AnabranchError:
            source = None
        new = set(read.topics) - set(maps.topics)
        for topic, target in read.topics.items():
            maps.add_topic(topic, target, one.target)
        for lane in read:
            if lane.source.topic in new:
                maps.lanes[lane.source] = MappedLane(name, lane.source, lane.target, lane.ranges, wait=wait)
        for doubted, doubt in read.doubts.items():
            if doubted.topic in new:
                maps.lanes[doubted] = Reason(ReasonKind.IN_DOUBT, doubt.message, doubt.hint)
        if source is not None:
            maps.sources |= dict.fromkeys([lane.source for lane in read if lane.source.topic in new], source)
    return maps


def _persisted(clusters: Clusters, translation: TranslationSource, way: ByMaps) -> _Maps:
    maps = _Maps(clusters, translation)
    name, wait = f"the maps of {way.file}", "make the maps again: `anabranch offsets export`, or `offsets rebuild`"
    targets: dict[str, set[str]] = {}
    for one in way.maps:
        targets.setdefault(one.source.topic, set()).add(one.target.topic)
    for topic, names in targets.items():
        for target in names:
            maps.add_topic(topic, target, way.target)
    for one in way.maps:
        if isinstance(maps.topics[one.source.topic], str):
            maps.lanes[one.source] = MappedLane(name, one.source, one.target, one.ranges, one.unclear, wait=wait)
            if one.target_id is not None:
                maps.ids[one.target.topic] = one.target_id.uuid
            if way.source is not None:
                maps.sources[one.source] = way.source
    return maps


async def _given(
    clusters: Clusters, translation: TranslationSource, way: ByOffsets | ByStart, at: Iterable[TopicPartition]
) -> tuple[ExplicitRoute, tuple[str, ...]]:
    topics = {translation.rename.get(one.topic, one.topic) for one in at}
    notes: tuple[str, ...] = ()
    cluster = clusters.of(way.target)
    target = await read_target(cluster, topics)
    if isinstance(way, ByOffsets):
        offsets = way.offsets
    else:
        there = set(target.logs)
        if way.start.kind is StartKind.OFFSETS:
            there |= {one for one in way.start.offsets if isinstance(target.topics.get(one.topic), frozenset)}
        found = await look_up(cluster, way.start, there)
        offsets, notes = found.offsets, found.notes
    return ExplicitRoute(str(translation), offsets, translation.rename, target, translation.stay), notes


async def read_target(cluster: Cluster, topics: Collection[str]) -> TargetSnapshot:
    """Every partition of some topics with its ends; raises ClusterError."""
    if not topics:
        return TargetSnapshot()
    answer = await cluster.metadata(sorted(topics))
    logs: dict[TopicPartition, ReadableRange] = {}
    found: dict[str, frozenset[int] | Reason] = {}
    ids: dict[str, UUID] = {}
    by_leader: dict[int, dict[tuple[str, int], int]] = {}
    for name in topics:
        topic = answer.topics[name]
        if topic.error:
            what = "is not there" if topic.error == UNKNOWN_TOPIC else f"cannot be looked at (error {topic.error})"
            found[name] = Reason(
                ReasonKind.OUTSIDE_LOG, f"topic {name} {what} on {cluster.name}", "look at its name and our permissions"
            )
            continue
        found[name] = frozenset(topic.partitions)
        ids[name] = topic.id
        for number, part in topic.partitions.items():
            if part.leader >= 0:
                by_leader.setdefault(part.leader, {})[(name, number)] = part.leader_epoch
    for leader, translation in by_leader.items():
        connection = await cluster.connection(leader, _PURPOSE)
        first = await list_offsets(connection, {key: (EARLIEST, epoch) for key, epoch in translation.items()})
        stable = await list_offsets(
            connection, {key: (LATEST, epoch) for key, epoch in translation.items()}, isolation=_READ_COMMITTED
        )
        last = await list_offsets(connection, {key: (LATEST, epoch) for key, epoch in translation.items()})
        for key in translation:
            if not (first[key].code or stable[key].code or last[key].code):
                logs[TopicPartition(*key)] = ReadableRange(first[key].offset, stable[key].offset, last[key].offset)
    return TargetSnapshot(logs, found, ids)


def batches(positions: Iterable[Position]) -> list[Range]:
    """The ranges of batches that have begun and were not committed."""
    starts: dict[tuple[str, TopicPartition], int] = {}
    ends: dict[tuple[str, TopicPartition], int] = {}
    for one in positions:
        side = {OffsetRole.BATCH_START: starts, OffsetRole.BATCH_END: ends}.get(one.role)
        if side is not None and isinstance(one.offset, int):
            side[(one.source, one.partition)] = one.offset
    return sorted({(key[1], starts[key], end) for key, end in ends.items() if starts.get(key, end) < end})
