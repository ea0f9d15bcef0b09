"""Why something is not done, or is worth a person's look: the one shape of refusals and findings."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """``error`` forbids; ``warning`` is worth a person's look; ``info`` is said for the record."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class ReasonKind(StrEnum):
    """What programs tell reasons apart by."""

    FINDING = "finding"
    """Seen of a cluster or a link: its severity says enough."""

    # Of groups and of stored positions.
    NOT_IN_LINK = "not in link"
    NOT_COPIED = "not copied"
    BEFORE_START = "before start"
    EXPIRED = "expired"

    # Of groups.
    KIND = "kind"
    ACTIVE = "active"
    MOVING = "moving"
    NO_COMMITS = "no commits"
    UNAVAILABLE = "unavailable"
    BACKWARDS = "backwards"
    METADATA = "metadata"
    EXISTS = "exists"
    UNDONE = "undone"

    # Of positions that are stored in a checkpoint.
    OUTSIDE_LOG = "outside log"
    NEW_PARTITIONS = "new partitions"
    IN_DOUBT = "in doubt"
    MARKER = "marker"
    UNCOMMITTED = "uncommitted batch"
    NOT_EQUAL = "ranges differ"
    COLLISION = "collision"
    AMBIGUOUS = "ambiguous"
    PENDING_TRANSACTIONS = "pending transactions"
    LOG_ORDER = "log order"
    UNFINISHED = "unfinished rewrite"
    MOVED = "moved already"
    RUNNING = "running"
    UNKNOWN = "unknown"
    UNSUPPORTED = "unsupported"


@dataclass(frozen=True, slots=True)
class Reason:
    """One reason: ``what`` is a sentence with names and numbers, ``fix`` the next step, ``location`` where it is.

    A reason that has a kind of its own forbids what was asked for; a finding may be worth a look only.
    """

    why: ReasonKind
    what: str
    fix: str = ""
    location: str = ""
    severity: Severity = Severity.ERROR

    @classmethod
    def found(cls, severity: Severity, what: str, fix: str = "") -> Reason:
        """Something that was seen of a cluster or a link."""
        return cls(ReasonKind.FINDING, what, fix, severity=severity)


def errors(reasons: Iterable[Reason]) -> tuple[Reason, ...]:
    """Those that forbid what was asked for."""
    return tuple(reason for reason in reasons if reason.severity is Severity.ERROR)
