"""One position that an engine has stored."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from anabranch.model.topics import TopicPartition


class OffsetRole(StrEnum):
    """What a stored offset is for.

    ``next`` is the next record to read. ``batch start`` and ``batch end`` bound a Spark batch that has begun and was
    not committed: start is read, end is not. ``stop`` is where a bounded Flink source ends: not read any more.
    ``initial`` is where a query once began, ``previous`` where the batch before the last one ended: no restart depends
    on these two. ``assigned`` is a partition that is stored without an offset, ``unassigned`` one that was found and
    not handed out to a reader yet: the program chooses where it begins.
    """

    NEXT = "next"
    BATCH_START = "batch start"
    BATCH_END = "batch end"
    STOP = "stop"
    INITIAL = "initial"
    PREVIOUS = "previous"
    ASSIGNED = "assigned"
    UNASSIGNED = "unassigned"


class SymbolicOffset(StrEnum):
    """What may be stored where an offset is not known yet; the engine looks it up at its next start."""

    EARLIEST = "earliest"
    LATEST = "latest"
    COMMITTED = "committed"


def offset_text(offset: int | SymbolicOffset | None) -> str:
    """An offset, or what is stored instead of one, as people read it."""
    if offset is None:
        return "no offset"
    return f"{offset:,}" if isinstance(offset, int) else offset.value


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """``source`` names one source of the job: ``0``, ``1`` or its name in Spark, the operator's id in hex in Flink.

    ``offset`` counts as everywhere here, the next record to read, whatever the engine stores; None for ``assigned``
    and ``unassigned``.
    ``location`` is the file, or the operator and subtask, for people.
    """

    source: str
    partition: TopicPartition
    offset: int | SymbolicOffset | None
    role: OffsetRole
    location: str
