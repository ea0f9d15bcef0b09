"""Where groups go on whose cluster is gone: by what their members handed over, or what the other cluster has of them.

What members handed over is translated by the offset maps that the other cluster holds.  On a way back that cluster has
commits of each group that was there before: they tell where it was as it left.  A group of which neither tells anything
is not known.  Nothing is guessed: a person has chosen what becomes of it, or the switch is refused.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from anabranch.errors import RefusedError
from anabranch.groups.freshness import SyncRound
from anabranch.kafka.log_ends import LogBounds, log_ends
from anabranch.migration.left_out import LEADS_FROM
from anabranch.migration.legs import Leg
from anabranch.migration.lost import DOUBTS
from anabranch.migration.lost_steps import told_by
from anabranch.migration.options import UnknownGroups
from anabranch.migration.words import moment, named
from anabranch.model.clock import now_ms
from anabranch.model.counted import counted
from anabranch.model.groups import Commit, Group
from anabranch.model.link import UnknownLinkError
from anabranch.model.topics import TopicPartition
from anabranch.operations.groups import sync
from anabranch.operations.groups.commits import new_id, read_groups
from anabranch.operations.migrations.desk import Result, Scene
from anabranch.operations.migrations.engine import NotYetError
from anabranch.operations.offsets.ranges import certain
from anabranch.operations.routes.lost import handed_over
from anabranch.state.maps.reading import read_maps
from anabranch.state.topics.positions import Positions


@dataclass(eq=False)
class UnknownGroupError(RefusedError):
    """Nothing tells how far a group has read on the cluster that is gone."""

    migration: str
    wave: str
    groups: tuple[str, ...]
    source: str
    there: str
    verb: str
    flag: str

    @property
    def message(self) -> str:
        return (
            f"wave {self.wave}: how far {named(self.groups, 'group')} had read is not known without {self.source}: "
            f"members have not handed it over, and {self.there} has no commits"
        )

    _hint = (
        "say what becomes of them: `anabranch migrate {verb} {migration} --wave {wave} {flag} "
        "--unknown-groups earliest` reads all again, `latest` skips all that was copied"
    )


@dataclass(frozen=True, slots=True)
class _Known:
    """What is known without the cluster: commits on the other one, the link's last sync, and moves by it, in ms.

    ``copied`` are the ends of the link's copies; None where no link leads from there, so that nothing was copied.
    """

    groups: Mapping[str, Group]
    logs: Mapping[TopicPartition, LogBounds]
    round: SyncRound | None
    moved: Mapping[str, int]
    copied: Mapping[TopicPartition, int] | None


async def stage_lost_groups(scene: Scene) -> Result:
    """See where each group goes on, and write it down; raises NotYetError, UnknownGroupError, ClusterError."""
    names = list(scene.wave.groups)
    by = told_by(scene.leg, scene.run.part)
    known = await _known(scene, names, by)
    handed = await handed_over(scene.there, by.link, await _handed(scene), known.groups)
    for name, group in known.groups.items():
        if group.state.is_active:
            raise NotYetError(f"group {name} has members on {scene.there.name}")
    choice, unknown = UnknownGroups(scene.subject), list[str]()
    staged: dict[str, dict[str, list[object]]] = {}
    doubts = list(handed.doubts)
    for name in names:
        mine = handed.writes.get(name, {})
        there = {at: commit for at, commit in known.groups[name].commits.items() if at in known.logs}
        if old := {at: commit for at, commit in there.items() if at not in mine}:
            doubts.append(_of_there(name, old, known, scene))
        staged[name] = {str(at): [commit.offset, commit.metadata] for at, commit in mine.items()}
        if not (left := _not_known(known.logs, mine, there, is_whole=name in known.moved)):
            continue
        if choice is UnknownGroups.REFUSE:
            unknown.append(name)
            continue
        staged[name] |= {str(at): [offset, ""] for at, offset in _chosen(choice, left, known.copied)}
        where = "begins again" if choice is UnknownGroups.EARLIEST else "goes on after what was copied"
        partitions = counted(len(left), "partition")
        doubts.append(f"group {name}: how far it had read in {partitions} is not known; it {where}, as was chosen")
    if unknown:
        verb, flag = LEADS_FROM[scene.leg.begins_at]
        contexts = scene.here.name, scene.there.name
        raise UnknownGroupError(scene.leg.migration.name, scene.wave.name, tuple(unknown), *contexts, verb, flag)
    found = {name: places for name, places in staged.items() if places}
    return {"groups": found, "undo": new_id(now_ms()), DOUBTS: doubts}


def _not_known(
    logs: Mapping[TopicPartition, LogBounds],
    mine: Collection[TopicPartition],
    there: Collection[TopicPartition],
    *,
    is_whole: bool = False,
) -> dict[TopicPartition, LogBounds]:
    """Partitions with records of which nothing tells where a group was: a member that was gone hands nothing over.

    A group of which something is known reads the topics of that.  ``is_whole``: it was moved, with all that it had
    committed by then; a link that keeps groups in sync leaves out what it has not copied yet.
    """
    if is_whole and there and not mine:
        return {}
    topics = {at.topic for at in (*mine, *there)}
    read = {at: log for at, log in logs.items() if not topics or at.topic in topics}
    return {at: log for at, log in read.items() if at not in mine and at not in there}


async def _handed(scene: Scene) -> dict[str, Mapping[str, int]]:
    """What members of the wave's groups have handed over of its topics."""
    found = await scene.desk.handed(scene.leg, scene.run)
    topics = scene.leg.topics
    kept = {
        group: {name: at for name, at in found[group].items() if TopicPartition.parse(name).topic in topics}
        for group in scene.wave.groups
        if group in found
    }
    return {group: positions for group, positions in kept.items() if positions}


