"""One trial as its events tell it, for whoever listens to it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from anabranch.config.streamspec import StreamRunSpec
from anabranch.streams.events import StreamEvent, StreamEventKind
from anabranch.streams.trials import ScriptProblem, TrialKind, TrialLimit, TrialQuestion, TrialState


@dataclass(eq=False, slots=True)
class Trial:
    """A trial of one event loop; times are in milliseconds since 1970, None for what has not come yet.

    ``ahead`` is how many wait before it.  ``heard_ms`` is when somebody last asked for it.  ``ending`` is set as
    soon as its process is not wanted any more; it is over for listeners then already.

    Invariant: what is over does not change any more, and rows are only added.
    """

    id: str
    account: str
    question: TrialQuestion
    spec: StreamRunSpec
    made_ms: int
    heard_ms: int
    state: TrialState = TrialState.WAITING
    ahead: int = 0
    began_ms: int | None = None
    ended_ms: int | None = None
    why: str = ""
    limit: TrialLimit | None = None
    selected: int | None = None
    columns: Sequence[Mapping[str, str]] = ()
    rows: list[Sequence[Any]] = field(default_factory=list)
    size: int = 0
    analysed: Mapping[str, Any] | None = None
    tried: Sequence[Mapping[str, Any]] | None = None
    problem: ScriptProblem | None = None
    listeners: int = 0
    revision: int = 0
    when_over: Callable[[Trial], None] | None = None
    """Told once, as it is over."""
    ending: asyncio.Event = field(default_factory=asyncio.Event)
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def changed(self) -> asyncio.Event:
        """Set with the next change."""
        return self._changed

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Listen while the block runs."""
        self.listeners += 1
        try:
            yield
        finally:
            self.listeners -= 1

    def wait_behind(self, ahead: int) -> None:
        """So many wait before it."""
        if self.ahead != ahead:
            self.ahead = ahead
            self._tell()

    def begin(self, now_ms: int) -> None:
        """It has its place, and is started."""
        self.state, self.ahead, self.began_ms = TrialState.STARTING, 0, now_ms
        self._tell()

    def take(self, event: StreamEvent, size: int, now_ms: int) -> None:
        """Take in what its process tells, in a line of so many characters."""
        if self.state.is_over:
            return
        fields = event.fields
        if event.kind is StreamEventKind.ROWS:
            self.rows.extend(fields["rows"])
            self.size += size
            self._wake()
            return
        if event.kind is StreamEventKind.COLUMNS:
            self.state, self.selected = TrialState.RUNNING, int(fields["statement"])
            self.columns = tuple(fields["columns"])
        elif event.kind is StreamEventKind.ANALYSED:
            self.analysed = fields
        elif event.kind is StreamEventKind.TRIED:
            self.tried = tuple(fields["queries"])
        elif event.kind is StreamEventKind.FAILED:
            self.problem = ScriptProblem.of(fields)
        elif event.kind is StreamEventKind.ENDED:
            self._take_end(fields, now_ms)
            return
        else:
            return
        self._tell()

    def _take_end(self, fields: Mapping[str, Any], now_ms: int) -> None:
        """What can be told now is told; whatever failed but the script is asked for its reasons first."""
        if self.problem is not None:
            if self.problem.is_of_script:
                self.fail(self.problem, now_ms)
        elif fields.get("outcome") != "stopped":
            limit = fields.get("limit")
            self.limit = None if limit is None else TrialLimit(limit)
            self._end(TrialState.FINISHED, "", now_ms)

    def fail(self, problem: ScriptProblem, now_ms: int) -> None:
        """It is over, and this is why."""
        if not self.state.is_over:
            self.problem = problem
        self._end(TrialState.FAILED, problem.message, now_ms)

    def stop(self, why: str, now_ms: int) -> None:
        """Somebody has ended it; its process goes next."""
        self._end(TrialState.STOPPED, why, now_ms)
        self.ending.set()

    def answers(self, account: str, question: TrialQuestion, spec: StreamRunSpec) -> bool:
        """Whether it is, or will be, the answer to a question: all that its process is told is the same."""
        is_same = (self.account, self.question.key, self.spec) == (account, question.key, spec)
        is_lasting = (
            self.question.kind is TrialKind.VALIDATION and self.problem is not None and self.problem.is_of_script
        )
        if self.question.kind is TrialKind.CHECKPOINTS and self.state.is_over:
            return False  # checkpoints go on by themselves
        return is_same and (not self.state.is_over or self.state is TrialState.FINISHED or is_lasting)

    def _end(self, state: TrialState, why: str, now_ms: int) -> None:
        if not self.state.is_over:
            self.state, self.why, self.ended_ms, self.ahead = state, why, now_ms, 0
            if self.when_over is not None:
                self.when_over(self)
            self._tell()

    def _tell(self) -> None:
        self.revision += 1
        self._wake()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()
