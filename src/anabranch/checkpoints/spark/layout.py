"""Which files a checkpoint of Structured Streaming has, by listing alone.

    metadata                 the query's id
    offsets/N  commits/N     the log before a batch, the mark after it
    sources/<i or name>/0    where a source began
    state/<op>/<partition>/  state, which is never read here

Names that are no number are no batches: Hadoop's ``.N.crc``, and ``.N.<uuid>.tmp`` of a torn write. Logs may have
gaps, with asynchronous progress. Source: ``HDFSMetadataLog.scala`` of sql/core.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from anabranch.checkpoints.ports import FileEntry, Files
from anabranch.checkpoints.spark.errors import DStreamsCheckpointError, PipelineFlowError

OFFSETS, COMMITS, SOURCES, STATE, METADATA = "offsets", "commits", "sources", "state", "metadata"
_NUMBER = re.compile(r"0|[1-9][0-9]{0,18}")
_LAST_BATCH = (1 << 63) - 1
_DSTREAMS = re.compile(r"checkpoint-[0-9]+(\.bk)?")


@dataclass(frozen=True, slots=True)
class Layout:
    """What there is; batches by ascending number."""

    offsets: tuple[int, ...]
    commits: tuple[int, ...]
    has_metadata: bool
    source_directories: frozenset[str]
    checksums: frozenset[str] = field(repr=False)
    """Paths of the checksum files in offsets/, commits/ and the root."""
    newest_ms: int

    @property
    def last(self) -> int | None:
        """L: the newest batch that was begun."""
        return self.offsets[-1] if self.offsets else None

    @property
    def previous(self) -> int | None:
        """The batch before L that there is a file of; L-1 but for asynchronous progress."""
        return self.offsets[-2] if len(self.offsets) > 1 else None

    @property
    def committed(self) -> int | None:
        """C: the newest batch that was finished."""
        return self.commits[-1] if self.commits else None

    @property
    def without_begun(self) -> Layout:
        """Without batches that have begun and were not committed."""
        committed = -1 if self.committed is None else self.committed
        return replace(self, offsets=tuple(number for number in self.offsets if number <= committed))

    @property
    def has_gaps(self) -> bool:
        """Whether batches are missing between others: asynchronous progress writes not every one."""
        return any(late - early > 1 for log in (self.offsets, self.commits) for early, late in pairwise(log))


def read_layout(files: Files) -> Layout | None:
    """List a directory; None where it is no checkpoint of Spark.

    Raises DStreamsCheckpointError, and PipelineFlowError for the directory above a pipeline's checkpoints.
    """
    root = files.list()
    directories = {entry.name for entry in root if entry.is_directory}
    plain = [entry for entry in root if not entry.is_directory]
    if directories.isdisjoint({OFFSETS, COMMITS}):
        _refuse_others(files, plain, directories)
        return None
    offsets, commits = files.list(OFFSETS), files.list(COMMITS)
    sources = [entry.name for entry in files.list(SOURCES) if entry.is_directory] if SOURCES in directories else []
    written = [*offsets, *commits, *(entry for entry in plain if entry.name == METADATA)]
    checksums = {
        f"{directory}{entry.name}"
        for directory, entries in (("", plain), (f"{OFFSETS}/", offsets), (f"{COMMITS}/", commits))
        for entry in entries
        if entry.name.endswith(".crc")
    }
    return Layout(
        _batches(offsets),
        _batches(commits),
        any(entry.name == METADATA for entry in plain),
        frozenset(sources),
        frozenset(checksums),
        max((entry.modified_ms for entry in written), default=0),
    )


def _refuse_others(files: Files, plain: Sequence[FileEntry], directories: set[str]) -> None:
    """Raise for what people take for a checkpoint of Structured Streaming."""
    for entry in plain:
        if _DSTREAMS.fullmatch(entry.name):
            raise DStreamsCheckpointError(files.root, entry.name)
    numbered = [int(name) for name in directories if _NUMBER.fullmatch(name)]
    if numbered and any(entry.name == OFFSETS for entry in files.list(str(max(numbered)))):
        raise PipelineFlowError(files.root, max(numbered))


def _batches(entries: Sequence[FileEntry]) -> tuple[int, ...]:
    numbers = (int(entry.name) for entry in entries if not entry.is_directory and _NUMBER.fullmatch(entry.name))
    return tuple(sorted(number for number in numbers if number <= _LAST_BATCH))
