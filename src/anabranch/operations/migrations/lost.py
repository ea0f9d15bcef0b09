"""Steps of a switch without the cluster that is left: that it is away is proved, what of it was not copied is named.

Nothing here asks that cluster, but for whether it is there.  The race: a link that was paused may copy a moment longer;
so its lanes are seen to stand still before it is written down up to where they came.
"""

from __future__ import annotations

from dataclasses import dataclass

from anabranch.errors import RefusedError
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.silence import answering
from anabranch.migration.inherited import ANSWERS
from anabranch.migration.lost import DOUBTS, LostLane, lane_fields, lost_words, never_ran
from anabranch.migration.lost_steps import LOOK_LOST_S
from anabranch.migration.steps import StepKind
from anabranch.model.counted import counted
from anabranch.model.lane import LaneState
from anabranch.model.reports import LinkStatus
from anabranch.model.topics import TopicPartition
from anabranch.operations.links.show import show
from anabranch.operations.migrations.desk import Result, Scene
from anabranch.operations.migrations.engine import NotYetError
from anabranch.operations.offsets.ranges import certain
from anabranch.state.maps.reading import read_maps
from anabranch.state.topics.journal import Journal

_STILL = {LaneState.PAUSED, LaneState.STOPPED}
_FIRST_WORD_MS = 10_000
"""How long after its plan a run may not have told of a lane yet: a worker does so about a second after it has it."""


@dataclass(eq=False)
class SourceAnswersError(RefusedError):
    """A wave was to be led away without the cluster that is left, which answers."""

    migration: str
    wave: str
    source: str
    server: str
    verb: str

    _message = "wave {wave}: {source} answers at {server}: it is not lost"
    _hint = "{verb} with it, exactly: `anabranch migrate {verb} {migration} --wave {wave}`"


@dataclass(eq=False)
class UnnamedLanesError(RefusedError):
    """A way back has never run, and which topics its offset maps are of stands on the cluster that is gone alone."""

    wave: str
    link: str
    cluster: str
    lanes: int

    _message = (
        "wave {wave}: {link} has never run, and which partitions its {lanes:,} offset maps on {cluster} are of is not "
        "known there: its way back was made by an older version"
    )
    _hint = "lead its applications by hand: docs/how-to/cutover.md; positions from before the switch are on {cluster}"


async def prove_lost(scene: Scene) -> Result:
    """See that no bootstrap server of the cluster answers for some seconds; raises SourceAnswersError.

    Where some may have gone on there it is left without it in any case (L4).
    """
    if scene.run.result(StepKind.PROVE_LOST, scene.wave.name).get(ANSWERS):
        return None
    if found := await answering(scene.here, LOOK_LOST_S):
        verb = "reverse" if scene.leg.leads_back else "switch"
        raise SourceAnswersError(scene.leg.migration.name, scene.wave.name, scene.here.name, found[0], verb)
    return None


async def lost_tail(scene: Scene) -> Result:
    """Write down up to where each lane was copied, and where its log was last seen to end.

    Raises NotYetError while a lane may still copy, UnnamedLanesError, LaneInDoubtError, ClusterError.
    """
    status = await show(scene.there, scene.leg.link)
    if status.wanted.paused and (busy := _busy(status)):
        raise NotYetError(f"link {scene.leg.link}: {busy}")
    lanes = await _lanes(scene, status)
    doubts = list(lost_words(lanes, scene.here.name))
    if status.plan is None and scene.leg.number:
        doubts.insert(0, never_ran(scene.leg.link, scene.here.name, scene.there.name))
    return {"lanes": lane_fields(lanes), DOUBTS: doubts}


def _busy(status: LinkStatus) -> str:
    """What some worker may still copy, empty where there is nothing."""
    if not status.running:
        return ""
    lanes = status.as_read().lanes
    if busy := next((lane.source for lane in lanes if not lane.is_old and lane.state not in _STILL), None):
        return f"{busy} is not paused yet"
    is_new = status.plan is not None and status.read_at_ms - status.plan.planned_at_ms < _FIRST_WORD_MS
    return f"where {counted(status.missing, 'lane')} stood is not told yet" if is_new and status.missing else ""


async def _lanes(scene: Scene, status: LinkStatus) -> list[LostLane]:
    """All lanes of the wave's topics, also those that have not begun."""
    maps = await read_maps(scene.there, scene.leg.link, of_topics=set(scene.leg.topics))
    known = {lane.source: lane for lane in certain([*maps, *maps.doubts.values()])}
    if status.plan is None and not maps.topics and (adopted := await _adopted(scene)):
        raise UnnamedLanesError(scene.wave.name, scene.leg.link, scene.there.name, adopted)
    seen = {lane.source: lane for lane in status.lanes}
    found = []
    for at in await _partitions(scene.there, scene.leg.topics):
        lane, progress = known.get(at), seen.get(at)
        copied, there = (0, 0) if lane is None else (lane.ranges.source_end, lane.ranges.target_end)
        if progress is None or progress.source_seen_ms is None:
            found.append(LostLane(str(at), copied, there))
        else:
            found.append(LostLane(str(at), copied, there, progress.high_watermark, progress.source_seen_ms))
    return found


async def _adopted(scene: Scene) -> int:
    """How many lanes a way back has begun with."""
    return len((await Journal(scene.there).read()).lanes_of(scene.leg.link))


async def _partitions(target: Cluster, topics: dict[str, str]) -> list[TopicPartition]:
    """The partitions of the lost cluster, as far as their copies tell of them."""
    answer = await target.metadata(sorted(topics.values()))
    found = []
    for here, there in sorted(topics.items()):
        topic = answer.topics[there]
        target.check(topic.error, "Describe", f"topic {there}")
        found += [TopicPartition(here, number) for number in sorted(topic.partitions)]
    return found
