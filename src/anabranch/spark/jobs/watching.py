"""What a link's driver tells of its run while it goes on: looks at the lanes once a second, prints what is new."""

from __future__ import annotations

import time
from collections.abc import Callable

from anabranch.errors import AnabranchError
from anabranch.kafka.errors import passing
from anabranch.model.runevents import CopiedByRun, LaneSnapshot, RunEvent, RunEventKind, next_snapshot
from anabranch.spark.link.survey import Survey

WATCH_S = 1.0


class RunWatcher:
    """The events of one run; a target that is away for a while is told of once, and that it is back."""

    def __init__(self, survey: Survey, run: str, tell: Callable[[RunEvent], None]) -> None:
        self._survey = survey
        self._run = run
        self._tell = tell
        self._seen = LaneSnapshot()
        self._looked = 0.0
        self._problem = ""
        self._copied: CopiedByRun | None = None

    def begin(self) -> None:
        """Count what this run copies from now on: its workers have not begun."""
        self._copied = CopiedByRun.begun(self._survey.lanes())

    def copied(self) -> CopiedByRun:
        """What this run has copied, as far as it was persisted by now; raises ClusterError."""
        self._survey.status()
        self._count()
        return self._copied or CopiedByRun()

    def _count(self) -> None:
        if self._copied is not None:
            self._copied = self._copied.after(self._survey.lanes(), self._run)

    def look(self) -> bool:
        """Tell what is new, at most once in ``WATCH_S`` seconds; whether a person has asked the run to stop."""
        if time.monotonic() - self._looked >= WATCH_S:
            self._looked = time.monotonic()
            try:
                status = self._survey.status()
            except AnabranchError as error:
                if not passing(error):
                    raise
                self.problem(error.message)
            else:
                self.problem("")
                self._count()
                if status is not None:
                    self._seen, events = next_snapshot(self._seen, status, self._run)
                    for event in events:
                        self._tell(event)
        return self._survey.is_to_stop()

    def problem(self, message: str) -> None:
        """Tell what is waited for where that is another thing than before; empty for nothing."""
        if message != self._problem:
            self._problem = message
            what = f"waiting: {message}" if message else "the wait is over"
            self._tell(RunEvent(RunEventKind.WAITING, what, {"problem": message}))
