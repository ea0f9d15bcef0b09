"""How far Spark's present work is, told from time to time: a step of a large topic takes minutes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

EVERY_S = 10.0


class StatusTracker(Protocol):
    """What is used of Spark's status tracker."""

    def getActiveStageIds(self) -> list[int]:
        """The stages that run."""

    def getStageInfo(self, stageId: int) -> Any:
        """A stage's figures, None for one that is gone."""


def tasks(tracker: StatusTracker) -> tuple[int, int] | None:
    """(finished, all) tasks of the stages that run; None where none does."""
    found = [tracker.getStageInfo(stage_id) for stage_id in tracker.getActiveStageIds()]
    stages = [one for one in found if one is not None]
    if not stages:
        return None
    return sum(stage.numCompletedTasks for stage in stages), sum(one.numTasks for one in stages)


@contextmanager
def report_progress(
    tracker: StatusTracker, tell: Callable[[int, int], None], every_s: float = EVERY_S
) -> Iterator[None]:
    """Tell the figures as long as it lasts; what goes wrong with telling is no reason to stop the work."""
    over = threading.Event()

    def run() -> None:
        while not over.wait(every_s):
            try:
                found = tasks(tracker)
            except Exception:
                return
            if found is not None:
                tell(*found)

    thread = threading.Thread(target=run, daemon=True, name="rebuild-progress")
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(timeout=2 * every_s)
