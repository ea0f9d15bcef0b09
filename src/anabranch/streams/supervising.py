"""What is done next for a stream: decided from what is seen of it, one thing at a time.

Invariants
    V1  a run begins only where none is open, and only for a stream that is wanted to run.
    V2  of a run whose process cannot be seen from here only that it is lost is told: nobody but a person ends it.
    V3  once nothing changes any more, the state is that which was wanted, or ``failed`` with a reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from anabranch.streams.restarting import RestartPolicy
from anabranch.streams.states import StreamState, StreamWanted

STOP_MS = 90_000
"""How long a run is waited for that was asked to end; its longest micro-batch is waited for by itself."""
LOST_MS = 60_000
"""How long nothing was heard of a machine whose runs are lost."""
FINAL = frozenset({2, 3})
"""Exit codes that another start does not change: what a person wrote is wrong, or it is refused."""


@dataclass(frozen=True, slots=True)
class SeenStreamRun:
    """A run that has not been noted as ended.

    ``is_alive`` is None where its process is one of another machine; ``has_started`` once its queries run.
    ``exit_code`` is None where nobody saw it, ``is_finished`` where its queries have read all that there was.  One that
    was asked to end (``stopping_since_ms``) is started again where the stream is wanted to run.  ``lost`` says since
    when nothing is heard of that machine, where it is for too long.  ``why`` is what it has told; where that is nothing
    ``unsaid`` is what else is known of its end.
    """

    is_alive: bool | None
    has_started: bool = False
    exit_code: int | None = None
    is_finished: bool = False
    why: str = ""
    stopping_since_ms: int | None = None
    lost: str = ""
    unsaid: str = ""


@dataclass(frozen=True, slots=True)
class SeenStream:
    """A stream as it is kept, with its open run, and when runs have failed since a person started it."""

    state: StreamState
    wanted: StreamWanted
    run: SeenStreamRun | None
    failures: Sequence[int]
    policy: RestartPolicy


@dataclass(frozen=True, slots=True)
class BeginRun:
    """Start a run."""


@dataclass(frozen=True, slots=True)
class AskRun:
    """Ask the run to end."""


@dataclass(frozen=True, slots=True)
class KillRun:
    """End the run by force."""


@dataclass(frozen=True, slots=True)
class CloseRun:
    """Note that the run has ended; ``is_failure`` counts against the budget, ``is_over`` is wanted no more."""

    state: StreamState
    why: str
    is_failure: bool = False
    is_over: bool = False


@dataclass(frozen=True, slots=True)
class TellState:
    """Note a state."""

    state: StreamState
    why: str = ""


StreamAction = BeginRun | AskRun | KillRun | CloseRun | TellState


def decide(seen: SeenStream, now_ms: int) -> StreamAction | None:
    """What to do now; None for nothing."""
    if seen.run is None:
        return _without_run(seen, now_ms)
    if seen.run.is_alive is None:
        is_new = bool(seen.run.lost) and seen.state is not StreamState.LOST
        return TellState(StreamState.LOST, seen.run.lost) if is_new else None
    if not seen.run.is_alive:
        return _ended(seen, seen.run, now_ms)
    return _running(seen, seen.run, now_ms)


def silent_machine(host: str, since_ms: int) -> str:
    """In words, that nothing is heard of a machine."""
    since = datetime.fromtimestamp(since_ms / 1000, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    return f"its machine {host} is not heard of since {since}, and its job may go on there"


def _without_run(seen: SeenStream, now_ms: int) -> StreamAction | None:
    if seen.wanted is StreamWanted.STOPPED:
        at_rest = seen.state in (StreamState.DRAFT, StreamState.STOPPED, StreamState.FAILED)
        return None if at_rest else TellState(StreamState.STOPPED)
    if seen.state is StreamState.FAILED:
        return None
    due = seen.policy.due_ms(seen.failures, now_ms)
    if due is None:
        return TellState(StreamState.FAILED, _used_up(seen))
    return BeginRun() if now_ms >= due else None


def _running(seen: SeenStream, run: SeenStreamRun, now_ms: int) -> StreamAction | None:
    was_lost = seen.state is StreamState.LOST
    if run.stopping_since_ms is not None:
        if now_ms - run.stopping_since_ms > STOP_MS:
            return KillRun()
        return TellState(StreamState.STOPPING) if was_lost else None
    if seen.wanted is StreamWanted.STOPPED:
        return AskRun()
    if run.has_started and seen.state is not StreamState.RUNNING:
        return TellState(StreamState.RUNNING)
    return TellState(StreamState.STARTING) if was_lost else None


def _ended(seen: SeenStream, run: SeenStreamRun, now_ms: int) -> StreamAction:
    if run.is_finished and run.stopping_since_ms is None:
        return CloseRun(StreamState.STOPPED, "it has read all that there was", is_over=True)
    if seen.wanted is StreamWanted.STOPPED or run.stopping_since_ms is not None:
        return CloseRun(StreamState.STOPPED, "")
    why = run.why or _told(run.exit_code) + (f": {run.unsaid}" if run.unsaid else "")
    if run.exit_code in FINAL:
        return CloseRun(StreamState.FAILED, why, is_failure=True)
    due = seen.policy.due_ms((*seen.failures, now_ms), now_ms)
    state = StreamState.FAILED if due is None else StreamState.DEGRADED
    said = _used_up(seen, why) if due is None else why
    return CloseRun(state, said, is_failure=True)


def _used_up(seen: SeenStream, why: str = "") -> str:
    most = seen.policy.most
    said = "it is not started again by itself" if most == 0 else f"it was started again {most} times within an hour"
    return f"{why}; {said}" if why else said


def _told(code: int | None) -> str:
    if code is None:
        return "its job has ended, and nobody saw how"
    if code < 0:
        return f"its job was killed by signal {-code}"
    return f"its job has ended with exit code {code}"
