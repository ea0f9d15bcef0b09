"""Asking the route for every position of one source, and holding the answers against each other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from anabranch.checkpoints.flink.source import Source
from anabranch.checkpoints.flink.split import NOTHING, KafkaSplit, offset_of
from anabranch.checkpoints.plan import PositionChange
from anabranch.checkpoints.position import OffsetRole, Position, SymbolicOffset
from anabranch.checkpoints.route import PositionRoute, TranslatedPosition
from anabranch.model.reasons import Reason, ReasonKind
from anabranch.model.topics import TopicPartition

_MAX_OFFSET = (1 << 63) - 1


class Translator:
    """One cluster of one source on its way; a plain source has one, a dynamic one several.

    ``changes`` and ``refusals`` are what it collects. ``targets`` is where each partition leads. Nothing is decided at
    the first reason: all of them are collected.
    """

    def __init__(self, source: Source, cluster: str, route: PositionRoute) -> None:
        self.source = source
        self.cluster = cluster
        self.route = route
        self.changes: list[PositionChange] = []
        self.refusals: list[Reason] = []
        self.targets: dict[TopicPartition, TopicPartition] = {}
        self.added: dict[TopicPartition, int] = {}
        self.handed: dict[TopicPartition, int] = {}
        """Partitions that waited in the enumerator, and that a reader is to go on with."""
        self._stays: set[TopicPartition] = set()
        self._led: dict[str, set[str]] = defaultdict(set)

    @property
    def stays(self) -> bool:
        """Whether every partition is to stay where it is."""
        return bool(self._stays) and not self.targets

    def split(self, split: KafkaSplit, location: str) -> KafkaSplit:
        """A split on the target; itself where it stays or has no answer."""
        start = stop = NOTHING
        for position in self.source.of_split(split, location):
            offset = self._offset(position)
            if position.role is OffsetRole.NEXT:
                start = offset
            else:
                stop = offset
        return split.moved(self.targets.get(split.partition, split.partition), start, stop)

    def name(self, partition: TopicPartition, location: str) -> TopicPartition:
        """A partition on the target, which no offset is stored of."""
        self._move(Position(self.source.id, partition, None, OffsetRole.ASSIGNED, location))
        return self.targets.get(partition, partition)

    def given(self, partition: TopicPartition, location: str) -> tuple[TopicPartition, int | None]:
        """A partition that was not read yet, on the target, with its start if the route gives one."""
        answer = self._move(Position(self.source.id, partition, None, OffsetRole.UNASSIGNED, location))
        target = self.targets.get(partition, partition)
        return target, None if answer is None else answer.offset

    def idle(self, stored: int, partition: TopicPartition, role: OffsetRole, location: str, otherwise: int) -> int:
        """An offset that no restart uses: what it is on the target, ``otherwise`` where that cannot be said."""
        offset = offset_of(stored)
        if not isinstance(offset, int):
            return stored
        answer = self.route.move(Position(self.source.id, partition, offset, role, location))
        if isinstance(answer, TranslatedPosition) and answer.offset is not None and 0 <= answer.offset <= _MAX_OFFSET:
            return answer.offset
        return otherwise

    def refuse(self, why: ReasonKind, what: str, fix: str = "", location: str = "") -> None:
        """One more reason against it."""
        refusal = Reason(why, what, fix, location or self.source.enumerator_location(self.cluster))
        if refusal not in self.refusals:
            self.refusals.append(refusal)

    def settle(self, room: str) -> None:
        """Hold the answers against each other and against the target; ``room`` is where more partitions can be put.

        Fills ``added`` with partitions that only the target has, where the route says from where they are read and
        ``room`` is empty; otherwise ``room`` is why they cannot be put in.
        """
        if self._stays and self.targets:
            stay = ", ".join(map(str, sorted(self._stays)[:8]))
            what = f"{stay} would stay while {len(self.targets):,} partitions move; a Flink source reads one cluster"
            self.refuse(ReasonKind.UNSUPPORTED, what, "move all of its topics, or none of them")
        if len(self._led) > 1:
            where = "; ".join(f"{', '.join(sorted(topics))} to {on}" for on, topics in sorted(self._led.items()))
            what = f"it would read {len(self._led):,} clusters: {where}; a Flink source reads one"
            self.refuse(ReasonKind.UNSUPPORTED, what, "copy its topics to one cluster, or use a DynamicKafkaSource")
        self._collisions()
        if self.refusals or not self.targets:
            return
        for topic in sorted({target.topic for target in self.targets.values()}):
            self._cover(topic, room)

    def topics(self, location: str, names: Iterable[str]) -> tuple[str, ...]:
        """Topics on the target by the partitions that they have here."""
        new: dict[str, set[str]] = defaultdict(set)
        for old, target in self.targets.items():
            new[old.topic].add(target.topic)
        out = []
        for name in names:
            if len(new[name]) == 1:
                out.append(min(new[name]))
            elif not self.stays:
                what = f"topic {name} of the stream leads to {len(new[name]):,} topics of the target"
                self.refuse(
                    ReasonKind.UNKNOWN, what, "take the savepoint once the source has found its partitions", location
                )
                out.append(name)
            else:
                out.append(name)
        return tuple(out)

    def _offset(self, position: Position) -> int:
        moved = self._move(position)
        if moved is None:
            return 0
        if moved.offset is None:
            stored = position.offset.value if isinstance(position.offset, SymbolicOffset) else "no offset"
            self.refuse(
                ReasonKind.MARKER,
                f"{position.partition} has {stored} stored as its {position.role.value} offset",
                "take the savepoint once a record of the partition was read, or give a start position",
                position.location,
            )
            return 0
        if not 0 <= moved.offset <= _MAX_OFFSET:
            self.refuse(
                ReasonKind.OUTSIDE_LOG, f"{position.partition} would be at {moved.offset:,}", "", position.location
            )
            return 0
        return moved.offset

    def _move(self, position: Position) -> TranslatedPosition | None:
        answer = self.route.move(position)
        if isinstance(answer, Reason):
            self.refusals.append(answer)
            return None
        self.changes.append(PositionChange(position, answer))
        if answer is None:
            self._stays.add(position.partition)
            return None
        self._led[answer.cluster].add(position.partition.topic)
        known = self.targets.setdefault(position.partition, answer.partition)
        if known != answer.partition:
            what = f"{position.partition} leads to {known} and to {answer.partition}"
            self.refuse(ReasonKind.AMBIGUOUS, what, "", position.location)
        return answer

    def _collisions(self) -> None:
        olds: dict[TopicPartition, list[TopicPartition]] = defaultdict(list)
        for old, target in self.targets.items():
            olds[target].append(old)
        for target, found in sorted(olds.items()):
            if len(found) > 1:
                what = f"{' and '.join(map(str, sorted(found)))} lead to {target}, which a source stores once"
                self.refuse(ReasonKind.COLLISION, what, "give them target topics of their own")

    def _cover(self, topic: str, room: str) -> None:
        there = self.route.partitions(topic)
        if isinstance(there, Reason):
            self.refusals.append(there)
            return
        led = {target.partition for target in self.targets.values() if target.topic == topic}
        beyond = sorted(led - there)
        if beyond:
            self.refuse(ReasonKind.OUTSIDE_LOG, f"{topic} has no partition {', '.join(map(str, beyond))} on the target")
        olds = {old.topic for old, target in self.targets.items() if target.topic == topic}
        missing = []
        for partition in sorted(there - led):
            answer = None
            if len(olds) == 1 and not room:
                old = TopicPartition(min(olds), partition)
                location = f"{self.source.label}, not stored yet"
                position = Position(self.source.id, old, SymbolicOffset.EARLIEST, OffsetRole.NEXT, location)
                answer = self.route.move(position)
            if (
                isinstance(answer, TranslatedPosition)
                and answer.offset is not None
                and answer.offset >= 0
                and answer.partition == TopicPartition(topic, partition)
            ):
                self.added[answer.partition] = answer.offset
                self.changes.append(PositionChange(position, answer))
            else:
                missing.append(partition)
        if missing:
            names = ", ".join(map(str, missing[:16])) + (" and more" if len(missing) > 16 else "")
            self.refuse(
                ReasonKind.NEW_PARTITIONS,
                f"{topic} has partitions on the target that the source has not stored: {names}; "
                f"it would read them from their beginning{f' ({room})' if room else ''}",
                "take the savepoint once the source has found them, or use a target topic with as many partitions",
            )
