"""From a stored link to lanes: which topics there are, what the target must have, and who copies what.

Planning is idempotent and is done again and again while a link runs: new topics and partitions, changed
configurations and filters take hold without a restart.  What stands in the way of one topic is a finding; the
others go on.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace

from anabranch.copier.planning.overlooked import Overlooked
from anabranch.copier.source import tombstones
from anabranch.errors import AnabranchError, ClusterError
from anabranch.kafka import admin
from anabranch.kafka.cluster import Cluster, Metadata, TopicMeta
from anabranch.kafka.errors import PermissionDeniedError, passing
from anabranch.kafka.partitions import LATEST, list_offsets
from anabranch.kafka.safety import Safety, target_topics
from anabranch.kafka.same_cluster import check_cluster
from anabranch.model import configs as rules
from anabranch.model.clock import now_ms
from anabranch.model.decisions import LaneDecision, LanePlace
from anabranch.model.filters import load as load_filter
from anabranch.model.filters import select
from anabranch.model.lane import LaneAssignment, LaneKey
from anabranch.model.link import LinkRecord, LinkSpec, MirroredTopic, ModePolicy, UnknownLinkError
from anabranch.model.naming import load as load_naming
from anabranch.model.preconditions import of_topics
from anabranch.model.provenance import (
    check_ring,
    claimed_by_opposite,
    copied_home,
    filled_by_another,
    gives_way,
    home_finding,
    mirrored_by_opposite,
    origins,
    second_link,
)
from anabranch.model.reports import Finding, LinkStatus, Severity
from anabranch.model.start import LaneStart, StartKind
from anabranch.model.topics import TopicId, TopicPartition, check_name
from anabranch.state.codecs.topics import LINKS
from anabranch.state.topics.control import Links, Progress
from anabranch.state.topics.loops import blind_to_loops
from anabranch.state.topics.recreated import ControlTopicsRecreatedError, recreated, topic_ids
from anabranch.state.topics.status import status_of
from anabranch.state.topics.upkeep import ControlTopicsError, look_after

_DEFAULT_RECORD_BYTES = 500.0


@dataclass(frozen=True, slots=True)
class Plan:
    """The lanes of a link, with the bytes that each has to copy, and what stands in the way of others.

    ``looked_at_ms`` is before anything was read; ``left_out`` are the topics that the link leaves out on purpose.
    """

    record: LinkRecord
    lanes: Mapping[LaneAssignment, float]
    findings: tuple[Finding, ...]
    looked_at_ms: int
    left_out: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Pair:
    source: TopicMeta
    target: str


@dataclass(frozen=True, slots=True)
class _Provided:
    """A pair's topic on the target and, where the source's is compacted, for how long tombstones stay there."""

    target_id: TopicId
    tombstones_ms: int | None

    @classmethod
    def of(cls, target_id: TopicId, read: Mapping[str, admin.Config]) -> _Provided:
        """By the source's configs."""
        if "compact" not in _own(read).get("cleanup.policy", ""):
            return cls(target_id, None)
        stays = read.get(tombstones.SETTING)
        return cls(target_id, int((stays and stays.value) or tombstones.DEFAULT_MS))


