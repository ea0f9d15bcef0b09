"""A start position as offsets of a live cluster, for whatever takes one: links, groups, checkpoints.

Positions are those of a read-committed reader of now:

    earliest    the log's start
    latest      the last stable offset: the records of transactions that are still open come after it
    timestamp   the first record that is as young (ListOffsets), and where none is: latest
    group       what the group has committed; without a commit: earliest
    offsets     what is given; without one: earliest

A commit that lies outside of the log (its records expired, or were lost to an unclean election) leads to the nearest
end, and the answer says so.  Offsets that a person has given are refused there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from anabranch.errors import RefusedError
from anabranch.kafka.between_leaders import until_agreed
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.errors import UNKNOWN_TOPIC, BrokerRefusedError
from anabranch.kafka.groups import committed
from anabranch.kafka.partitions import EARLIEST, LATEST, list_offsets
from anabranch.model.groups import Commit
from anabranch.model.start import StartKind, StartPosition
from anabranch.model.topics import TopicPartition

_READ_COMMITTED = 1
_NO_LEADER = 5


@dataclass(eq=False)
class NothingCommittedError(RefusedError):
    """A group that is to give a start position has committed nothing for any of the partitions."""

    cluster: str
    group: str
    partitions: int

    _message = "group {group!r} of {cluster} has committed nothing for any of {partitions:,} partitions"
    _hint = "check the name: `kafka-consumer-groups --list`; or start at earliest, latest or a time"


@dataclass(eq=False)
class OutsideLogError(RefusedError):
    """Given offsets at which the log has no position."""

    cluster: str
    outside: Mapping[TopicPartition, tuple[int, int, int]]
    """(given, the log's start, its end) by partition."""

    @property
    def message(self) -> str:
        first, (given, start, end) = next(iter(self.outside.items()))
        more = f", and {len(self.outside) - 1:,} more" if len(self.outside) > 1 else ""
        return f"offset {given:,} of {first} is outside of the log of {self.cluster}, {start:,} to {end:,}{more}"

    _hint = "give offsets from the log's start to its end, or none for that partition: it begins at its earliest"


@dataclass(frozen=True, slots=True)
class Resolved:
    """Offsets of every partition that was asked for; ``notes`` say where that is not plainly what was asked.

    ``missing`` are those that had no commit, or no given offset, and so begin at their earliest record.
    """

    offsets: Mapping[TopicPartition, int]
    missing: frozenset[TopicPartition] = frozenset()
    notes: tuple[str, ...] = ()


async def resolve(
    cluster: Cluster, start: StartPosition, partitions: Collection[TopicPartition]
) -> dict[TopicPartition, int]:
    """The offset of each partition; raises what ``look_up`` raises."""
    return dict((await look_up(cluster, start, partitions)).offsets)


async def look_up(cluster: Cluster, start: StartPosition, partitions: Collection[TopicPartition]) -> Resolved:
    """The offset of each partition, and what to know about some.

    Raises NothingCommittedError, OutsideLogError, UnstableCommitsError, BrokerRefusedError for a partition that is not
    there or has no leader, ClusterError.
    """
    commits: Mapping[TopicPartition, Commit] = {}
    if start.kind is StartKind.GROUP:
        assert start.group is not None
        # Named, so that a first commit that is still in a transaction is waited for and not taken for none.
        commits = (await committed(cluster, [start.group], partitions=partitions))[start.group]
        if not any(partition in commits for partition in partitions):
            raise NothingCommittedError(cluster.name, start.group, len(partitions))
    first = await ask_offsets(cluster, dict.fromkeys(partitions, EARLIEST))
    if start.kind is StartKind.EARLIEST:
        return Resolved(first)
    last = await ask_offsets(cluster, dict.fromkeys(partitions, LATEST))
    if start.kind is StartKind.LATEST:
        return Resolved(last)
    if start.kind is StartKind.TIMESTAMP:
        assert start.timestamp_ms is not None
        young = await ask_offsets(cluster, dict.fromkeys(partitions, start.timestamp_ms))
        return Resolved({one: young[one] if young[one] >= 0 else last[one] for one in partitions})
    wanted = start.offsets if start.kind is StartKind.OFFSETS else {one: at.offset for one, at in commits.items()}
    ends = await ask_offsets(cluster, dict.fromkeys(partitions, LATEST), isolation=0)
    outside = {
        one: (wanted[one], first[one], ends[one])
        for one in partitions
        if one in wanted and not first[one] <= wanted[one] <= ends[one]
    }
    if outside and start.kind is StartKind.OFFSETS:
        raise OutsideLogError(cluster.name, outside)
    found = {one: min(max(wanted[one], first[one]), ends[one]) if one in wanted else first[one] for one in partitions}
    missing = frozenset(one for one in partitions if one not in wanted)
    return Resolved(found, missing, tuple(_notes(start, missing, outside)))


def _notes(
    start: StartPosition,
    missing: Collection[TopicPartition],
    outside: Mapping[TopicPartition, tuple[int, int, int]],
) -> Iterator[str]:
    if missing:
        more = f" and {len(missing) - 3:,} more" if len(missing) > 3 else ""
        names = ", ".join(str(one) for one in sorted(missing)[:3]) + more
        what = f"group {start.group!r} has no commit" if start.kind is StartKind.GROUP else "no offset is given"
        yield f"{what} for {names}: the earliest record is taken there"
    for one, (commit, first, end) in sorted(outside.items()):
        near = first if commit < first else end
        log = f"whose log is {first:,} to {end:,}"
        yield f"group {start.group!r} committed {commit:,} of {one}, {log}: {near:,} is taken"


async def ask_offsets(
    cluster: Cluster, wanted: Mapping[TopicPartition, int], *, isolation: int = _READ_COMMITTED
) -> dict[TopicPartition, int]:
    """ListOffsets of many partitions: each one's leader is asked once; -1 where no record is as young.

    Raises BrokerRefusedError, ConnectionLostError.
    """
    return await until_agreed(lambda: _ask_offsets(cluster, wanted, isolation)) if wanted else {}


async def _ask_offsets(
    cluster: Cluster, wanted: Mapping[TopicPartition, int], isolation: int
) -> dict[TopicPartition, int]:
    topics = await cluster.described(wanted)
    by_leader: dict[int, dict[tuple[str, int], tuple[int, int]]] = {}
    for partition, at in wanted.items():
        topic = topics[partition.topic]
        cluster.check(topic.error, "Describe", f"topic {partition.topic}")
        part = topic.partitions.get(partition.partition)
        if part is None or part.leader < 0:
            code = UNKNOWN_TOPIC if part is None else _NO_LEADER
            raise BrokerRefusedError(cluster.name, "Metadata", f"partition {partition}", code)
        by_leader.setdefault(part.leader, {})[(partition.topic, partition.partition)] = (at, part.leader_epoch)

    found: dict[TopicPartition, int] = {}

    async def ask(leader: int, asked: dict[tuple[str, int], tuple[int, int]]) -> None:
        connection = await cluster.connection(leader)
        for (topic, index), told in (await list_offsets(connection, asked, isolation=isolation)).items():
            cluster.check(told.code, "Describe", f"partition {topic}-{index}")
            found[TopicPartition(topic, index)] = told.offset

    await asyncio.gather(*(ask(leader, asked) for leader, asked in by_leader.items()))
    return {partition: found[partition] for partition in wanted}
