"""Savepoints for tests: those that real Flink wrote, and small ones made by hand; routes that are plain arithmetic."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from anabranch.checkpoints.errors import FileTooLargeError, MissingFileError
from anabranch.checkpoints.flink import FlinkCheckpoint, open_checkpoint
from anabranch.checkpoints.flink.coordinator import Coordinator
from anabranch.checkpoints.flink.elements import STATE, KafkaElement
from anabranch.checkpoints.flink.enumerator import ASSIGNED, Assignment, EnumeratorState
from anabranch.checkpoints.flink.handles import Inline, StreamHandle
from anabranch.checkpoints.flink.metadata import Operator, SavepointMetadata, Subtask, read_metadata
from anabranch.checkpoints.flink.operator_handle import Mode, OperatorHandle, StateEntry
from anabranch.checkpoints.flink.split import KafkaSplit
from anabranch.checkpoints.flink.uid import operator_id
from anabranch.checkpoints.ports import FileEntry
from anabranch.checkpoints.position import OffsetRole, Position, SymbolicOffset
from anabranch.checkpoints.route import TranslatedPosition
from anabranch.model.reasons import Reason, ReasonKind
from anabranch.model.topics import TopicPartition

GOLDEN = Path(__file__).parents[3] / "golden" / "flink"
FIXTURES = sorted(GOLDEN.glob("**/_metadata"))
NAMES = [str(path.parent.relative_to(GOLDEN)) for path in FIXTURES]
PROPERTIES = b"\xac\xed\x00\x05\x70"
HEADER = b"\x00\x00\x00\x06\x00" + b"h" * 40


@dataclass
class MemoryFiles:
    """A tree in memory; ``foreign`` by absolute path. Counts what was read."""

    contents: Mapping[str, bytes]
    foreign: Mapping[str, bytes] = field(default_factory=dict)
    root: str = "memory"
    neighbours: Sequence[FileEntry] = ()
    asked: list[str] = field(default_factory=list)

    def list(self, path: str = "") -> Sequence[FileEntry]:
        """Files at the top only."""
        return [FileEntry(name, len(data), 1000, False) for name, data in sorted(self.contents.items())]

    def beside(self) -> Sequence[FileEntry]:
        """What the test says."""
        return self.neighbours

    def stat(self, path: str) -> FileEntry | None:
        """A file."""
        data = self.contents.get(path)
        return None if data is None else FileEntry(path, len(data), 1000, False)

    def read(self, path: str, limit: int) -> bytes:
        """A file of the tree."""
        return self._read(self.contents, path, limit)

    def read_foreign(self, path: str, limit: int) -> bytes:
        """A file elsewhere."""
        return self._read(self.foreign, path, limit)

    def _read(self, where: Mapping[str, bytes], path: str, limit: int) -> bytes:
        self.asked.append(path)
        if path not in where:
            raise MissingFileError(self.root, path)
        if len(where[path]) > limit:
            raise FileTooLargeError(self.root, path, len(where[path]), limit)
        return where[path]


class GoldenFiles(MemoryFiles):
    """A fixture, as if it lay where Flink wrote it; ``metadata`` takes the place of its own."""

    def __init__(self, path: Path, metadata: bytes | None = None) -> None:
        directory = path.parent
        contents = {one.name: one.read_bytes() for one in directory.iterdir() if one.is_file()}
        if metadata is not None:
            contents["_metadata"] = metadata
        top, expected = fixture(path)
        super().__init__(contents, {}, str(directory))
        self._top, self._written = top, f"file:{expected['written_under']}/"

    def read_foreign(self, path: str, limit: int) -> bytes:
        """A file by the path at which Flink wrote it."""
        if not path.startswith(self._written) or not (self._top / path.removeprefix(self._written)).is_file():
            raise MissingFileError(self.root, path)
        self.asked.append(path)
        return (self._top / path.removeprefix(self._written)).read_bytes()


def fixture(path: Path) -> tuple[Path, dict[str, Any]]:
    """The fixture's directory, and what it must hold."""
    top = path.parent
    while not (top / "expected.json").is_file():
        top = top.parent
    return top, json.loads((top / "expected.json").read_text())


