"""With which micro-batch each query of a stream ended, noted by the run that ended it between two batches.

A sink that asks its cluster which batch that has hears nothing after a week without batches, for the cluster forgets.
The checkpoint alone does not say that its next batch was never written: an older copy may have been put in its place.
A checkpoint that ends where the last run left it does.

Invariant
    C3  a note is taken away before anything is written after it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from anabranch.storage.files import StoredFiles
from anabranch.storage.stream_checkpoints import ENDED, batches

_MOST = 1 << 20


def last_batch(files: StoredFiles, directory: str) -> int | None:
    """The last micro-batch of a checkpoint; None where there is none, or where it was begun and not ended."""
    begun, ended = batches(files, directory, "offsets"), batches(files, directory, "commits")
    return begun[-1] if begun and ended and begun[-1] == ended[-1] else None


def note_ends(files: StoredFiles, directories: Iterable[str]) -> None:
    """Note with which batch each of these checkpoints ended; raises StorageError."""
    ends = {one: last for one in directories if (last := last_batch(files, one)) is not None}
    if ends:
        files.put(ENDED, json.dumps(ends).encode(), via=f".{ENDED}")


def take_next(files: StoredFiles) -> Mapping[str, int]:
    """The next batch of each checkpoint that still is as the last run left it; what was noted is gone then (C3).

    Raises StorageError.
    """
    if files.stat(ENDED) is None:
        return {}
    told: Mapping[str, int] = json.loads(files.read(ENDED, _MOST))
    found = {one: last + 1 for one, last in told.items() if last_batch(files, one) == last}
    files.delete(ENDED)
    return found
