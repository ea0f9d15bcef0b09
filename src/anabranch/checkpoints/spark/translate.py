"""Every stored offset asked of the route, once: what each position becomes, and every reason why one cannot move."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from anabranch.checkpoints.plan import PositionChange, Uncommitted
from anabranch.checkpoints.position import OffsetRole, Position, SymbolicOffset
from anabranch.checkpoints.route import PositionRoute, TranslatedPosition
from anabranch.checkpoints.spark.restart import REQUIRED, STARTS, StoredSource
from anabranch.model.reasons import Reason, ReasonKind
from anabranch.model.topics import TopicPartition


@dataclass(frozen=True, slots=True)
class Translated:
    """One stored offset: each partition's change in the order of the file; with refusals it has not moved."""

    stored: StoredSource
    changes: Mapping[TopicPartition, PositionChange] = field(hash=False)
    refusals: tuple[Reason, ...] = ()

    @property
    def target(self) -> dict[TopicPartition, tuple[TopicPartition, int | SymbolicOffset]]:
        """Where each partition is to be, and its offset there, by its old name."""
        return {at: _target(change) for at, change in self.changes.items()}


def translate(stored: StoredSource, route: PositionRoute) -> Translated:
    """Ask the route for each partition of an offset."""
    changes: dict[TopicPartition, PositionChange] = {}
    refusals: list[Reason] = []
    for position in stored.positions():
        answer = ask(route, position)
        if isinstance(answer, Reason):
            refusals.append(answer)
        else:
            changes[position.partition] = PositionChange(position, answer)
    return Translated(stored, changes, tuple(refusals))


def stay(stored: StoredSource) -> Translated:
    """An offset of a source that is not to move."""
    return Translated(stored, {position.partition: PositionChange(position, None) for position in stored.positions()})


def ask(route: PositionRoute, position: Position) -> TranslatedPosition | Reason | None:
    """The route's answer; one that moves an offset must have an offset itself."""
    answer = route.move(position)
    if isinstance(answer, TranslatedPosition) and answer.offset is None and position.offset is not None:
        return Reason(ReasonKind.UNKNOWN, f"{position.partition}: the route leads to no offset", "", position.location)
    return answer


def fill_starts(start: Translated, end: Translated, route: PositionRoute) -> Translated:
    """The start of a batch with the partitions that were first seen in it, which Spark reads from 0.

    Unless failOnDataLoss is false it accepts no other beginning of a new partition. On the target they are
    written down, for their beginning there may be another.
    """
    missing = [at for at in end.changes if at not in start.changes]
    if not missing or start.refusals or end.refusals:
        return start
    changes = dict(start.changes)
    refusals: list[Reason] = []
    location = f"{start.stored.location}: first seen in the batch"
    for at in missing:
        if end.changes[at].moved is None:
            continue
        position = Position(start.stored.source, at, 0, OffsetRole.BATCH_START, location)
        answer = ask(route, position)
        if isinstance(answer, Reason):
            refusals.append(answer)
        else:
            changes[at] = PositionChange(position, answer)
    return Translated(start.stored, changes, tuple(refusals))


def range_refusals(
    start: Translated, end: Translated, route: PositionRoute, rewrite_spec: Uncommitted
) -> Iterator[Reason]:
    """Why a batch that was not committed cannot be run again on the target, partition by partition."""
    for at, change in start.changes.items():
        if at not in end.changes:
            what = f"{at} has a beginning in the batch and no end: it was deleted, or the subscription changed"
            yield Reason(ReasonKind.LOG_ORDER, what, "finish the batch on the old cluster", end.stored.location)
            continue
        first, last = change.old.offset, end.changes[at].old.offset
        if not isinstance(first, int) or not isinstance(last, int):
            continue
        if first > last:
            what = f"{at} begins at {first:,} and ends at {last:,}"
            yield Reason(ReasonKind.LOG_ORDER, what, "finish the batch on the old cluster", end.stored.location)
            continue
        moved, until = change.moved, end.changes[at].moved
        if moved is None and until is None:
            continue
        if moved is None or until is None or moved.partition != until.partition:
            what = f"the beginning and the end of the batch in {at} lead to different places"
            yield Reason(ReasonKind.NOT_EQUAL, what, "finish the batch on the old cluster", end.stored.location)
            continue
        if rewrite_spec is Uncommitted.TRANSLATE and first < last:
            answer = route.equal(at, first, last)
            if answer is not None:
                yield answer
        if moved.offset is not None and until.offset is not None and moved.offset > until.offset:
            what = f"the batch in {at} would begin at {moved.offset:,} and end at {until.offset:,} on the target"
            yield Reason(ReasonKind.NOT_EQUAL, what, "finish the batch on the old cluster", end.stored.location)


def counted_once(change: PositionChange) -> PositionChange:
    """A change with the unmodified restart's damage only where a start begins to read: each partition has one such
    place.
    """
    if change.moved is None or change.old.role in STARTS:
        return change
    return replace(change, moved=replace(change.moved, repeated=0, skipped=0, unmodified_restart=""))


def is_required(translated: Translated) -> bool:
    """Whether a restart depends on it."""
    return translated.stored.role in REQUIRED


def _target(change: PositionChange) -> tuple[TopicPartition, int | SymbolicOffset]:
    old, moved = change.old, change.moved
    if moved is not None and moved.offset is not None:
        return moved.partition, moved.offset
    if old.offset is None:
        raise ValueError(f"{old.partition} has no offset")
    return old.partition, old.offset
