"""Numbers and names in sentences."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from anabranch.model.counted import counted

_LISTED, _FIRST = 5, 3


def named(names: Sequence[str], of: str) -> str:
    """``topic orders``, ``topics a, b``, or ``12 topics, among them a, b, c``."""
    if len(names) == 1:
        return f"{of} {names[0]}"
    if len(names) <= _LISTED:
        return f"{of}s {', '.join(names)}"
    return f"{counted(len(names), of)}, among them {', '.join(names[:_FIRST])}"


def verb(names: Sequence[str], one: str, more: str) -> str:
    """The verb's form for so many."""
    return one if len(names) == 1 else more


def rate(bytes_a_second: float) -> str:
    """``12.5 MB/s``."""
    return f"{bytes_a_second / 1e6:,.1f} MB/s"


def volume(size: float) -> str:
    """``12.5 GB``."""
    for unit, of in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6)):
        if size >= of:
            return f"{size / of:,.1f} {unit}"
    return f"{size / 1e3:,.1f} kB"


def moment(ms: int) -> str:
    """``2026-11-23 01:00:00 UTC``."""
    return f"{datetime.fromtimestamp(ms / 1000, UTC):%Y-%m-%d %H:%M:%S} UTC"
