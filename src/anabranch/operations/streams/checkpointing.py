"""Saving the checkpoints of a stream under a name, while it is stopped, and taking them away."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from anabranch.errors import RefusedError
from anabranch.model.clock import now_ms
from anabranch.model.plans import REQUEST, check_holds, plan_hash
from anabranch.storage import paths, saved_checkpoints
from anabranch.storage.local import LocalFiles
from anabranch.storage.saved_checkpoints import NothingToSaveError, SavedCheckpoint, SavedExistsError, SavedQuery
from anabranch.storage.stream_checkpoints import noted_version
from anabranch.streams.kept import StreamChangedError, StreamRunsError
from anabranch.streams.states import StreamWanted

if TYPE_CHECKING:  # a program without the service has no database
    from anabranch.store.streams import StoredStreams


@dataclass(eq=False)
class FarCheckpointsError(RefusedError):
    """Checkpoints in other storage than a directory of the service's machine."""

    stream: str
    place: str

    _message = "the checkpoints of stream {stream} are at {place}; only those in a directory here are saved by name"
    _hint = "copy them by the storage's own tools; or have the stream run by a launcher without `checkpoints`"


def local_files(stream: str, place: str) -> LocalFiles:
    """The tree of a stream's checkpoints; raises FarCheckpointsError."""
    protocol, path = paths.split(place)
    if protocol != paths.LOCAL:
        raise FarCheckpointsError(stream, place)
    return LocalFiles(place, path)


class CheckpointVerb(StrEnum):
    """What is done with a saved checkpoint."""

    SAVE = "save"
    DELETE = "delete"


@dataclass(frozen=True, slots=True)
class SavedQueryLine:
    """A query of a saved checkpoint: its last micro-batch, and the records of Kafka that lie before its next.

    ``records`` is None for a source that is not Kafka.
    """

    query: str
    batch: int
    records: int | None


@dataclass(frozen=True, slots=True)
class CheckpointPlan:
    """A saved checkpoint that would be made, or taken away; ``version`` is the one that ran with it last."""

    stream: str
    verb: CheckpointVerb
    name: str
    version: int
    queries: tuple[SavedQueryLine, ...]
    hash: str
    made: SavedCheckpoint = field(metadata=REQUEST)
    revision: int = field(metadata=REQUEST)


@dataclass(frozen=True, slots=True)
class ChangedCheckpoint:
    """A saved checkpoint that was made or taken away."""

    stream: str
    name: str
    verb: CheckpointVerb


def lines_of(queries: Sequence[SavedQuery]) -> tuple[SavedQueryLine, ...]:
    """Queries as they are shown."""
    return tuple(
        SavedQueryLine(one.query, one.batch, None if one.offsets is None else _records(one)) for one in queries
    )


def _records(query: SavedQuery) -> int:
    assert query.offsets is not None
    return sum(at for partitions in query.offsets.values() for at in partitions.values())


async def plan(stored: StoredStreams, place: str, name: str, verb: CheckpointVerb, saved: str) -> CheckpointPlan:
    """Save the checkpoints in a place under a name, or take such a one away.

    Raises NoStreamError, StreamRunsError for one that is not stopped, OpenBatchError, NothingToSaveError,
    SavedExistsError, NoSavedError, StorageError.
    """

    def look() -> CheckpointPlan:
        stream, files = stored.get(name), local_files(name, place)
        if verb is CheckpointVerb.DELETE:
            made = saved_checkpoints.saved_as(files, name, saved)
        else:
            _check_stopped(stored, name)
            if any(one.name == saved for one in saved_checkpoints.saved(files)):
                raise SavedExistsError(name, saved)
            version, script = noted_version(files)
            queries = saved_checkpoints.queries_of(files, name)
            if not queries:
                raise NothingToSaveError(name)
            made = SavedCheckpoint(saved, 0, "", version, script, queries)
        hash_ = plan_hash(f"streams.checkpoint.{verb.value}", name, stream.revision, asdict(made))
        lines = lines_of(made.queries)
        return CheckpointPlan(name, verb, saved, made.version, lines, hash_, made, stream.revision)

    return await asyncio.to_thread(look)


async def apply(stored: StoredStreams, place: str, planned: CheckpointPlan, author: str) -> ChangedCheckpoint:
    """Do it; raises PlanChangedError where the checkpoints are others by now, and what ``plan`` raises.

    Raises StreamChangedError for a stream that is started at the same time.
    """
    shown = planned.stream, planned.verb, planned.name
    now, again = await plan(stored, place, *shown), f"anabranch stream checkpoint {planned.stream}"
    check_holds(f"checkpoint {planned.name!r} of stream {planned.stream}", planned, now, again)

    def write() -> None:
        files, name = local_files(planned.stream, place), planned.stream
        if planned.verb is CheckpointVerb.DELETE:
            saved_checkpoints.delete(files, name, planned.name)
            return
        made = planned.made

        def check_same() -> None:
            _check_stopped(stored, name)
            if stored.get(name).revision != planned.revision:
                raise StreamChangedError(name)

        check_same()
        told = SavedCheckpoint(made.name, now_ms(), author, made.version, made.script, made.queries)
        saved_checkpoints.save(files, name, told, check_same)

    await asyncio.to_thread(write)
    return ChangedCheckpoint(planned.stream, planned.name, planned.verb)


def _check_stopped(stored: StoredStreams, name: str) -> None:
    stream, run = stored.get(name), stored.open_run(name)
    if run is not None or stream.wanted is StreamWanted.RUNNING:
        raise StreamRunsError(name, stream.state.value if run is None else run.id)
