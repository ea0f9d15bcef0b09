"""What is told of Spark's work while it lasts."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import pytest

from anabranch.spark.align.progress import report_progress, tasks
from qa.timeouts import TIMEOUT_S

pytestmark = pytest.mark.unit


class Stages:
    """A tracker with two stages and one that is gone."""

    def getActiveStageIds(self) -> list[int]:
        """Their numbers."""
        return [1, 2, 3]

    def getStageInfo(self, stageId: int) -> Any:
        """Their figures."""
        return None if stageId == 3 else SimpleNamespace(numCompletedTasks=stageId, numTasks=10)


class Idle(Stages):
    """Nothing runs."""

    def getActiveStageIds(self) -> list[int]:
        """None."""
        return []


def test_the_tasks_of_all_stages_that_run_are_told() -> None:
    """Again and again until the work is over; nothing where none runs."""
    assert tasks(Stages()) == (3, 20)
    assert tasks(Idle()) is None
    seen: list[tuple[int, int]] = []
    enough = threading.Event()

    def tell(done: int, of: int) -> None:
        seen.append((done, of))
        if len(seen) == 2:
            enough.set()

    with report_progress(Stages(), tell, every_s=0.001):
        assert enough.wait(TIMEOUT_S)
    assert seen[:2] == [(3, 20), (3, 20)]


def test_work_goes_on_where_telling_fails() -> None:
    """A tracker that has no answer any more ends the telling alone."""

    class Broken(Stages):
        def getActiveStageIds(self) -> list[int]:
            asked.set()
            raise ConnectionError

    asked = threading.Event()
    with report_progress(Broken(), lambda done, of: None, every_s=0.001):
        assert asked.wait(TIMEOUT_S)