class Planner:
    """Plans one link between two connected clusters, and gives the target the topics that it needs."""

    def __init__(self, link: str, source: Cluster, target: Cluster) -> None:
        self._link = link
        self._source = source
        self._target = target
        self._links = Links(target)
        self._safety = Safety(target)
        self._upstream: Links | None = None
        self._has_planned = False
        self._provided: dict[tuple[uuid.UUID, str], _Provided] = {}
        self._overlooked_source, self._overlooked_target = Overlooked(source), Overlooked(target)
        self.progress = Progress(target)

    async def plan(self) -> Plan:
        """Plan anew; raises ClusterError, or RefusedError where the whole link must not run."""
        try:
            return await self._plan()
        except ClusterError:
            self._overlooked_source.begin_anew()
            self._overlooked_target.begin_anew()
            raise

    async def _plan(self) -> Plan:
        looked_at = now_ms()
        await self._links.sync()
        record = self._links.links.get(self._link)
        if record is None:
            raise UnknownLinkError(self._link, self._target.name)
        spec = record.wanted.spec
        findings = await self._look_after()
        await self._compare_control_topics(record)
        source, target = await self._source.metadata(None), await self._target.metadata(None)
        check_cluster(spec.source.context, spec.source.cluster_id, source)
        check_cluster(spec.target.context, spec.target.cluster_id, target)
        known = {topic.target: topic for topic in self._links.topics_of(spec.id)}
        in_doubt = await self._put_back(spec, known, source, target, findings)
        looping = await self._check_provenance(record, source)
        if self._upstream is None:
            findings += await blind_to_loops(self._source)
        left_out = set(select(load_filter(spec.filter), _named(source, looping)))
        pairs = self._pairs(spec, source, looping, findings)
        left_out |= {pair.source.name for pair in pairs}
        pairs = self._not_home(spec, pairs, known, target, findings)
        pairs = self._unclaimed(spec, pairs, known, target, findings)
        left_out -= {pair.source.name for pair in pairs}
        sure = [pair for pair in pairs if pair.target not in in_doubt]
        explicit = await admin.topic_configs(self._source, [pair.source.name for pair in sure])
        present = [pair.target for pair in sure if _exists(target, pair.target)]
        configured = await admin.topic_configs(self._target, present)
        findings += await self._safety.findings(spec.lease_seconds)
        findings += of_topics(target_topics(target, configured))
        lanes: list[LaneAssignment] = []
        retentions: dict[str, int] = {}
        for pair in pairs:
            before = self._provided.get((pair.source.id, pair.target))
            if pair.target in in_doubt:
                provided = before  # no broker answers for it: it goes on as it was
            else:
                read = self._explicit(pair.source.name, explicit, findings)
                try:
                    made = await self._provide(
                        spec, pair, _own(read), target, known.get(pair.target), configured.get(pair.target)
                    )
                except AnabranchError as error:
                    findings.append(Finding(Severity.ERROR, f"topic {pair.source.name}: {error.message}", error.hint))
                    if before is None or not passing(error):
                        continue
                    made = before.target_id  # what passes by itself must not end the topic's leases
                if isinstance(made, Finding):
                    findings.append(made)
                    continue
                provided = _Provided.of(made, read)
            if provided is None:
                continue
            other = filled_by_another(spec.id, provided.target_id, self._links.mirrored.values())
            if other is not None and not spec.shared_topics:  # since before that was refused
                findings.append(second_link(pair.source.name, pair.target, other.link, Severity.WARNING))
            self._provided[(pair.source.id, pair.target)] = provided
            if provided.tombstones_ms is not None:
                retentions[pair.source.name] = provided.tombstones_ms
            is_compacted = provided.tombstones_ms is not None
            lanes += _lanes(spec, pair, provided.target_id, is_compacted, self._links.decisions[spec.id])
        await self.progress.sync()
        lanes = await self._give_way(spec, lanes, known, findings)
        findings += tombstones.outlived(spec.id, lanes, self.progress.lanes, retentions, now_ms())
        if spec.start.kind is StartKind.LATEST:
            lanes = self._late_from_the_start(spec.id, lanes)
        weighed = await self._weigh(lanes, source)
        return Plan(record, weighed, tuple(findings), looked_at, tuple(sorted(left_out)))

    async def status(self) -> LinkStatus | None:
        """The link as it stands now; None where it is stored no more.  Raises ClusterError."""
        await self._links.sync()
        await self.progress.sync()
        return status_of(self._links, self.progress, self._link, now_ms()) if self._link in self._links.links else None

    async def _look_after(self) -> list[Finding]:
        """What is wrong with the control topics; raises ControlTopicsError where a run must not begin on them.

        A run that is under way goes on: whoever reads the topics notices when a record is gone.
        """
        found = await look_after(self._target)
        errors = tuple(finding for finding in found if finding.severity is Severity.ERROR)
        if errors and not self._has_planned:
            raise ControlTopicsError(self._target.name, errors)
        self._has_planned = True
        return found

    async def _compare_control_topics(self, record: LinkRecord) -> None:
        """Refuse those that were recreated; store the ids of those that the link was not known to be begun with."""
        now = await topic_ids(self._target)
        others = await recreated(self._target, record.control_topics, now)
        if others:
            raise ControlTopicsRecreatedError(self._link, self._target.name, others)
        if now.keys() - record.control_topics.keys():
            await self._store(lambda latest: replace(latest, control_topics={**now, **latest.control_topics}))

    async def _store(self, change: Callable[[LinkRecord], LinkRecord]) -> None:
        """Store what was found out of the link; what is wanted may have changed since it was read, and stays."""
        await self._links.sync()
        latest = self._links.links.get(self._link)
        if latest is not None:
            await self._links.put(change(latest))

    async def _put_back(
        self,
        spec: LinkSpec,
        known: Mapping[str, MirroredTopic],
        source: Metadata,
        target: Metadata,
        findings: list[Finding],
    ) -> set[str]:
        """Add what the brokers that were asked leave out of the topics that the link fills.

        Returns the target's names of those of which, on one side, no broker that answers knows anything now.
        """
        chosen = set(select(load_filter(spec.filter), [topic.source for topic in known.values()]))
        ours = [topic for topic in known.values() if topic.source in chosen]
        from_source = {topic.source: topic.source_id.uuid for topic in ours}
        from_target = {topic.target: topic.target_id.uuid for topic in ours}
        on_source, sources = await self._overlooked_source.put_back(source, from_source)
        on_target, targets = await self._overlooked_target.put_back(target, from_target)
        findings += on_source + on_target
        return {topic.target for topic in ours if topic.source in sources or topic.target in targets}

    def _late_from_the_start(self, link: str, lanes: list[LaneAssignment]) -> list[LaneAssignment]:
        """A partition that appears while the link runs has no record from before it: none of it may be skipped."""
        filed = {lane for lane in self.progress.lanes if lane.link == link}
        if not filed:
            return lanes
        return [
            lane if lane.lane in filed or lane.start.kind is not StartKind.LATEST else replace(lane, start=LaneStart())
            for lane in lanes
        ]

    def _explicit(
        self, topic: str, read: Mapping[str, Mapping[str, admin.Config]], findings: list[Finding]
    ) -> Mapping[str, admin.Config]:
        if topic not in read:
            principal = self._source.transport.principal
            findings.append(
                Finding(
                    Severity.WARNING,
                    f"topic {topic}: {principal} may not DescribeConfigs on the source: its configs are not followed",
                    f"kafka-acls --add --allow-principal {principal} --operation DescribeConfigs --topic {topic}",
                )
            )
        return read.get(topic, {})

    # -- what is to be copied --------------------------------------------------------------------------

    async def _check_provenance(self, record: LinkRecord, source: Metadata) -> frozenset[TopicId]:
        """Refuse rings; name the source's topics that the target itself fills."""
        if self._upstream is None and LINKS in source.topics:
            self._upstream = Links(self._source)
        if self._upstream is None:
            return frozenset()
        await self._upstream.sync()
        spec = record.wanted.spec
        into_source = list(self._upstream.links.values())
        check_ring(spec.id, spec.source.cluster_id, spec.target.cluster_id, into_source)
        now = origins(spec.source.cluster_id, into_source)
        if now != record.origins:
            await self._store(lambda latest: replace(latest, origins=now))
        return mirrored_by_opposite(spec.target.cluster_id, into_source, self._upstream.mirrored.values())

    def _pairs(
        self, spec: LinkSpec, source: Metadata, looping: frozenset[TopicId], findings: list[Finding]
    ) -> list[_Pair]:
        """The topics to copy with their names on the target."""
        naming = load_naming(spec.naming, spec.source.context)
        taken: dict[str, str] = {}
        pairs: list[_Pair] = []
        names = select(load_filter(spec.filter), [t.name for t in source.topics.values() if not t.internal])
        if not names:
            findings.append(
                Finding(
                    Severity.WARNING,
                    f"the filter matches none of the source's {len(source.topics):,} topics that "
                    f"{self._source.transport.principal} may see",
                    f"anabranch link set {spec.id} --include REGEX",
                )
            )
        for name in names:
            topic = source.topics[name]
            if TopicId(topic.id) in looping:
                findings.append(
                    Finding(
                        Severity.INFO, f"topic {name} is left out: the opposite link fills it from the target cluster"
                    )
                )
                continue
            if topic.error:
                findings.append(Finding(Severity.ERROR, f"topic {name}: the source answers error {topic.error}"))
                continue
            try:
                target = check_name(naming.renamed(name), name)
            except AnabranchError as error:
                findings.append(Finding(Severity.ERROR, error.message, error.hint))
                continue
            if target in taken:
                findings.append(
                    Finding(
                        Severity.ERROR,
                        f"topics {taken[target]} and {name} would both be called {target}",
                        "choose a naming policy that keeps them apart, or exclude one",
                    )
                )
                continue
            taken[target] = name
            pairs.append(_Pair(topic, target))
        return pairs

    def _not_home(
        self,
        spec: LinkSpec,
        pairs: list[_Pair],
        known: Mapping[str, MirroredTopic],
        target: Metadata,
        findings: list[Finding],
    ) -> list[_Pair]:
        """The pairs but for copies of the target's own topics that another tool made, unless we fill them already."""
        own = {topic.name for topic in target.topics.values() if not topic.internal}
        home = copied_home(spec, [pair.source.name for pair in pairs], own)
        filled = {pair.source.name for pair in pairs if pair.target in known}
        findings += [home_finding(spec, name, original, name in filled) for name, original in home.items()]
        return [pair for pair in pairs if pair.source.name not in home or pair.source.name in filled]

    def _unclaimed(
        self,
        spec: LinkSpec,
        pairs: list[_Pair],
        known: Mapping[str, MirroredTopic],
        target: Metadata,
        findings: list[Finding],
    ) -> list[_Pair]:
        """The pairs but for those that the opposite link would fill the other way round, which we do not fill yet.

        ``target`` was read after the source's topics.  What is filled already costs nothing here.
        """
        strange = {pair.source.name for pair in pairs if pair.target not in known}
        if self._upstream is None or not strange:
            return pairs
        copies = mirrored_by_opposite(spec.source.cluster_id, self._links.links.values(), self._links.mirrored.values())
        own = [t.name for t in target.topics.values() if not t.internal and TopicId(t.id) not in copies]
        claimed = claimed_by_opposite(spec.target.cluster_id, self._upstream.links.values(), own)
        left_out = {name: claim for name, claim in claimed.items() if name in strange}
        for name, (link, original) in left_out.items():
            findings.append(
                Finding(
                    Severity.WARNING,
                    f"topic {name} is left out: link {link} would fill it from the target's own topic {original}",
                    f"say which way it is copied: anabranch link set {link} --exclude {original}",
                )
            )
        return [pair for pair in pairs if pair.source.name not in left_out]

    # -- what the target must have ---------------------------------------------------------------------

    async def _provide(
        self,
        spec: LinkSpec,
        pair: _Pair,
        explicit: Mapping[str, str],
        target: Metadata,
        known: MirroredTopic | None,
        configured: Mapping[str, admin.Config] | None,
    ) -> TopicId | Finding:
        """See to it that the target topic exists, is large enough and is held open; or say why it can't be used."""
        wanted = rules.wanted_configs(explicit, spec.configs)
        held = rules.held_configs(wanted)
        source_id = TopicId(pair.source.id)
        if known is not None and known.source_id != source_id:
            return Finding(
                Severity.ERROR,
                f"topic {pair.source.name} was deleted and made again on the source: {pair.target} holds the old one",
                f"copy the new one behind it: anabranch link accept {spec.id} {pair.source.name}",
            )
        partitions = len(pair.source.partitions)
        found = target.topics.get(pair.target)
        if found is None or not _exists(target, pair.target):
            if known is not None:
                return Finding(
                    Severity.ERROR,
                    f"topic {pair.target} was deleted on the target",
                    f"copy it again from the start: anabranch link accept {spec.id} {pair.source.name}",
                )
            await admin.create_topic(self._target, pair.target, partitions, spec.replication_factor or -1, held)
            found = await self._await_topic(pair.target)
            target.topics[pair.target] = found
        elif known is not None and known.target_id != TopicId(found.id):
            return Finding(
                Severity.ERROR,
                f"topic {pair.target} was deleted and made again on the target",
                f"copy into the new one from the start: anabranch link accept {spec.id} {pair.source.name}",
            )
        elif len(found.partitions) < partitions:
            if known is None:
                return Finding(
                    Severity.ERROR,
                    f"topic {pair.target} has {len(found.partitions):,} partitions on the target, "
                    f"{pair.source.name} has {partitions:,} on the source",
                    f"kafka-topics --alter --topic {pair.target} --partitions {partitions}",
                )
            await admin.grow_topic(self._target, pair.target, partitions)
            await self._await_topic(pair.target, partitions)
        other = filled_by_another(spec.id, TopicId(found.id), self._links.mirrored.values())
        if known is None and other is not None and not spec.shared_topics:
            return second_link(pair.source.name, pair.target, other.link, Severity.ERROR)
        topic = MirroredTopic(spec.id, pair.source.name, source_id, pair.target, TopicId(found.id), wanted)
        if known is None or known != topic or dict(known.configs) != wanted:
            await self._links.put_topic(topic)
        if configured is None:
            configured = (await admin.topic_configs(self._target, [pair.target])).get(pair.target)
        if configured is None:
            principal = self._target.transport.principal
            raise PermissionDeniedError(self._target.name, principal, "DescribeConfigs", f"topic {pair.target}")
        own = {name: config.value or "" for name, config in configured.items() if config.own}
        changes = rules.drift(own, held, spec.configs)
        if changes:
            await admin.alter_topic_configs(self._target, pair.target, changes)
        return TopicId(found.id)

    async def _give_way(
        self,
        spec: LinkSpec,
        lanes: list[LaneAssignment],
        known: Mapping[str, MirroredTopic],
        findings: list[Finding],
    ) -> list[LaneAssignment]:
        """The lanes but for those of topics that another link has begun to plan at the same time, and before us.

        What was ``known`` before may be what a planner had stored that died before it could give way.
        """
        if any(lane.target.topic not in known for lane in lanes):
            await self._links.sync()
        if spec.shared_topics:
            return lanes
        begun = {(key.link, key.topic_id) for key in self.progress.lanes}
        stored = {
            key: (place, (key[0], self._links.mirrored[key].source_id) in begun)
            for key, place in self._links.stored_at.items()
        }
        others: dict[TopicId, list[tuple[int, bool]]] = {}
        for (link, target_id), it in stored.items():
            if link != spec.id:
                others.setdefault(target_id, []).append(it)
        refused: set[TopicId] = set()
        for topic in self._links.topics_of(spec.id):
            mine = stored[(spec.id, topic.target_id)]
            if any(gives_way(mine, it) for it in others.get(topic.target_id, ())):
                other = filled_by_another(spec.id, topic.target_id, self._links.mirrored.values())
                assert other is not None
                await self._links.forget_topic(topic)
                self._provided.pop((topic.source_id.uuid, topic.target), None)
                refused.add(topic.target_id)
                finding = second_link(topic.source, topic.target, other.link, Severity.ERROR)
                findings[:] = [*(one for one in findings if one.what != finding.what), finding]
        return [lane for lane in lanes if lane.target_id not in refused]

    async def _await_topic(self, name: str, partitions: int = 1) -> TopicMeta:
        """The topic once the brokers know it with leaders."""
        for _ in range(100):
            topic = (await self._target.metadata([name])).topics[name]
            if topic.error == 0 and len(topic.partitions) >= partitions:
                return topic
            await asyncio.sleep(0.05)
        self._target.check(topic.error or 5, "Describe", f"topic {name}")
        return topic

    # -- how much there is -----------------------------------------------------------------------------

    async def _weigh(self, lanes: list[LaneAssignment], source: Metadata) -> dict[LaneAssignment, float]:
        """An estimate of the bytes that each lane has to copy, at least 1."""
        by_leader: dict[int, dict[tuple[str, int], tuple[int, int]]] = {}
        for lane in lanes:
            part = source.topics[lane.source.topic].partitions.get(lane.source.partition)
            if part is not None and part.leader >= 0:
                by_leader.setdefault(part.leader, {})[(lane.source.topic, lane.source.partition)] = (LATEST, -1)
        ends: dict[tuple[str, int], int] = {}
        for leader, wanted in by_leader.items():
            try:
                answers = await list_offsets(await self._source.connection(leader), wanted)
            except AnabranchError:
                continue  # an unknown end makes a lane light, nothing else
            ends |= {key: answer.offset for key, answer in answers.items() if answer.code == 0}
        weights = {}
        for lane in lanes:
            filed = self.progress.lanes.get(lane.lane)
            position, mean = 0, _DEFAULT_RECORD_BYTES
            if filed is not None:
                position = filed.position
                mean = filed.bytes / filed.records if filed.records else mean
            behind = max(0, ends.get((lane.source.topic, lane.source.partition), 0) - position)
            rate = filed.bytes_per_s * 60 if filed is not None else 0.0
            weights[lane] = 1.0 + behind * mean + rate
        return weights


