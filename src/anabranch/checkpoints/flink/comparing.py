"""A result against a rewrite that is made again: all that is beside the positions must be the same, byte for byte.

Where the positions lead moves on with the logs, and each is proved on its own. So the new rewrite takes the offsets
that the result has; whatever differs then was changed by somebody else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from anabranch.checkpoints.flink.handles import RelativeFile
from anabranch.checkpoints.flink.metadata import Operator, SavepointMetadata, Subtask
from anabranch.checkpoints.flink.source import Source, label
from anabranch.checkpoints.flink.split import NOTHING
from anabranch.checkpoints.ports import Files
from anabranch.checkpoints.position import OffsetRole, Position
from anabranch.checkpoints.route import PositionRoute, TranslatedPosition
from anabranch.model.reasons import Reason, ReasonKind
from anabranch.model.topics import TopicPartition

_SHOWN = 8


@dataclass(slots=True)
class AsFound:
    """A route that leads where another one does, to the offsets that a result has there.

    ``old`` are the original's sources, ``new`` the result's.
    """

    route: PositionRoute
    old: Mapping[str, Source]
    new: Mapping[str, Source]
    _led: dict[tuple[str, TopicPartition], TopicPartition] = field(default_factory=dict)

    def move(self, position: Position) -> TranslatedPosition | Reason | None:
        """See ``route.PositionRoute``."""
        answer = self.route.move(position)
        if self._is_idle(position):
            return self._idle(position, answer)
        if not isinstance(answer, TranslatedPosition):
            return answer
        self._led[position.source, position.partition] = answer.partition
        role = OffsetRole.NEXT if position.role is OffsetRole.UNASSIGNED else position.role
        source = self.new.get(position.source)
        found = next(
            (
                one.offset
                for one in (source.positions() if source is not None else ())
                if one.partition == answer.partition and one.role is role and isinstance(one.offset, int)
            ),
            None,
        )
        if answer.offset is None or not isinstance(found, int):
            return answer
        return replace(answer, offset=found)

    def equal(self, partition: TopicPartition, start: int, end: int) -> Reason | None:
        """See ``route.PositionRoute``."""
        return self.route.equal(partition, start, end)

    def partitions(self, topic: str) -> frozenset[int] | Reason:
        """See ``route.PositionRoute``."""
        return self.route.partitions(topic)

    def _is_idle(self, position: Position) -> bool:
        """Whether it is an offset in an enumerator, which no restart uses once its partition was handed out."""
        source = self.old.get(position.source)
        if source is None or position.role not in (OffsetRole.INITIAL, OffsetRole.STOP):
            return False
        return position.location in {source.enumerator_location(cluster) for cluster in source.enumerators}

    def _idle(
        self, position: Position, answer: TranslatedPosition | Reason | None
    ) -> TranslatedPosition | Reason | None:
        """The result's offset, unless the route leads to an earlier one now: where it leads only ever rises."""
        found = self._in_enumerator(position)
        if found is None:
            return Reason(ReasonKind.UNKNOWN, "not in the result")
        now = answer.offset if isinstance(answer, TranslatedPosition) else None
        return answer if now is not None and found > now else TranslatedPosition(position.partition, found)

    def _in_enumerator(self, position: Position) -> int | None:
        source = self.new.get(position.source)
        target = self._led.get((position.source, position.partition), position.partition)
        for state in source.enumerators.values() if source is not None else ():
            for one in state.assignments:
                if one.partition == target and one.split is not None:
                    stored = one.split.start if position.role is OffsetRole.INITIAL else one.split.stop
                    return stored if stored >= 0 and stored != NOTHING else None
        return None


def differences(expected: SavepointMetadata, found: SavepointMetadata) -> tuple[str, ...]:
    """What of a result is not as a new rewrite has it, part by part."""
    lines: list[str] = []
    if found.version != expected.version:
        lines.append(f"its format version is {found.version}, and was {expected.version}")
    if found.checkpoint_id != expected.checkpoint_id:
        lines.append(f"its checkpoint id is {found.checkpoint_id}, and was {expected.checkpoint_id}")
    if found.masters != expected.masters:
        lines.append("the state of the job manager's hooks is not as it was")
    if found.properties != expected.properties:
        lines.append("the checkpoint's properties are not as they were")
    mine, theirs = ({one.id: one for one in side.operators} for side in (found, expected))
    lines += [f"operator {label(one)} is not of it" for id_, one in mine.items() if id_ not in theirs]
    lines += [f"operator {label(one)} is missing" for id_, one in theirs.items() if id_ not in mine]
    for id_, one in mine.items():
        if id_ in theirs:
            lines += (f"operator {label(one)}: {what}" for what in _operator(theirs[id_], one))
    if not lines and found.emit() != expected.emit():
        lines.append("its operators are in another order")
    if len(lines) > _SHOWN:
        lines[_SHOWN:] = [f"and {len(lines) - _SHOWN:,} more"]
    return tuple(lines)


def absent_files(metadata: SavepointMetadata, files: Files) -> tuple[str, ...]:
    """Files beside a ``_metadata`` that it names and that are not there, or are of another size."""
    lines = []
    for handle in dict.fromkeys(relatives(metadata)):
        entry = files.stat(handle.path)
        if entry is None:
            lines.append(f"{handle.path}, a file of its state, is not there")
        elif entry.size != handle.size:
            lines.append(f"{handle.path}, a file of its state, has {entry.size:,} bytes, {handle.size:,} are told")
    return tuple(lines)


def has_relatives(metadata: SavepointMetadata) -> bool:
    """Whether it names a file beside itself."""
    return next(relatives(metadata), None) is not None


def _operator(old: Operator, new: Operator) -> Iterator[str]:
    if (new.name, new.uid) != (old.name, old.uid):
        yield "its name or uid is not as it was"
    if (new.parallelism, new.max_parallelism) != (old.parallelism, old.max_parallelism):
        yield "its parallelism is not as it was"
    if new.coordinator != old.coordinator:
        yield "its coordinator's state is not as it must be"
    if new.subtasks is None or old.subtasks is None or len(new.subtasks) != len(old.subtasks):
        if new.subtasks != old.subtasks:
            yield "it has not as many subtasks as it had"
        return
    for one, was in zip(new.subtasks, old.subtasks, strict=True):
        for what in _subtask(was, one):
            yield f"{what} of subtask {one.index} is not as it must be"


def _subtask(old: Subtask, new: Subtask) -> Iterator[str]:
    if (new.index, new.finished) != (old.index, old.finished):
        yield "the number or the end"
    if new.managed != old.managed:
        yield "the operator state"
    if new.raw != old.raw:
        yield "the raw operator state"
    if [span.data for span in new.keyed] != [span.data for span in old.keyed]:
        yield "the keyed state"
    if [span.data for span in new.channels] != [span.data for span in old.channels]:
        yield "the in-flight records"


def relatives(metadata: SavepointMetadata) -> Iterator[RelativeFile]:
    """Every file beside a ``_metadata`` that it names, as often as it does."""
    for operator in metadata.operators:
        for subtask in operator.subtasks or ():
            for span in (*subtask.keyed, *subtask.channels):
                yield from (handle for _, _, handle in span.relatives)
            for state in (subtask.managed, subtask.raw):
                if state is not None and isinstance(state.delegate, RelativeFile):
                    yield state.delegate
