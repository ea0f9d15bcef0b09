"""What every format gives the workflow: a page to read, its positions, and a rewrite."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from anabranch.checkpoints.plan import Rewrite, RewriteSpec
from anabranch.checkpoints.position import Position
from anabranch.checkpoints.route import PositionRoute
from anabranch.model.reasons import Reason


class CheckpointFormat(StrEnum):
    """Engines whose checkpoints are known."""

    SPARK = "spark"
    FLINK = "flink"


@dataclass(frozen=True, slots=True)
class SourcePage:
    """One source of the job; ``kind`` is ``kafka``, ``kafka (old consumer)``, ``dynamic kafka`` or what else it is.

    ``problems`` are why its positions cannot be moved, or are none.
    """

    source: str
    name: str
    kind: str
    positions: tuple[Position, ...]
    problems: tuple[Reason, ...] = ()


@dataclass(frozen=True, slots=True)
class OperatorPage:
    """One stateful operator; sizes in bytes, None where not known."""

    operator: str
    name: str
    kind: str
    partitions: int
    state_bytes: int | None


@dataclass(frozen=True, slots=True)
class BatchPage:
    """One entry of the timeline: a Spark batch, or a Flink checkpoint beside this one."""

    number: int
    at_ms: int | None
    committed: bool
    watermark_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Page:
    """All that can be read of a checkpoint without its engine.

    ``engine`` is what the bytes tell of the version that wrote it, ``versions`` each format version by file.
    ``number`` is the checkpoint or batch id, ``written_at_ms`` the newest file's time. ``sinks`` are those that can be
    seen, with what their idempotency hangs on; ``uncommitted`` the batch that has begun and was not committed.
    """

    format: CheckpointFormat
    engine: str
    versions: Mapping[str, str] = field(hash=False)
    job: str
    number: int
    written_at_ms: int
    watermark_ms: int | None
    timeline: tuple[BatchPage, ...]
    sources: tuple[SourcePage, ...]
    operators: tuple[OperatorPage, ...]
    uncommitted: int | None
    sinks: tuple[str, ...]
    notes: tuple[str, ...] = ()


class Checkpoint(Protocol):
    """One that was read whole and found sound. Opening reads no state, whatever its size."""

    @property
    def format(self) -> CheckpointFormat:
        """The engine."""

    @property
    def number(self) -> int:
        """The checkpoint's or the newest batch's id, as on the page; costs nothing."""

    @property
    def uncommitted(self) -> int | None:
        """The batch that has begun and was not committed, as on the page; costs nothing."""

    def positions(self) -> tuple[Position, ...]:
        """Every Kafka position that it stores and that a restart may use."""

    def names(self) -> Mapping[str, str]:
        """What people know the sources by, where that is not what they are called in positions; costs nothing."""

    def page(self) -> Page:
        """What people want to know of it; lists directories, reads no state."""

    def rewrite(self, rewrite_spec: RewriteSpec, route: PositionRoute) -> Rewrite:
        """What a move means for it, with every reason against it. Pure: equal answers of the route, equal result."""

    def newest_write_ms(self) -> int:
        """When the engine last wrote here, as the storage tells."""

    def interval_ms(self) -> int | None:
        """The longest time between its last entries, None where there are too few."""
