"""Saving a version of a stream: its first, or another."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from anabranch.model.clock import now_ms
from anabranch.model.plans import REQUEST, plan_hash
from anabranch.streams.artifacts.values import ArtifactPin
from anabranch.streams.kept import NoStreamError, StoredStream, StreamExistsError
from anabranch.streams.kinds import OtherStreamKindError, StreamKind
from anabranch.streams.pyspark_file import check_file
from anabranch.streams.script import split
from anabranch.streams.states import StreamState, StreamWanted
from anabranch.streams.versions import StreamSettings, StreamVersion, diff

if TYPE_CHECKING:  # a program without the service has no database
    from anabranch.store.streams import StoredStreams


@dataclass(frozen=True, slots=True)
class StatementLine:
    """A statement of a script by its number, where it begins, and its first words."""

    number: int
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class QueryColumn:
    """A column that a query writes, with its type as Spark's SQL writes it."""

    name: str
    type: str


@dataclass(frozen=True, slots=True)
class PlannedQuery:
    """A query that a version would run: the INSERT that it is, and what it writes into.

    ``mode`` is ``append``, ``update`` or ``complete``.
    """

    query: str
    statement: int
    line: int
    table: str
    connector: str
    mode: str
    columns: tuple[QueryColumn, ...]


PinArtifacts = Callable[[str], Awaitable[tuple[ArtifactPin, ...]]]
"""Decides which versions of artifacts a script runs with from now on; raises what `pins_of` raises."""
Validate = Callable[[str, tuple[ArtifactPin, ...]], Awaitable[Mapping[str, Any]]]
"""Has Spark look at a script: the event ``analysed``, or an error that says why it cannot be run."""


@dataclass(frozen=True, slots=True)
class SaveStreamPlan:
    """A version that would be saved; ``diff`` is against ``base``, 0 for a stream that is new.

    A new stream's first version is published; another is once that is asked for.  ``queries`` are as Spark sees them,
    ``artifacts`` the versions that it runs with from then on.  Of a PySpark file both are unknown until it runs.
    """

    stream: str
    version: int
    base: int
    statements: tuple[StatementLine, ...]
    queries: tuple[PlannedQuery, ...]
    diff: tuple[str, ...]
    artifacts: tuple[ArtifactPin, ...]
    kind: StreamKind
    hash: str
    made: StreamVersion = field(metadata=REQUEST)
    revision: int = field(default=0, metadata=REQUEST)
    description: str = field(default="", metadata=REQUEST)


@dataclass(frozen=True, slots=True)
class SavedStream:
    """A version that was saved."""

    stream: str
    version: int


async def plan_create(
    stored: StoredStreams,
    pin: PinArtifacts,
    name: str,
    script: str,
    settings: StreamSettings,
    description: str,
    note: str,
    validate: Validate,
    kind: StreamKind = StreamKind.SQL,
) -> SaveStreamPlan:
    """What would be saved of a new stream.

    Raises ScriptError, StreamExistsError, and what pinning artifacts and ``validate`` raise.
    """
    with suppress(NoStreamError):
        await asyncio.to_thread(stored.get, name)
        raise StreamExistsError(name)
    statements, queries, pins = await _looked_at(pin, kind, script, None, validate)
    made = StreamVersion(1, 0, "", note, script, settings, pins, kind)
    seen = [asdict(settings), [asdict(one) for one in queries], _seen(pins)]
    hash_ = plan_hash("streams.create", name, kind.value, script, seen, description)
    return SaveStreamPlan(name, 1, 0, statements, queries, (), pins, kind, hash_, made, 0, description)


async def plan_edit(
    stored: StoredStreams,
    pin: PinArtifacts,
    name: str,
    script: str | None,
    changes: Mapping[str, Any],
    note: str,
    validate: Validate,
    kind: StreamKind | None = None,
) -> SaveStreamPlan:
    """What would be saved over the newest version: ``changes`` of its settings, and a script unless that stays.

    A script that stays keeps its versions of artifacts, too.  ``kind`` is what the script is said to be.  Raises
    OtherStreamKindError, ScriptError, NoStreamError, and what pinning artifacts and ``validate`` raise.
    """
    stream, base = await asyncio.to_thread(lambda: (stored.get(name), stored.version(name, stored.newest(name))))
    if kind is not None and kind is not base.kind:
        raise OtherStreamKindError(name, base.kind.value, kind.value)
    text = base.script if script is None else script
    kept = base.artifacts if script is None else None
    statements, queries, pins = await _looked_at(pin, base.kind, text, kept, validate)
    settings = replace(base.settings, **changes)
    made = StreamVersion(base.number + 1, 0, "", note, text, settings, pins, base.kind)
    seen = [asdict(made.settings), [asdict(one) for one in queries], _seen(pins)]
    hash_ = plan_hash("streams.edit", name, stream.revision, text, seen)
    lines = tuple(diff(base, made))
    numbers = made.number, base.number
    return SaveStreamPlan(name, *numbers, statements, queries, lines, pins, base.kind, hash_, made, stream.revision)


async def apply(stored: StoredStreams, planned: SaveStreamPlan, author: str) -> SavedStream:
    """Save it over the revision that the plan has seen, or as a new one; raises StreamExistsError, StreamChangedError.

    Spark is not asked again: what is saved is what it has analysed, with the versions of artifacts that it was shown.
    """
    at, made = now_ms(), planned.made
    version = replace(made, at_ms=at, author=author)
    if planned.base:
        await asyncio.to_thread(stored.save, planned.stream, planned.revision, version)
    else:
        begins = StreamWanted.STOPPED, StreamState.DRAFT
        stream = StoredStream(planned.stream, 1, author, planned.description, at, 1, 0, *begins, "", at, 0, 0)
        await asyncio.to_thread(stored.add, stream, version)
    return SavedStream(planned.stream, version.number)


async def _looked_at(
    pin: PinArtifacts,
    kind: StreamKind,
    text: str,
    kept: tuple[ArtifactPin, ...] | None,
    validate: Validate,
) -> tuple[tuple[StatementLine, ...], tuple[PlannedQuery, ...], tuple[ArtifactPin, ...]]:
    """(statements, queries, artifacts) of a text; ``kept`` are artifacts that it goes on with."""
    if kind is StreamKind.PYSPARK:
        await asyncio.to_thread(check_file, text)
        return (), (), ()
    statements = _statements(text)
    pins = await pin(text) if kept is None else kept
    return statements, _queries(await validate(text, pins)), pins


def _queries(analysed: Mapping[str, Any]) -> tuple[PlannedQuery, ...]:
    connectors = {one["name"]: one["connector"] for one in analysed["tables"]}
    return tuple(
        PlannedQuery(
            *(one["query"], one["number"], one["line"], one["table"]),
            *(connectors.get(one["table"], ""), one["mode"]),
            tuple(QueryColumn(column["name"], column["type"]) for column in one["columns"]),
        )
        for one in analysed["inserts"]
    )


def _seen(pins: Sequence[ArtifactPin]) -> list[str]:
    return [f"{one} {one.content.sha256} {[asdict(each) for each in one.functions]}" for one in pins]


def _statements(script: str) -> tuple[StatementLine, ...]:
    return tuple(StatementLine(one.number, one.line, _head(one.text)) for one in split(script))


def _head(text: str, most: int = 70) -> str:
    """The first words of a statement, in one line."""
    words: Sequence[str] = text.split()
    line = " ".join(words)
    return line if len(line) <= most else line[: most - 3] + "..."
