"""The states of a stream, and which may follow which.

Invariants
    L1  a stream has at most one run that has not ended.
    L2  whoever wants a stream to run or to stop is obeyed from every state; ``failed`` is left by a person alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from anabranch.errors import ProtocolError


class StreamState(StrEnum):
    """Where a stream stands.

    ``draft`` has never been started; ``degraded`` has failed and is started again by itself; ``failed`` is not.
    ``lost`` has a run on a machine that is not heard of: whether that goes on nobody knows.
    """

    DRAFT = "draft"
    STARTING = "starting"
    RUNNING = "running"
    DEGRADED = "degraded"
    STOPPING = "stopping"
    LOST = "lost"
    STOPPED = "stopped"
    FAILED = "failed"

    @property
    def has_run(self) -> bool:
        """Whether there is a run that has not ended."""
        return self in (StreamState.STARTING, StreamState.RUNNING, StreamState.STOPPING, StreamState.LOST)


class StreamWanted(StrEnum):
    """What a person wants of a stream."""

    RUNNING = "running"
    STOPPED = "stopped"


_S = StreamState
FOLLOWS: Mapping[StreamState, frozenset[StreamState]] = {
    _S.DRAFT: frozenset({_S.STARTING, _S.FAILED}),
    _S.STARTING: frozenset({_S.RUNNING, _S.STOPPING, _S.LOST, _S.STOPPED, _S.DEGRADED, _S.FAILED}),
    _S.RUNNING: frozenset({_S.STOPPING, _S.LOST, _S.STOPPED, _S.DEGRADED, _S.FAILED}),
    _S.DEGRADED: frozenset({_S.STARTING, _S.STOPPED, _S.FAILED}),
    _S.STOPPING: frozenset({_S.LOST, _S.STOPPED}),
    _S.LOST: frozenset({_S.STARTING, _S.RUNNING, _S.STOPPING, _S.STOPPED, _S.DEGRADED, _S.FAILED}),
    _S.STOPPED: frozenset({_S.STARTING, _S.FAILED}),
    _S.FAILED: frozenset({_S.STARTING, _S.STOPPED}),
}
"""By state, those that may follow it."""


@dataclass(eq=False)
class StreamStateError(ProtocolError):
    """A state that cannot follow another."""

    before: str
    after: str

    _message = "a stream that is {before} cannot become {after}"
    _hint = "report this"


def check_follows(before: StreamState, after: StreamState) -> None:
    """Raise StreamStateError where one state cannot follow the other; a state may stay."""
    if before is not after and after not in FOLLOWS[before]:
        raise StreamStateError(before.value, after.value)
