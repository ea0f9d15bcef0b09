"""Whether a job still writes its checkpoint: it must not while its positions are moved."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping

from anabranch.checkpoints.errors import MissingFileError
from anabranch.checkpoints.job import Checkpoint
from anabranch.model.reasons import Reason, ReasonKind
from anabranch.operations.checkpoints.errors import JobStillWritingError
from anabranch.operations.checkpoints.manifest import listing
from anabranch.storage import paths
from anabranch.storage.files import StoredFiles

QUIET_MS = 60_000
_INTERVALS = 3
_APART_S = 2.0
_LIMIT = 1 << 30


def running(checkpoint: Checkpoint, now_ms: int, quiet_ms: int | None = None) -> Reason | None:
    """A reason to think that the job runs: it has written within a minute, or three of its own intervals.

    Where ``quiet_ms`` is given it has written within so many milliseconds.
    """
    interval = checkpoint.interval_ms()
    quiet = max(QUIET_MS, _INTERVALS * (interval or 0)) if quiet_ms is None else quiet_ms
    age = now_ms - checkpoint.newest_write_ms()
    if age >= quiet:
        return None
    usual = "" if interval is None else f", and up to {interval / 1000:.0f} s pass between its entries"
    return Reason(
        ReasonKind.RUNNING,
        f"it was written {max(age, 0) / 1000:.0f} s ago{usual}: the job may still run",
        f"stop the job; then wait {(quiet - age) / 1000:.0f} s, or say --stopped",
    )


def watch(files: StoredFiles, reads: Mapping[str, str], sleep: Callable[[float], None] = time.sleep) -> None:
    """List the files twice, two seconds apart; raises JobStillWritingError where anything is no longer the same."""
    before = listing(files, list(reads))
    sleep(_APART_S)
    after = listing(files, list(reads))
    changed = sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))
    if changed:
        raise JobStillWritingError(files.root, ", ".join(changed[:3]))


def modified(files: StoredFiles, reads: Mapping[str, str]) -> list[str]:
    """Of the files that a plan rests on those that are not as they were."""
    return [path for path, digest in reads.items() if _digest(files, path) != digest]


def _digest(files: StoredFiles, path: str) -> str | None:
    if paths.within(path) and ":" not in path:
        return files.digest(path)
    try:
        return hashlib.sha256(files.read_foreign(path, _LIMIT)).hexdigest()
    except MissingFileError:
        return None