async def _known(scene: Scene, names: list[str], by: Leg) -> _Known:
    """By the link of ``by``; when groups came to the target is told by that of the run's own leg alone."""
    answer = await scene.there.metadata(sorted(scene.leg.topics.values()))
    partitions = [TopicPartition(name, at) for name, topic in answer.topics.items() for at in topic.partitions]
    logs = {at: log for at, log in (await log_ends(scene.there, partitions)).items() if log.end > log.start}
    store = Positions(scene.there)
    await store.sync()
    what, moved = sync.what(scene.leg.link), dict[str, int]()
    for records in store.undo.values():
        for name, record in records.items():
            if record.what == what and record.undone_at_ms is None:
                moved[name] = max(record.made_at_ms, moved.get(name, 0))
    try:
        maps = await read_maps(scene.there, by.link, of_topics=set(scene.leg.topics))
    except UnknownLinkError:
        copied = None
    else:
        copied = {lane.target: lane.ranges.target_end for lane in certain([*maps, *maps.doubts.values()])}
    return _Known(await read_groups(scene.there, names), logs, store.rounds.get(scene.leg.link), moved, copied)


def _of_there(name: str, there: Mapping[TopicPartition, Commit], known: _Known, scene: Scene) -> str:
    """Where a group goes on that the other cluster has commits of, and of when these are."""
    seen = known.round.read_at_ms if known.round is not None else None
    seen = max((one for one in (seen, known.moved.get(name)) if one is not None), default=None)
    if seen is not None:
        since = f"as of {moment(seen)} at the latest"
    else:
        since = f"of before it was led to {scene.here.name}" if scene.leg.number else "whoever made them"
    return (
        f"group {name} goes on at what {scene.there.name} has of it in {counted(len(there), 'partition')}, {since}: "
        "what it has read since is read again"
    )


def _chosen(
    choice: UnknownGroups, logs: Mapping[TopicPartition, LogBounds], copied: Mapping[TopicPartition, int] | None
) -> Iterator[tuple[TopicPartition, int]]:
    """Where a group goes on: behind what was copied is before what applications have written there since.

    Where no link leads there all was written there, and it goes on at the end.
    """
    for at, log in sorted(logs.items()):
        behind = log.end if copied is None else copied.get(at, log.start)
        yield at, log.start if choice is UnknownGroups.EARLIEST else max(log.start, behind)
