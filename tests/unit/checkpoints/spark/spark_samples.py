"""Checkpoints in memory, read from the fixtures that real Spark wrote, and routes to move them by."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from anabranch.checkpoints.errors import FileTooLargeError, MissingFileError
from anabranch.checkpoints.plan import Rewrite
from anabranch.checkpoints.ports import FileEntry
from anabranch.checkpoints.position import OffsetRole, Position
from anabranch.checkpoints.route import TranslatedPosition
from anabranch.checkpoints.spark import SparkCheckpoint, open_checkpoint
from anabranch.checkpoints.spark.local_crc import crc_of, crc_path
from anabranch.model.reasons import Reason, ReasonKind
from anabranch.model.topics import TopicPartition

GOLDEN = Path(__file__).parents[3] / "golden" / "spark"
FIXTURES = sorted(f"{path.parent.parent.name}/{path.parent.name}" for path in GOLDEN.glob("*/*/metadata"))
ID = "9c622e09-a5ca-440c-aa7c-9397f25e9a38"
CONF = (
    '{"batchWatermarkMs":0,"batchTimestampMs":1795224587031,"conf":{"spark.sql.shuffle.partitions":"1",'
    '"spark.sql.streaming.stateStore.providerClass":"a.b.HDFSBackedStateStoreProvider"}}'
)


@dataclass
class MemoryFiles:
    """A directory tree in memory (see ``ports.Files``); ``listed`` and ``opened`` tell what was looked at."""

    content: dict[str, bytes]
    root: str = "memory"
    opened: list[str] = field(default_factory=list)
    sizes: dict[str, int] = field(default_factory=dict)

    def list(self, path: str = "") -> list[FileEntry]:
        prefix = f"{path}/" if path else ""
        found: dict[str, FileEntry] = {}
        for name in (*self.content, *self.sizes):
            if name.startswith(prefix):
                first, slash, _ = name[len(prefix) :].partition("/")
                if not slash:
                    found[first] = self._entry(first, prefix + first)
                else:
                    found.setdefault(first, FileEntry(first, 0, 1, True))
        return sorted(found.values(), key=lambda entry: entry.name)

    def stat(self, path: str) -> FileEntry | None:
        if path in self.content or path in self.sizes:
            return self._entry(path.rpartition("/")[2], path)
        return None

    def read(self, path: str, limit: int) -> bytes:
        self.opened.append(path)
        if path not in self.content:
            raise MissingFileError(self.root, path)
        if len(self.content[path]) > limit:
            raise FileTooLargeError(self.root, path, len(self.content[path]), limit)
        return self.content[path]

    def read_foreign(self, path: str, limit: int) -> bytes:
        raise MissingFileError(path, path)

    def _entry(self, name: str, path: str) -> FileEntry:
        return FileEntry(name, self.sizes.get(path, len(self.content.get(path, b""))), 1_795_224_587_031, False)

    def written(self, rewrite: Rewrite) -> MemoryFiles:
        """The tree after a rewrite was carried out."""
        content = dict(self.content)
        for path, new in rewrite.writes.items():
            if new is None:
                content.pop(path)
            else:
                content[path] = new
        return MemoryFiles(content, self.root)


def fixture(name: str) -> MemoryFiles:
    """One that real Spark wrote."""
    root = GOLDEN / name
    files = (file for file in root.rglob("*") if file.is_file())
    return MemoryFiles({str(file.relative_to(root)): file.read_bytes() for file in files}, name)


def offsets(*lines: str, version: int = 1, head: str = CONF) -> bytes:
    """A file of offsets/."""
    return "\n".join((f"v{version}", head, *lines)).encode()


def tree(
    files: Mapping[int, bytes], committed: int | None, initial: Mapping[str, str] | None = None, *, crc: bool = False
) -> MemoryFiles:
    """A checkpoint made by hand: files of offsets/ by batch, commits up to one, beginnings by directory."""
    content = {"metadata": b'{"id":"%s"}' % ID.encode()}
    content |= {f"offsets/{number}": content for number, content in files.items()}
    if committed is not None:
        content |= {f"commits/{number}": b'v1\n{"nextBatchWatermarkMs":0}' for number in range(committed + 1)}
    content |= {f"sources/{name}/0": b"\0v1\n" + text.encode() for name, text in (initial or {}).items()}
    if crc:
        content |= {crc_path(path): crc_of(data) for path, data in content.items()}
    return MemoryFiles(content)


def opened(files: MemoryFiles) -> SparkCheckpoint:
    """The checkpoint, which must be one of Spark."""
    checkpoint = open_checkpoint(files)
    assert checkpoint is not None
    return checkpoint


@dataclass
class TestRoute:
    """A route by functions; by default each topic becomes ``new.<topic>`` with offsets 100 higher."""

    __test__ = False
    topic: Callable[[str], str] = "new.{}".format
    offset: Callable[[TopicPartition, int], int] = lambda _, offset: offset + 100
    stays: frozenset[str] = frozenset()
    refused: Mapping[TopicPartition, Callable[[int], bool]] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)
    unequal: frozenset[TopicPartition] = frozenset()
    places: Mapping[TopicPartition, int] = field(default_factory=dict)
    clusters: Mapping[str, str] = field(default_factory=dict)
    asked: list[Position] = field(default_factory=list)
    compared: list[tuple[TopicPartition, int, int]] = field(default_factory=list)

    def move(self, position: Position) -> TranslatedPosition | Reason | None:
        self.asked.append(position)
        at = position.partition
        if at.topic in self.stays:
            return None
        new = TopicPartition(self.topic(at.topic), at.partition)
        if position.role is OffsetRole.ASSIGNED and at in self.places:
            return TranslatedPosition(new, self.places[at])
        if not isinstance(position.offset, int):
            return Reason(ReasonKind.MARKER, f"{at} has a marker", "", position.location)
        if at in self.refused and self.refused[at](position.offset):
            return Reason(ReasonKind.EXPIRED, f"{at} {position.offset} is gone", "", position.location)
        cluster = self.clusters.get(at.topic, "")
        return TranslatedPosition(new, self.offset(at, position.offset), 3, 0, "too early", "", cluster)

    def equal(self, partition: TopicPartition, start: int, end: int) -> Reason | None:
        self.compared.append((partition, start, end))
        return Reason(ReasonKind.NOT_EQUAL, f"{partition} differs") if partition in self.unequal else None

    def partitions(self, topic: str) -> frozenset[int] | Reason:
        if topic in self.counts:
            return frozenset(range(self.counts[topic]))
        known = {p.partition.partition for p in self.asked if self.topic(p.partition.topic) == topic}
        return frozenset(known)


def identity() -> TestRoute:
    """A route on which nothing changes."""
    return TestRoute(topic=lambda name: name, offset=lambda _, offset: offset)


def inverse() -> TestRoute:
    """The way back of the default route."""
    return TestRoute(topic=lambda name: name.removeprefix("new."), offset=lambda _, offset: offset - 100)


def reasons(rewrite: Rewrite) -> set[ReasonKind]:
    """The kinds of refusals; with one nothing is written."""
    if rewrite.refusals:
        assert not rewrite.writes
    return {refusal.why for refusal in rewrite.refusals}


def lines(files: MemoryFiles, batch: int) -> list[str]:
    """The sources' lines of one file of offsets/."""
    return files.content[f"offsets/{batch}"].decode().split("\n")[2:]
