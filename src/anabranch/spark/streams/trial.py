"""Whether the queries of a script go on with the checkpoints that there are: tried on copies, and told in words.

Spark looks at a state as it plans a micro-batch.  So a copy of a checkpoint, without the rows of its state and with its
last batch taken for one that is to be done again, tells what Spark says to the query; nothing is read, computed or
written.  What Spark does not look at, what state and position mean, is compared by the plans of both scripts.

Invariants
    Y1  no checkpoint is changed, and no sink is opened.
    Y2  a query is only said to fit once Spark has planned a micro-batch of it, with its state.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from anabranch.errors import AnabranchError
from anabranch.spark.scratch import ScratchDirectory
from anabranch.spark.streams.analysis import AnalysedScript, InsertPlan
from anabranch.spark.streams.failing import innermost
from anabranch.spark.streams.refusals import sentence
from anabranch.storage.files import StoredFiles
from anabranch.storage.stream_checkpoints import NotedScript, batches, own
from anabranch.streams.catalog.objects import topic_of
from anabranch.streams.lineage.plans import PlanFormatError
from anabranch.streams.state.changes import changes, sources_changed
from anabranch.streams.state.operators import stateful_operators, tables_read
from anabranch.streams.state.results import QueryTrial, TrialResult
from anabranch.streams.tables import TableDeclaration

_LOOK_S = 0.05
_MOST = 64 << 20
Analyse = Callable[[NotedScript], AnalysedScript]


def tried(
    now: AnalysedScript, script: str, noted: NotedScript | None, files: StoredFiles, analyse: Analyse
) -> tuple[QueryTrial, ...]:
    """A result for each INSERT of a script, then for each query that only the one before had.

    ``noted`` is the script that ran with these checkpoints last, ``analyse`` looks at it.  Raises StorageError.
    """
    before: Mapping[str, InsertPlan] = {}
    tables: Mapping[str, TableDeclaration] = {}
    unknown = ""
    if noted is not None and noted.script != script:
        try:
            found = analyse(noted)
            before, tables = {one.query: one for one in found.inserts}, found.tables
        except AnabranchError as error:  # what it reads may be gone, or not allowed any more
            unknown = f"what its state means cannot be compared, for the script before is refused now: {error.message}"
    trials = []
    for plan in now.inserts:
        directory, _ = own(files, plan.query)
        asked = plan.query, plan.number, plan.line
        if not batches(files, directory, "offsets"):
            trials.append(QueryTrial(*asked, TrialResult.NEW, directory))
        elif noted is not None and noted.script == script:
            trials.append(QueryTrial(*asked, TrialResult.SAME, directory))
        else:
            told = (unknown,) if unknown else _meaning(before.get(plan.query), tables, plan, now.tables)
            refused = refusal(plan.rows, plan.mode, files, directory)
            result = TrialResult.REFUSED if refused else TrialResult.CHANGED if told else TrialResult.FITS
            trials.append(QueryTrial(*asked, result, directory, told or ((refused,) if refused else ())))
    queries = {one.query for one in now.inserts}
    for gone in (one for one in before.values() if one.query not in queries):
        directory, _ = own(files, gone.query)
        if batches(files, directory, "offsets"):
            trials.append(QueryTrial(gone.query, gone.number, gone.line, TrialResult.GONE, directory))
    return tuple(trials)


def refusal(rows: DataFrame, mode: str, files: StoredFiles, directory: str) -> str:
    """Why Spark does not go on with a checkpoint, in a sentence; empty where it does (Y2)."""
    with ScratchDirectory("trial") as scratch:
        _copy(files, directory, scratch.path)
        reached: list[int] = []
        writer = rows.writeStream.foreachBatch(lambda _, batch: reached.append(batch)).outputMode(mode)
        try:
            query = writer.option("checkpointLocation", scratch.path.as_uri()).start()
        except Exception as error:
            _, why, _ = sentence(error)
            return why
        try:
            return _until(query, reached)
        finally:
            query.stop()


def _until(query: StreamingQuery, reached: list[int]) -> str:
    while not reached:
        failed = query._jsq.exception()
        if failed.isDefined() and not reached:
            _, why, _ = innermost(failed.get())
            return why
        if not query.isActive and not reached and not failed.isDefined():
            return "its query ended before it had planned a micro-batch"
        time.sleep(_LOOK_S)
    return ""


def _copy(files: StoredFiles, directory: str, target: Path) -> None:
    """What Spark reads of a checkpoint before it computes anything: its logs, and the descriptions of its state."""
    last = batches(files, directory, "offsets")[-1]
    for path, entry in files.walk(directory):
        inside = path.removeprefix(f"{directory}/")
        parts = inside.split("/")
        is_state = parts[0] == "state" and not any(part.startswith("_") for part in parts[1:])
        is_last = inside == f"commits/{last}"
        if entry.is_directory or is_state or is_last or parts[-1].endswith(".crc") or parts[0] == "begins.json":
            continue
        copied = target.joinpath(*parts)
        copied.parent.mkdir(parents=True, exist_ok=True)
        copied.write_bytes(files.read(path, _MOST))


def _meaning(
    before: InsertPlan | None,
    tables_before: Mapping[str, TableDeclaration],
    plan: InsertPlan,
    tables: Mapping[str, TableDeclaration],
) -> tuple[str, ...]:
    """What a query's state and position mean now, and did not mean before."""
    if before is None:
        return ()
    try:
        was = tables_read(before.plan, tables_before), stateful_operators(before.plan, tables_before)
        now = tables_read(plan.plan, tables), stateful_operators(plan.plan, tables)
    except PlanFormatError as error:
        return (f"what its state means could not be compared: {error.message}",)
    sources = sources_changed(_places(was[0], tables_before), _places(now[0], tables))
    return (*sources, *changes(was[1], now[1]))


def _places(names: tuple[str, ...], tables: Mapping[str, TableDeclaration]) -> tuple[str, ...]:
    """What each table reads: a topic by its name alone, as a cluster may be another under the same position."""
    return tuple(_place(tables[name]) for name in names if name in tables)


def _place(table: TableDeclaration) -> str:
    found: Any = topic_of(table)
    return f"table {table.name} ({table.provider})" if found is None else f"topic {found[1]}"
