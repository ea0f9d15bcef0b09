"""From a stored link to lanes: which topics there are, what the target must have, and who copies what.

Planning is idempotent and is done again and again while a link runs: new topics and partitions, changed
configurations and filters take hold without a restart.  What stands in the way of one topic is a finding; the
others go on.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from anabranch.copier.planning.lanes import lanes_of, lanes_of_absent, late_from_the_start, weigh
from anabranch.copier.planning.lease import PlanBasis
from anabranch.copier.planning.pairs import TopicPair, named, not_home, pairs_of, unclaimed
from anabranch.copier.planning.remembered_topics import RememberedTopics
from anabranch.copier.planning.target_topics import TargetTopics, TargetTopicState, exists
from anabranch.errors import AnabranchError, ClusterError
from anabranch.kafka import admin
from anabranch.kafka.cluster import Cluster, ClusterMetadata
from anabranch.kafka.errors import passing
from anabranch.kafka.safety import Safety, target_topics
from anabranch.kafka.same_cluster import check_cluster
from anabranch.model import configs as rules
from anabranch.model import tombstones
from anabranch.model.clock import now_ms
from anabranch.model.filters import load as load_filter
from anabranch.model.filters import select
from anabranch.model.lane import LaneAssignment, LaneKey
from anabranch.model.link import LinkRecord, LinkSpec, MirroredTopic, UnknownLinkError
from anabranch.model.preconditions import of_topics
from anabranch.model.provenance import (
    check_ring,
    filled_by_another,
    gives_way,
    mirrored_by_opposite,
    origins,
    second_link,
    turned_links,
)
from anabranch.model.reasons import Reason, Severity, errors
from anabranch.model.reports import LinkStatus
from anabranch.model.start import StartKind
from anabranch.model.topics import TopicId
from anabranch.state.codecs.topics import LINKS
from anabranch.state.topics.control import Links, OvertakenError, Progress
from anabranch.state.topics.loops import blind_to_loops
from anabranch.state.topics.recreated import ControlTopicsRecreatedError, recreated, topic_ids
from anabranch.state.topics.status import status_of
from anabranch.state.topics.upkeep import ControlTopicsError, look_after
from anabranch.state.topics.verified import VerifiedTopic

_STORE_TRIES = 5


@dataclass(frozen=True, slots=True)
class LanePlan:
    """The lanes of a link, with the bytes that each has to copy, and what stands in the way of others.

    ``looked_at_ms`` is before anything was read; ``left_out`` are the topics that the link leaves out on purpose.
    ``outlived`` are lanes of which the source may have dropped tombstones.
    ``basis`` is None of a plan that is used again since no newer one could be made.
    """

    record: LinkRecord
    lanes: Mapping[LaneAssignment, float]
    findings: tuple[Reason, ...]
    looked_at_ms: int
    left_out: tuple[str, ...]
    outlived: tombstones.Outlived
    basis: PlanBasis | None


class Planner:
    """Plans one link between two connected clusters, and gives the target the topics that it needs."""

    def __init__(self, link: str, source: Cluster, target: Cluster) -> None:
        self._link = link
        self._source = source
        self._target = target
        self._links = Links(target)
        self._safety = Safety(target)
        self._topics = TargetTopics(target, self._links)
        self._upstream: Links | None = None
        self._turned: frozenset[str] = frozenset()
        self._has_planned = False
        self._provided: dict[tuple[uuid.UUID, str], TargetTopicState] = {}
        self._source_topics, self._target_topics = RememberedTopics(source), RememberedTopics(target)
        self._verified = VerifiedTopic(target)
        self.progress = Progress(target)

    async def plan(self) -> LanePlan:
        """Plan again; raises ClusterError, or RefusedError where the whole link must not run."""
        try:
            return await self._plan()
        except ClusterError:
            self._source_topics.begin_again()
            self._target_topics.begin_again()
            raise

    async def _plan(self) -> LanePlan:
        looked_at = now_ms()
        await self._links.sync()
        await self._links.settle(self._link)
        record = self._links.links.get(self._link)
        if record is None:
            raise UnknownLinkError(self._link, self._target.name)
        spec = record.wanted.spec
        decided = dict(self._links.decisions[spec.id])  # as of the record, whatever is read while this is planned
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
        left_out = set(select(load_filter(spec.filter), named(source, looping)))
        pairs = pairs_of(spec, source, looping, self._source.transport.principal, findings)
        left_out |= {pair.source.name for pair in pairs}
        pairs = not_home(spec, pairs, known, source, target, findings)
        if self._upstream is not None:
            links = (self._links.links.values(), self._links.mirrored.values())
            upstream = [record for name, record in self._upstream.links.items() if name not in self._turned]
            pairs = unclaimed(spec, pairs, known, target, links, upstream, findings)
        left_out -= {pair.source.name for pair in pairs}
        sure = [pair for pair in pairs if pair.target not in in_doubt]
        explicit = await admin.topic_configs(self._source, [pair.source.name for pair in sure])
        present = [pair.target for pair in sure if exists(target, pair.target)]
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
                own = self._unheld(spec, pair, admin.own_configs(read))
                try:
                    made = await self._topics.provide(
                        spec, pair, own, target, known.get(pair.target), configured.get(pair.target)
                    )
                except AnabranchError as error:
                    findings.append(
                        Reason.found(Severity.ERROR, f"topic {pair.source.name}: {error.message}", error.hint)
                    )
                    if before is None or not passing(error):
                        continue
                    made = before.target_id  # what passes by itself must not end the topic's leases
                if isinstance(made, Reason):
                    findings.append(made)
                    continue
                provided = TargetTopicState.of(made, read)
            if provided is None:
                continue
            other = filled_by_another(spec.id, provided.target_id, self._links.mirrored.values())
            if other is not None and not spec.shared_topics:  # since before that was refused
                findings.append(second_link(pair.source.name, pair.target, other.link, Severity.WARNING))
            self._provided[(pair.source.id, pair.target)] = provided
            if provided.tombstones_ms is not None:
                retentions[pair.source.name] = provided.tombstones_ms
            is_compacted = provided.tombstones_ms is not None
            lanes += lanes_of(spec, pair, provided.target_id, is_compacted, decided)
        await self.progress.sync()
        absent = [topic for topic in known.values() if topic.source not in source.topics]
        if absent:
            begun = self._links.standing(spec.id, self.progress.lanes.of(spec.id))
            lanes += lanes_of_absent(spec, absent, begun, decided)
        lanes = await self._give_way(spec, lanes, known, findings)
        outlived = await self._outlived(lanes, retentions, findings)
        if spec.start.kind is StartKind.LATEST:
            lanes = late_from_the_start(spec.id, lanes, self.progress.lanes)
        weighed = await weigh(self._source, lanes, source, self.progress.lanes)
        basis = PlanBasis.of(spec.filter, decided)
        return LanePlan(record, weighed, tuple(findings), looked_at, tuple(sorted(left_out)), outlived, basis)

    async def status(self) -> LinkStatus | None:
        """The link as it stands now; None where it is stored no more.  Raises ClusterError."""
        await self._links.sync()
        await self.progress.sync()
        return status_of(self._links, self.progress, self._link, now_ms()) if self._link in self._links.links else None

    async def _look_after(self) -> list[Reason]:
        """What is wrong with the control topics; raises ControlTopicsError where a run must not begin on them.

        A run that is under way goes on: whoever reads the topics notices when a record is gone.
        """
        found = await look_after(self._target)
        if (faults := errors(found)) and not self._has_planned:
            raise ControlTopicsError(self._target.name, faults)
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
        """Store what was found out of the link; what is wanted may have changed since it was read, and stays.

        Raises OvertakenError where people change the link again and again meanwhile.
        """
        for tries in range(_STORE_TRIES, 0, -1):
            await self._links.sync()
            latest = self._links.links.get(self._link)
            if latest is None:
                return
            try:
                await self._links.put(change(latest))
            except OvertakenError:
                if tries == 1:
                    raise
            else:
                return

    async def _put_back(
        self,
        spec: LinkSpec,
        known: Mapping[str, MirroredTopic],
        source: ClusterMetadata,
        target: ClusterMetadata,
        findings: list[Reason],
    ) -> set[str]:
        """Add what the brokers that were asked leave out of the topics that the link fills.

        Returns the target's names of those of which, on one side, no broker that answers knows anything now.
        """
        chosen = set(select(load_filter(spec.filter), [topic.source for topic in known.values()]))
        ours = [topic for topic in known.values() if topic.source in chosen]
        from_source = {topic.source: topic.source_id.uuid for topic in ours}
        from_target = {topic.target: topic.target_id.uuid for topic in ours}
        on_source, sources = await self._source_topics.put_back(source, from_source)
        on_target, targets = await self._target_topics.put_back(target, from_target)
        findings += on_source + on_target
        return {topic.target for topic in ours if topic.source in sources or topic.target in targets}

    def _explicit(
        self, topic: str, read: Mapping[str, Mapping[str, admin.Config]], findings: list[Reason]
    ) -> Mapping[str, admin.Config]:
        if topic not in read:
            principal = self._source.transport.principal
            findings.append(
                Reason.found(
                    Severity.WARNING,
                    f"topic {topic}: {principal} may not DescribeConfigs on the source: its configs are not followed",
                    f"kafka-acls --add --allow-principal {principal} --operation DescribeConfigs --topic {topic}",
                )
            )
        return read.get(topic, {})

    def _unheld(self, spec: LinkSpec, pair: TopicPair, own: Mapping[str, str]) -> Mapping[str, str]:
        """The configs of a topic as they are meant, also where the link whose way back this is holds it open."""
        if spec.back_of is None or self._upstream is None:
            return own
        topic = self._upstream.mirrored.get((spec.back_of, TopicId(pair.source.id)))
        return own if topic is None else rules.unheld_configs(own, topic.configs)

    # -- what is to be copied --------------------------------------------------------------------------

    async def _check_provenance(self, record: LinkRecord, source: ClusterMetadata) -> frozenset[TopicId]:
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
        mirrored = self._upstream.mirrored.values()
        self._turned = turned_links(spec, self._upstream.links, self._links.links)
        return mirrored_by_opposite(spec.target.cluster_id, into_source, mirrored, self._turned)

    # -- what the target must have ---------------------------------------------------------------------

    async def _outlived(
        self, lanes: Sequence[LaneAssignment], retentions: Mapping[str, int], findings: list[Reason]
    ) -> tombstones.Outlived:
        """The lanes of which tombstones may be gone, with a finding for each of their topics.

        What was compared of a lane before is forgotten as it is late first: what was equal then may not be so now.
        """
        plan = self.progress.plans.get(self._link)
        before = {} if plan is None else plan.outlived
        keys = {lane.lane for lane in lanes} | {LaneKey.parse(lane) for lane in before}
        persisted = [self.progress.lanes[key] for key in keys if key in self.progress.lanes]
        found = tombstones.followed(before, persisted, retentions, now_ms())
        if found:
            await self._verified.sync()
            if compared := [lane for lane in found if lane not in before and lane in self._verified.lanes]:
                await self._verified.forget(compared)
                await self._verified.sync()
            found = tombstones.unchecked(found, {key: one.source[1] for key, one in self._verified.lanes.items()})
        findings += tombstones.findings(self._link, found, persisted, retentions)
        return found

    async def _give_way(
        self,
        spec: LinkSpec,
        lanes: list[LaneAssignment],
        known: Mapping[str, MirroredTopic],
        findings: list[Reason],
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
