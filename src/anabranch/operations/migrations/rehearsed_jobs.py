"""The checkpoints of a rehearsal: copies of those of a wave's jobs, which read the topics that are made for it.

Of a checkpoint nothing but its committed positions is copied, and nothing is written where it is: its job may run.
The copy is at one record in all partitions, and is checked to be at the same one wherever it was moved.  A snapshot of
Flink names its state where that is.

The race: a job that runs deletes old files of its logs, and adds some.  It never writes one twice, so what was read
is one state if each file was there, and is looked at again otherwise.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from anabranch.checkpoints import spark
from anabranch.checkpoints.errors import MissingFileError, NoCheckpointError
from anabranch.checkpoints.job import Checkpoint, CheckpointFormat
from anabranch.checkpoints.plan import RewriteSpec
from anabranch.checkpoints.position import OffsetRole, Position, SymbolicOffset, offset_text
from anabranch.checkpoints.route import TranslatedPosition
from anabranch.errors import RefusedError
from anabranch.kafka.cluster import Cluster
from anabranch.migration.jobs import job_move
from anabranch.migration.legs import Leg
from anabranch.migration.rehearsal import Rehearsal, ScratchJob
from anabranch.migration.spec import JobKind
from anabranch.model.reasons import Reason, ReasonKind
from anabranch.model.topics import TopicPartition
from anabranch.operations.checkpoints.activity import modified
from anabranch.operations.checkpoints.blocking import in_thread
from anabranch.operations.checkpoints.copying import relocated
from anabranch.operations.checkpoints.errors import UnfinishedCopyError, UnfinishedRewriteError
from anabranch.operations.checkpoints.manifest import COPYING, HIDDEN, unfinished
from anabranch.operations.checkpoints.paths import files_at
from anabranch.operations.checkpoints.planning import opened
from anabranch.operations.migrations.jobs import JobRefusedError, SeenJob, elsewhere, look, refuse_past_end
from anabranch.operations.migrations.rehearsed import SAMPLES, RehearsalFailedError
from anabranch.operations.migrations.rehearsed_files import mark_files
from anabranch.storage.files import StoredFiles
from anabranch.storage.opening import open_files

Records = Mapping[TopicPartition, Sequence[int]]
"""The offsets of a rehearsal's records, by partition."""
Place = tuple[str, OffsetRole, TopicPartition]
"""A position by its source, what it is for, and its partition as that is called on the source."""
Copies = Mapping[str, frozenset[Place]]
"""The positions that each job's copy has."""

