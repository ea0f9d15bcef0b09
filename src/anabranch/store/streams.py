"""Streams, their versions, and their runs.

Invariants
    S15  at most one run of a stream is open.
    S16  each run that begins has a fence higher than all before it; it is raised in the transaction that notes the run.
    S17  a version is never changed; of two who save over the same version one is refused.
    S20  where there is a bound, no start brings more streams to run at once, of however many who start some at once.
         One that has a run, or is to have one, counts; one that failed for good does not.
    S21  a run begins as its stream was read, or not at all: nothing is passed over that a person has changed since.
    S22  how a start is to begin has a higher number than any before it, also where the clock was put back.
    S23  a run is given up only while its machine is silent: one that comes back sees it ended, or was seen before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from typing import Any

from sqlalchemy import Connection, Row, and_, delete, func, insert, or_, select, text, update
from sqlalchemy.exc import IntegrityError

from anabranch.store import artifacts
from anabranch.store.database import Database
from anabranch.store.leases import MACHINE_MS, of_machine
from anabranch.store.tables import LEASES, STREAM_LINEAGES, STREAM_RUNS, STREAM_VERSIONS, STREAMS
from anabranch.streams.artifacts.values import ArtifactPin
from anabranch.streams.kept import (
    NoStreamError,
    NoStreamVersionError,
    StoredStream,
    StoredStreamRun,
    StreamChangedError,
    StreamExistsError,
    StreamRunsError,
    SupervisedStream,
    TooManyStreamsError,
)
from anabranch.streams.kinds import StreamKind
from anabranch.streams.states import StreamState, StreamWanted, check_follows
from anabranch.streams.versions import StreamSettings, StreamVersion

__all__ = [
    "NoStreamError",
    "NoStreamVersionError",
    "StoredStream",
    "StoredStreamRun",
    "StoredStreams",
    "StreamChangedError",
    "StreamExistsError",
    "StreamRunsError",
    "SupervisedStream",
    "TooManyStreamsError",
]
MOST_WHY = 2000
_STARTS = 0x616E6173
"""A lock of a database's own numbers."""


