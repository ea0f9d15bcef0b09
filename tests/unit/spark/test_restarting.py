"""How often a query is begun anew, and for what."""

from __future__ import annotations

from typing import Any, cast

import pytest
from pyspark.sql.streaming.query import StreamingQuery

from anabranch.spark.link.restarting import LATE, TRIES, RestartingQuery

pytestmark = pytest.mark.unit


class Scripted:
    """A query that has ended for a reason, after some micro-batches."""

    def __init__(self, reason: str | None, batches: int = 0) -> None:
        self.isActive = reason == "runs"
        self.recentProgress = [{"batchId": number} for number in range(batches)]
        self._reason = reason

    def exception(self) -> Exception | None:
        """What Spark tells."""
        return None if self._reason in (None, "runs") else RuntimeError(f"{self._reason}.\nmore")


def steady(*queries: Scripted) -> tuple[RestartingQuery, list[Scripted]]:
    """Begins these one after the other; also those that were not begun yet."""
    left = list(queries)
    return RestartingQuery(lambda: cast(StreamingQuery, cast(Any, left.pop(0))), lambda _: None), left


def test_a_late_worker_begins_the_query_anew() -> None:
    """Until it runs; its own reports are then told from the first."""
    query, left = steady(Scripted(LATE, 2), Scripted(LATE), Scripted("runs", 1))
    assert [one["batchId"] for one in query.ended()] == [0, 1]
    assert query.goes_on() and not query.is_active
    assert query.goes_on() and query.is_active and not left
    assert [one["batchId"] for one in query.ended()] == [0]
    assert list(query.ended()) == []


def test_it_is_given_up_after_six_times_without_a_batch() -> None:
    """A machine that can never start a worker is told of."""
    query, left = steady(*[Scripted(LATE)] * (TRIES + 1))
    assert [query.goes_on() for _ in range(TRIES)] == [True] * (TRIES - 1) + [False]
    assert LATE in str(query.failure()) and len(left) == 1


def test_a_batch_that_ended_gives_it_all_its_tries_again() -> None:
    """A machine that is slow at times."""
    query, left = steady(*[Scripted(LATE)] * (TRIES - 1), Scripted(LATE, 1), *[Scripted(LATE)] * TRIES)
    assert all(query.goes_on() for _ in range(TRIES - 1))
    assert len(list(query.ended())) == 1
    assert all(query.goes_on() for _ in range(TRIES - 1)) and not query.goes_on()
    assert len(left) == 1


def test_other_failures_and_a_stop_are_the_end() -> None:
    """Nobody begins anew what was stopped or is wrong."""
    for reason in (None, "a table is missing"):
        query, left = steady(Scripted(reason), Scripted("runs"))
        assert not query.goes_on() and len(left) == 1