_READ = SAMPLES // 2
_NUMBER = {OffsetRole.INITIAL: 0, OffsetRole.PREVIOUS: SAMPLES // 4, OffsetRole.STOP: SAMPLES - 1}
"""So many records are before a position of a copy."""
_LIMIT = 1 << 30
_LOOKS, _APART_S = 3, 0.3
"""How often a checkpoint is looked at before it is refused, for it may have changed meanwhile."""


@dataclass(eq=False)
class NoBatchCommittedError(RefusedError):
    """A query has committed no batch yet."""

    path: str

    _message = "{path}: no batch of it is committed yet"
    _hint = "let the query commit a batch, then rehearse again; or take the job out of the wave"


@dataclass(eq=False)
class JobNotCopiedError(JobRefusedError):
    """A job's checkpoint cannot be copied so that the copy could be moved."""


@dataclass(frozen=True, slots=True)
class ScratchRoute:
    """Where positions of a real checkpoint are in its copy (see ``route.Route``): at a record of the topic made for it.

    The copy has the partitions that the checkpoint has, and no others.
    """

    topics: Mapping[str, str]
    records: Records
    known: frozenset[TopicPartition]

    def move(self, position: Position) -> TranslatedPosition | Reason | None:
        """See ``route.Route``."""
        to = self._made(position.partition)
        if to is None:
            what = f"topic {position.partition.topic} is not in this wave"
            return Reason(ReasonKind.NOT_IN_LINK, what, "add it to the wave, or take the job out", position.location)
        if position.offset is None:
            return TranslatedPosition(to, None)
        if position.offset in (SymbolicOffset.LATEST, SymbolicOffset.COMMITTED):
            what = f"{position.partition} is stored as {position.offset}: it was not looked up yet"
            return Reason(ReasonKind.MARKER, what, "let the job read it once", position.location)
        number = _NUMBER.get(position.role, _READ)
        return TranslatedPosition(to, self.records[to][number] if to in self.records else number)

    def equal(self, partition: TopicPartition, start: int, end: int) -> Reason | None:  # noqa: ARG002
        """See ``route.Route``: batches that were not committed are not copied."""
        return None

    def partitions(self, topic: str) -> frozenset[int] | Reason:
        """See ``route.Route``."""
        made = map(self._made, self.known)
        return frozenset(one.partition for one in made if one is not None and one.topic == topic)

    def _made(self, real: TopicPartition) -> TopicPartition | None:
        topic = self.topics.get(real.topic)
        return None if topic is None else TopicPartition(topic, real.partition)


async def refuse_jobs(source: Cluster, planned: Rehearsal) -> None:
    """Raise JobRefusedError for a job whose checkpoint cannot be rehearsed, as it lies there now; changes nothing."""
    for job in planned.jobs:
        seen, _ = await in_thread(partial(_looked, planned, job, {}))
        await refuse_past_end(source, planned.real, job_move(planned.real, job.real), seen.checkpoint.positions())


async def copy_jobs(planned: Rehearsal, records: Records) -> Copies:
    """Make the copies; raises JobRefusedError, and what writing raises."""
    return {job.real.name: await in_thread(partial(_copy, planned, job, records)) for job in planned.jobs}


async def take_snapshots(planned: Rehearsal) -> None:
    """Have each Flink job have one of its own where it was led: with that its way back begins, to an empty place."""
    for job in planned.jobs:
        if job.made.kind is JobKind.FLINK:
            await in_thread(partial(open_files(job.made.moved).delete_tree, HIDDEN))
            await in_thread(partial(open_files(job.made.checkpoint).delete_tree, ""))


async def check_jobs(planned: Rehearsal, leg: Leg, records: Records, copies: Copies) -> int:
    """See that each copy is where a leg puts it, at exactly its record; returns at how many positions.

    ``records`` are those of the cluster that the leg leads to.  A partition that a copy did not know has none read.
    Raises RehearsalFailedError.
    """
    checked = 0
    for job in planned.jobs:
        place = job_move(leg, job.made).place
        try:
            found = await in_thread(partial(_positions, place))
        except RefusedError as error:
            raise RehearsalFailedError(leg.wave.name, "move checkpoints", error.message) from error
        why = next(_astray(job, leg, found, records, copies[job.real.name]), "")
        if why:
            raise RehearsalFailedError(leg.wave.name, "move checkpoints", why)
        checked += len(found)
    return checked


def _looked(planned: Rehearsal, job: ScratchJob, records: Records) -> tuple[SeenJob, dict[str, bytes]]:
    """A job's checkpoint, and the files of its copy; looked at again where it changed, or seems to be refused."""
    for _ in range(_LOOKS - 1):
        try:
            return _read(planned, job, records)
        except (JobRefusedError, MissingFileError):
            time.sleep(_APART_S)
    try:
        return _read(planned, job, records)
    except MissingFileError as error:
        raise _changing(job, error.message) from error


def _read(planned: Rehearsal, job: ScratchJob, records: Records) -> tuple[SeenJob, dict[str, bytes]]:
    move = job_move(planned.real, job.real)
    seen = look(planned.real, move, opens=_committed)
    for reason in elsewhere(planned.real, move, seen):
        raise JobNotCopiedError(job.real.name, reason.what, reason.fix)
    known = frozenset(one.partition for one in seen.checkpoint.positions())
    made = seen.checkpoint.rewrite(RewriteSpec(), ScratchRoute(planned.topics, records, known))
    if made.refusals:
        told = "; ".join(reason.what for reason in made.refusals)
        fix = made.refusals[0].fix or f"see every reason: anabranch checkpoint inspect {move.at}"
        raise JobNotCopiedError(job.real.name, f"{seen.files.root}: {told}", fix)
    if seen.checkpoint.format is CheckpointFormat.FLINK:
        files = relocated(seen.files, seen.checkpoint, made.writes)
    else:
        files = {path: seen.files.read(path, _LIMIT) for path in made.reads if path not in made.writes}
        files |= {path: data for path, data in made.writes.items() if data is not None}
    if changed := modified(seen.files, made.reads):
        raise _changing(job, f"{seen.files.root}: {changed[0]} changed while it was read")
    return seen, files


def _changing(job: ScratchJob, what: str) -> JobNotCopiedError:
    return JobNotCopiedError(job.real.name, what, "rehearse again; if that does not help, while the job is stopped")


def _committed(files: StoredFiles) -> Checkpoint:
    """A Spark checkpoint up to its newest batch that was committed; any other one as it is."""
    if files.stat(COPYING) is not None:
        raise UnfinishedCopyError(files.root)
    begun = unfinished(files)
    if begun is not None:
        raise UnfinishedRewriteError(files.root, begun.id)
    found = spark.open_committed(files)
    if found is None:
        return opened(files)
    if found.contents.layout.committed is None:
        raise NoBatchCommittedError(files.root)
    return found


def _copy(planned: Rehearsal, job: ScratchJob, records: Records) -> frozenset[Place]:
    """Write it, the log of offsets last; returns the positions that it has."""
    _, made = _looked(planned, job, records)
    mark_files(planned, job)
    place = job_move(planned.leg, job.made).at
    files = open_files(place)
    for path in sorted(made, key=lambda path: (path.startswith("offsets/"), path)):
        files.put(path, made[path])
    return frozenset((one.source, one.role, one.partition) for one in _positions(place))


def _positions(place: str) -> list[Position]:
    """All that a restart from there reads; raises NoCheckpointError where there is nothing."""
    found = list(opened(files_at(place)).positions())
    if not found:
        raise NoCheckpointError(place, "it has no positions")
    return found


def _astray(
    job: ScratchJob, leg: Leg, found: Sequence[Position], records: Records, copied: frozenset[Place]
) -> Iterator[str]:
    """What is not where it should be, in words."""
    name = job.real.name
    topics = {there: there if leg.leads_back else here for here, there in leg.topics.items()}
    missing = set(copied)
    for one in found:
        topic = topics.get(one.partition.topic)
        if topic is None or one.partition not in records:
            yield f"the checkpoint of job {name} names {one.partition}, which was not made for the rehearsal"
            continue
        at = (one.source, one.role, TopicPartition(topic, one.partition.partition))
        missing.discard(at)
        right = records[one.partition][_NUMBER.get(one.role, _READ) if at in copied else 0]
        if one.offset is not None and one.offset != right:
            yield f"job {name} is at {offset_text(one.offset)} of {one.partition}, and not at {right:,}"
    for source, _, partition in sorted(missing):
        yield f"the checkpoint of job {name} has no position of {partition} in source {source} any more"
