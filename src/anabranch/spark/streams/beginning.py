"""How each query of a start begins: with its checkpoint, or with another that is made for it.

Invariants
    N1  a query that does not go on with its checkpoint is refused, unless a person has said what is to be done.
    N2  what a person asked for is done once: a start that is done again finds it done.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from anabranch.config.streamspec import StreamBegin, StreamRunSpec
from anabranch.model.start import StartPosition
from anabranch.spark.streams.analysis import AnalysedScript
from anabranch.spark.streams.running import RunningQuery, checkpoint_at
from anabranch.storage.files import StoredFiles
from anabranch.storage.saved_checkpoints import first_batch_of, stage, take
from anabranch.storage.stream_checkpoints import Beginning, batches, begin, beginning_of, directory_of, own, reached
from anabranch.streams.state.results import QueryTrial, StateChangedError, StateChoice, TrialResult

AnalyseAt = Callable[[Beginning], AnalysedScript]


def check(spec: StreamRunSpec, trials: Sequence[QueryTrial]) -> None:
    """Raise StateChangedError for queries that do not go on and of which nobody has said what to do (N1)."""
    asked = spec.begin
    if asked.start or asked.checkpoint or asked.state is StateChoice.NEW:
        return
    left = [one for one in trials if not one.keeps]
    if asked.state is StateChoice.KEEP:
        left = [one for one in left if one.result is TrialResult.REFUSED]
    if left:
        raise StateChangedError.of(spec.stream, left)


def prepare(
    running: Iterable[RunningQuery],
    trials: Sequence[QueryTrial],
    spec: StreamRunSpec,
    files: StoredFiles,
    analyse_at: AnalyseAt,
    check_sink: Callable[[RunningQuery], None],
) -> None:
    """Give each query its checkpoint, and the rows that begin where that says (N2).

    ``check_sink`` looks at a query with the checkpoint that it is to have, before any is made.  Raises OpenBatchError,
    NoPositionError, SavedNotThereError, NoSavedError, NoQuerySavedError, StorageError, and what ``analyse_at`` and
    ``check_sink`` raise.
    """
    results = {one.query: one for one in trials}
    made: dict[str, Beginning] = {}
    staged: dict[str, str] = {}
    for one in running:
        query = one.plan.query
        directory, number = own(files, query)
        if spec.begin.checkpoint and spec.begin.number > number:
            directory = directory_of(query, spec.begin.number)
            staged[directory] = stage(files, spec.stream, spec.begin.checkpoint, query, directory)
        beginning = None if spec.begin.checkpoint else _anew(spec, files, results[query], number)
        if beginning is not None:
            directory = directory_of(query, spec.begin.number)
            made[directory] = beginning
        one.checkpoint = checkpoint_at(spec, directory)
        check_sink(replace(one, checkpoint=checkpoint_at(spec, staged.get(directory, directory))))
    for directory in staged:
        take(files, directory)
    for one in running:
        one.first_batch = first_batch_of(files, one.directory)
    for directory, beginning in made.items():
        begin(files, directory, beginning)
    for one in running:
        beginning = made.get(one.directory) or beginning_of(files, one.directory)
        if beginning is not None and not beginning.is_empty and not batches(files, one.directory, "offsets"):
            found = analyse_at(beginning)
            one.plan = next(plan for plan in found.inserts if plan.query == one.plan.query)


def positions(beginning: Beginning, parse: Callable[[str], StartPosition]) -> tuple[StartPosition | None, bool]:
    """(where Kafka tables begin, whether those without a position there begin where they say themselves)."""
    return (parse(beginning.start), False) if beginning.start else (beginning.position(), True)


def _anew(spec: StreamRunSpec, files: StoredFiles, trial: QueryTrial, number: int) -> Beginning | None:
    """What a checkpoint that is made now begins with; None where the query has the one that it goes on with."""
    asked: StreamBegin = spec.begin
    if not asked.number or number >= asked.number:
        return None
    if asked.start:
        return Beginning(start=asked.start)
    if asked.state is not StateChoice.NEW or trial.keeps:
        return None
    return Beginning(offsets=reached(files, trial.checkpoint, spec.stream, trial.query))
