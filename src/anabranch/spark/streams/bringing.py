"""Where the checkpoints of a stream are, of all places where it had some, and how they come to where they are to be.

A launcher names where checkpoints go, so a version with another launcher may find its own place empty, or with what an
earlier stay has left there.  The place that a copy is made at says so (``arriving.json``) until all of it is there, and
the place that it was made from says then that it is left (``moved.json``).

Invariants
    B1  of all places where a stream had checkpoints at most one has them: neither left, nor still arriving.
    B2  a copy that was begun and not ended is made again from where it was made from, which is as it was.
    B3  checkpoints that nobody has marked are not overwritten, unless an earlier run had its own there.
    B4  a stream that had checkpoints begins without any only where a person has said at which position.
    B5  the fence is taken at both places before anything is copied: a driver that comes back at either ends.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from anabranch.errors import RefusedError
from anabranch.spark.streams.fence import NewerStartError, StreamFence
from anabranch.storage.errors import StorageError
from anabranch.storage.files import StoredFiles
from anabranch.storage.stream_checkpoints import ARRIVING, FENCE, MOVED, NOTED

_KEPT = frozenset({ARRIVING, MOVED, FENCE})
_MOST = 1 << 16
OpenPlace = Callable[[str], StoredFiles]


@dataclass(eq=False)
class CheckpointsGoneError(RefusedError):
    """A stream has run, and none of the places where it had checkpoints has them."""

    stream: str
    places: str

    _message = "stream {stream} has run, and its checkpoints are gone: there are none at {places}"
    _hint = "bring them back there; or say where it begins without: `anabranch stream start {stream} --from POSITION`"


@dataclass(eq=False)
class PlaceUnreadableError(StorageError):
    """Storage where a stream may have its checkpoints does not answer, so that nobody knows what it goes on with."""

    stream: str = ""

    _hint = (
        "have the driver reach it, or publish a version with the launcher that ran before; or say where it begins "
        "without: `anabranch stream start {stream} --from POSITION`"
    )


@dataclass(eq=False)
class PlaceTakenError(RefusedError):
    """There are checkpoints where a copy is to be made, and nothing says that they may go."""

    place: str
    source: str

    _message = "checkpoints are to come from {source} to {place}, and there are others already"
    _hint = "move those away that are not wanted, then start it again"


@dataclass(slots=True)
class Bringing:
    """What one start does with checkpoints at other places; ``former`` are those of earlier runs, the newest first.

    ``home`` is where they are read before anything is copied: ``files``, where they are to be, unless they are
    elsewhere.
    """

    stream: str
    files: StoredFiles
    fence: int
    home: StoredFiles
    _known: list[StoredFiles] = field(default_factory=list)
    _clears: bool = False

    @classmethod
    def look(
        cls,
        stream: str,
        files: StoredFiles,
        fence: int,
        former: Sequence[str],
        open_place: OpenPlace,
        *,
        has_run: bool,
        begins: bool,
    ) -> Bringing:
        """Find out; ``begins`` where a person has said at which position every query begins (B4).

        Raises CheckpointsGoneError, PlaceUnreadableError, PlaceTakenError.
        """
        made = cls(stream, files, fence, files)
        if all(place == files.place for place in former):  # there is no other place
            if has_run and not begins and not _has_checkpoints(files):
                raise CheckpointsGoneError(stream, files.root)
            return made
        found: StoredFiles | None = None
        for place in dict.fromkeys((*former, files.place)):
            try:
                one = files if place == files.place else open_place(place)
                is_here = _has_checkpoints(one) and not _is_left(one) and _has_arrived(one, open_place)
            except StorageError as error:
                if begins:
                    continue
                told = error.place, error.path, error.doing, error.reason
                raise PlaceUnreadableError(*told, stream=stream) from error
            made._known.append(one)
            if is_here and found is None:
                found = one
        if found is None and has_run and not begins:
            raise CheckpointsGoneError(stream, " and at ".join(dict.fromkeys((*former, files.place))))
        made._clears = found is None
        if found is None or found.place == files.place:
            return made
        is_known = files.place in former or _is_left(files) or files.stat(ARRIVING) is not None
        if not is_known and _has_checkpoints(files):
            raise PlaceTakenError(files.root, found.root)
        if begins:
            made._clears = True
        else:
            made.home = found
        return made

    def bring(self, fence: StreamFence) -> int:
        """Have the checkpoints here, once ``fence`` is taken; returns how many files were copied (B2, B5).

        Raises StorageError, NewerStartError.
        """
        if not self._known:
            return 0
        count = 0
        if self.home.place != self.files.place:
            count = self._copy(fence)
        elif self._clears:
            self._clear()
            self._leave_others()
        for mark in (MOVED, ARRIVING):
            self.files.delete(mark)
        return count

    def _copy(self, fence: StreamFence) -> int:
        source = self.home
        there = StreamFence(source, self.fence)
        there.take()
        self._mark(self.files, ARRIVING, source)
        self._clear()
        wanted = dict(_content(source))
        for path in wanted:
            fence.check_at_times()
            self.files.copy(path, source)
        found = dict(_content(self.files))
        for path, size in wanted.items():
            if found.get(path) != size:
                raise StorageError(self.files.root, path, "copy", f"{found.get(path)} of {size} bytes are there")
        self._leave(source, there)
        return len(wanted)

    def _leave(self, source: StoredFiles, there: StreamFence) -> None:
        """Mark a place that is left; a later start that goes on there meanwhile keeps it."""
        there.check()
        self._mark(source, MOVED, self.files)
        try:
            there.check()
        except NewerStartError:
            source.delete(MOVED)
            raise

    def _clear(self) -> None:
        """Take away what an earlier stay, or a copy that was not ended, has left; marks last."""
        for entry in self.files.list():
            if entry.name not in _KEPT:
                (self.files.delete_tree if entry.is_directory else self.files.delete)(entry.name)
        self.files.delete(MOVED)

    def _leave_others(self) -> None:
        for one in self._known:
            if one.place != self.files.place and _has_checkpoints(one) and not _is_left(one):
                there = StreamFence(one, self.fence)
                there.take()
                self._leave(one, there)

    def _mark(self, at: StoredFiles, mark: str, other: StoredFiles) -> None:
        text = json.dumps({"place": other.place, "start": self.fence})
        at.put(mark, text.encode(), via=f".{mark}")


def _has_checkpoints(files: StoredFiles) -> bool:
    return files.stat(NOTED) is not None


def _is_left(files: StoredFiles) -> bool:
    return files.stat(MOVED) is not None and files.stat(ARRIVING) is None


def _has_arrived(files: StoredFiles, open_place: OpenPlace) -> bool:
    """Whether no copy goes on, or the one that did has ended: where it came from says so, of the same start."""
    arriving = _told(files, ARRIVING)
    if arriving is None:
        return True
    moved = _told(open_place(arriving["place"]), MOVED)
    return bool(moved == {"place": files.place, "start": arriving["start"]})


def _told(files: StoredFiles, mark: str) -> Any:
    return None if files.stat(mark) is None else json.loads(files.read(mark, _MOST))


def _content(files: StoredFiles) -> Sequence[tuple[str, int]]:
    """What a checkpoint is made of; check sums of a local file system are made anew where there are any."""
    found = ((path, entry) for path, entry in files.walk() if path.split("/")[0] not in _KEPT)
    return [(path, entry.size) for path, entry in found if not path.endswith((".crc", ".tmp"))]
