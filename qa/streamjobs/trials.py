"""Queries that are cut on the old cluster, moved with their checkpoints, and held against what was never moved."""

from __future__ import annotations

import random
import re
import shutil
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path

from qa.streamjobs.moving import MoveRefusedError, finish_command
from qa.streamjobs.process import Batches, JobProcess, batches, follow, run_to_end, together
from qa.streamjobs.spec import JobSpec, Kind, QuerySpec, Reading, Sink, Store, Trigger
from qa.streamjobs.stage import PREFIX, RENAMED, SAME, Stage, Written

# So that none is through with the old cluster before the slowest is where it is to be cut, however slow the machine.
_BEFORE, _AFTER = (100, 13), (1500, 200)
_SAMPLES = 3


class Shape(StrEnum):
    """How a query names its topics, and what becomes of that: a list of both; a pattern; or a list that is split, of
    which one topic moves and the other stays on the old cluster.
    """

    LIST = "list"
    PATTERN = "pattern"
    SPLIT = "split"


class Cut(StrEnum):
    """How queries are ended: stopped; killed at any moment; killed in a batch; killed behind the sink's writing."""

    STOP = "stop"
    KILL = "kill"
    OPEN = "open"
    HELD = "held"


class Uncommitted(StrEnum):
    """What becomes of a batch that has begun: translated with both ends, or run to its end on the old cluster.

    One that was to be translated and is refused, because the old cluster holds aborted records there, is finished.
    """

    TRANSLATE = "translate"
    FINISH = "finish"


@dataclass(frozen=True, slots=True)
class Case:
    """One query and what happens to it."""

    kind: Kind
    store: Store
    sink: Sink
    shape: Shape = Shape.LIST
    uncommitted: Uncommitted = Uncommitted.TRANSLATE
    link: str = RENAMED

    @property
    def name(self) -> str:
        """For directories and people."""
        return f"{self.kind} {self.store} {self.sink} {self.shape} {self.uncommitted} {self.link}"


@dataclass(slots=True)
class Trial:
    """One moved query: where it was cut, what it read on the new cluster, what is wrong with what it has written.

    ``way`` is what became of a batch that had begun.  ``unmodified_restart`` is the same query from the same moment, of
    which nothing but the servers were changed.
    """

    case: Case
    cut: Cut
    where: Batches
    way: Uncommitted | None = None
    read_after: int = 0
    missing: int = 0
    surplus: int = 0
    state: int = 0
    late: int = 0
    rows: int = 0
    failure: str = ""
    samples: list[str] = field(default_factory=list)
    unmodified_restart: Trial | None = None

    @property
    def wrong(self) -> str:
        """What is wrong as a sentence; empty where nothing is."""
        said = self.failure
        if not said and (self.missing or self.surplus or self.state or self.late):
            said = f"{self.missing} rows missing, {self.surplus} too many, {self.state} of state differ"
            said += f", {self.late} late" if self.late else ""
        more = f"; {'; '.join(self.samples)}" if self.samples else ""
        return f"{self.case.name} cut by {self.cut} at {self.where}: {said}{more}" if said else ""


