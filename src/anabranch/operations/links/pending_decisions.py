"""The decisions that a link waits for, read from both clusters as they are now.

A persisted stop says why, the source says what it still has.  Nothing is offered for a lane whose problem has passed,
or that another verb fixes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from anabranch.errors import InvalidFieldError, RefusedError
from anabranch.kafka.cluster import Cluster, ClusterMetadata
from anabranch.kafka.errors import UNKNOWN_TOPIC
from anabranch.kafka.offset_at import offset_at
from anabranch.kafka.partitions import EARLIEST, LATEST
from anabranch.kafka.same_cluster import check_cluster
from anabranch.model.clock import now_ms
from anabranch.model.decisions import AcceptPlan, Cause, PendingDecision, SourcePartition, beginning, skipping
from anabranch.model.lane import LaneKey, LaneProgress, LaneState
from anabranch.model.link import LinkRecord, MirroredTopic, UnknownLinkError
from anabranch.model.plans import plan_hash
from anabranch.model.start import StartKind
from anabranch.model.topics import TopicId, TopicPartition
from anabranch.operations.links.map_recovery import SKIPPABLE, LaneInDoubt, cause_of, unreported, words
from anabranch.protocol.claims import ClaimLog
from anabranch.protocol.endings import Stop
from anabranch.state.codecs import topics as control_topics
from anabranch.state.topics.control import Links, Progress
from anabranch.state.topics.journal import Journal
from anabranch.state.topics.recreated import recreated, topic_ids


@dataclass(eq=False)
class HistoryLostError(RefusedError):
    """Progress and runs of all links are gone, and claims or gap records: only the records tell how far they were
    copied."""

    link: str
    target: str

    _message = "cluster {target} has forgotten how far the lanes of link {link!r} were copied"
    _hint = (
        "find it out from the records: `anabranch link delete {link}`, `anabranch offsets rebuild`, then "
        "`anabranch link create --adopt`"
    )


@dataclass(frozen=True, slots=True)
class LinkSnapshot:
    """A snapshot of both clusters, and of what is stored of the link."""

    source: Cluster
    target: Cluster
    record: LinkRecord
    links: Links
    lanes: Mapping[LaneKey, LaneProgress]
    claims: ClaimLog
    source_topics: ClusterMetadata
    target_topics: ClusterMetadata
    missing: tuple[str, ...]
    recreated: tuple[str, ...]
    now_ms: int

    @classmethod
    async def read(cls, source: Cluster, target: Cluster, link_id: str) -> LinkSnapshot:
        control = await target.metadata(list(control_topics.ALL))
        missing = tuple(name for name in control_topics.ALL if control.topics[name].error == UNKNOWN_TOPIC)
        if control_topics.LINKS in missing:
            raise UnknownLinkError(link_id, target.name)
        links, progress, claims = Links(target), Progress(target), ClaimLog()
        await links.sync()
        record = links.links.get(link_id)
        if record is None:
            raise UnknownLinkError(link_id, target.name)
        others = await recreated(target, record.control_topics, await topic_ids(target))
        lost = {*missing, *others}
        if {control_topics.PROGRESS, control_topics.RUNS} <= lost and lost & {
            control_topics.CLAIMS,
            control_topics.GAP_RECORDS,
        }:
            raise HistoryLostError(link_id, target.name)
        if control_topics.PROGRESS not in missing:
            await progress.sync()
        if control_topics.CLAIMS not in missing:
            claims = await Journal(target).read()
        topics = links.topics_of(link_id)
        # By name: in an answer about all topics those that we may not see are missing, as deleted ones are.
        source_topics = await source.metadata(sorted({topic.source for topic in topics}))
        target_topics = await target.metadata(sorted({topic.target for topic in topics}))
        spec = record.wanted.spec
        check_cluster(spec.source.context, spec.source.cluster_id, source_topics)
        check_cluster(spec.target.context, spec.target.cluster_id, target_topics)
        lanes = {lane.lane: lane for lane in progress.lanes.of(link_id)}
        return cls(
            source, target, record, links, lanes, claims, source_topics, target_topics, missing, others, now_ms()
        )

    async def plan(self, topic: str | None, partition: int | None, at: int | None = None) -> AcceptPlan:
        """The pending decisions of all topics or one; ``at`` is where one lane is to go on, as the user says.

        Raises InvalidFieldError where one partition of a new topic is meant, or ``at`` does not fit.
        """
        link = self.record.wanted.spec.id
        pending: list[PendingDecision] = []
        remember: list[MirroredTopic] = []
        forget: list[MirroredTopic] = []
        for filled in sorted(self.links.topics_of(link), key=lambda one: one.source):
            cause = self._made_again(filled)
            asked = topic is None or filled.source == topic
            if cause is None:
                pending += await self._stopped(filled, partition, at) if asked else []
                pending += await self._unreported(filled, partition if asked else None, at)
            if cause is None or not asked:
                continue
            if partition is not None:
                fix = f"anabranch link accept {link} {topic}"
                raise InvalidFieldError("link accept", "partition", f"{cause.value}: it is accepted as a whole", fix)
            if cause is Cause.SOURCE_MADE_AGAIN:
                pending += await self._new_source(filled)
                if self._target_id(filled) == filled.target_id:
                    remember.append(replace(filled, source_id=TopicId(self.source_topics.topics[filled.source].id)))
                else:
                    forget.append(filled)
            else:
                pending += await self._new_target(filled, cause)
                forget.append(filled)
        return AcceptPlan(
            link,
            tuple(pending),
            tuple(remember),
            tuple(forget),
            self._hash(pending, forget),
            self.missing,
            self.recreated,
        )

    # -- topics ----------------------------------------------------------------------------------------

    def _made_again(self, filled: MirroredTopic) -> Cause | None:
        source_topic = self.source_topics.topics[filled.source]
        if source_topic.error:
            return None  # a source that is gone, or that cannot be seen, leaves nothing to go on with
        if TopicId(source_topic.id) != filled.source_id:
            return Cause.SOURCE_MADE_AGAIN
        target_id = self._target_id(filled)
        if target_id is None:
            return Cause.TARGET_DELETED
        return Cause.TARGET_MADE_AGAIN if target_id != filled.target_id else None

    def _target_id(self, filled: MirroredTopic) -> TopicId | None:
        """The id of the topic that now has the target's name; None where there is none."""
        target_topic = self.target_topics.topics[filled.target]
        if target_topic.error == UNKNOWN_TOPIC:
            return None
        return filled.target_id if target_topic.error else TopicId(target_topic.id)

    async def _new_source(self, filled: MirroredTopic) -> list[PendingDecision]:
        topic = self.source_topics.topics[filled.source]
        pending = []
        for partition in sorted(topic.partitions):
            old = self._lane_of(filled.source_id, partition)
            lane = LaneKey(self.record.wanted.spec.id, TopicId(topic.id), partition)
            start = await offset_at(self.source, TopicPartition(filled.source, partition), EARLIEST)
            position = old.position if old is not None else 0
            end = old.high_watermark if old is not None else 0
            lost = (position, end) if end > position else None
            means = (
                f"the new topic is copied from its offset {start:,} on, after the {position:,} offsets of the old one"
            )
            if lost is not None:
                means += f"; offsets {words(lost)} of the old one were never copied and are gone"
            if old is not None:
                means += (
                    f"; what was written to the old one after {_last_seen(old)} is gone too; the amount is not known"
                )
            pending.append(
                self._decision(Cause.SOURCE_MADE_AGAIN, filled, partition, lane, position, lost, None, start, means)
            )
        return pending

    async def _new_target(self, filled: MirroredTopic, cause: Cause) -> list[PendingDecision]:
        topic = self.source_topics.topics[filled.source]
        pending = []
        for partition in sorted(topic.partitions):
            lane = self._current(filled.source_id, partition)
            old = self.lanes.get(lane)
            first = await offset_at(self.source, TopicPartition(filled.source, partition), EARLIEST)
            begun = await self._begun(lane, TopicPartition(filled.source, partition), first)
            start = max(begun, first)
            again = replace(lane, generation=lane.generation + 1)
            position = old.position if old is not None else begun
            lost = (begun, start) if begun < start else None
            means = f"a new target topic is filled from source offset {start:,} on, as generation {again.generation}"
            if cause is Cause.TARGET_MADE_AGAIN:
                means = f"the topic that is there now is filled from source offset {start:,} on, after what it holds"
            if lost is not None:
                means += f"; offsets {words(lost)} are no longer on the source and will be missing"
            if lane.generation and not self.claims.claims(str(replace(lane, generation=0))):
                means += "; where the lane once began is forgotten: the link's start is taken for that"
            pending.append(self._decision(cause, filled, partition, again, position, lost, None, start, means))
        return pending

    async def _begun(self, lane: LaneKey, source: TopicPartition, first: int) -> int:
        """The source offset at which the copy of a partition once began, with whichever generation.

        Invariant: of what a lost target held nothing lies below, as far as claims tell.  Where those of the first
        generation are gone, the link's start holds, or a later generation's that begins lower.
        """
        starts = [
            placed.claim.start
            for generation in range(lane.generation + 1)
            for placed in self.claims.claims(str(replace(lane, generation=generation)))
        ]
        if not self.claims.claims(str(replace(lane, generation=0))):
            starts.append(await self._links_start(source, first))
        return min(starts)

    async def _links_start(self, source: TopicPartition, first: int) -> int:
        """The source offset at which the link would have a lane begin, as far as that can be told now."""
        start = self.record.wanted.spec.start.for_lane(source)
        if start.kind is StartKind.OFFSETS and start.value is not None:
            return start.value
        if start.kind is StartKind.TIMESTAMP and start.value is not None:
            found = await offset_at(self.source, source, start.value)
            return found if found >= 0 else await offset_at(self.source, source, LATEST)
        return first

    # -- lanes -----------------------------------------------------------------------------------------

    async def _stopped(self, filled: MirroredTopic, partition: int | None, at: int | None) -> list[PendingDecision]:
        topic = self.source_topics.topics[filled.source]
        wanted = [one for one in sorted(topic.partitions) if partition is None or one == partition]
        lanes = [self.lanes.get(self._current(filled.source_id, one)) for one in wanted]
        if topic.error:
            return []
        found = [await self._of_lane(filled, lane, at) for lane in lanes if lane is not None]
        return [choice for choice in found if choice is not None]

    async def _unreported(self, filled: MirroredTopic, partition: int | None, at: int | None) -> list[PendingDecision]:
        """The lanes of which neither claims nor progress are left, and whose target partitions hold records.

        Their worker may have ended before it reported anything.  Whatever part of the link is asked about, all of these
        are in the plan: once the new claims are accepted, nothing else keeps them from beginning again.  ``at`` is
        where ``partition`` is to go on.
        """
        if control_topics.CLAIMS not in {*self.missing, *self.recreated}:
            return []
        there = self.source_topics.topics[filled.source].partitions
        found = []
        for one in sorted(there.keys() & self.target_topics.topics[filled.target].partitions.keys()):
            lane = self._current(filled.source_id, one)
            source, target = TopicPartition(filled.source, one), TopicPartition(filled.target, one)
            if lane in self.lanes or self.claims.claims(str(lane)):
                continue
            if await offset_at(self.target, target, EARLIEST) == await offset_at(self.target, target, LATEST):
                continue
            begun = self._begun_at(lane)
            if begun < 0:
                begun = await self._links_start(source, await offset_at(self.source, source, EARLIEST))
            in_doubt = await LaneInDoubt.read(
                self.source, self.target, unreported(lane, source, target, begun), Cause.CLAIMS_LOST
            )
            found.append(in_doubt.pending_decision(at if one == partition else None, self.now_ms))
        return found

    async def _of_lane(self, filled: MirroredTopic, lane: LaneProgress, at: int | None) -> PendingDecision | None:
        reason = lane.stop_reason if lane.state is LaneState.STOPPED else None
        has_claims = bool(self.claims.claims(str(lane.lane)))
        cause = cause_of(lane, has_claims, self._begun_at(lane.lane))
        if cause is None and has_claims and control_topics.GAP_RECORDS in {*self.missing, *self.recreated}:
            cause = Cause.GAP_RECORDS_LOST
        if cause is None and not has_claims and await self._has_grown(lane):
            cause = Cause.CLAIMS_LOST
        if cause is not None:
            return (await LaneInDoubt.read(self.source, self.target, lane, cause)).pending_decision(at, self.now_ms)
        if reason is not None and at is not None and any(stop.value in reason for stop in SKIPPABLE):
            return await self._given_up(lane, at, reason)
        if at is not None:
            fix = f"anabranch link accept {lane.lane.link} {filled.source}:{lane.lane.partition}"
            raise InvalidFieldError("link accept", "--at", f"where {lane.source} goes on is no choice", fix)
        if reason is None:
            return None
        first = await offset_at(self.source, lane.source, EARLIEST)
        if Stop.SOURCE_EXPIRED.value in reason and _first_uncopied(lane) < first:
            return self._expired(lane, first)
        if Stop.SOURCE_TRUNCATED.value in reason and lane.stop_offset is not None:
            # What was under way when the lane stopped, and then failed, was never copied.
            return self._truncated(filled, lane, min(lane.stop_offset, lane.position), first)
        return None

    async def _has_grown(self, lane: LaneProgress) -> bool:
        """Whether claims were lost, and the target holds more than when a lane that had copied nothing reported that:
        its worker may have ended before it reported again."""
        if control_topics.CLAIMS not in {*self.missing, *self.recreated}:
            return False
        return await offset_at(self.target, lane.target, LATEST) > lane.target_end

    def _begun_at(self, lane: LaneKey) -> int:
        decided = self.links.decisions[lane.link].get(SourcePartition(lane.topic_id, lane.partition))
        return -1 if decided is None or not decided.generation or decided.start is None else decided.start

    async def _given_up(self, lane: LaneProgress, at: int, reason: str) -> PendingDecision:
        """Records that the lane stopped at are passed over, up to where a person says."""
        last = await offset_at(self.source, lane.source, LATEST)
        if not _first_uncopied(lane) < at <= last:
            problem = f"the lane stopped at offset {_first_uncopied(lane):,}, and the source ends at {last:,}"
            raise InvalidFieldError(
                "link accept", "--at", problem, f"an offset from {_first_uncopied(lane) + 1:,} to {last:,}"
            )
        return self._skipped(lane, Cause.GIVEN_UP, at, f"{reason}: given up up to offset {at:,}")

    def _expired(self, lane: LaneProgress, first: int) -> PendingDecision:
        why = f"{Cause.SOURCE_EXPIRED.value}: offsets {words((_first_uncopied(lane), first))}"
        return self._skipped(lane, Cause.SOURCE_EXPIRED, first, why)

    def _skipped(self, lane: LaneProgress, cause: Cause, onward: int, why: str) -> PendingDecision:
        lost = (_first_uncopied(lane), onward)
        before = self.links.decisions[lane.lane.link].get(SourcePartition(lane.lane.topic_id, lane.lane.partition))
        return PendingDecision(
            cause,
            lane.source,
            lane.target,
            lane.lane,
            lane.position,
            lost,
            None,
            # From the last record that was copied on: between it and where the lane stopped there was none to copy.
            skipping(before, lane.lane, (lane.position, onward), self.now_ms, why),
            f"offsets {words(lost)} are given up; the lane goes on at {onward:,}, "
            "and its offset map says that they are missing",
        )

    def _truncated(self, filled: MirroredTopic, lane: LaneProgress, end: int, first: int) -> PendingDecision:
        start = max(end, first)
        again = replace(lane.lane, generation=lane.lane.generation + 1)
        twice = (end, lane.position) if lane.position > end else None
        lost = (end, start) if start > end else None
        means = f"the lane starts again at source offset {start:,}, as generation {again.generation}"
        if twice is not None:
            means = (
                f"the target keeps its records of offsets {words(twice)}, which the source lost; "
                f"what the source has there now is copied after them, from offset {start:,} on, "
                f"as generation {again.generation}"
            )
        if lost is not None:
            means += f"; offsets {words(lost)} are no longer on the source and will be missing"
        return self._decision(
            Cause.SOURCE_TRUNCATED, filled, lane.lane.partition, again, lane.position, lost, twice, start, means
        )

    def _decision(
        self,
        cause: Cause,
        filled: MirroredTopic,
        partition: int,
        lane: LaneKey,
        position: int,
        lost: tuple[int, int] | None,
        twice: tuple[int, int] | None,
        start: int,
        means: str,
    ) -> PendingDecision:
        source, target = TopicPartition(filled.source, partition), TopicPartition(filled.target, partition)
        why = cause.value if twice is None else f"{cause.value}: offsets {words(twice)}"
        decision = beginning(lane, start, self.now_ms, why)
        return PendingDecision(cause, source, target, lane, position, lost, twice, decision, means)

    # -- looking ---------------------------------------------------------------------------------------

    def _current(self, source_id: TopicId, partition: int) -> LaneKey:
        return self.links.lane_of(self.record.wanted.spec.id, source_id, partition)

    def _lane_of(self, source_id: TopicId, partition: int) -> LaneProgress | None:
        return self.lanes.get(self._current(source_id, partition))

    def _hash(self, pending: Iterable[PendingDecision], forget: Iterable[MirroredTopic]) -> str:
        return plan_hash(
            [self.record.wanted.spec.id, self.record.created_at_ms, self.record.wanted.revision],
            [[one.cause.name, str(one.lane), one.position, one.decision.start, one.decision.skip] for one in pending],
            [[topic.target, str(topic.target_id)] for topic in forget],
            [self.missing, self.recreated],
        )


def _first_uncopied(lane: LaneProgress) -> int:
    """The first source offset that a stopped lane has neither copied nor found to hold nothing."""
    return lane.position if lane.stop_offset is None else max(lane.position, lane.stop_offset)


def _last_seen(lane: LaneProgress) -> str:
    """When the source last reported the end of a lane's log."""
    if lane.source_seen_ms is None:
        return "its end was last reported"
    return f"{datetime.fromtimestamp(lane.source_seen_ms / 1000, UTC):%Y-%m-%d %H:%M:%S} UTC"
