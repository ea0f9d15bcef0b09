"""What a switch does to clusters: pin the ends of logs, see that they are copied, and move groups.

Each may be done again after a crash: pinning again pins later ends, moving a group that is moved finds it in sync.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from anabranch.errors import AnabranchError, RefusedError
from anabranch.groups.plan import GroupsPlan, GroupStep
from anabranch.groups.select import GroupSelection, NoSuchGroupError
from anabranch.kafka import groups as kafka_groups
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.ends import ends
from anabranch.kafka.errors import UNKNOWN_TOPIC, PermissionDeniedError
from anabranch.model import filters, naming
from anabranch.model.groups import Group
from anabranch.model.link import LinkSpec
from anabranch.model.topics import TopicPartition
from anabranch.operations.groups import sync, undo
from anabranch.operations.links.status import has_control_topics
from anabranch.operations.offsets.translate import translate
from anabranch.state.maps.backwards import either_way
from anabranch.state.topics.control import Links


@dataclass(eq=False)
class NoLinkError(RefusedError):
    """Clients are to be moved between clusters that no link joins."""

    source: str
    target: str
    topics: Mapping[str, str]

    @property
    def message(self) -> str:
        named = [f"{here} as {there}" for here, there in sorted(self.topics.items())]
        what = ", ".join(named[:5]) + (", ..." if len(named) > 5 else "")
        return f"no link copies {what} from {self.source} to {self.target}, so positions there are not known"

    @property
    def hint(self) -> str:
        topics = "|".join(re.escape(topic) for topic in sorted(self.topics)[:5])
        return (
            f"see what a link would copy: `anabranch link create --source {self.source} --target {self.target} "
            f"--include '{topics}'`; where {self.target} holds these records already it needs --start "
            "(docs/how-to/cutover.md#after-producers-have-moved)"
        )


@dataclass(frozen=True, slots=True)
class Moved:
    """Whether all groups are where they belong; ``why`` is what is in the way, ``undo`` the new undo record."""

    done: bool
    undo: str = ""
    why: str = ""


@dataclass(frozen=True, slots=True)
class CopyingLink:
    """A link that copies what clients leave to where they go, once it is not paused any more."""

    id: str
    is_paused: bool = False


async def link_between(target: Cluster, source: str, topics: Mapping[str, str]) -> CopyingLink:
    """The link that copies topics from a context to a cluster, under the names that they are to have there.

    Of several one that is not paused, and of such the first by name: each of them knows every record that it has
    copied.  Raises NoLinkError, ClusterError.
    """
    links = Links(target)
    if await has_control_topics(target):
        await links.sync()
    for link_id, record in sorted(links.links.items(), key=lambda one: (one[1].wanted.paused, one[0])):
        spec = record.wanted.spec
        if spec.source.context == source and _copies(spec, topics):
            return CopyingLink(link_id, record.wanted.paused)
    raise NoLinkError(source, target.name, dict(topics))


def _copies(spec: LinkSpec, topics: Mapping[str, str]) -> bool:
    chosen = set(filters.select(filters.load(spec.filter), topics))
    named = naming.load(spec.naming, spec.source.context)
    return all(here in chosen and named.renamed(here) == there for here, there in topics.items())


async def wider(source: Cluster, target: Cluster, topics: Mapping[str, str]) -> tuple[str, ...]:
    """Topics that have more partitions on the target than on the source, each in words; raises ClusterError."""
    here = (await source.metadata(sorted(topics))).topics
    there = (await target.metadata(sorted(set(topics.values())))).topics
    found = []
    for name, renamed in sorted(topics.items()):
        before, after = len(here[name].partitions), len(there[renamed].partitions)
        if 0 < before < after:
            found.append(f"topic {renamed} has {after:,} partitions on {target.name}, and {name} {before:,}")
    return tuple(found)


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
    asked = [(TopicPartition.parse(name), end) for name, end in sorted(pinned.items())]
    found = await translate(target, link, asked)
    return tuple(
        f"{answer.partition} up to {answer.offset:,}: {answer.why}" for answer in found.answers if answer.answer is None
    )


async def starts(
    source: Cluster, target: Cluster, link: str, positions: Mapping[str, Mapping[str, int]]
) -> dict[str, Mapping[str, int]]:
    """Positions of clients on the source as those on the target, TOPIC-PARTITION there; what is not exact is absent.

    The maps are read once for all clients; the link may lead either way.
    """
    asked = sorted({(TopicPartition.parse(name), at) for each in positions.values() for name, at in each.items()})
    answers = (await translate(target, link, asked, read=either_way(source))).answers if asked else ()
    there = {(one.partition, one.offset): (one.to, one.answer) for one in answers}
    found: dict[str, Mapping[str, int]] = {}
    for client_id, each in positions.items():
        places = [there[TopicPartition.parse(name), at] for name, at in each.items()]
        found[client_id] = {str(to): offset for to, offset in places if to is not None and offset is not None}
    return found


async def move_groups(
    source: Cluster,
    target: Cluster,
    link: str,
    groups: Iterable[str],
    topics: Iterable[str],
    static_members: Mapping[str, Collection[str]],
) -> Moved:
    """Move what groups have committed of some topics to exactly the same place on the target.

    A group that has committed nothing is where it belongs.  ``static_members`` have paused, and are taken out of their
    groups; where that is not permitted their sessions are waited for.  What is in the way is told, and may be gone when
    it is asked again.  Raises ClusterError.
    """
    kept = ""
    for group, members in static_members.items():
        try:
            await kafka_groups.remove_static(source, group, members)
        except PermissionDeniedError as error:
            kept = f" (static members stay until their sessions are over: {error.message})"
    prepared = await selected(source, target, link, groups, topics)
    if prepared is None:
        return Moved(True)
    planned, there = prepared
    blocked = [f"group {group.group}: {group.reasons[0].what}" for group in planned.groups if group.is_blocked]
    if blocked:
        return Moved(False, why="; ".join(blocked) + kept)
    done = await sync.carry_out(target, planned, there)
    failed = [f"group {group.group}: {group.failure}" for group in done.of(GroupStep.FAILED)]
    return Moved(not failed, done.undo, "; ".join(failed))


async def selected(
    source: Cluster, target: Cluster, link: str, groups: Iterable[str], topics: Iterable[str]
) -> tuple[GroupsPlan, Mapping[str, Group]] | None:
    """The plan of those of the groups that the source knows, and those on the target; None where it knows none.

    The link leads from the source to the target, or is the way back, which the source stores.
    Nobody has to be seen to be still: who reads has paused, and a group with members is refused.
    """
    patterns = [re.escape(name) for name in sorted(groups)]
    counted = tuple(re.escape(name) for name in sorted(topics))
    while patterns:
        try:
            selection = GroupSelection(tuple(patterns), topics=counted)
            return await sync.prepare(source, target, link, selection, 0.0, either_way(source))
        except NoSuchGroupError as error:
            patterns.remove(error.pattern)
    return None


async def take_back(target: Cluster, link: str, groups: Iterable[str], since_ms: int) -> str:
    """Undo what `move_groups` has moved since then; returns what could not be undone, empty where all was.

    It rests on the undo records of the target, which are written before anything is moved.
    """
    moved, failures = frozenset(groups), []
    try:
        for found in await undo.moves(target):
            is_ours = found.what == sync.what(link) and found.made_at_ms >= since_ms and moved.issuperset(found.groups)
            if is_ours and set(found.groups) != set(found.undone):
                done = await undo.apply(target, await undo.plan(target, found.id))
                failures += [f"group {one.record.group}: {one.refusals[0].what}" for one in done.groups if one.refusals]
    except AnabranchError as error:
        return error.message
    return "; ".join(failures)
