"""All of a checkpoint that a restart depends on, read once: a few small files, whatever the size of the state."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from anabranch.checkpoints.errors import DamagedCheckpointError, UnknownVersionError
from anabranch.checkpoints.ports import Files
from anabranch.checkpoints.spark.commits_log import CommitsFile, parse_commits
from anabranch.checkpoints.spark.errors import MalformedError, UnknownError
from anabranch.checkpoints.spark.initial import InitialFile, parse_if_kafka, parse_initial
from anabranch.checkpoints.spark.layout import COMMITS, METADATA, OFFSETS, SOURCES, Layout
from anabranch.checkpoints.spark.local_crc import crc_path, fits
from anabranch.checkpoints.spark.offsets_log import OffsetsFile, parse_offsets
from anabranch.checkpoints.spark.strict_json import parse

MAX_LOG_BYTES = 16 * 1024 * 1024
"""A million partitions take about this much in one file."""
_MAX_METADATA_BYTES = 64 * 1024
_QUERY_ID = re.compile(r"[0-9a-fA-F-]{1,64}")

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class LoggedBatch:
    """One file of offsets/."""

    number: int
    file: OffsetsFile

    @property
    def path(self) -> str:
        """Its path in the checkpoint."""
        return f"{OFFSETS}/{self.number}"


@dataclass(frozen=True, slots=True)
class Contents:
    """What was read. ``initials`` are the files of Kafka sources by directory, ``directories`` those by source.

    ``checksummed`` are files that have a checksum beside them, ``stale`` those whose checksum is of other bytes: they
    were changed by hand, or a rewrite broke off. ``reads`` are the SHA-256 of all files read.
    """

    root: str
    layout: Layout
    query_id: str | None
    last: LoggedBatch | None
    previous: LoggedBatch | None
    commit: CommitsFile | None
    initials: Mapping[str, InitialFile] = field(hash=False)
    directories: Mapping[str, str] = field(hash=False)
    checksummed: frozenset[str]
    stale: tuple[str, ...]
    reads: Mapping[str, str] = field(hash=False)

    @property
    def number(self) -> int:
        """The newest batch, -1 where none has begun."""
        newest = self.layout.last if self.layout.last is not None else self.layout.committed
        return -1 if newest is None else newest

    @property
    def uncommitted(self) -> int | None:
        """The batch that has begun and was not committed; it is run again, exactly, at the next start."""
        last, committed = self.layout.last, self.layout.committed
        return None if last is None or (committed is not None and committed >= last) else last


def initial_path(directory: str) -> str:
    """Where a source's beginning is kept."""
    return f"{SOURCES}/{directory}/0"


