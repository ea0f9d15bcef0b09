"""What a switch does where the cluster that clients leave does not answer: it goes on by what is known without it.

Nothing is taken for certain that is not: each doubt is told, with the partition and the offsets.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from anabranch.groups.undo import UndoRecord, same
from anabranch.kafka.cluster import Cluster
from anabranch.model.clock import now_ms
from anabranch.model.groups import Commit, Group, GroupState
from anabranch.model.link import UnknownLinkError
from anabranch.model.topics import TopicPartition
from anabranch.offsets.translate import After, to_target
from anabranch.operations.groups import sync
from anabranch.operations.groups.commits import move, new_id, read_groups
from anabranch.operations.offsets.translate import translate
from anabranch.operations.routes.moving import Moved
from anabranch.state.maps.reading import read_maps
from anabranch.state.topics.positions import Positions

_FAR = 2**62
"""Behind every offset."""


@dataclass(frozen=True, slots=True)
class MovedWithout:
    """What became of groups whose old cluster does not answer; ``doubts`` is what is not known, in words."""

    moved: Moved
    doubts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GroupsHandedOver:
    """What members of groups have handed over, on the target; ``doubts`` is what is not known, in words."""

    writes: Mapping[str, Mapping[TopicPartition, Commit]]
    doubts: tuple[str, ...] = ()


async def handed_over(
    target: Cluster, link: str, positions: Mapping[str, Mapping[str, int]], groups: Mapping[str, Group]
) -> GroupsHandedOver:
    """Where groups go on by what their members have handed over; asks the target alone.

    ``positions`` are by group, TOPIC-PARTITION on the source, and ``groups`` what the target has of them.  Where a
    record was read that was not copied the group goes on behind what was, or where it was on the target if that is
    further: that is told, with both offsets.  Where the target has no such link nothing is translated, which is told,
    too.  Raises ClusterError.
    """
    asked = sorted({(TopicPartition.parse(name), at) for each in positions.values() for name, at in each.items()})
    try:
        found = await translate(target, link, asked) if asked else None
    except UnknownLinkError:
        return GroupsHandedOver({}, tuple(_untold(target, positions)))
    answers = {} if found is None else {(one.partition, one.offset): one for one in found.answers}
    made: dict[str, dict[TopicPartition, Commit]] = {}
    doubts = []
    for name in sorted(positions):
        writes = made.setdefault(name, {})
        for partition, offset in positions[name].items():
            answer = answers[TopicPartition.parse(partition), offset]
            pair = answer.below or answer.above
            there = answer.answer if answer.answer is not None else None if pair is None else pair.answer
            if there is None or answer.to is None:
                doubts.append(f"group {name}: {partition} was read up to {offset:,}, and {answer.why}")
                continue
            if answer.answer is None:
                known = groups[name].commits.get(answer.to) if name in groups else None
                there = there if known is None else max(there, known.offset)
                doubts.append(
                    f"group {name}: {partition} was read up to {offset:,}, and goes on at {there:,}: {answer.why}"
                )
            writes[answer.to] = Commit(there)
    return GroupsHandedOver(made, tuple(doubts))


def _untold(target: Cluster, positions: Mapping[str, Mapping[str, int]]) -> Iterator[str]:
    for name, read in sorted(positions.items()):
        for partition, offset in sorted(read.items()):
            where = f"no offset map on {target.name} tells where that is"
            yield f"group {name}: {partition} was read up to {offset:,}, and {where}"


async def move_without(target: Cluster, link: str, positions: Mapping[str, Mapping[str, int]]) -> MovedWithout:
    """Commit on the target what the members of groups have handed over, where the source does not answer.

    ``positions`` and doubts are as of ``handed_over``.  Raises ClusterError.
    """
    groups = await read_groups(target, list(positions))
    handed = await handed_over(target, link, positions, groups)
    at_ms, records = now_ms(), []
    undo_id = new_id(at_ms)
    for name, writes in handed.writes.items():
        group = groups[name]
        if group.state not in (GroupState.EMPTY, GroupState.DEAD):
            return MovedWithout(Moved(False, why=f"group {name} has members on {target.name}"))
        if any(not same(group.commits.get(at), commit) for at, commit in writes.items()):
            former = {at: group.commits.get(at) for at in writes}
            existed = group.state is not GroupState.DEAD
            records.append(UndoRecord(undo_id, name, existed, former, writes, at_ms, sync.what(link)))
    failed = await move(target, Positions(target), records)
    why = "; ".join(f"group {name}: {problem}" for name, problem in sorted(failed.items()))
    return MovedWithout(Moved(not failed, undo_id if records else "", why), handed.doubts)


async def copied_to(target: Cluster, link: str, topics: Iterable[str]) -> tuple[str, ...]:
    """Up to where partitions of some topics were copied, each in words; raises ClusterError.

    None where no such link leads to the target: nothing of them was copied.
    """
    wanted = frozenset(topics)
    try:
        maps = await read_maps(target, link, None)
    except UnknownLinkError:
        return ()
    return tuple(
        f"{at} was copied up to {end.end:,}: what was written there later is not on {target.name}"
        for at, lane in sorted(maps.maps.items())
        if at.topic in wanted and isinstance(end := to_target(lane.ranges, _FAR), After)
    )
