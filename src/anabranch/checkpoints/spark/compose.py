"""A source's new offset, made of what its parts became; and whether it has all that its target has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from anabranch.checkpoints.plan import PositionChange
from anabranch.checkpoints.position import OffsetRole, Position, SymbolicOffset, offset_text
from anabranch.checkpoints.route import PositionRoute, TranslatedPosition
from anabranch.checkpoints.spark.kafka_offset import KafkaOffset
from anabranch.checkpoints.spark.shape import Line
from anabranch.checkpoints.spark.translate import Translated
from anabranch.model.reasons import Reason, ReasonKind
from anabranch.model.topics import TopicPartition


@dataclass(frozen=True, slots=True)
class Composed:
    """Offsets by partition of the target; ``unchanged`` where they are, in order too, the old ones."""

    positions: dict[TopicPartition, int | SymbolicOffset] = field(hash=False)
    changes: tuple[PositionChange, ...]
    unchanged: bool
    collisions: tuple[Reason, ...] = ()

    @property
    def text(self) -> str:
        """Its JSON."""
        return KafkaOffset(self.positions).text()

    def filled(self, more: dict[TopicPartition, int | SymbolicOffset]) -> Composed:
        """With partitions that it does not have yet."""
        missing = {at: offset for at, offset in more.items() if at not in self.positions}
        return Composed({**self.positions, **missing}, self.changes, self.unchanged and not missing, self.collisions)


def compose(line: Line, parts: Sequence[Translated]) -> Composed:
    """Put together what a line's parts became, in their order."""
    positions: dict[TopicPartition, int | SymbolicOffset] = {}
    changes: list[PositionChange] = []
    collisions: list[Reason] = []
    for part, translated in zip(line.parts, parts, strict=True):
        target = translated.target
        for old, change in translated.changes.items():
            if part.topics is not None and old.topic not in part.topics:
                continue
            changes.append(change)
            at, offset = target[old]
            if positions.setdefault(at, offset) != offset:
                both = f"{offset_text(positions[at])} and at {offset_text(offset)}"
                what = f"{at} would begin at {both}: {old} leads there too"
                fix = "let the two go to different topics, or move them by sources of their own"
                collisions.append(Reason(ReasonKind.COLLISION, what, fix, translated.stored.location))
    whole = line.whole is not None and list(positions.items()) == list(parts[0].stored.offset.positions.items())
    return Composed(positions, tuple(changes), whole, tuple(collisions))


def cluster_refusal(line: Line, composed: Composed) -> Reason | None:
    """A source reads one cluster: all of its partitions move there, or none."""
    led: dict[str, set[str]] = {}
    for change in composed.changes:
        if change.moved is not None:
            led.setdefault(change.moved.cluster, set()).add(change.old.partition.topic)
    if len(led) > 1:
        where = "; ".join(f"{', '.join(sorted(topics))} to {cluster}" for cluster, topics in sorted(led.items()))
        parts = "|".join(",".join(sorted(topics)) for _, topics in sorted(led.items()))
        what = f"source {line.parts[0].source} would read {len(led):,} clusters: {where}"
        return Reason(ReasonKind.UNSUPPORTED, what, f"split it: --split '{line.parts[0].source}={parts}'")
    staying = [change.old.partition for change in composed.changes if change.moved is None]
    if not staying or len(staying) == len(composed.changes):
        return None
    topics = sorted({partition.topic for partition in staying})
    moving = sorted({change.old.partition.topic for change in composed.changes if change.moved is not None})
    parts = f"{','.join(moving)}|{','.join(topics)}"
    fix = f"split it: --split '{line.parts[0].source}={parts}'" if not set(topics) & set(moving) else ""
    what = f"source {line.parts[0].source} would read two clusters: {', '.join(topics)} would stay on the old one"
    return Reason(ReasonKind.UNSUPPORTED, what, fix)


def missing_partitions(composed: Composed, route: PositionRoute, location: str) -> Iterator[PositionChange | Reason]:
    """Partitions that the target's topics have and the offset has not: a query would read each from its beginning.

    The route may know where they begin, and gives them a change then; else each topic has one refusal.
    """
    came_from: dict[str, Position] = {}
    for change in composed.changes:
        if change.moved is not None:
            came_from.setdefault(change.moved.partition.topic, change.old)
    for topic, old in came_from.items():
        there = route.partitions(topic)
        if isinstance(there, Reason):
            yield there
            continue
        known = {at.partition for at in composed.positions if at.topic == topic}
        gone = sorted(known - there)
        if gone:
            yield Reason(ReasonKind.UNKNOWN, f"{topic} has no partitions {_numbers(gone)} on the target", "", location)
        unknown = []
        for number in sorted(there - known):
            # A query that does not know a partition reads it from its beginning, which is another one on the target: a
            # map knows it for a partition that the source has too, a start position for any.
            unseen = TopicPartition(old.partition.topic, number)
            question = Position(old.source, unseen, SymbolicOffset.EARLIEST, OffsetRole.ASSIGNED, location)
            answer = route.move(question)
            if isinstance(answer, TranslatedPosition) and answer.offset is not None:
                yield PositionChange(question, answer)
            else:
                unknown.append(number)
        if unknown:
            yield Reason(
                ReasonKind.NEW_PARTITIONS,
                f"{topic} has partitions {_numbers(unknown)} on the target that the checkpoint does not know: the "
                "query would read them from their beginning",
                "let the query run once more on the old cluster if its topic has them too, or give each a place with "
                "--offsets or --start",
                location,
            )


def _numbers(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers[:10])) + (f" and {len(numbers) - 10:,} more" if len(numbers) > 10 else "")