class LogReader:
    """Reads and parses files of one checkpoint, and keeps their digests."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self.digests: dict[str, str] = {}
        self.checksummed: set[str] = set()
        self.stale: list[str] = []

    def parse(self, path: str, limit: int, parser: Callable[[bytes], T]) -> T:
        """Read one file. Raises DamagedCheckpointError, UnknownVersionError, MissingFileError, FileTooLargeError."""
        content = self._files.read(path, limit)
        self.digests[path] = hashlib.sha256(content).hexdigest()
        try:
            return parser(content)
        except MalformedError as error:
            raise DamagedCheckpointError(self._files.root, path, error.at, error.what) from error
        except UnknownError as error:
            raise UnknownVersionError(self._files.root, path, error.what, error.known) from error

    def check(self, path: str, content: bytes) -> None:
        """Compare a file with the checksum beside it."""
        checksum = crc_path(path)
        read = self._files.read(checksum, MAX_LOG_BYTES)
        self.digests[checksum] = hashlib.sha256(read).hexdigest()
        self.checksummed.add(path)
        if not fits(content, read):
            self.stale.append(path)


def read_contents(files: Files, layout: Layout) -> Contents:
    """Read what a restart reads; raises DamagedCheckpointError, UnknownVersionError and what ``Files.read`` raises."""
    reader = LogReader(files)
    query_id = reader.parse(METADATA, _MAX_METADATA_BYTES, _parse_query_id) if layout.has_metadata else None
    last, previous = _batch(reader, layout.last), _batch(reader, layout.previous)
    commit = None
    if layout.committed is not None:
        commit = reader.parse(f"{COMMITS}/{layout.committed}", MAX_LOG_BYTES, parse_commits)
    for batch in (previous, last):
        if batch is not None and crc_path(batch.path) in layout.checksums:
            reader.check(batch.path, batch.file.emit())
    directories = _directories(files, reader, last, previous, layout.source_directories)
    initials = _initials(files, reader, last, previous, directories)
    return Contents(
        files.root,
        layout,
        query_id,
        last,
        previous,
        commit,
        initials,
        directories,
        frozenset(reader.checksummed),
        tuple(reader.stale),
        reader.digests,
    )


def _batch(reader: LogReader, number: int | None) -> LoggedBatch | None:
    if number is None:
        return None
    return LoggedBatch(number, reader.parse(f"{OFFSETS}/{number}", MAX_LOG_BYTES, parse_offsets))


def _initials(
    files: Files,
    reader: LogReader,
    last: LoggedBatch | None,
    previous: LoggedBatch | None,
    directories: Mapping[str, str],
) -> dict[str, InitialFile]:
    """Where Kafka sources began, by directory; one without any offset yet is Kafka's if the file begins as Kafka's."""
    found = {}
    kafka, void = _kafka_sources(last, previous), _void_sources(last)
    for directory in sorted({directories[source] for source in (kafka | void) & directories.keys()}):
        path = initial_path(directory)
        names = {entry.name for entry in files.list(f"{SOURCES}/{directory}")}
        if "0" not in names:
            continue
        sure = any(directories.get(source) == directory for source in kafka)
        initial = reader.parse(path, MAX_LOG_BYTES, parse_initial if sure else parse_if_kafka)
        if initial is not None:
            found[directory] = initial
            if ".0.crc" in names:
                reader.check(path, initial.emit())
    return found


def _void_sources(last: LoggedBatch | None) -> set[str]:
    return set() if last is None else {source.source for source in last.file.sources if source.is_void}


def _kafka_sources(*batches: LoggedBatch | None) -> set[str]:
    """Sources that have an offset of Kafka in one of the batches."""
    return {
        source.source
        for batch in batches
        if batch is not None
        for source in batch.file.sources
        if source.kafka is not None
    }


def _directories(
    files: Files, reader: LogReader, last: LoggedBatch | None, previous: LoggedBatch | None, there: frozenset[str]
) -> dict[str, str]:
    """Which directory of sources/ is whose. A source that a plan has twice has two lines and one directory."""
    if last is None:
        return {}
    sources = last.file.sources
    own = {source.source: source.source for source in sources if source.source in there}
    kafka = [source.source for source in sources if source.kafka is not None]
    if last.file.version >= 2 or all(source in own and _may_be_kafkas(files, reader, source) for source in kafka):
        return own
    before = previous.file.by_id if previous is not None and len(previous.file.sources) == len(sources) else {}
    known: dict[tuple[str, str], str] = {}
    found = {}
    for source in sources:
        text = before[source.source].text if source.source in before else ""
        directory = known.setdefault((source.text, text), str(len(known)))
        if directory in there:
            found[source.source] = directory
    return found


def _may_be_kafkas(files: Files, reader: LogReader, directory: str) -> bool:
    path = initial_path(directory)
    if files.stat(path) is None:
        return False
    return reader.parse(path, MAX_LOG_BYTES, lambda content: content[:1] in (b"\0", b"{"))


def _parse_query_id(content: bytes) -> str:
    """The id in ``metadata``; raises MalformedError."""
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise MalformedError(f"byte {error.start}", "is not UTF-8") from None
    tree = parse(text, "line 1")
    query_id = tree.get("id") if isinstance(tree, dict) else None
    if not isinstance(query_id, str) or not _QUERY_ID.fullmatch(query_id):
        raise MalformedError("line 1", "has no id of a query")
    return query_id
