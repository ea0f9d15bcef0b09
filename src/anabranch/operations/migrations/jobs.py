"""The checkpoint of a wave's job as it lies there: whether it is what the migration says; nothing is translated."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial

from anabranch.checkpoints.job import Checkpoint
from anabranch.checkpoints.position import OffsetRole, Position
from anabranch.errors import AnabranchError, ProtocolError, RefusedError
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.errors import UNKNOWN_TOPIC
from anabranch.kafka.partitions import LATEST
from anabranch.kafka.start import ask_offsets
from anabranch.migration.jobs import JobMove, job_move
from anabranch.migration.legs import Leg
from anabranch.migration.spec import JobKind
from anabranch.migration.words import named
from anabranch.model.reasons import Reason, Severity
from anabranch.model.topics import TopicPartition
from anabranch.operations.checkpoints.blocking import in_thread
from anabranch.operations.checkpoints.errors import PathTakenError
from anabranch.operations.checkpoints.manifest import RewriteState, manifests
from anabranch.operations.checkpoints.paths import files_at
from anabranch.operations.checkpoints.planning import opened
from anabranch.operations.checkpoints.staged_copy import refuse_taken
from anabranch.operations.checkpoints.staging import names
from anabranch.storage.files import StoredFiles
from anabranch.storage.opening import open_files

_READ = frozenset({OffsetRole.NEXT, OffsetRole.BATCH_START, OffsetRole.BATCH_END})
"""Positions of what was read: none of them lies past the log's end."""


@dataclass(eq=False)
class JobRefusedError(RefusedError):
    """A job's stored positions cannot be moved; ``what`` names the path."""

    job: str
    what: str
    fix: str

    _message = "job {job}: {what}"
    _hint = "{fix}"


@dataclass(eq=False)
class NoJobCheckpointError(JobRefusedError):
    """What is to be a job's checkpoint is not there, or cannot be read."""


@dataclass(eq=False)
class OtherEngineError(JobRefusedError):
    """A job's checkpoint is of another engine than the migration says."""


@dataclass(eq=False)
class NothingOfWaveError(JobRefusedError):
    """A job's checkpoint holds no position of its wave's topics."""


@dataclass(eq=False)
class ForeignPositionsError(JobRefusedError):
    """A job's checkpoint holds positions of another cluster than the one that is left, or such as are left behind."""


@dataclass(eq=False)
class JobPathTakenError(JobRefusedError):
    """Where a job's rewritten checkpoint is to be put there is something, or it cannot be put there."""


@dataclass(frozen=True, slots=True)
class SeenJob:
    """A job's checkpoint that was opened, and is what the migration says; ``there`` are its files of just before."""

    files: StoredFiles
    checkpoint: Checkpoint
    there: list[str]


def look(leg: Leg, move: JobMove, owner: str = "", opens: Callable[[StoredFiles], Checkpoint] = opened) -> SeenJob:
    """Open a job's checkpoint; blocks.  ``owner`` may have staged at its new path.

    Raises NoJobCheckpointError, OtherEngineError, NothingOfWaveError, ForeignPositionsError, JobPathTakenError,
    StorageError, ConfigError.
    """
    job = move.job.name
    try:
        files = files_at(move.at)
        there = names(files)
        checkpoint = opens(files)
    except (RefusedError, ProtocolError) as error:
        raise NoJobCheckpointError(job, error.message, error.hint) from error
    found, wanted = checkpoint.format.value, move.job.kind.value
    if found != wanted:
        fix = f"correct the job's kind, or its {move.field}"
        raise OtherEngineError(job, f"{files.root} is a checkpoint of {found}, not of {wanted}", fix)
    if leg.number and move.job.kind is JobKind.FLINK:
        _refuse_left_behind(leg, move, files)
    _refuse_without_topics(leg, move, files, checkpoint.positions())
    if move.to:
        taken(move, owner)
    return SeenJob(files, checkpoint, there)


