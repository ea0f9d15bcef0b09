"""Copies in topics that a wave did not make: what is deleted of them where the wave is given up.

A start begins in topics that hold nothing, so what one of them holds later was copied, or written by others since.  A
log is cut at its start only: it is emptied up to the first record of others, which stays, and so does all behind it.

Invariant: no record is deleted that the wave's links did not copy, or copy back.  Where copies end is written down
while the offset map is there, by a link that runs no more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from anabranch.kafka.admin import topic_configs
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.ends import ends
from anabranch.kafka.partitions import delete_records
from anabranch.migration.inherited import COPIED
from anabranch.migration.run import WaveRun
from anabranch.migration.steps import StepKind
from anabranch.model.tombstones import POLICY
from anabranch.model.topics import TopicId, TopicPartition
from anabranch.operations.links.returning import first_of_others
from anabranch.operations.migrations.desk import Scene
from anabranch.state.maps.reading import read_maps
from anabranch.state.maps.rebuild import LogRange, has_records
from anabranch.state.topics.control import Links

_POLICY_VIOLATION = 44
_COMPACTS_ONLY = "compact"

Copied = Mapping[str, Mapping[str, Any]]
"""By topic: its id, and up to which offset each partition holds nothing but copies, by the partition's number."""


@dataclass(frozen=True, slots=True)
class Cut:
    """A partition that begins at ``start`` is to begin at ``to``; ``why`` says what stays, empty where nothing does."""

    partition: TopicPartition
    start: int
    to: int
    why: str = ""


async def copied(scene: Scene, topics: Iterable[str]) -> Copied:
    """What is known of the copies of the leg's link in some topics; raises UnknownLinkError, ClusterError.

    A lane whose map is in doubt, or that is not there, is left out, and so is a topic whose id the link does not know.
    """
    links = Links(scene.there)
    await links.sync()
    ids = {topic.target: str(topic.target_id) for topic in links.topics_of(scene.leg.link)}
    wanted = ids.keys() & set(topics)
    found: dict[str, dict[str, Any]] = {}
    for lane in await read_maps(scene.there, scene.leg.link, None):
        topic = lane.target.topic
        if topic not in wanted:
            continue
        others = await first_of_others(scene.there, lane, 0)
        of = found.setdefault(topic, {"id": ids[topic], "to": {}})
        of["to"][str(lane.target.partition)] = lane.ranges.target_end if others is None else others
    return found


def noted(run: WaveRun) -> Copied:
    """What a cancel, or one before it, has written down."""
    found: Copied = run.result(StepKind.LOOK, run.wave).get(COPIED, {})
    for step in run.steps:
        found = {**found, **run.result(step.kind, step.subject).get(COPIED, {})}
    return found


async def cuts(cluster: Cluster, topics: Iterable[str], known: Copied) -> list[Cut]:
    """What there is to cut of topics that are there; raises ClusterError."""
    names = sorted(topics)
    answer = await cluster.metadata(names) if names else None
    found = {} if answer is None else answer.topics
    logs = await ends(cluster, [TopicPartition(name, at) for name in names for at in found[name].partitions])
    made = []
    for one, (start, end) in sorted(logs.items()):
        of = known.get(one.topic, {})
        is_same = of.get("id") == str(TopicId(found[one.topic].id))
        to = of["to"].get(str(one.partition), start) if is_same else start
        if end <= start:
            continue
        to = max(start, to)
        if await has_records(cluster, LogRange(one.topic, one.partition, to, end)):
            made.append(Cut(one, start, to, f"{one} holds records at {to:,} that are not known to be its copies"))
        elif is_same:
            made.append(Cut(one, start, end))  # behind the copies there are markers at most
    return made


async def uncut(cluster: Cluster, topics: Iterable[str]) -> list[str]:
    """Those of some topics out of which brokers take no records: they are compacted, and delete nothing.

    What the settings of a topic are that may not be looked at is not known.  Raises ClusterError.
    """
    settings = await topic_configs(cluster, topics)
    return sorted(name for name, of in settings.items() if POLICY in of and of[POLICY].value == _COMPACTS_ONLY)


async def empty(cluster: Cluster, found: Iterable[Cut]) -> list[str]:
    """Cut them; returns what stays all the same, in sentences.  Raises ClusterError."""
    stays = []
    for one in found:
        topic, at = one.partition.topic, one.partition.partition
        if one.to > one.start:
            _, part = await cluster.partition(topic, at)
            code = await delete_records(await cluster.connection(part.leader), topic, at, one.to)
            if code == _POLICY_VIOLATION:
                stays.append(
                    f"{one.partition}: its topic is compacted, and keeps its records; delete the topic by hand"
                )
                continue
            cluster.check(code, "Delete", f"topic {topic}")
        if one.why:
            stays.append(f"{one.why}: they stay")
    return stays