def run_trials(
    stage: Stage,
    cases: Sequence[Case],
    cut: Cut,
    chance: random.Random,
    number: int = 0,
    *,
    batch: int = 0,
    controls: bool = False,
) -> list[Trial]:
    """Run the cases as one process on the old cluster, cut it, move each, and run them to the end on the new one.

    ``batch`` is the one to cut at, by default any.  ``controls``: besides, each into a sink that can be copied is moved
    naively, as a copy of itself.
    """
    directory = stage.root / f"trial-{number}"
    before = [_query(stage, directory, f"q{at}", case) for at, case in enumerate(cases)]
    wanted = batch or chance.randint(2, 10)
    if cut is Cut.HELD:
        before = [replace(one, hold=wanted) if one.sink is Sink.BATCHES else one for one in before]
    old = JobSpec(tuple(before), str(directory / "old"), stage.warehouse)
    follow(old, lambda job: cut_off(job, before, cut, wanted, chance))
    trials = [Trial(case, cut, batches(one.checkpoint)) for case, one in zip(cases, before, strict=True)]
    moved: list[QuerySpec] = []
    unmodified_restart: list[QuerySpec] = []
    if controls:
        for trial, query in zip(trials, before, strict=True):
            if query.sink in (Sink.DELTA, Sink.BATCHES):
                trial.unmodified_restart = Trial(replace(trial.case, link=SAME), cut, trial.where)
                unmodified_restart.append(_naive(stage, trial.unmodified_restart.case, query))
    for trial, query in zip(trials, before, strict=True):
        try:
            moved.append(move(stage, trial, query, directory))
        except MoveRefusedError as error:
            trial.failure = str(error)
    kinds = {case.kind for case in cases}
    # In the same process as those that are held against them: one start of Spark for all.
    after = (*unmodified_restart, *stage.references(kinds))
    new = JobSpec(tuple(moved), str(directory / "new"), stage.warehouse, dump=True, then=after)
    if moved or after:
        run_to_end(new)
    never_moved = stage.never_moved(kinds, Path(new.results))
    for trial, query in zip(trials, before, strict=True):
        if not trial.failure:
            judge(trial, Path(new.results), query.name, never_moved[trial.case.kind])
        if trial.unmodified_restart is not None:
            judge(trial.unmodified_restart, Path(new.results), f"{query.name}-naive", never_moved[trial.case.kind])
    if not any(trial.wrong for trial in trials):
        shutil.rmtree(directory, ignore_errors=True)
    return trials


def cut_off(job: JobProcess, queries: Sequence[QuerySpec], cut: Cut, wanted: int, chance: random.Random) -> None:
    """Wait until all have something to lose, then end the process as the cut says."""
    job.until(together(*queries))
    watched = chance.choice(queries)
    match cut:
        case Cut.HELD:
            job.until(lambda: all(one.held.exists() for one in queries if one.hold is not None))
        case Cut.OPEN:
            job.until(lambda: batches(watched.checkpoint).begun >= wanted)
            job.until(lambda: batches(watched.checkpoint).open)
            time.sleep(chance.choice([0.0, chance.uniform(0.0, 0.4)]))
        case _:
            job.until(lambda: batches(watched.checkpoint).committed >= wanted)
            time.sleep(chance.uniform(0.0, 0.7))
    if cut is Cut.STOP:
        job.stop()
    else:
        job.kill()


def move(stage: Stage, trial: Trial, query: QuerySpec, directory: Path) -> QuerySpec:
    """Rewrite the checkpoint in place; returns the query as it goes on.  Raises MoveRefusedError."""
    case = trial.case
    arguments = ["--link", case.link, "--target", "new"]
    if case.shape is Shape.SPLIT:
        arguments += ["--stay", stage.topics.york, "--split", f"0={stage.topics.newark}|{stage.topics.york}"]
    trial.way = case.uncommitted if trial.where.open else None
    if trial.way is Uncommitted.TRANSLATE:
        try:
            stage.command_line.rewrite(query, *arguments, "--uncommitted", "translate")
        except MoveRefusedError as error:
            if "--finish-command" not in str(error):
                raise
            trial.way = Uncommitted.FINISH
    if trial.way is Uncommitted.FINISH:
        command = finish_command(query, directory, stage.warehouse)
        stage.command_line.rewrite(query, *arguments, "--finish-command", command)
    elif trial.way is None:
        stage.command_line.rewrite(query, *arguments)
    return aimed(stage, case, query)


def aimed(stage: Stage, case: Case, query: QuerySpec) -> QuerySpec:
    """The query with its sources on the new cluster, to run to the end."""
    renamed = stage.copies[case.link]
    match case.shape:
        case Shape.LIST:
            flights: tuple[Reading, ...] = (Reading(stage.new, ",".join(renamed.flights)),)
        case Shape.PATTERN:
            # Spark finds a pattern anywhere in a name: without the anchor it would find the other link's copies too.
            flights = (Reading(stage.new, pattern=f"^{re.escape(renamed.prefix)}-flights-.*"),)
        case Shape.SPLIT:
            flights = (Reading(stage.new, renamed.newark), Reading(stage.old, stage.topics.york))
    weather = None if query.weather is None else Reading(stage.new, renamed.weather)
    moved = replace(query, flights=flights, weather=weather, trigger=Trigger.AVAILABLE, hold=None)
    return moved.per_batch(*_AFTER)


