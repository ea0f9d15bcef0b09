"""What the service answers about streams."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from anabranch.operations.streams.checkpointing import SavedQueryLine, lines_of
from anabranch.service.stream_live import LiveRun
from anabranch.service.words import command
from anabranch.storage.saved_checkpoints import SavedCheckpoint
from anabranch.store.streams import StoredStream, StoredStreamRun
from anabranch.streams.artifacts.values import ArtifactPin
from anabranch.streams.kinds import StreamJobKind, StreamKind
from anabranch.streams.states import StreamState, StreamWanted
from anabranch.streams.versions import StreamSettings, StreamVersion


@dataclass(frozen=True, slots=True)
class StreamQueryAnswer:
    """A query of a run, as it was told last; what is None was not told, or is not known for its connector.

    ``errors`` and ``retries`` are its sink's since the run began.
    """

    query: str
    table: str
    connector: str
    line: int
    batch: int | None
    rows_in: int | None
    rows_out: int | None
    rows_per_second: float | None
    batch_ms: int | None
    lag: int | None
    watermark: str | None
    state_rows: int | None
    errors: int | None
    retries: int | None
    told_at: str


@dataclass(frozen=True, slots=True)
class StreamSummary:
    """A stream in a list; ``why`` is why it is in its state, ``since_ms`` since when.

    ``starts`` counts its starts; ``former`` is the version that was published before, 0 where none was.
    ``queries`` are of its open run; they are none where that is on another machine, or has told nothing yet.
    A link has its ``target``, no version, and one query, which copies; since when it is in its state is not known.
    ``look`` is the command that shows more of it.
    """

    name: str
    kind: StreamJobKind
    owner: str
    description: str
    state: StreamState
    wanted: StreamWanted
    why: str
    since_ms: int | None
    published: int
    former: int
    starts: int
    running_version: int | None
    queries: tuple[StreamQueryAnswer, ...]
    target: str
    look: str


@dataclass(frozen=True, slots=True)
class StreamVersionNote:
    """A version without its script."""

    number: int
    at_ms: int
    author: str
    note: str
    settings: StreamSettings


@dataclass(frozen=True, slots=True)
class StreamVersionAnswer:
    """A version of a stream; ``artifacts`` are the versions that its functions come from."""

    stream: str
    number: int
    at_ms: int
    author: str
    note: str
    settings: StreamSettings
    kind: StreamKind
    script: str
    artifacts: tuple[ArtifactPin, ...]


@dataclass(frozen=True, slots=True)
class StreamRunAnswer:
    """A start of a stream, or of a link by the service.

    ``exit_code`` is None while it runs, and where nobody saw how it ended; ``launcher`` is empty for one that began
    before that was kept, and for a link.
    """

    id: str
    version: int
    fence: int
    host: str
    pid: int
    began_at_ms: int
    stopping_at_ms: int | None
    ended_at_ms: int | None
    exit_code: int | None
    failed: bool
    why: str
    launcher: str


@dataclass(frozen=True, slots=True)
class StreamAnswer:
    """A stream with its versions and runs, the newest first."""

    stream: StreamSummary
    checkpoints: str
    versions: tuple[StreamVersionNote, ...]
    runs: tuple[StreamRunAnswer, ...]


@dataclass(frozen=True, slots=True)
class StreamDiffAnswer:
    """How a version differs from another, as lines of a unified diff, settings first; none where nothing differs."""

    stream: str
    before: int
    after: int
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StreamLogAnswer:
    """Lines of a run's log, the oldest first; ``is_cut`` where there are more before them."""

    run: str
    lines: tuple[str, ...]
    is_cut: bool


@dataclass(frozen=True, slots=True)
class SavedCheckpointAnswer:
    """A saved checkpoint: of which version, and where its queries stand."""

    name: str
    at_ms: int
    author: str
    version: int
    queries: tuple[SavedQueryLine, ...]


def saved_answer(saved: SavedCheckpoint) -> SavedCheckpointAnswer:
    """A saved checkpoint."""
    return SavedCheckpointAnswer(saved.name, saved.at_ms, saved.author, saved.version, lines_of(saved.queries))


def summary_of(
    stream: StoredStream, kind: StreamKind, run: StoredStreamRun | None, live: LiveRun | None
) -> StreamSummary:
    """A stream in a list."""
    return StreamSummary(
        stream.name,
        StreamJobKind(kind.value),
        stream.owner,
        stream.description,
        stream.state,
        stream.wanted,
        stream.why,
        stream.since,
        stream.published,
        stream.former,
        stream.fence,
        None if run is None else run.version,
        () if live is None else tuple(_query(name, told) for name, told in live.queries.items()),
        "",
        command("stream", "show", stream.name),
    )


def version_note(version: StreamVersion) -> StreamVersionNote:
    """A version without its script."""
    return StreamVersionNote(version.number, version.at_ms, version.author, version.note, version.settings)


def version_answer(stream: str, version: StreamVersion) -> StreamVersionAnswer:
    """A version."""
    told = (
        version.number,
        version.at_ms,
        version.author,
        version.note,
        version.settings,
        version.kind,
        version.script,
        version.artifacts,
    )
    return StreamVersionAnswer(stream, *told)


def run_answer(run: StoredStreamRun) -> StreamRunAnswer:
    """A run."""
    times = run.began_at, run.stopping_at, run.ended_at
    return StreamRunAnswer(
        run.id, run.version, run.fence, run.host, run.pid, *times, run.exit_code, run.failed, run.why, run.launcher
    )


def answer_of(
    summary: StreamSummary, checkpoints: str, versions: Sequence[StreamVersion], runs: Sequence[StoredStreamRun]
) -> StreamAnswer:
    """A stream."""
    return StreamAnswer(
        summary,
        checkpoints,
        tuple(version_note(one) for one in versions),
        tuple(run_answer(one) for one in runs),
    )


def _query(name: str, told: Mapping[str, object]) -> StreamQueryAnswer:
    def whole(field_: str) -> int | None:
        value = told.get(field_)
        return int(value) if isinstance(value, int | float) else None

    rate = told.get("rows_per_second")
    mark = told.get("watermark")
    return StreamQueryAnswer(
        name,
        str(told.get("table", "")),
        str(told.get("connector", "")),
        whole("line") or 0,
        whole("batch"),
        whole("rows_in"),
        whole("rows_out"),
        float(rate) if isinstance(rate, int | float) else None,
        whole("batch_ms"),
        whole("lag"),
        None if mark is None else str(mark),
        whole("state_rows"),
        _of_sink(told, "errors"),
        _of_sink(told, "retries"),
        str(told.get("time", "")),
    )


def _of_sink(told: Mapping[str, object], name: str) -> int | None:
    sink = told.get("sink")
    value = sink.get(name) if isinstance(sink, Mapping) else None
    return value if isinstance(value, int) else None
