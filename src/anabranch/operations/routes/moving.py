"""What a switch does to clusters: pin the ends of logs, see that they are copied, and move groups.

Each may be done again after a crash: pinning again pins later ends, moving a group that is moved finds it in sync.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from anabranch.errors import AnabranchError, RefusedError
from anabranch.groups.plan import GroupPlan, GroupsPlan, GroupStep
from anabranch.groups.select import GroupSelection, NoSuchGroupError
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.ends import ends
from anabranch.kafka.errors import UNKNOWN_TOPIC
from anabranch.model import filters
from anabranch.model.reasons import ReasonKind
from anabranch.model.topics import TopicPartition
from anabranch.operations.groups import sync, undo
from anabranch.operations.links.status import has_control_topics
from anabranch.operations.offsets.translate import translate
from anabranch.state.topics.control import Links


@dataclass(eq=False)
class NoLinkError(RefusedError):
    """Clients are to be moved between clusters that no link joins."""

    source: str
    target: str
    topics: tuple[str, ...]

    @property
    def message(self) -> str:
        what = ", ".join(self.topics[:5]) + (", ..." if len(self.topics) > 5 else "")
        return f"no link copies {what} from {self.source} to {self.target}, so positions there are not known"

    _hint = "anabranch link create --source {source} --target {target} --execute"


@dataclass(frozen=True, slots=True)
class Moved:
    """Whether all groups are where they belong; ``undo`` is the new undo record, ``why`` what is in the way."""

    done: bool
    undo: str = ""
    why: str = ""


async def link_between(target: Cluster, source: str, topics: Iterable[str]) -> str:
    """The link that copies these topics from a context to a cluster; raises NoLinkError, ClusterError.

    Of several the first by name: each of them knows every record that it has copied.
    """
    wanted = tuple(sorted(topics))
    links = Links(target)
    if await has_control_topics(target):
        await links.sync()
    for link_id, record in sorted(links.links.items()):
        spec = record.wanted.spec
        if spec.source.context == source and set(wanted) <= set(filters.select(filters.load(spec.filter), wanted)):
            return link_id
    raise NoLinkError(source, target.name, wanted)


async def pin(source: Cluster, topics: Iterable[str]) -> dict[str, int]:
    """The ends of all partitions of some topics, as TOPIC-PARTITION; a topic that is not there has none.

    Raises ClusterError.
    """
    answer = await source.metadata(sorted(topics))
    partitions = []
    for name, topic in answer.topics.items():
        if topic.error == UNKNOWN_TOPIC:
            continue
        source.check(topic.error, "Describe", f"topic {name}")
        partitions += [TopicPartition(name, number) for number in topic.partitions]
    return {str(one): end for one, (first, end) in (await ends(source, partitions)).items() if end > first}


async def uncopied(target: Cluster, link: str, pinned: Mapping[str, int]) -> tuple[str, ...]:
    """What a link has not copied yet of pinned ends, each in words; none where all is on the target.

    It rests on the offset map, which is completed from the target's log, not on what workers have persisted.
    """
    if not pinned:
        return ()
    asked = [(_partition(name), end) for name, end in sorted(pinned.items())]
    found = await translate(target, link, asked)
    return tuple(
        f"{answer.partition} up to {answer.offset:,}: {answer.why}" for answer in found.answers if answer.answer is None
    )


async def starts(target: Cluster, link: str, positions: Mapping[str, int]) -> dict[str, int]:
    """Positions on the source as those on the target, TOPIC-PARTITION there; what is not exact is absent."""
    if not positions:
        return {}
    found = await translate(target, link, [(_partition(name), at) for name, at in sorted(positions.items())])
    return {str(partition): offset for partition, offset in found.offsets.items()}


async def move_groups(
    source: Cluster, target: Cluster, link: str, groups: Iterable[str], topics: Iterable[str]
) -> Moved:
    """Move what groups have committed of some topics to exactly the same place on the target.

    A group that has committed nothing is where it belongs.  What is in the way is told, and may be gone when it is
    asked again.  Raises ClusterError.
    """
    planned = await _planned(source, target, link, groups, topics)
    if planned is None:
        return Moved(True)
    blocked = [f"group {group.group}: {group.reasons[0].what}" for group in planned.groups if _is_blocked(group)]
    if blocked:
        return Moved(False, why="; ".join(blocked))
    done = await sync.apply(source, target, planned)
    failed = [f"group {group.group}: {group.failure}" for group in done.of(GroupStep.FAILED)]
    return Moved(not failed, done.undo, "; ".join(failed))


async def _planned(
    source: Cluster, target: Cluster, link: str, groups: Iterable[str], topics: Iterable[str]
) -> GroupsPlan | None:
    """The plan of those of the groups that the source knows; None where it knows none of them."""
    patterns = [re.escape(name) for name in sorted(groups)]
    counted = tuple(re.escape(name) for name in sorted(topics))
    while patterns:
        try:
            return await sync.plan(source, target, link, GroupSelection(tuple(patterns), topics=counted))
        except NoSuchGroupError as error:
            patterns.remove(error.pattern)
    return None


def _is_blocked(group: GroupPlan) -> bool:
    kinds = {reason.why for reason in group.reasons}
    return group.step is GroupStep.REFUSED and kinds != {ReasonKind.NO_COMMITS}


async def take_back(target: Cluster, undo_id: str) -> str:
    """Undo a move of groups; returns what could not be undone, empty where all was."""
    try:
        planned = await undo.plan(target, undo_id)
        done = await undo.apply(target, planned)
    except AnabranchError as error:
        return error.message
    return "; ".join(f"group {one.record.group}: {one.refusals[0].what}" for one in done.groups if one.refusals)


def _partition(name: str) -> TopicPartition:
    topic, _, number = name.rpartition("-")
    return TopicPartition(topic, int(number))
