"""Checkpoints of a stream's queries that were saved under a name: copies that nothing changes any more.

``saved@/NAME`` below the checkpoints has a directory for each query, and ``saved.json`` with what ran with them.

Invariants
    D1  a saved one is there whole or not at all: it is written under another name, and renamed once it is on the disk.
    D2  a query that begins from one has a copy of it with another id of Spark's, so that no sink takes the batches that
        it writes for those that were written after the one was saved.
    D3  a copy to begin from becomes a query's own checkpoint in one piece.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from anabranch.checkpoints.errors import MissingFileError
from anabranch.errors import RefusedError
from anabranch.storage import paths
from anabranch.storage.files import StoredFiles
from anabranch.storage.local import LocalFiles
from anabranch.storage.stream_checkpoints import batches, directory_of, noted_as, numbered, own, reached
from anabranch.streams.state.results import NoPositionError

SAVED = "saved@"
"""No query's directory: an ``@`` in a query's name is written otherwise, and after one of ours a number follows."""
_TOLD = "saved.json"
_BEGUN = "begun.json"
_METADATA = "metadata"
_MOST = 64 << 20


@dataclass(eq=False)
class SavedExistsError(RefusedError):
    """A stream has a saved checkpoint of that name."""

    stream: str
    name: str

    _message = "stream {stream!r} has a saved checkpoint {name!r} already"
    _hint = "choose another name; or take it away: `anabranch stream checkpoint {stream} --delete {name}`"


@dataclass(eq=False)
class NoSavedError(RefusedError):
    """A stream has no saved checkpoint of that name."""

    stream: str
    name: str

    _message = "stream {stream!r} has no saved checkpoint {name!r}"
    _hint = "list them: `anabranch stream checkpoint {stream}`"


@dataclass(eq=False)
class SavedNotThereError(RefusedError):
    """A start goes back to a saved checkpoint in a directory, and has the stream's checkpoints in other storage."""

    stream: str
    name: str
    place: str

    _message = "saved checkpoint {name!r} of stream {stream!r} is not there: a start has its checkpoints at {place}"
    _hint = (
        "publish a version whose launcher has its checkpoints in a directory, as when that was saved, and start it: "
        "they come along; or begin at a position: `anabranch stream start {stream} --from POSITION`"
    )


@dataclass(eq=False)
class NothingToSaveError(RefusedError):
    """No query of a stream has a checkpoint."""

    stream: str

    _message = "stream {stream!r} has no checkpoint to save: none of its queries has done a micro-batch"
    _hint = "start it: `anabranch stream start {stream}`"


@dataclass(eq=False)
class NoQuerySavedError(RefusedError):
    """A saved checkpoint has none of a query."""

    name: str
    query: str

    _message = "the saved checkpoint {name!r} has none of query {query}"
    _hint = "publish the version that it was saved of, or begin at a position: --from POSITION"


@dataclass(frozen=True, slots=True)
class SavedQuery:
    """A query of a saved checkpoint: its last micro-batch, and the offsets of Kafka that it has reached.

    ``offsets`` is None for a source that is not Kafka.
    """

    query: str
    batch: int
    offsets: Mapping[str, Mapping[str, int]] | None = field(hash=False)


@dataclass(frozen=True, slots=True)
class SavedCheckpoint:
    """What was saved under a name: when, by whom, the version and the script that ran, and its queries."""

    name: str
    at_ms: int
    author: str
    version: int
    script: str
    queries: tuple[SavedQuery, ...]


def queries_of(files: StoredFiles, stream: str) -> tuple[SavedQuery, ...]:
    """The queries that have done a micro-batch, as they stand.

    Raises OpenBatchError where one has begun a batch and not ended it.
    """
    found = []
    for query in sorted(set(_names(files))):
        directory, _ = own(files, query)
        committed = batches(files, directory, "commits")
        try:
            offsets: Mapping[str, Mapping[str, int]] | None = reached(files, directory, stream, query)
        except NoPositionError:
            offsets = None
        if committed:
            found.append(SavedQuery(query, committed[-1], offsets))
    return tuple(found)


def save(files: LocalFiles, stream: str, told: SavedCheckpoint, check: Callable[[], None]) -> None:
    """Copy each query's own checkpoint (D1); raises SavedExistsError, StorageError, InUseError.

    ``check`` raises where what was copied may have changed meanwhile.

    What an earlier call has left that was killed is taken away.
    """
    with files.alone():
        if files.stat(f"{SAVED}/{told.name}") is not None:
            raise SavedExistsError(stream, told.name)
        for entry in files.list(SAVED):
            if entry.name.startswith("."):
                files.delete_tree(f"{SAVED}/{entry.name}")
        begun = files.below(f"{SAVED}/.{told.name}")
        for one in told.queries:
            _copy_tree(files, own(files, one.query)[0], begun, directory_of(one.query))
        begun.put(_TOLD, json.dumps(asdict(told)).encode(), via=f".{_TOLD}")
        check()
        begun.become(files.below(f"{SAVED}/{told.name}"))


