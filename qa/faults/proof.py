"""What must hold at the end: equal logs, true run maps, and run maps that the target's log alone gives back."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from anabranch.kafka.security import open_cluster
from anabranch.model.cluster import ClusterContext
from anabranch.offsets.offset_map import MappedRange, OffsetMap
from anabranch.sandbox import SandboxCluster
from anabranch.state.maps.rebuild import LaneLog, rebuild, whole_log
from anabranch.state.segments.index import in_order
from anabranch.state.topics.control import MappedRanges, Progress
from anabranch.state.topics.journal import GapRecords, Journal
from qa import brokers
from qa.faults.cleaned import compare_cleaned
from qa.faults.ledger import Ledger
from qa.faults.topics import LoadTopic, TopicKind
from qa.logcompare import ComparedRecord, Differences, compare, disk_batches, read_log


@dataclass(slots=True)
class Proof:
    """Counts of both logs and every difference; ``wrong`` holds sentences, and is empty where all is equal."""

    records: int = 0
    lanes: int = 0
    claims: int = 0
    markers: int = 0
    ranges: int = 0
    gap_records: int = 0
    cleaned: int = 0
    modes: dict[str, int] = field(default_factory=dict)
    differences: int = 0
    wrong: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Persisted:
    """What the control topics say of one lane, from segment ``first`` on, and what its target's headers say."""

    ranges: tuple[MappedRange, ...]
    rebuilt: tuple[MappedRange, ...]
    claims: int
    mode: str
    first: int = 0


def prove(
    source: SandboxCluster,
    target: SandboxCluster,
    target_context: ClusterContext,
    link: str,
    topics: Sequence[LoadTopic],
    ledger: Ledger | None = None,
) -> Proof:
    """Compare everything that a quiet link has copied; raises what the clients raise.

    What a read-committed consumer of the source sees must be what a read-uncommitted one of the target sees.  Of
    compacted topics ``ledger`` tells what the cleaner took before or after it was copied.
    """
    proof = Proof()
    persisted, proof.gap_records = brokers.retry(lambda: asyncio.run(persisted_of(target_context, link)))
    for topic in topics:
        for partition in range(topic.partitions):
            ours = read_log(source.client_config(), topic.name, partition, committed=True)
            theirs = read_log(target.client_config(), topic.name, partition)
            proof.markers += sum(batch.control for batch in _longest(target, f"{topic.name}-{partition}"))
            weigh(proof, topic, partition, ours, theirs, persisted.get((topic.name, partition)), ledger)
    return proof


def weigh(
    proof: Proof,
    topic: LoadTopic,
    partition: int,
    ours: Sequence[ComparedRecord],
    theirs: Sequence[ComparedRecord],
    lane: Persisted | None,
    ledger: Ledger | None,
) -> None:
    """Judge one lane by both logs and by what was persisted of it; adds to ``proof``.

    ``ours`` is what a read-committed consumer of the source sees, ``theirs`` what any consumer of the target does.
    """
    place = f"{topic.name}-{partition}"
    proof.lanes += 1
    proof.records += len(ours)
    known = {entry.offset: entry.digest for entry in ours}
    unplaced: Collection[bytes] = ()
    both = topic.kind is TopicKind.BOTH_COMPACTED
    if topic.compacted and ledger is not None:
        found = compare_cleaned(ours, theirs, ledger, (topic.name, partition), both=both)
        unplaced = ledger.somewhere[(topic.name, partition)]
        held = ledger.at[(topic.name, partition)]
        proof.cleaned += len(held.keys() - known.keys())
        known = held | known
    else:
        found = compare(ours, theirs)
    if found.total:
        proof.differences += found.total
        proof.wrong.append(f"{place}: {_words(found)}: {'; '.join(found.samples)}")
    if lane is None:
        proof.wrong.append(f"{place}: no progress was persisted")
        return
    proof.claims += lane.claims
    proof.ranges += len(lane.ranges)
    proof.modes[lane.mode] = proof.modes.get(lane.mode, 0) + 1
    count = None if topic.compacted else len(ours)
    if problem := untrue(lane.ranges, known, unplaced, theirs, count, both):
        proof.wrong.append(f"{place}: persisted runs: {problem}")
    if both:
        if problem := untrue(lane.rebuilt, known, unplaced, theirs, None, both):
            proof.wrong.append(f"{place}: rebuilt runs: {problem}")
    elif lane.ranges != lane.rebuilt:
        proof.wrong.append(f"{place}: persisted runs {_short(lane.ranges)}, rebuilt {_short(lane.rebuilt)}")