class StoredStreams:
    """The streams of a store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    # -- what persons change ---------------------------------------------------------------------------

    def add(self, made: StoredStream, version: StreamVersion) -> None:
        """Keep a new one with its first version; raises StreamExistsError, and StreamChangedError.

        The second is for an artifact of it that was deleted meanwhile.
        """
        try:
            with self._database.begin() as connection:
                connection.execute(insert(STREAMS).values(**asdict(made)))
                _keep_version(connection, made.name, version)
        except IntegrityError as error:
            with suppress(NoStreamError):
                self.get(made.name)
                raise StreamExistsError(made.name) from error
            raise StreamChangedError(made.name) from error

    def save(self, name: str, revision: int, version: StreamVersion) -> None:
        """Keep another version (S17); raises StreamChangedError."""
        try:
            with self._database.begin() as connection:
                _raise_revision(connection, name, revision)
                _keep_version(connection, name, version)
        except IntegrityError as error:
            raise StreamChangedError(name) from error

    def change(self, name: str, revision: int, **values: Any) -> None:
        """Write what a person wants of it (``published``, ``former``, ``wanted``, ``asked_at``, ``begin``, ...).

        Raises StreamChangedError.
        """
        with self._database.begin() as connection:
            _raise_revision(connection, name, revision, **values)

    def want(
        self,
        name: str,
        revision: int,
        wanted: StreamWanted,
        now_ms: int,
        ends: str = "",
        begin: Mapping[str, Any] | None = None,
        most: int | None = None,
    ) -> None:
        """Write at once that it is to stop, or to run, and how it is to ``begin``: one that had failed may be started,
        and the run ``ends`` is asked to end where there is one.

        ``most`` is how many may run at once (S20).  Raises StreamChangedError, TooManyStreamsError.
        """
        runs = wanted is StreamWanted.RUNNING
        values: dict[str, Any] = {"wanted": wanted, "asked_at": now_ms} if runs else {"wanted": wanted}
        with self._database.begin() as connection:
            if runs and most is not None:
                _one_at_a_time(connection)
                _check_room(connection, name, most)
            if runs and begin is not None:
                values["begin"] = {**begin, "number": max(now_ms, _locked(connection, name).begin_number + 1)}
            _raise_revision(connection, name, revision, **values)
            if ends:
                _ask_to_end(connection, ends, name, now_ms)
            elif runs and _locked(connection, name).state is StreamState.FAILED:
                _become(connection, name, StreamState.STOPPED, "", now_ms)

    def check_room(self, name: str, most: int) -> None:
        """Raise TooManyStreamsError where a start of it would be one stream too many (S20)."""
        with self._database.read() as connection:
            _check_room(connection, name, most)

    def remove(self, name: str, revision: int) -> None:
        """Forget one that has no open run, with its versions and runs; raises StreamChangedError."""
        with self._database.begin() as connection:
            _raise_revision(connection, name, revision)
            if connection.execute(select(STREAM_RUNS.c.id).where(STREAM_RUNS.c.open == name)).first() is not None:
                raise StreamChangedError(name)
            connection.execute(delete(STREAM_RUNS).where(STREAM_RUNS.c.stream == name))
            connection.execute(delete(STREAM_LINEAGES).where(STREAM_LINEAGES.c.stream == name))
            artifacts.unpin(connection, name)
            connection.execute(delete(STREAM_VERSIONS).where(STREAM_VERSIONS.c.stream == name))
            connection.execute(delete(STREAMS).where(STREAMS.c.name == name))

    # -- runs ------------------------------------------------------------------------------------------

    def begin(self, run: StoredStreamRun, now_ms: int, revision: int | None = None) -> StoredStreamRun:
        """Note a run before its process is started, with the next fence (S15, S16).

        ``revision`` is that with which its stream was read (S21).  Raises StreamRunsError where one is open,
        StreamChangedError where the stream is no longer wanted to run, or was changed since.
        """
        try:
            with self._database.begin() as connection:
                stream = _locked(connection, run.stream)
                if stream.wanted is not StreamWanted.RUNNING or revision not in (None, stream.revision):
                    raise StreamChangedError(run.stream)
                check_follows(stream.state, StreamState.STARTING)
                made = replace(run, fence=stream.fence + 1)
                connection.execute(insert(STREAM_RUNS).values(**_run_values(made)))
                state = {"state": StreamState.STARTING, "why": "", "since": now_ms, "fence": made.fence}
                connection.execute(update(STREAMS).where(STREAMS.c.name == run.stream).values(**state))
        except IntegrityError as error:
            other = self.open_run(run.stream)
            raise StreamRunsError(run.stream, "" if other is None else other.id) from error
        return made

    def started(self, run_id: str, pid: int, created: int) -> None:
        """Note the process of a run."""
        with self._database.begin() as connection:
            values = {"pid": pid, "created": created}
            connection.execute(update(STREAM_RUNS).where(STREAM_RUNS.c.id == run_id).values(**values))

    def found(self, run_id: str, host: str, pid: int, created: int) -> None:
        """Note that the process of an open run is one of this machine, whatever that was called before."""
        with self._database.begin() as connection:
            values = {"host": host, "pid": pid, "created": created}
            still = STREAM_RUNS.c.id == run_id, STREAM_RUNS.c.open.is_not(None)
            connection.execute(update(STREAM_RUNS).where(*still).values(**values))

    def ran(self, run_id: str) -> None:
        """Note that the queries of a run have run."""
        with self._database.begin() as connection:
            connection.execute(update(STREAM_RUNS).where(STREAM_RUNS.c.id == run_id).values(ran=1))

    def stopping(self, run_id: str, stream: str, now_ms: int) -> None:
        """Note that a run was asked to end."""
        with self._database.begin() as connection:
            _ask_to_end(connection, run_id, stream, now_ms)

    def close(
        self, run_id: str, state: StreamState, why: str, code: int | None, *, failed: bool, over: bool, now_ms: int
    ) -> bool:
        """Note the end of a run and what its stream becomes; whether it was open.

        ``over``: it is wanted no more, unless somebody has asked it to end, and to begin again, meanwhile.
        """
        with self._database.begin() as connection:
            still = STREAM_RUNS.c.id == run_id, STREAM_RUNS.c.open.is_not(None)
            asked = select(STREAM_RUNS.c.stream, STREAM_RUNS.c.stopping_at).where(*still).with_for_update()
            row = connection.execute(asked).first()
            if row is None:
                return False
            name = row.stream
            ended = {"open": None, "ended_at": now_ms, "exit_code": code, "failed": failed, "why": why[:MOST_WHY]}
            connection.execute(update(STREAM_RUNS).where(*still).values(**ended))
            _become(connection, name, state, why, now_ms)
            if over and row.stopping_at is None:
                wanted = {"wanted": StreamWanted.STOPPED}
                connection.execute(update(STREAMS).where(STREAMS.c.name == name).values(**wanted))
        return True

    def abandon(self, run: StoredStreamRun, why: str, now_ms: int, silent_ms: int) -> None:
        """Note the end of a run whose machine was silent for so long (S23); raises StreamChangedError."""
        with self._database.begin() as connection:
            machine = select(LEASES.c.until).where(LEASES.c.name == of_machine(run.host)).with_for_update()
            until = connection.execute(machine).scalar()
            if until is not None and now_ms - (until - MACHINE_MS) < silent_ms:
                raise StreamChangedError(run.stream)
            still = STREAM_RUNS.c.id == run.id, STREAM_RUNS.c.open.is_not(None)
            ended = {"open": None, "ended_at": now_ms, "exit_code": None, "why": why[:MOST_WHY]}
            if not connection.execute(update(STREAM_RUNS).where(*still).values(**ended)).rowcount:
                raise StreamChangedError(run.stream)
            _become(connection, run.stream, StreamState.STOPPED, why, now_ms)

    def tell(self, name: str, state: StreamState, why: str, now_ms: int) -> None:
        """Note a state; raises StreamStateError, NoStreamError."""
        with self._database.begin() as connection:
            _become(connection, name, state, why, now_ms)

    # -- reading ---------------------------------------------------------------------------------------

    def get(self, name: str) -> StoredStream:
        """A stream; raises NoStreamError."""
        with self._database.read() as connection:
            row = connection.execute(select(STREAMS).where(STREAMS.c.name == name)).first()
        if row is None:
            raise NoStreamError(name)
        return _stream(row)

    def all(self) -> Sequence[StoredStream]:
        """Every one, by name."""
        with self._database.read() as connection:
            return [_stream(row) for row in connection.execute(select(STREAMS).order_by(STREAMS.c.name))]

    def version(self, name: str, number: int) -> StreamVersion:
        """A version; raises NoStreamVersionError."""
        chosen = STREAM_VERSIONS.c.stream == name, STREAM_VERSIONS.c.number == number
        with self._database.read() as connection:
            row = connection.execute(select(STREAM_VERSIONS).where(*chosen)).first()
            pins = artifacts.pinned(connection, name)
        if row is None:
            raise NoStreamVersionError(name, number)
        return _version(row, pins)

    def versions(self, name: str) -> Sequence[StreamVersion]:
        """Its versions, the newest first."""
        asked = select(STREAM_VERSIONS).where(STREAM_VERSIONS.c.stream == name)
        with self._database.read() as connection:
            pins = artifacts.pinned(connection, name)
            return [_version(row, pins) for row in connection.execute(asked.order_by(STREAM_VERSIONS.c.number.desc()))]

    def newest(self, name: str) -> int:
        """The number of its newest version, 0 where there is none."""
        asked = select(func.max(STREAM_VERSIONS.c.number)).where(STREAM_VERSIONS.c.stream == name)
        with self._database.read() as connection:
            return connection.execute(asked).scalar() or 0

    def open_run(self, name: str) -> StoredStreamRun | None:
        """The run that has not ended."""
        with self._database.read() as connection:
            row = connection.execute(select(STREAM_RUNS).where(STREAM_RUNS.c.open == name)).first()
        return None if row is None else _run(row)

    def open_runs(self) -> Mapping[str, StoredStreamRun]:
        """The runs that have not ended, by their streams."""
        with self._database.read() as connection:
            rows = connection.execute(select(STREAM_RUNS).where(STREAM_RUNS.c.open.is_not(None)))
            return {row.stream: _run(row) for row in rows}

    def runs_of(self, name: str, most: int = 50) -> Sequence[StoredStreamRun]:
        """Its runs, the newest first."""
        asked = select(STREAM_RUNS).where(STREAM_RUNS.c.stream == name)
        with self._database.read() as connection:
            rows = connection.execute(asked.order_by(STREAM_RUNS.c.fence.desc()).limit(most))
            return [_run(row) for row in rows]

    def unseen_ends(self, most: int) -> Sequence[StoredStreamRun]:
        """The newest runs that were noted as ended, and of which nobody saw how."""
        asked = select(STREAM_RUNS).where(STREAM_RUNS.c.open.is_(None), STREAM_RUNS.c.exit_code.is_(None))
        with self._database.read() as connection:
            rows = connection.execute(asked.order_by(STREAM_RUNS.c.ended_at.desc()).limit(most))
            return [_run(row) for row in rows]

    def places(self, name: str) -> Sequence[str]:
        """Where the checkpoints of its runs are, each place once, that of the newest run first.

        An empty one is where they are that began before places were kept.
        """
        newest = func.max(STREAM_RUNS.c.fence)
        asked = select(STREAM_RUNS.c.checkpoints).where(STREAM_RUNS.c.stream == name)
        with self._database.read() as connection:
            asked = asked.group_by(STREAM_RUNS.c.checkpoints).order_by(newest.desc())
            return list(connection.execute(asked).scalars())

    def has_run(self, name: str) -> bool:
        """Whether queries of any of its runs have run."""
        asked = select(STREAM_RUNS.c.id).where(STREAM_RUNS.c.stream == name, STREAM_RUNS.c.ran == 1).limit(1)
        with self._database.read() as connection:
            return connection.execute(asked).first() is not None

    def failures(self, since_ms: int) -> Mapping[str, Sequence[int]]:
        """When runs have failed since then, by stream."""
        chosen = STREAM_RUNS.c.failed == 1, STREAM_RUNS.c.ended_at >= since_ms
        found: dict[str, list[int]] = {}
        with self._database.read() as connection:
            for row in connection.execute(select(STREAM_RUNS.c.stream, STREAM_RUNS.c.ended_at).where(*chosen)):
                found.setdefault(row.stream, []).append(row.ended_at)
        return found

    def triggers(self) -> Mapping[str, str]:
        """The trigger of each stream's published version."""
        published = and_(STREAM_VERSIONS.c.stream == STREAMS.c.name, STREAM_VERSIONS.c.number == STREAMS.c.published)
        asked = select(STREAMS.c.name, STREAM_VERSIONS.c.settings).join(STREAM_VERSIONS, published)
        with self._database.read() as connection:
            return {row.name: StreamSettings(**row.settings).trigger for row in connection.execute(asked)}

    def kinds(self) -> Mapping[str, StreamKind]:
        """The kind of each stream's published version."""
        published = and_(STREAM_VERSIONS.c.stream == STREAMS.c.name, STREAM_VERSIONS.c.number == STREAMS.c.published)
        asked = select(STREAMS.c.name, STREAM_VERSIONS.c.kind).join(STREAM_VERSIONS, published)
        with self._database.read() as connection:
            return {row.name: StreamKind(row.kind) for row in connection.execute(asked)}

    def supervised(self) -> Sequence[SupervisedStream]:
        """The streams of which something may have to be done, by name."""
        at_rest = (StreamState.DRAFT, StreamState.STOPPED, StreamState.FAILED)
        opened = select(STREAM_RUNS.c.stream).where(STREAM_RUNS.c.open.is_not(None))
        waits = STREAMS.c.wanted == StreamWanted.RUNNING, STREAMS.c.state != StreamState.FAILED
        busy = or_(STREAMS.c.state.not_in(at_rest), STREAMS.c.name.in_(opened))
        published = and_(STREAM_VERSIONS.c.stream == STREAMS.c.name, STREAM_VERSIONS.c.number == STREAMS.c.published)
        asked = select(STREAMS, STREAM_VERSIONS.c.settings).join(STREAM_VERSIONS, published)
        asked = asked.where(or_(busy, waits[0] & waits[1])).order_by(STREAMS.c.name)
        since = STREAMS.c.name == STREAM_RUNS.c.stream, STREAM_RUNS.c.ended_at >= STREAMS.c.asked_at
        ended = select(STREAM_RUNS.c.stream, STREAM_RUNS.c.ended_at).join(STREAMS, and_(*since))
        failures: dict[str, list[int]] = {}
        with self._database.read() as connection:
            rows = connection.execute(asked).all()
            names = [row.name for row in rows]
            opened_runs = connection.execute(select(STREAM_RUNS).where(STREAM_RUNS.c.open.in_(names)))
            runs = {row.stream: _run(row) for row in opened_runs}
            chosen = STREAM_RUNS.c.stream.in_(names), STREAM_RUNS.c.failed == 1
            for row in connection.execute(ended.where(*chosen).order_by(STREAM_RUNS.c.ended_at)):
                failures.setdefault(row.stream, []).append(row.ended_at)
        return [
            SupervisedStream(
                _stream(row), runs.get(row.name), tuple(failures.get(row.name, ())), StreamSettings(**row.settings)
            )
            for row in rows
        ]


