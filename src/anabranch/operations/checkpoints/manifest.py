"""The backup of a rewrite in place: the old bytes and a manifest, below the checkpoint's own directory.

    .anabranch/ID/old/PATH         each file as it was
    .anabranch/ID/manifest.json    what was rewritten; its state goes begun -> done -> undone, or begun -> undone

A rewrite to a new place leaves a manifest there without old bytes, of state copied.

A manifest is there before the first file changes and after every old byte is: so ``begun`` can always be undone, and
a backup without a manifest is of a rewrite that had changed nothing.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from anabranch.checkpoints.ports import FileEntry, Files
from anabranch.operations.checkpoints.errors import DamagedBackupError
from anabranch.storage.files import StoredFiles

HIDDEN = ".anabranch"
COPYING = f"{HIDDEN}/copying.json"
"""Is in a store's place while a copy is made there."""
_MANIFEST = "manifest.json"
_NEXT = "manifest.next"
"""What it is written to first: where a rename replaces no file there is only this one for a moment, and it is whole."""
_LIMIT = 16 << 20

Listing = Mapping[str, tuple[int, int]]
"""(size, time of the last write in ms) by path."""


class RewriteState(StrEnum):
    """How far a rewrite in place has come; ``copied`` is one to a new place."""

    BEGUN = "begun"
    DONE = "done"
    UNDONE = "undone"
    COPIED = "copied"


@dataclass(frozen=True, slots=True)
class SavedFile:
    """One file: SHA-256 of the old bytes and of the new ones, None where there is none, and the old one's time."""

    path: str
    old: str | None
    new: str | None
    modified_ms: int | None


@dataclass(frozen=True, slots=True)
class Manifest:
    """One rewrite in place. ``watched`` are the other files that were there, ``made`` the directories that were not.

    ``digests`` are the SHA-256 of those of them that the plan has read; an engine never writes the others again.
    ``moved`` are the sources that it moved, each with the target topics that it reads since. ``of`` is the place that a
    copy was made from.
    """

    id: str
    state: RewriteState
    plan: str
    route: str
    at_ms: int
    files: tuple[SavedFile, ...]
    watched: Listing
    made: tuple[str, ...]
    moved: frozenset[tuple[str, str]] = frozenset()
    digests: Mapping[str, str] = field(default_factory=dict)
    of: str = ""

    @property
    def directory(self) -> str:
        """Where the backup is."""
        return f"{HIDDEN}/{self.id}"

    def old(self, path: str) -> str:
        """Where a file's old bytes are."""
        return f"{self.directory}/old/{path}"

    def store(self, files: StoredFiles) -> None:
        """Write it whole; when this returns a crash cannot lose it."""
        value = {
            "version": 1,
            "id": self.id,
            "state": self.state.value,
            "plan": self.plan,
            "route": self.route,
            "at_ms": self.at_ms,
            "files": [
                {"path": one.path, "old": one.old, "new": one.new, "modified_ms": one.modified_ms} for one in self.files
            ],
            "watched": {path: list(seen) for path, seen in self.watched.items()},
            "made": list(self.made),
            "moved": sorted(map(list, self.moved)),
            "digests": dict(self.digests),
            "of": self.of,
        }
        data = (json.dumps(value, indent=1) + "\n").encode("utf-8")
        files.put(f"{self.directory}/{_MANIFEST}", data, via=f"{self.directory}/{_NEXT}")


def new_id(at_ms: int) -> str:
    """A backup's id: its time, and four hexadecimal digits that tell those of one second apart."""
    return f"{datetime.fromtimestamp(at_ms / 1000, UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"


def fresh_id(files: Files, at_ms: int) -> str:
    """An id that no backup here has: of two in one second the later must not write over the earlier."""
    taken = {entry.name for entry in _directories(files)}
    while (id_ := new_id(at_ms)) in taken:
        pass
    return id_