def _longest(cluster: SandboxCluster, place: str) -> list:  # type: ignore[type-arg]
    replicas = [disk_batches(broker.data_path / place) for broker in cluster.brokers]
    return max(replicas, key=len)


def untrue(
    ranges: Sequence[MappedRange],
    here: Mapping[int, bytes],
    unplaced: Collection[bytes],
    target: Sequence[ComparedRecord],
    count: int | None,
    cleaned: bool,
) -> str:
    """Why the runs don't tell exactly where each record lies; empty where they do.

    ``here`` are digests of the source's records by offset, ``unplaced`` of those whose offset nobody knows; ``count``
    is how many must be told (None: unknown).  A ``cleaned`` target may have lost some of what runs tell of.
    """
    there = {entry.offset: entry.digest for entry in target}
    told = 0
    for run in ranges:
        for at in range(run.length):
            digest = there.get(run.target + at)
            if digest is None and cleaned:
                continue
            told += 1
            if digest is None or (here.get(run.source + at) != digest and digest not in unplaced):
                return f"source offset {run.source + at} is not at target offset {run.target + at}, as {run} says"
    if told != len(target) or count not in {None, told}:
        return f"they tell of {told} records, the source has {count}, the target {len(target)}"
    return ""


async def persisted_of(context: ClusterContext, link: str) -> tuple[dict[tuple[str, int], Persisted], int]:
    """What the control topics and the targets' headers say of each lane, and how many records of gap records there
    were.
    """
    async with open_cluster(context) as cluster:
        progress, ranges, journal = Progress(cluster), MappedRanges(cluster), Journal(cluster)
        gap_records = await GapRecords(cluster).read()
        await progress.sync()
        await ranges.sync()
        claims = await journal.read()
        found: dict[tuple[str, int], Persisted] = {}
        for lane in progress.lanes.of(link):
            key = lane.lane
            ids = claims.producer_ids(str(key))
            within = await whole_log(cluster, lane.target.topic, lane.target.partition)
            segments: Mapping[int, tuple[MappedRange, ...]] = ranges.segments.get(key, {})
            first = _first_of_all(segments)
            persisted = in_order({number: held for number, held in segments.items() if number >= first})
            log = LaneLog(str(key), ids, gap_records, OffsetMap.of(persisted))
            again = await rebuild(cluster, within, log, claims.start(str(key), 0))
            found[(lane.source.topic, lane.source.partition)] = Persisted(
                joined(persisted), joined(again), len(ids), lane.mode.value, first
            )
        return found, gap_records.end


def _first_of_all(segments: Collection[int]) -> int:
    """The segment from which on none is missing; one below is of a late request, stored again behind its retirement."""
    first = max(segments, default=0)
    while first - 1 in segments:
        first -= 1
    return first


def joined(ranges: Sequence[MappedRange]) -> tuple[MappedRange, ...]:
    """Runs that continue each other on both sides as one; nothing is checked, so that wrong ones are shown too."""
    joined: list[MappedRange] = []
    for run in ranges:
        last = joined[-1] if joined else None
        if last is not None and (last.source + last.length, last.target + last.length) == (run.source, run.target):
            joined[-1] = MappedRange(last.source, last.target, last.length + run.length)
        else:
            joined.append(run)
    return tuple(joined)


def _words(found: Differences) -> str:
    names = ("missing", "repeated", "reordered", "altered", "foreign")
    return ", ".join(f"{getattr(found, name)} {name}" for name in names if getattr(found, name))


def _short(ranges: Sequence[MappedRange]) -> str:
    shown = [f"{run.source}->{run.target}+{run.length}" for run in ranges]
    return ", ".join(shown if len(shown) <= 6 else [*shown[:2], f"... {len(shown) - 5} ...", *shown[-3:]])
