"""What a rehearsal has made: told from what somebody else has called so, and removed.

Invariant
    M11 nothing is removed that holds a record, or a group's position, which no rehearsal has written.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import partial

from anabranch.errors import RefusedError
from anabranch.kafka import admin
from anabranch.kafka import groups as kafka_groups
from anabranch.kafka.acls import delete_acls, describe_acls
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.ends import ends
from anabranch.kafka.errors import UNKNOWN_TOPIC
from anabranch.kafka.log import KeyedLog, LogEntry
from anabranch.migration.access.rules import is_fence
from anabranch.migration.rehearsal import Rehearsal
from anabranch.migration.spec import FenceKind
from anabranch.migration.standing import WaveStanding, WaveVerb
from anabranch.model.topics import TopicPartition
from anabranch.operations.checkpoints.blocking import in_thread
from anabranch.operations.migrations import waves
from anabranch.operations.migrations.desk import MigrationDesk
from anabranch.operations.migrations.linking import delete_link
from anabranch.operations.migrations.rehearsed_files import clean_files, refuse_foreign_files
from anabranch.operations.migrations.steps import ClusterSteps

MARK = b"rehearsal"
"""The value of each record that a rehearsal writes: by it the next one knows what is its own."""
SAMPLES = 20
"""Records that are written to each partition on either side."""
_MOST = 4 * SAMPLES
"""No partition of a rehearsal is longer, markers and padding among its records."""
_GONE_S, _LOOK_S = 60.0, 0.1
"""How long a topic may take to be gone, and how often it is looked for."""


@dataclass(eq=False)
class ForeignRehearsalError(RefusedError):
    """Something has the name of what a rehearsal makes, and was not made by one: it would be deleted."""

    cluster: str
    what: str
    why: str

    _message = "{what} of {cluster} was not made by a rehearsal: {why}"
    _hint = "see whose it is, and delete it by hand if nobody needs it; a rehearsal would delete it"


@dataclass(eq=False)
class RehearsalFailedError(RefusedError):
    """A rehearsal did not end as a switch should."""

    wave: str
    verb: str
    why: str

    _message = "the rehearsal of wave {wave} failed to {verb}: {why}"
    _hint = "see to it, then rehearse again: what it made is removed"


async def refuse_foreign(source: Cluster, target: Cluster, planned: Rehearsal) -> None:
    """Raise ForeignRehearsalError for a topic or a group of a rehearsal's names that no rehearsal made (M11).

    Raises ForeignDirectoryError for a directory.
    """
    await in_thread(partial(refuse_foreign_files, planned))
    names = planned.leg.topics
    for cluster, topics in ((source, set(names)), (target, set(names.values()))):
        answer = await cluster.metadata(sorted(topics))
        there = {name: topic for name, topic in answer.topics.items() if topic.error != UNKNOWN_TOPIC}
        partitions = [TopicPartition(name, at) for name in sorted(there) for at in sorted(there[name].partitions)]
        for partition, (start, end) in (await ends(cluster, partitions)).items():
            if start or end > _MOST or (end and not await _is_marked(cluster, partition)):
                why = f"partition {partition.partition} holds other records than those of one"
                raise ForeignRehearsalError(cluster.name, f"topic {partition.topic}", why)
        commits = await kafka_groups.committed(cluster, list(planned.groups.values()))
        for group, positions in sorted(commits.items()):
            if others := sorted({one.topic for one in positions} - topics):
                why = f"it has committed offsets of topic {others[0]}"
                raise ForeignRehearsalError(cluster.name, f"group {group}", why)


async def _is_marked(cluster: Cluster, partition: TopicPartition) -> bool:
    """Whether each record has the mark."""
    foreign: list[int] = []

    def take(entry: LogEntry) -> None:
        if entry.value != MARK:
            foreign.append(entry.offset)

    await KeyedLog(cluster, partition.topic, partition.partition).fold(take)
    return not foreign


async def clean(source: Cluster, target: Cluster, desk: MigrationDesk, planned: Rehearsal) -> None:
    """Remove all that a rehearsal may have made; raises ClusterError, StorageError.

    Links are stopped first, and files go whatever a cluster answers.
    """
    try:
        await _clean_clusters(source, target, desk, planned)
    finally:
        await in_thread(partial(clean_files, planned))


async def _clean_clusters(source: Cluster, target: Cluster, desk: MigrationDesk, planned: Rehearsal) -> None:
    """Runs, links, topics, groups and fences."""
    leg = planned.leg
    steps = ClusterSteps(planned.migration, source, target, desk)
    for number in (2, 1, 0):
        one = leg.at(number)
        await desk.stop_link(one.there, one.link)
        run = waves.planned_run(WaveStanding(one), WaveVerb.START, "", 0, {})
        scene = steps.scene(run, run.steps[0])
        await delete_link(scene)
    for cluster, topics in ((source, set(leg.topics)), (target, set(leg.topics.values()))):
        for name in await _there(cluster, topics):
            await admin.delete_topic(cluster, name)
        for group in planned.groups.values():
            await kafka_groups.delete_group(cluster, group)
        if FenceKind.ACL in leg.wave.fences:
            rules = await describe_acls(cluster)
            await delete_acls(cluster, [rule for rule in rules if is_fence(rule) and rule.resource_name in topics])
        async with asyncio.timeout(_GONE_S):
            while await _there(cluster, topics):
                await asyncio.sleep(_LOOK_S)


async def _there(cluster: Cluster, topics: set[str]) -> list[str]:
    answer = await cluster.metadata(sorted(topics))
    return [name for name, topic in answer.topics.items() if topic.error != UNKNOWN_TOPIC]