def judge(trial: Trial, results: Path, name: str, never_moved: Written) -> None:
    """Compare sink and state as multisets; nothing may have been late on either side."""
    failure = results / f"{name}.failure"
    if failure.exists():
        trial.failure = failure.read_text()[:1000]
        return
    written = Written.of(results, name)
    missing, surplus = never_moved.rows - written.rows, written.rows - never_moved.rows
    missing_state, surplus_state = never_moved.state - written.state, written.state - never_moved.state
    trial.missing, trial.surplus = missing.total(), surplus.total()
    trial.state = missing_state.total() + surplus_state.total()
    trial.late = written.late + never_moved.late
    trial.read_after, trial.rows = written.read, written.rows.total()
    for reported, rows in (
        ("missing", missing),
        ("too many", surplus),
        ("state", missing_state),
        ("state+", surplus_state),
    ):
        trial.samples += [f"{reported}: {row}" for row in sorted(rows)[:_SAMPLES]]


def _naive(stage: Stage, case: Case, query: QuerySpec) -> QuerySpec:
    """A copy of the query with all that it has written, that goes on at the same offsets of the new cluster."""
    copied = replace(
        query,
        name=f"{query.name}-naive",
        checkpoint=f"{query.checkpoint}-naive",
        output=f"{query.output}-naive",
    )
    shutil.copytree(query.checkpoint, copied.checkpoint)
    if Path(query.output).exists():
        shutil.copytree(query.output, copied.output)
    return aimed(stage, case, copied)


def _query(stage: Stage, directory: Path, name: str, case: Case) -> QuerySpec:
    if case.shape is Shape.PATTERN:
        flights = Reading(stage.old, pattern=f"{PREFIX}-flights-.*")
    else:
        flights = Reading(stage.old, ",".join(stage.topics.flights))
    weather = Reading(stage.old, stage.topics.weather) if case.kind is Kind.JOIN else None
    place = directory / name
    output = str(place / f"{directory.name}-{name}")
    spec = QuerySpec(
        name, case.kind, case.store, case.sink, (flights,), weather, str(place / "cp"), output, Trigger.FOLLOWING
    )
    return spec.per_batch(*_BEFORE)


def draw(chance: random.Random) -> Case:
    """Any case that there can be."""
    kind = chance.choice(list(Kind))
    store = chance.choice([Store.ROCKSDB, Store.CHANGELOG] if kind is Kind.TIMERS else list(Store))
    sink = Sink.BATCHES if kind is Kind.COUNTS else chance.choice(list(Sink))
    shape = chance.choice(list(Shape))
    if kind is Kind.TWICE and shape is Shape.SPLIT:
        shape = Shape.LIST
    uncommitted = Uncommitted.FINISH if chance.random() < 0.25 else Uncommitted.TRANSLATE
    return Case(kind, store, sink, shape, uncommitted, chance.choice([RENAMED, SAME]))


@dataclass(slots=True)
class Sums:
    """The sums over trials."""

    trials: int = 0
    open: int = 0
    rows: int = 0
    read_after: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def add(self, trials: Sequence[Trial]) -> None:
        """Count these."""
        for trial in trials:
            self.trials += 1
            self.open += trial.where.open
            self.rows += trial.rows
            self.read_after += trial.read_after
            case = trial.case
            names = [case.kind, case.store, case.sink, case.shape, f"cut by {trial.cut}", f"link {case.link}"]
            if trial.way is not None:
                names.append(f"begun batch: {trial.way}")
            self.counts.update(f"{name}" for name in names)
            if trial.wrong:
                self.wrong.append(trial.wrong)

    def lines(self) -> list[str]:
        """The sums for people."""
        return [
            f"{self.trials} queries moved, {self.open} of them with a batch that had begun",
            f"  {dict(sorted(self.counts.items()))}",
            f"  {self.rows} rows compared, of which the queries read {self.read_after} records on the new cluster",
            f"  {len(self.wrong)} differ from the same query never moved",
            *(f"  WRONG: {one}" for one in self.wrong),
        ]


Tell = Callable[[str], None]
