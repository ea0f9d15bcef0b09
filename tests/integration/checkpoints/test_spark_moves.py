"""Real Spark queries that are killed, moved with their checkpoints by the command line, and go on elsewhere."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from qa.streamjobs.spec import Kind, Sink, Store
from qa.streamjobs.stage import SAME, stage
from qa.streamjobs.trials import Case, Cut, Shape, Trial, Uncommitted, run_trials
from tests.chance import seed

pytestmark = [pytest.mark.test, pytest.mark.timeout(2400)]

# Every kind, store, sink and shape, both ways to treat a begun batch, and both links, in one process.
CASES = (
    Case(Kind.WINDOWS, Store.DEFAULT, Sink.DELTA, link=SAME),
    Case(Kind.JOIN, Store.ROCKSDB, Sink.FILES),
    Case(Kind.DISTINCT, Store.CHANGELOG, Sink.ICEBERG, Shape.PATTERN),
    Case(Kind.TIMERS, Store.ROCKSDB, Sink.BATCHES),
    Case(Kind.COUNTS, Store.DEFAULT, Sink.BATCHES, Shape.SPLIT, Uncommitted.FINISH),
    Case(Kind.TWICE, Store.DEFAULT, Sink.FILES),
)
BEGUN = 5
FEW = 1500


@pytest.fixture(scope="module")
def first() -> Iterator[Trial]:
    """One stateful query, over the input and the link that it needs."""
    drawn = seed(1)
    with stage(drawn, flights=FEW, links=(SAME,)) as made:
        yield run_trials(made, CASES[:1], Cut.HELD, random.Random(drawn), batch=BEGUN)[0]


def test_a_moved_query_with_windows_leaves_what_it_would_have_left_unmoved(first: Trial) -> None:
    """The sink holds the same rows as often, the state the same, and most of the input was read on the new cluster."""
    assert first.wrong == ""
    assert first.read_after > 0 and first.rows > 0


@pytest.fixture(scope="module")
def trials() -> Iterator[dict[Kind, Trial]]:
    """The queries as one process that is killed when those with a function for each batch have written batch 5."""
    drawn = seed(1)
    with stage(drawn) as made:
        done = run_trials(made, CASES, Cut.HELD, random.Random(drawn), batch=BEGUN, controls=True)
        yield {trial.case.kind: trial for trial in done}


@pytest.mark.full
@pytest.mark.parametrize("kind", list(Kind))
def test_a_moved_query_leaves_what_it_would_have_left_unmoved(trials: dict[Kind, Trial], kind: Kind) -> None:
    """The sink holds the same rows as often, the state the same, and most of the input was read on the new cluster."""
    trial = trials[kind]
    assert trial.wrong == ""
    assert trial.read_after > 0 and trial.rows > 0


@pytest.mark.full
def test_a_batch_that_its_sink_has_seen_is_run_again_with_the_same_records(trials: dict[Kind, Trial]) -> None:
    """Killed behind the writing and before the commit: the batch is translated with both ends, and nothing differs."""
    trial = trials[Kind.TIMERS]
    assert trial.where.begun == BEGUN and trial.where.committed == BEGUN - 1
    assert trial.way is Uncommitted.TRANSLATE
    assert trial.wrong == ""


@pytest.mark.full
def test_a_batch_is_finished_on_the_old_cluster_before_its_source_is_split(trials: dict[Kind, Trial]) -> None:
    """The finish command runs the begun batch to its end; then one topic moves, and the other stays."""
    trial = trials[Kind.COUNTS]
    assert trial.where.open
    assert trial.way is Uncommitted.FINISH
    assert trial.wrong == ""


@pytest.mark.full
def test_a_query_whose_servers_alone_are_changed_writes_wrong_rows(trials: dict[Kind, Trial]) -> None:
    """What all of this is for: from the same checkpoint and the same offsets, unnoticed by Spark."""
    naive = trials[Kind.WINDOWS].unmodified_restart
    assert naive is not None and naive.failure == ""
    assert naive.missing + naive.surplus > 0