def taken(move: JobMove, owner: str) -> None:
    """Raise JobPathTakenError where a job's rewritten checkpoint cannot be put to its new path."""
    try:
        refuse_taken(open_files(move.to), owner)
    except PathTakenError as error:
        fix = f"name a path where nothing is as {move.to_field} of the job"
        raise JobPathTakenError(move.job.name, error.message, fix) from error


def _refuse_left_behind(leg: Leg, move: JobMove, files: StoredFiles) -> None:
    """A snapshot that a rewrite has put there is where the job began on this cluster, and not where it is now."""
    put = [one for one in manifests(files) if one.state is RewriteState.COPIED]
    if put:
        what = (
            f"{files.root} was put there by {put[-1].route}: with it the job began on {leg.here}, and where it is now "
            "is in a snapshot of its own"
        )
        fix = f"stop the job with a savepoint, and name that as {move.field} of the job"
        raise ForeignPositionsError(move.job.name, what, fix)


def _refuse_without_topics(leg: Leg, move: JobMove, files: StoredFiles, positions: Iterable[Position]) -> None:
    topics = leg.topics
    found = {one.partition.topic for one in positions}
    if found & topics.keys():
        return
    told = named(sorted(found), "topic") if found else "no topic of Kafka"
    if other := found & {*topics.values()}:
        what = f"{files.root} holds positions of {named(sorted(other), 'topic')}, as it is called on {leg.there}"
        raise ForeignPositionsError(move.job.name, what, f"name a checkpoint that the job has written on {leg.here}")
    what = f"{files.root} holds positions of {told}, and of none of wave {leg.wave.name}"
    raise NothingOfWaveError(move.job.name, what, "put the job into its own wave, or correct its path")


async def refuse_past_end(cluster: Cluster, leg: Leg, move: JobMove, positions: Iterable[Position]) -> None:
    """Raise ForeignPositionsError where a position lies past the end of the log that it names, and ClusterError."""
    read = {
        (one.partition, one.offset)
        for one in positions
        if one.partition.topic in leg.topics and one.role in _READ and isinstance(one.offset, int)
    }
    answer = await cluster.metadata(sorted({at.topic for at, _ in read}))
    there = set()
    for topic in answer.topics.values():
        if topic.error != UNKNOWN_TOPIC:
            cluster.check(topic.error, "Describe", f"topic {topic.name}")
            there |= {TopicPartition(topic.name, number) for number in topic.partitions}
    asked = {at for at, _ in read} & there
    ends = await ask_offsets(cluster, dict.fromkeys(sorted(asked), LATEST), isolation=0) if asked else {}
    for at, offset in sorted(read):
        if at not in there:
            what = f"{move.at} is at {offset:,} of {at}, which {leg.here} does not have"
        elif offset > ends[at]:
            what = f"{move.at} is at {offset:,} of {at}, whose log ends at {ends[at]:,} on {leg.here}"
        else:
            continue
        fix = f"name a checkpoint that the job has written on {leg.here}"
        raise ForeignPositionsError(move.job.name, f"{what}: it holds positions of another cluster", fix)


async def job_reasons(leg: Leg) -> tuple[Reason, ...]:
    """What stands in the way of a wave's jobs, as their checkpoints lie there now; changes nothing."""
    found: list[Reason] = []
    for job in leg.wave.jobs:
        move = job_move(leg, job)
        try:
            seen = await in_thread(partial(look, leg, move))
        except AnabranchError as error:
            what = error.message if isinstance(error, JobRefusedError) else f"job {job.name}: {error.message}"
            found.append(Reason.found(Severity.ERROR, what, error.hint))
        else:
            found += elsewhere(leg, move, seen)
    return tuple(found)


def elsewhere(leg: Leg, move: JobMove, seen: SeenJob) -> Iterator[Reason]:
    """A job that reads topics of another wave would be on two clusters."""
    topics = {one.partition.topic for one in seen.checkpoint.positions()} - leg.topics.keys()
    if topics:
        what = f"job {move.job.name} also reads {named(sorted(topics), 'topic')}, not in this wave"
        fix = "add the topic to this wave, or rewrite the checkpoint by hand and leave the job out"
        yield Reason.found(Severity.ERROR, f"{what}: it would be on two clusters", fix)