def saved(files: StoredFiles) -> Sequence[SavedCheckpoint]:
    """Those of a stream, the newest first."""
    names = [entry.name for entry in files.list(SAVED) if not entry.name.startswith(".")]
    return sorted((_read(files, name) for name in names), key=lambda one: one.at_ms, reverse=True)


def saved_as(files: StoredFiles, stream: str, name: str) -> SavedCheckpoint:
    """The one of a name; raises NoSavedError."""
    try:
        return _read(files, name)
    except MissingFileError:
        raise NoSavedError(stream, name) from None


def delete(files: LocalFiles, stream: str, name: str) -> None:
    """Take one away, at once for who looks; raises NoSavedError, InUseError, StorageError."""
    with files.alone():
        saved_as(files, stream, name)
        gone = f"{SAVED}/.{name}"
        files.delete_tree(gone)
        place = files.below(f"{SAVED}/{name}")
        place.become(files.below(f"{gone}"))
        files.delete_tree(gone)


def check_goes_back(stream: str, name: str, place: str) -> None:
    """Raise SavedNotThereError where a start has its checkpoints in a place that no saved one is gone back to in."""
    if paths.split(place)[0] != paths.LOCAL:
        raise SavedNotThereError(stream, name, place)


def stage(files: StoredFiles, stream: str, name: str, query: str, directory: str) -> str:
    """Copy a saved checkpoint of a query (D2); returns where it is until ``take`` makes it the query's own.

    Raises SavedNotThereError, NoSavedError, NoQuerySavedError, StorageError.
    """
    if not isinstance(files, LocalFiles):
        raise SavedNotThereError(stream, name, files.root)
    saved_as(files, stream, name)
    source = f"{SAVED}/{name}/{directory_of(query)}"
    last = max(batches(files, source, "commits"), default=None)
    if last is None:
        raise NoQuerySavedError(name, query)
    staged = f".{directory}"
    begun = files.below(f"{staged}")
    files.delete_tree(staged)  # what was left by one that was killed
    _copy_tree(files, source, begun, "")
    begun.put(_METADATA, json.dumps({"id": str(uuid.uuid4())}).encode(), via=f".{_METADATA}")
    begun.delete(f".{_METADATA}.crc")  # Hadoop's sum of the other id
    begun.put(_BEGUN, json.dumps({"saved": name, "batch": last + 1}).encode(), via=f".{_BEGUN}")
    return staged


def take(files: StoredFiles, directory: str) -> None:
    """Make what was staged a query's own checkpoint (D3); raises StorageError."""
    assert isinstance(files, LocalFiles)
    staged = files.below(f".{directory}")
    staged.become(files.below(f"{directory}"))


def first_batch_of(files: StoredFiles, directory: str) -> int | None:
    """The first micro-batch that a checkpoint writes which began from a saved one; None for one that did not."""
    try:
        return int(json.loads(files.read(f"{directory}/{_BEGUN}", _MOST))["batch"])
    except MissingFileError:
        return None


def goes_back(now: SavedQuery, then: SavedQuery) -> int | None:
    """By how many records a query goes back; None where that is not known."""
    if now.offsets is None or then.offsets is None:
        return None
    return sum(
        max(0, at - then.offsets.get(topic, {}).get(partition, 0))
        for topic, partitions in now.offsets.items()
        for partition, at in partitions.items()
    )


def _names(files: StoredFiles) -> Sequence[str]:
    """The queries that have a directory with batches."""
    found = []
    for entry in files.list():
        first, _ = numbered(entry.name)
        if entry.is_directory and not first.startswith(".") and files.list(f"{entry.name}/commits"):
            found.append(noted_as(first))
    return found


def _copy_tree(files: StoredFiles, source: str, target: LocalFiles, into: str) -> None:
    """Each file whole, on the disk, but those that a checkpoint that began from a saved one has of its own."""
    for path, entry in files.walk(source):
        inside = path.removeprefix(f"{source}/")
        if inside == _BEGUN or entry.is_directory:
            continue
        data = files.read(path, max(_MOST, entry.size))
        target.put(f"{into}/{inside}" if into else inside, data)


def _read(files: StoredFiles, name: str) -> SavedCheckpoint:
    told: Any = json.loads(files.read(f"{SAVED}/{name}/{_TOLD}", _MOST))
    return SavedCheckpoint(**{**told, "queries": tuple(SavedQuery(**one) for one in told["queries"])})
