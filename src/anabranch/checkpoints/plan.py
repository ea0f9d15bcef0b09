"""What a rewrite would change, as values: the plan that is shown, hashed, and applied as it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from anabranch.checkpoints.position import Position
from anabranch.checkpoints.route import TranslatedPosition
from anabranch.model.reasons import Reason


class Uncommitted(StrEnum):
    """What becomes of a Spark batch that has begun and was not committed."""

    REFUSE = "refuse"
    TRANSLATE = "translate"


class PendingTransactions(StrEnum):
    """What becomes of a Flink sink's pending transactions, which only the sink's own cluster can commit.

    ``keep`` is for a sink whose cluster is not moved.
    """

    REFUSE = "refuse"
    DISCARD = "discard"
    KEEP = "keep"


class StopSavepoint(StrEnum):
    """What becomes of a FlinkKafkaConsumer's positions in a savepoint of ``flink stop``.

    They are older than the rest of the savepoint: those of the job's last checkpoint before it. ``translate`` takes
    them as they are, so that what was read between is read again.
    """

    REFUSE = "refuse"
    TRANSLATE = "translate"


@dataclass(frozen=True, slots=True)
class Split:
    """One source becomes several, in this order; each part is a set of topics by their old names.

    ``names`` are those of the parts where the sources of a query have names, one a part.
    """

    source: str
    parts: tuple[frozenset[str], ...]
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RewriteSpec:
    """What a rewrite is to change, beside the route.

    ``sources`` are those to move, None for all that read Kafka. ``split`` and ``merge`` change a Spark query's sources:
    the sources of a merge become its first one. ``drop`` are Flink sources whose entries are taken out.
    ``renamed_clusters`` are new ids and bootstrap servers of a dynamic Flink source by old cluster id.
    """

    sources: frozenset[str] | None = None
    split: tuple[Split, ...] = ()
    merge: tuple[tuple[str, ...], ...] = ()
    drop: frozenset[str] = frozenset()
    uncommitted: Uncommitted = Uncommitted.REFUSE
    transactions: PendingTransactions = PendingTransactions.REFUSE
    renamed_clusters: Mapping[str, tuple[str, str]] = field(default_factory=dict, hash=False)
    stop_savepoint: StopSavepoint = StopSavepoint.REFUSE


@dataclass(frozen=True, slots=True)
class PositionChange:
    """A stored position, and where it leads; ``moved`` is None for one that stays."""

    old: Position
    moved: TranslatedPosition | None


@dataclass(frozen=True, slots=True)
class Rewrite:
    """All that a rewrite means. ``writes`` are whole new files by relative path, None for one that is taken away.

    Where there is a refusal ``writes`` is empty: nothing is ever written on a refusal. The order of ``writes`` is the
    order in which they are applied; ``reads`` are the digests (SHA-256, hex) of all files that the plan was made from.
    """

    changes: tuple[PositionChange, ...]
    refusals: tuple[Reason, ...] = ()
    notes: tuple[str, ...] = ()
    writes: Mapping[str, bytes | None] = field(default_factory=dict, hash=False)
    reads: Mapping[str, str] = field(default_factory=dict, hash=False)
    untouched: tuple[str, ...] = ()
    """Sources and operators that are left byte for byte as they are."""
