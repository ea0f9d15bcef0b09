"""Steps once a cluster that was lost is back: it is the one that was left, and what it has more is named exactly.

The way there begins with the offset map of the link that led away.  It is exact where that map ends at the end of what
is back, and nothing that others wrote to the other cluster lies between two copies: that would never be copied there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from anabranch.errors import RefusedError
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.log_ends import log_ends
from anabranch.kafka.same_cluster import check_cluster
from anabranch.migration.lost import DOUBTS, FoundLane, found_words, lanes_of, tail_words
from anabranch.migration.options import TailChoice
from anabranch.migration.steps import StepKind
from anabranch.model.counted import counted
from anabranch.model.topics import TopicPartition
from anabranch.operations.links.returning import first_of_others
from anabranch.operations.links.status import stored
from anabranch.operations.migrations import fencing
from anabranch.operations.migrations.desk import Result, Scene
from anabranch.operations.migrations.engine import NotYetError
from anabranch.operations.migrations.looking import check_clusters
from anabranch.operations.offsets.ranges import certain
from anabranch.state.maps.reading import LaneMap, read_maps
from anabranch.state.maps.rebuild import LogRange, headers

_NAMED = 20
_MOST_COUNTED = 1_000_000
"""Of a longer tail only the offsets are told: to count its records is to read it."""


@dataclass(eq=False)
class TailFoundError(RefusedError):
    """A cluster that is back has records that were not copied."""

    migration: str
    wave: str
    source: str
    tails: tuple[str, ...]

    @property
    def message(self) -> str:
        more = f"; and of {len(self.tails) - _NAMED} more partitions" if len(self.tails) > _NAMED else ""
        return f"wave {self.wave}: {self.source} has what was not copied: {'; '.join(self.tails[:_NAMED])}{more}"

    _hint = (
        "say what becomes of it: `anabranch migrate reconcile {migration} --wave {wave} --tail append` copies it "
        "after what was written since, `--tail keep` leaves it where it is"
    )


@dataclass(eq=False)
class NoTailError(RefusedError):
    """It was said what becomes of records that were not copied, and there are none."""

    migration: str
    wave: str
    source: str

    _message = "wave {wave}: all that {source} has was copied"
    _hint = "make the way back: `anabranch migrate reconcile {migration} --wave {wave}`"


@dataclass(eq=False)
class SourceShorterError(RefusedError):
    """A cluster that is back has less than was copied from it, or another topic."""

    migration: str
    wave: str
    source: str
    what: str
    stays: str

    _message = "wave {wave}: {source} is not as it was left: {what}; no way back can be exact"
    _hint = (
        "leave it as it is: `anabranch migrate reconcile {migration} --wave {wave} --tail keep`, or stay for good: "
        "`anabranch migrate {stays} {migration} --wave {wave}`"
    )


@dataclass(eq=False)
class PartedError(RefusedError):
    """One cluster has records between the copies that the other has not: both hold the same in another order."""

    migration: str
    wave: str
    target: str
    source: str
    partition: str
    stays: str

    _message = (
        "wave {wave}: {target} has records of others between the copies of {partition}, which {source} has not and "
        "would have after them: no way back can be exact"
    )
    _hint = (
        "stay: `anabranch migrate {stays} {migration} --wave {wave}`; to move back later begin a migration in the "
        "other direction, into topics that are empty"
    )


async def prove_found(scene: Scene) -> Result:
    """See that the cluster answers and is the one that was left, and which rules deny writing there already.

    Raises NotYetError while it does not answer, OtherClusterError, AnotherClusterError.
    """
    _, record = await stored(scene.there, scene.leg.link)
    check_cluster(scene.here.name, record.wanted.spec.source.cluster_id, await scene.here.metadata([]))
    await check_clusters(scene)
    return await fencing.already_denied(scene)


async def find_tail(scene: Scene) -> Result:
    """Name what the source has that was not copied, and see that what is wanted of it can be done.

    Raises TailFoundError, NoTailError, SourceShorterError, PartedError, LaneInDoubtError, ClusterError.
    """
    ends: Mapping[str, int] | None = scene.run.result(StepKind.PIN, scene.wave.name).get("ends")
    if ends is None:
        raise NotYetError(f"the ends of logs on {scene.here.name} are not pinned")
    choice = TailChoice(scene.subject)
    maps = await read_maps(scene.there, scene.leg.link, of_topics=set(scene.leg.topics))
    known = {lane.source: lane for lane in certain([*maps, *maps.doubts.values()])}
    names = scene.leg.migration.name, scene.wave.name
    stays = "cancel" if scene.leg.leads_back else "complete"
    if choice is not TailChoice.KEEP and (what := await _not_as_left(scene.here, known, ends)):
        raise SourceShorterError(*names, scene.here.name, what, stays)
    lanes = await _lanes(scene, known, ends)
    tails = [lane for lane in lanes if lane.tail]
    if choice is TailChoice.REFUSE and tails:
        raise TailFoundError(*names, scene.here.name, tuple(f"{tail_words(one)} of {one.partition}" for one in tails))
    if choice is TailChoice.APPEND and not tails:
        raise NoTailError(*names, scene.here.name)
    if choice is TailChoice.REFUSE and (parted := [lane for lane in lanes if lane.foreign]):
        raise PartedError(*names, scene.there.name, scene.here.name, parted[0].partition, stays)
    told = list(found_words(tails, scene.here.name, scene.there.name))
    return {"lanes": [[one.partition, one.copied, one.end, one.records] for one in tails], DOUBTS: told}


async def _not_as_left(source: Cluster, known: Mapping[TopicPartition, LaneMap], ends: Mapping[str, int]) -> str:
    """How the source is not the one that was copied; empty where it is."""
    answer = await source.metadata(sorted({at.topic for at in known}))
    for at, lane in sorted(known.items()):
        topic = answer.topics[at.topic]
        if topic.id.int and topic.id != lane.lane.topic_id.uuid:
            return f"topic {at.topic} was deleted and made again"
        end = ends.get(str(at), 0)
        if end < lane.ranges.source_end:
            return f"{at} ends at {end:,}, and was copied up to {lane.ranges.source_end:,}"
    return ""


async def _lanes(scene: Scene, known: Mapping[TopicPartition, LaneMap], ends: Mapping[str, int]) -> list[FoundLane]:
    fields = scene.run.result(StepKind.LOST_TAIL, scene.wave.name).get("lanes", ())
    left = {TopicPartition.parse(lane.partition): lane.there for lane in lanes_of(fields)}
    wanted = {TopicPartition.parse(name): end for name, end in ends.items()}
    unbegun = await log_ends(scene.here, sorted(set(wanted) - set(known)))
    found = []
    for at, end in sorted(wanted.items()):
        lane = known.get(at)
        copied = lane.ranges.source_end if lane is not None else unbegun[at].start if at in unbegun else 0
        records = await _records(scene.here, at, copied, end) if 0 < end - copied <= _MOST_COUNTED else None
        foreign = (
            lane is not None
            and await first_of_others(scene.there, lane, left.get(at, lane.ranges.target_start)) is not None
        )
        found.append(FoundLane(str(at), copied, end, records, foreign))
    return found


async def _records(source: Cluster, at: TopicPartition, start: int, end: int) -> int:
    """How many records, markers aside, a log has in a range; also those of transactions that were aborted."""
    found = 0
    async for header in headers(source, LogRange(at.topic, at.partition, start, end)):
        if not header.is_control:
            within = min(header.last_offset + 1, end) - max(header.base_offset, start)
            found += min(within, header.count)
    return found


def tail_told(lanes: Sequence[Sequence[object]]) -> str:
    """What was found, for a dry run."""
    return f"{counted(len(lanes), 'partition')} {'has' if len(lanes) == 1 else 'have'} what was not copied"
