"""What the service answers about trials."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from anabranch.model.clock import now_ms
from anabranch.service.trial import Trial
from anabranch.service.trial_process import MEMORY_BYTES, ROW_BYTES
from anabranch.streams.state.results import TrialResult
from anabranch.streams.trials import ScriptProblem, TrialKind, TrialLimit, TrialState


@dataclass(frozen=True, slots=True)
class ColumnAnswer:
    """A column, with its type as Spark's SQL writes it."""

    name: str
    type: str


@dataclass(frozen=True, slots=True)
class AnalysedStatement:
    """A statement of a script: ``kind`` is table, view, function, set, insert or select; ``name`` what it is about."""

    number: int
    line: int
    column: int
    kind: str
    name: str


@dataclass(frozen=True, slots=True)
class AnalysedTable:
    """A table that a script declares; without columns where its connector knows them."""

    name: str
    line: int
    connector: str
    columns: tuple[ColumnAnswer, ...]


@dataclass(frozen=True, slots=True)
class AnalysedSelect:
    """A statement that has rows: a SELECT, or an INSERT."""

    number: int
    line: int
    columns: tuple[ColumnAnswer, ...]


@dataclass(frozen=True, slots=True)
class AnalysedInsert:
    """An INSERT: a query of its own."""

    number: int
    line: int
    table: str
    query: str
    connector: str
    mode: str
    columns: tuple[ColumnAnswer, ...]


@dataclass(frozen=True, slots=True)
class AnalysedAnswer:
    """What Spark says that a script is."""

    statements: tuple[AnalysedStatement, ...]
    tables: tuple[AnalysedTable, ...]
    selects: tuple[AnalysedSelect, ...]
    inserts: tuple[AnalysedInsert, ...]


@dataclass(frozen=True, slots=True)
class TriedQuery:
    """A query beside the checkpoint that it would go on with; ``why`` is what has changed, in sentences."""

    query: str
    statement: int
    line: int
    result: TrialResult
    why: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TrialLimits:
    """By which a trial is ended; ``memory_bytes`` are those of data of each of its processes."""

    rows: int
    bytes: int
    seconds: float
    memory_bytes: int


@dataclass(frozen=True, slots=True)
class TrialAnswer:
    """A trial; ``selected`` is the statement whose rows these are.  Times are None for what has not come yet.

    ``now_ms`` is when this was answered: how old a result is, is that less ``ended_at_ms``.
    """

    id: str
    kind: TrialKind
    state: TrialState
    ahead: int
    why: str
    account: str
    stream: str
    version: int | None
    select: int | None
    start: str | None
    made_at_ms: int
    began_at_ms: int | None
    ended_at_ms: int | None
    now_ms: int
    is_cached: bool
    limits: TrialLimits
    limit: TrialLimit | None
    selected: int | None
    columns: tuple[ColumnAnswer, ...]
    row_count: int
    rows: tuple[tuple[Any, ...], ...]
    analysed: AnalysedAnswer | None
    tried: tuple[TriedQuery, ...] | None
    problems: tuple[ScriptProblem, ...]


def trial_answer(trial: Trial, *, rows: bool = True, after: int = 0, is_cached: bool = False) -> TrialAnswer:
    """A trial as it stands, without the first ``after`` rows, or without any."""
    question = trial.question
    is_preview = question.kind is TrialKind.PREVIEW
    return TrialAnswer(
        id=trial.id,
        kind=question.kind,
        state=trial.state,
        ahead=trial.ahead,
        why=trial.why,
        account=trial.account,
        stream=question.stream,
        version=question.version,
        select=question.select if is_preview else None,
        start=question.start,
        made_at_ms=trial.made_ms,
        began_at_ms=trial.began_ms,
        ended_at_ms=trial.ended_ms,
        now_ms=now_ms(),
        is_cached=is_cached,
        limits=TrialLimits(question.rows, ROW_BYTES, question.seconds, MEMORY_BYTES),
        limit=trial.limit,
        selected=trial.selected,
        columns=_columns(trial.columns),
        row_count=len(trial.rows),
        rows=tuple(tuple(row) for row in trial.rows[after:]) if rows else (),
        analysed=None if trial.analysed is None else analysed_answer(trial.analysed),
        tried=None if trial.tried is None else tuple(_tried(one) for one in trial.tried),
        problems=() if trial.problem is None else (trial.problem,),
    )


def analysed_answer(fields: Mapping[str, Any]) -> AnalysedAnswer:
    """The event ``analysed``; options of tables are not told, since they may name secrets."""
    connectors = {one["name"]: one["connector"] for one in fields["tables"]}
    return AnalysedAnswer(
        tuple(
            AnalysedStatement(one["number"], one["line"], one["column"], one["kind"], one["name"])
            for one in fields["statements"]
        ),
        tuple(
            AnalysedTable(one["name"], one["line"], one["connector"], _columns(one["columns"]))
            for one in fields["tables"]
        ),
        tuple(AnalysedSelect(one["number"], one["line"], _columns(one["columns"])) for one in fields["selects"]),
        tuple(
            AnalysedInsert(
                *(one["number"], one["line"], one["table"], one["query"]),
                *(connectors.get(one["table"], ""), one["mode"], _columns(one["columns"])),
            )
            for one in fields["inserts"]
        ),
    )


def _tried(one: Mapping[str, Any]) -> TriedQuery:
    return TriedQuery(one["query"], one["statement"], one["line"], TrialResult(one["result"]), tuple(one["why"]))


def _columns(told: Sequence[Mapping[str, str]]) -> tuple[ColumnAnswer, ...]:
    return tuple(ColumnAnswer(one["name"], one["type"]) for one in told)