def manifests(files: Files) -> list[Manifest]:
    """Every backup that is there, the oldest first; raises DamagedBackupError."""
    found = []
    for entry in _directories(files):
        name = _name(files, entry)
        if name is not None:
            found.append(_parse(files.root, name, entry.name, files.read(name, _LIMIT)))
    return sorted(found, key=lambda one: (one.at_ms, one.id))


def unfinished(files: Files) -> Manifest | None:
    """The rewrite that has begun here and not ended; raises DamagedBackupError."""
    return next((one for one in manifests(files) if one.state is RewriteState.BEGUN), None)


def litter(files: Files) -> list[str]:
    """Backups whose rewrite ended before it had changed anything."""
    return [f"{HIDDEN}/{entry.name}" for entry in _directories(files) if _name(files, entry) is None]


def listing(files: Files, paths: Sequence[str]) -> dict[str, tuple[int, int]]:
    """The plain files of the directories that some paths are in, of the root, and of an engine's logs."""
    directories = {path.rpartition("/")[0] for path in paths if not path.startswith("/")} | {"", "offsets", "commits"}
    found = {}
    for directory in sorted(one for one in directories if ":" not in one):
        for entry in files.list(directory):
            if not entry.is_directory:
                path = f"{directory}/{entry.name}" if directory else entry.name
                found[path] = (entry.size, entry.modified_ms)
    return found


def written_since(files: StoredFiles, manifest: Manifest) -> list[str]:
    """What an engine has written or taken away since a rewrite, by path.

    A copy of the whole tree has other times: a file of the same size counts as the same where its bytes are, or where
    no restart reads it.
    """
    mine = {one.path for one in manifest.files}
    now = listing(files, [*mine, *manifest.watched])
    found = []
    for path in sorted((now.keys() | manifest.watched.keys()) - mine):
        was, is_ = manifest.watched.get(path), now.get(path)
        if was == is_:
            continue
        digest = manifest.digests.get(path)
        if was is None or is_ is None or was[0] != is_[0] or (digest is not None and files.digest(path) != digest):
            found.append(path)
    return found


def some(paths: Sequence[str]) -> str:
    """The first five, for people; checksums and the like only where there is nothing else."""
    paths = [path for path in paths if not path.rpartition("/")[2].startswith(".")] or paths
    return ", ".join(paths[:5]) + (f" and {len(paths) - 5:,} more" if len(paths) > 5 else "")


def _directories(files: Files) -> list[FileEntry]:
    return [entry for entry in files.list(HIDDEN) if entry.is_directory]


def _name(files: Files, entry: FileEntry) -> str | None:
    """The manifest of a backup; None where there is none, or where it was not yet whole when its writer ended."""
    name, following = (f"{HIDDEN}/{entry.name}/{one}" for one in (_MANIFEST, _NEXT))
    if files.stat(name) is not None:
        return name
    if files.stat(following) is None:
        return None
    try:
        _parse(files.root, following, entry.name, files.read(following, _LIMIT))
    except DamagedBackupError:
        return None
    return following


def _parse(root: str, name: str, id_: str, data: bytes) -> Manifest:
    try:
        value: dict[str, Any] = json.loads(data)
        if value["version"] != 1 or value["id"] != id_:
            raise DamagedBackupError(root, name, "it is of another version, or of another backup")
        return Manifest(
            id_,
            RewriteState(value["state"]),
            str(value["plan"]),
            str(value["route"]),
            int(value["at_ms"]),
            tuple(SavedFile(str(one["path"]), one["old"], one["new"], one["modified_ms"]) for one in value["files"]),
            {str(path): (int(size), int(at)) for path, (size, at) in value["watched"].items()},
            tuple(map(str, value["made"])),
            frozenset((str(source), str(topic)) for source, topic in value.get("moved", ())),
            {str(path): str(digest) for path, digest in value.get("digests", {}).items()},
            str(value.get("of", "")),
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise DamagedBackupError(root, name, "it is no manifest of a rewrite") from None