def _lanes(
    spec: LinkSpec, pair: _Pair, target_id: TopicId, compacted: bool, decisions: Mapping[LanePlace, LaneDecision]
) -> list[LaneAssignment]:
    """The lanes of one topic, each in the generation and with the start that a person decided, if one did."""
    mode = ModePolicy.MAPPED if compacted else spec.mode
    source_id = TopicId(pair.source.id)
    lanes = []
    for partition in sorted(pair.source.partitions):
        source = TopicPartition(pair.source.name, partition)
        start = spec.start.for_lane(source)
        decided = decisions.get(LanePlace(source_id, partition))
        lanes.append(
            LaneAssignment(
                LaneKey(spec.id, source_id, partition) if decided is None else decided.lane,
                source,
                TopicPartition(pair.target, partition),
                target_id,
                start if decided is None else decided.start_or(start),
                mode,
                None if decided is None else decided.skip,
            )
        )
    return lanes


def _named(metadata: Metadata, ids: Collection[TopicId]) -> list[str]:
    return [topic.name for topic in metadata.topics.values() if TopicId(topic.id) in ids]


def _own(read: Mapping[str, admin.Config]) -> dict[str, str]:
    """What was set of a topic's configs for itself."""
    return {name: config.value for name, config in read.items() if config.own and config.value is not None}


def _exists(metadata: Metadata, topic: str) -> bool:
    found = metadata.topics.get(topic)
    return found is not None and found.error == 0
