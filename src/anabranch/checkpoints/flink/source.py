"""A source of the job that reads Kafka, with all that the checkpoint stores of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from anabranch.checkpoints.flink.coordinator import Coordinator
from anabranch.checkpoints.flink.dynamic import DynamicState
from anabranch.checkpoints.flink.elements import Element
from anabranch.checkpoints.flink.enumerator import ASSIGNED, EnumeratorState
from anabranch.checkpoints.flink.metadata import Operator
from anabranch.checkpoints.flink.operator_state import OperatorState
from anabranch.checkpoints.flink.split import NOTHING, KafkaSplit, offset_of
from anabranch.checkpoints.position import OffsetRole, Position
from anabranch.model.reasons import Reason
from anabranch.model.topics import TopicPartition

ENUMERATOR = "enumerator"


class SourceKind(StrEnum):
    """The sources that are known."""

    KAFKA = "kafka"
    OLD = "kafka (old consumer)"
    DYNAMIC = "dynamic kafka"
    HYBRID = "hybrid"


@dataclass(frozen=True, slots=True)
class StoredSplit:
    """One element: ``subtask`` is the place in the operator's list, ``offset`` where the element is in its stream."""

    subtask: int
    offset: int
    element: Element

    @property
    def key(self) -> tuple[str, TopicPartition]:
        """The partition, with the cluster that a dynamic source stores."""
        return self.element.cluster, self.element.split.partition


@dataclass(frozen=True, slots=True)
class Source:
    """``problems`` are why it cannot be rewritten, whatever the route; ``states`` are by the subtask's place.

    ``stale`` is no problem where the rewrite spec takes such positions as they are.

    Invariant, where there are no problems: every stored partition is one that the enumerator has handed out, none is
    stored twice, and all bytes were understood to the last one.
    """

    operator: Operator
    kind: SourceKind
    state_name: str
    stored: tuple[StoredSplit, ...] = ()
    coordinator: Coordinator | None = None
    enumerator: EnumeratorState | DynamicState | None = None
    states: Mapping[int, OperatorState] = field(default_factory=dict, hash=False)
    problems: tuple[Reason, ...] = ()
    stale: Reason | None = None
    """Why its positions are older than the rest of the savepoint, of which ``flink stop`` made it so."""

    @property
    def id(self) -> str:
        """The operator's id, which names the source."""
        return self.operator.hex

    @property
    def label(self) -> str:
        """What people know it by: its uid, its name, or its id."""
        return label(self.operator)

    @property
    def enumerators(self) -> Mapping[str, EnumeratorState]:
        """What was found by cluster; the cluster of a plain source is ``""``."""
        if isinstance(self.enumerator, DynamicState):
            return self.enumerator.enumerators
        return {} if self.enumerator is None else {"": self.enumerator}

    @property
    def topics(self) -> frozenset[str]:
        """All topics that it has a partition of."""
        found = {one.partition.topic for state in self.enumerators.values() for one in state.assignments}
        return frozenset(found | {one.element.split.partition.topic for one in self.stored})

    def positions(self) -> tuple[Position, ...]:
        """All that a restart may use of it."""
        return tuple(self._positions())

    def _positions(self) -> Iterator[Position]:
        for one in self.stored:
            yield from self.of_split(one.element.split, self.location_of(one))
        read = {one.key for one in self.stored}
        for cluster, state in self.enumerators.items():
            location = self.enumerator_location(cluster)
            for found in state.assignments:
                if found.status != ASSIGNED:
                    if found.split is not None and found.split.start != NOTHING:
                        yield from self.of_split(found.split, location)
                    else:
                        yield Position(self.id, found.partition, None, OffsetRole.UNASSIGNED, location)
                elif (cluster, found.partition) not in read:
                    yield Position(self.id, found.partition, None, OffsetRole.ASSIGNED, location)

    def of_split(self, split: KafkaSplit, location: str) -> Iterator[Position]:
        """Where a split goes on, and where it stops if it does."""
        yield Position(self.id, split.partition, offset_of(split.start), OffsetRole.NEXT, location)
        if split.stop != NOTHING:
            yield Position(self.id, split.partition, offset_of(split.stop), OffsetRole.STOP, location)

    def location_of(self, stored: StoredSplit) -> str:
        """The place of an element, for people."""
        index = (self.operator.subtasks or ())[stored.subtask].index
        cluster = f", cluster {stored.element.cluster}" if stored.element.cluster else ""
        return f"{self.label}, subtask {index}{cluster}"

    def enumerator_location(self, cluster: str) -> str:
        """The place of an enumerator, for people."""
        return f"{self.label}, {ENUMERATOR}{f', cluster {cluster}' if cluster else ''}"


def label(operator: Operator) -> str:
    """What people know an operator by."""
    return operator.uid or operator.name or operator.hex
