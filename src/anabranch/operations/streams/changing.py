"""Which version of a stream the next start runs, whether it runs, and its end."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from anabranch.errors import InvalidFieldError, RefusedError
from anabranch.model.clock import now_ms
from anabranch.model.plans import REQUEST, check_holds, plan_hash
from anabranch.model.start import StartPosition
from anabranch.operations.streams.checkpointing import local_files
from anabranch.storage import saved_checkpoints
from anabranch.streams.kept import StoredStream, StreamLostError, StreamRunsError
from anabranch.streams.kinds import NotOfPySparkError, StreamKind
from anabranch.streams.state.results import StateChoice
from anabranch.streams.states import StreamState, StreamWanted

if TYPE_CHECKING:  # a program without the service has no database
    from anabranch.store.streams import StoredStreams


_JUDGED = "no look at it says which query's state fits; Spark says so as it starts"
_BEGIN_ANEW = "begin each query again: `anabranch stream start NAME --from POSITION`"


class StreamVerb(StrEnum):
    """What is done with a stream's run."""

    START = "start"
    STOP = "stop"
    RESTART = "restart"


@dataclass(eq=False)
class NoFormerVersionError(RefusedError):
    """No other version of a stream was published before."""

    name: str

    _message = "stream {name!r} has no version that was published before"
    _hint = "name one: `anabranch stream publish {name} VERSION`"


@dataclass(frozen=True, slots=True)
class PublishStreamPlan:
    """The version that the next start would run; ``runs`` is the version that runs now, None where none does."""

    stream: str
    before: int
    after: int
    runs: int | None
    hash: str
    revision: int = field(metadata=REQUEST)


@dataclass(frozen=True, slots=True)
class QueryBack:
    """A query that would go back to a saved checkpoint: by how many records of Kafka, None where that is not known.

    What it has written since is written again.
    """

    query: str
    batch: int
    records: int | None


@dataclass(eq=False)
class OtherVersionSavedError(RefusedError):
    """A saved checkpoint is of another script than the one that would run."""

    name: str
    checkpoint: str
    version: int
    published: int

    _message = "checkpoint {checkpoint!r} was saved of version {version}, and version {published} has another script"
    _hint = "publish what it was saved of: `anabranch stream publish {name} {version}`"


@dataclass(frozen=True, slots=True)
class RunStreamPlan:
    """What would be done with the run of a stream that stands in ``state``; ``version`` is what a start runs.

    ``choice`` is for queries whose state no longer fits; ``start`` a position where every query begins anew, or empty;
    ``checkpoint`` a saved one that every query goes ``back`` to, or empty.  A link has its ``target``, and no version.
    """

    stream: str
    verb: StreamVerb
    state: StreamState
    version: int
    choice: StateChoice
    start: str
    checkpoint: str
    back: tuple[QueryBack, ...]
    hash: str
    revision: int = field(metadata=REQUEST)
    run: str = field(default="", metadata=REQUEST)
    target: str = ""
    place: str = field(default="", metadata=REQUEST)


@dataclass(frozen=True, slots=True)
class DeleteStreamPlan:
    """A stream that would be forgotten with its versions and runs; its checkpoints stay where they are."""

    stream: str
    versions: int
    runs: int
    hash: str
    revision: int = field(metadata=REQUEST)


@dataclass(frozen=True, slots=True)
class ChangedStream:
    """A stream that was changed, and what a person now wants of it.

    A link has its ``target``, and the ``run`` that was started for it.
    """

    stream: str
    version: int
    wanted: str
    target: str = ""
    run: str = ""


async def plan_publish(stored: StoredStreams, name: str, version: int | None) -> PublishStreamPlan:
    """Have the next start run a version, by default the one that was published before.

    Raises NoStreamError, NoStreamVersionError, NoFormerVersionError.
    """

    def look() -> PublishStreamPlan:
        stream, run = stored.get(name), stored.open_run(name)
        wanted = version or stream.former
        if not wanted:
            raise NoFormerVersionError(name)
        stored.version(name, wanted)
        hash_ = plan_hash("streams.publish", name, stream.revision, wanted)
        runs = None if run is None else run.version
        return PublishStreamPlan(name, stream.published, wanted, runs, hash_, stream.revision)

    return await asyncio.to_thread(look)


async def publish(stored: StoredStreams, planned: PublishStreamPlan) -> ChangedStream:
    """Have it so over the revision that the plan has seen, which is all it rests on; raises StreamChangedError."""

    def write() -> ChangedStream:
        if planned.after != planned.before:
            values = {"published": planned.after, "former": planned.before}
            stored.change(planned.stream, planned.revision, **values)
        stream = stored.get(planned.stream)
        return ChangedStream(planned.stream, stream.published, stream.wanted.value)

    return await asyncio.to_thread(write)