def _one_at_a_time(connection: Connection) -> None:
    """Have starts of different streams wait for each other, until this transaction ends; those of SQLite do anyway."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:number)"), {"number": _STARTS})


def _check_room(connection: Connection, name: str, most: int) -> None:
    has_run = select(STREAM_RUNS.c.id).where(STREAM_RUNS.c.open == STREAMS.c.name).exists()
    is_to_run = (STREAMS.c.wanted == StreamWanted.RUNNING) & (STREAMS.c.state != StreamState.FAILED)
    running = set(connection.execute(select(STREAMS.c.name).where(has_run | is_to_run)).scalars())
    if name not in running and len(running) >= most:
        raise TooManyStreamsError(name, len(running), most)


def _raise_revision(connection: Connection, name: str, revision: int, **values: Any) -> None:
    chosen = STREAMS.c.name == name, STREAMS.c.revision == revision
    if connection.execute(update(STREAMS).where(*chosen).values(revision=revision + 1, **values)).rowcount != 1:
        raise StreamChangedError(name)


def _locked(connection: Connection, name: str) -> StoredStream:
    row = connection.execute(select(STREAMS).where(STREAMS.c.name == name).with_for_update()).first()
    if row is None:
        raise NoStreamError(name)
    return _stream(row)


def _ask_to_end(connection: Connection, run_id: str, stream: str, now_ms: int) -> None:
    still = STREAM_RUNS.c.id == run_id, STREAM_RUNS.c.open.is_not(None), STREAM_RUNS.c.stopping_at.is_(None)
    if connection.execute(update(STREAM_RUNS).where(*still).values(stopping_at=now_ms)).rowcount:
        _become(connection, stream, StreamState.STOPPING, "", now_ms)


def _become(connection: Connection, name: str, state: StreamState, why: str, now_ms: int) -> None:
    before = _locked(connection, name)
    check_follows(before.state, state)
    since = before.since if before.state is state else now_ms
    values = {"state": state, "why": why[:MOST_WHY], "since": since}
    connection.execute(update(STREAMS).where(STREAMS.c.name == name).values(**values))


def _stream(row: Row[Any]) -> StoredStream:
    fields = {name: getattr(row, name) for name in StoredStream.__slots__}
    return StoredStream(**{**fields, "wanted": StreamWanted(row.wanted), "state": StreamState(row.state)})


def _version_values(name: str, version: StreamVersion) -> dict[str, Any]:
    return {
        "stream": name,
        "number": version.number,
        "at": version.at_ms,
        "author": version.author,
        "note": version.note,
        "script": version.script,
        "settings": asdict(version.settings),
        "kind": version.kind.value,
    }


def _keep_version(connection: Connection, name: str, version: StreamVersion) -> None:
    connection.execute(insert(STREAM_VERSIONS).values(**_version_values(name, version)))
    artifacts.pin(connection, name, version.number, version.artifacts)


def _version(row: Row[Any], pins: Mapping[int, tuple[ArtifactPin, ...]]) -> StreamVersion:
    told = row.number, row.at, row.author, row.note, row.script, StreamSettings(**row.settings)
    return StreamVersion(*told, pins.get(row.number, ()), StreamKind(row.kind))


def _run_values(run: StoredStreamRun) -> dict[str, Any]:
    values = {name: getattr(run, name) for name in StoredStreamRun.__slots__ if name != "is_open"}
    flags = {"failed": int(run.failed), "ran": int(run.ran)}
    return {**values, **flags, "open": run.stream if run.is_open else None}


def _run(row: Row[Any]) -> StoredStreamRun:
    fields = {name: getattr(row, name) for name in StoredStreamRun.__slots__ if name != "is_open"}
    flags = {"failed": bool(row.failed), "ran": bool(row.ran)}
    return StoredStreamRun(**{**fields, **flags}, is_open=row.open is not None)
