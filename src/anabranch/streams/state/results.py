"""What became of trying whether a query may go on with its checkpoint."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from anabranch.errors import RefusedError


class TrialResult(StrEnum):
    """How a query stands to its checkpoint."""

    NEW = "new"
    """It has none: it begins where its tables say."""
    SAME = "same"
    """It is what ran with it last."""
    FITS = "fits"
    """It goes on with it."""
    CHANGED = "changed"
    """Spark would go on with it, and its state or its position would mean something else."""
    REFUSED = "refused"
    """Spark does not go on with it."""
    GONE = "gone"
    """The script has no such query any more: its checkpoint stays."""


class StateChoice(StrEnum):
    """What a start does with a query whose state does not fit or means something else."""

    REFUSE = "refuse"
    KEEP = "keep"
    """Go on with it where Spark does."""
    NEW = "new"
    """Go on where the query stands, with an empty state."""


@dataclass(frozen=True, slots=True)
class QueryTrial:
    """A query of a script beside the checkpoint that it would go on with.

    ``checkpoint`` is the directory below those of the stream, ``why`` what has changed, in sentences.
    """

    query: str
    statement: int
    line: int
    result: TrialResult
    checkpoint: str = ""
    why: tuple[str, ...] = ()

    @property
    def keeps(self) -> bool:
        """Whether it goes on with its checkpoint, or has none."""
        return self.result not in (TrialResult.CHANGED, TrialResult.REFUSED)

    def __str__(self) -> str:
        return f"query {self.query} (statement {self.statement}, line {self.line}): {'; '.join(self.why)}"


@dataclass(eq=False)
class StateChangedError(RefusedError):
    """A changed script does not go on with the checkpoints that there are."""

    stream: str
    trials: tuple[QueryTrial, ...]

    @property
    def message(self) -> str:
        told = ". ".join(str(one) for one in self.trials)
        return f"the script does not go on with its checkpoints: {told}"

    @property
    def hint(self) -> str:
        ways = [
            f"go back to what ran: `anabranch stream rollback {self.stream}`",
            "or start it with --new-state, which goes on at the records where it stands, with an empty state",
        ]
        if all(one.result is TrialResult.CHANGED for one in self.trials):
            ways.append("or with --keep-state, where the state means the same to you")
        return "; ".join(ways)

    @classmethod
    def of(cls, stream: str, trials: Sequence[QueryTrial]) -> StateChangedError:
        """For those that do not go on."""
        return cls(stream, tuple(one for one in trials if not one.keeps))


@dataclass(eq=False)
class OpenBatchError(RefusedError):
    """A checkpoint whose last micro-batch is not committed, so that nobody knows whether the sink has it."""

    stream: str
    query: str
    batch: int

    _message = "micro-batch {batch} of query {query} was begun and not ended: a new state could write its rows twice"
    _hint = (
        "have the version that wrote it end it: `anabranch stream rollback {stream}`, "
        "`anabranch stream start {stream}`, `anabranch stream stop {stream}`"
    )


@dataclass(eq=False)
class NoPositionError(RefusedError):
    """A source whose position can only be kept together with the state."""

    query: str
    source: int

    _message = "query {query} reads a source (number {source}) whose position cannot be kept without its state"
    _hint = "only positions of Kafka tables can: say where it begins with --from, or go back to the version before"