async def plan_run(
    stored: StoredStreams,
    name: str,
    verb: StreamVerb,
    choice: StateChoice = StateChoice.REFUSE,
    start: str = "",
    checkpoint: str = "",
    place: str = "",
    most: int | None = None,
) -> RunStreamPlan:
    """Start, stop or restart a stream; ``most`` may run at once, None for any number.

    Raises TooManyStreamsError, NoStreamError, StreamRunsError for a start of one that runs, StreamLostError where that
    is not known, InvalidFieldError for a position that is none, or one beside a choice: it begins every query with an
    empty state; NotOfPySparkError for a choice of a PySpark file; for a saved ``checkpoint`` of those in ``place``,
    what looking at it raises.
    """
    if checkpoint and (start or choice is not StateChoice.REFUSE):
        problem = "a saved checkpoint has its own position and state"
        raise InvalidFieldError("stream", "checkpoint", problem, "leave the others out")
    if start:
        StartPosition.parse(start)
        if choice is not StateChoice.REFUSE:
            raise InvalidFieldError("stream", "start", "a position begins with an empty state", "leave the state out")

    def look() -> RunStreamPlan:
        stream, run = stored.get(name), stored.open_run(name)
        if choice is not StateChoice.REFUSE and stored.version(name, stream.published).kind is StreamKind.PYSPARK:
            raise NotOfPySparkError(f"{choice.value} state to choose", _JUDGED, _BEGIN_ANEW)
        if (
            verb is StreamVerb.START
            and stream.wanted is StreamWanted.RUNNING
            and stream.state is not StreamState.FAILED
        ):
            _check_not_lost(stream)
            raise StreamRunsError(name, stream.state.value if run is None else run.id)
        if verb is not StreamVerb.STOP and most is not None:
            stored.check_room(name, most)
        open_run = "" if run is None else run.id
        back = _back(stored, stream, checkpoint, place) if checkpoint else ()
        seen = [
            stream.revision,
            stream.wanted.value,
            open_run,
            stream.published,
            choice.value,
            start,
            checkpoint,
            [[one.query, one.batch] for one in back],
        ]
        hash_ = plan_hash(f"streams.{verb.value}", name, seen)
        asked = stream.published, choice, start, checkpoint, back
        return RunStreamPlan(name, verb, stream.state, *asked, hash_, stream.revision, open_run, place=place)

    return await asyncio.to_thread(look)


def _check_not_lost(stream: StoredStream) -> None:
    """Raise StreamLostError where nobody knows whether its run goes on."""
    if stream.state is StreamState.LOST:
        raise StreamLostError(stream.name, stream.why)


def _back(stored: StoredStreams, stream: StoredStream, checkpoint: str, place: str) -> tuple[QueryBack, ...]:
    """How far each query goes back; raises NoSavedError, OtherVersionSavedError, OpenBatchError, StorageError."""
    files = local_files(stream.name, place)
    found = saved_checkpoints.saved_as(files, stream.name, checkpoint)
    if stored.version(stream.name, stream.published).script != found.script:
        raise OtherVersionSavedError(stream.name, checkpoint, found.version, stream.published)
    now = {one.query: one for one in saved_checkpoints.queries_of(files, stream.name)}
    return tuple(
        QueryBack(one.query, one.batch, saved_checkpoints.goes_back(now[one.query], one) if one.query in now else None)
        for one in found.queries
    )


async def run(stored: StoredStreams, planned: RunStreamPlan, most: int | None = None) -> ChangedStream:
    """Write down what is wanted: whoever supervises the stream does it.

    ``most`` may run at once, None for any number.  Raises PlanChangedError where another run is open by now, or the
    saved checkpoint is another one, and what ``plan_run`` raises; StreamChangedError, TooManyStreamsError.
    """
    name, asked = planned.stream, (planned.choice, planned.start, planned.checkpoint, planned.place)
    now = await plan_run(stored, name, planned.verb, *asked, most)
    check_holds(f"stream {name}", planned, now, f"anabranch stream show {name}")

    def write() -> ChangedStream:
        wanted = StreamWanted.STOPPED if planned.verb is StreamVerb.STOP else StreamWanted.RUNNING
        begin = {"version": planned.version, "state": planned.choice.value, "start": planned.start}
        begin |= {"checkpoint": planned.checkpoint} if planned.checkpoint else {}
        ends = planned.run if planned.verb is StreamVerb.RESTART else ""
        stored.want(planned.stream, planned.revision, wanted, now_ms(), ends, begin, most)
        return ChangedStream(planned.stream, planned.version, wanted.value)

    return await asyncio.to_thread(write)


async def plan_delete(stored: StoredStreams, name: str) -> DeleteStreamPlan:
    """Forget a stream; raises NoStreamError, and StreamRunsError or StreamLostError while it runs or is wanted to."""

    def look() -> DeleteStreamPlan:
        stream, run = stored.get(name), stored.open_run(name)
        if run is not None or stream.wanted is StreamWanted.RUNNING:
            _check_not_lost(stream)
            raise StreamRunsError(name, stream.state.value if run is None else run.id)
        versions, runs = len(stored.versions(name)), len(stored.runs_of(name, 10_000))
        hash_ = plan_hash("streams.delete", name, stream.revision)
        return DeleteStreamPlan(name, versions, runs, hash_, stream.revision)

    return await asyncio.to_thread(look)


async def delete(stored: StoredStreams, planned: DeleteStreamPlan) -> ChangedStream:
    """Forget it; raises StreamChangedError where a person has changed it since, or a run of it is open.

    No plan is made again: the store looks at both as it forgets it.
    """
    await asyncio.to_thread(stored.remove, planned.stream, planned.revision)
    return ChangedStream(planned.stream, 0, StreamWanted.STOPPED.value)