@dataclass
class Arithmetic:
    """A route by rules: ``rename`` of topics, ``by`` is added to every offset, markers become ``marker``.

    ``given`` is for partitions that wait in an enumerator, by their names on the target.
    """

    by: int = 0
    rename: Callable[[str], str] = lambda topic: topic
    marker: int | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    stay: frozenset[str] = frozenset()
    refuse: frozenset[TopicPartition] = frozenset()
    clusters: Mapping[str, str] = field(default_factory=dict)
    given: Mapping[TopicPartition, int] = field(default_factory=dict)
    seen: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))

    def move(self, position: Position) -> TranslatedPosition | Reason | None:
        """The rules, in words."""
        partition = position.partition
        if partition.topic in self.stay:
            return None
        if partition in self.refuse:
            return Reason(ReasonKind.NOT_COPIED, f"{partition} is not copied")
        target = TopicPartition(self.rename(partition.topic), partition.partition)
        self.seen[target.topic].add(target.partition)
        if isinstance(position.offset, SymbolicOffset):
            if self.marker is None:
                return Reason(ReasonKind.MARKER, f"{partition} has a marker")
            return TranslatedPosition(target, self.marker)
        offset = None if position.offset is None else position.offset + self.by
        if position.role is OffsetRole.UNASSIGNED:
            offset = self.given.get(target)
        return TranslatedPosition(target, offset, cluster=self.clusters.get(partition.topic, ""))

    def equal(self, partition: TopicPartition, start: int, end: int) -> Reason | None:
        """Not asked by this format."""
        return None

    def partitions(self, topic: str) -> frozenset[int] | Reason:
        """As many as the test says, or just those that anything was moved to."""
        return frozenset(range(self.counts[topic])) if topic in self.counts else frozenset(self.seen[topic])


def split(topic: str, partition: int, start: int, **stop: int) -> KafkaSplit:
    """One split."""
    return KafkaSplit(TopicPartition(topic, partition), start, **stop)


def reader_state(
    elements: Sequence[bytes], state: str = STATE, header: bytes = HEADER, mode: Mode = Mode.SPLIT
) -> OperatorHandle:
    """Operator state of one subtask, inline."""
    offsets, data = [], header
    for element in elements:
        offsets.append(len(data))
        data += element
    return OperatorHandle((StateEntry(state, mode, tuple(offsets)),), Inline("9f-1", data))


def kafka_operator(uid: str, subtasks: Sequence[Sequence[KafkaSplit]], version: int = 2, **more: Any) -> Operator:
    """A KafkaSource whose enumerator has handed out exactly what its readers have."""
    splits = [one for subtask in subtasks for one in subtask]
    state = more.get("enumerator") or EnumeratorState(
        version,
        tuple(Assignment(one.partition, ASSIGNED, one if version == 3 else None) for one in splits),
        None if version < 2 else True,
    )
    handles = [reader_state([KafkaElement(one).emit() for one in subtask]) for subtask in subtasks]
    return Operator(
        "",
        "",
        operator_id(uid),
        len(subtasks),
        128,
        Inline(operator_id(uid).hex(), Coordinator(state.version, state.emit()).emit()),
        tuple(Subtask(at, managed=handle) for at, handle in enumerate(handles)),
    )


def metadata(*operators: Operator, version: int = 4) -> SavepointMetadata:
    """A whole file."""
    return SavepointMetadata(version, 7, (), operators, PROPERTIES if version >= 4 else b"")


def stopped_properties() -> bytes:
    """Those of a savepoint that `flink stop` took."""
    path = next(path for path, name in zip(FIXTURES, NAMES, strict=True) if name.startswith("2.2.0/canonical"))
    return read_metadata(path.read_bytes(), str(path)).properties


def opened(*operators: Operator, version: int = 4, **files: Any) -> FlinkCheckpoint:
    """A savepoint of these operators."""
    return reopened(metadata(*operators, version=version).emit(), **files)


def reopened(data: bytes, **files: Any) -> FlinkCheckpoint:
    """A savepoint of these bytes."""
    others = files.pop("contents", {})
    checkpoint = open_checkpoint(MemoryFiles({"_metadata": data, **others}, **files))
    assert checkpoint is not None
    return checkpoint


def moved_stream(operator: Operator, delegate: StreamHandle, subtask: int = 0) -> Operator:
    """The operator with one subtask's stream elsewhere."""
    from dataclasses import replace

    subtasks = list(operator.subtasks or ())
    managed = subtasks[subtask].managed
    assert managed is not None
    subtasks[subtask] = replace(subtasks[subtask], managed=replace(managed, delegate=delegate))
    return replace(operator, subtasks=tuple(subtasks))
