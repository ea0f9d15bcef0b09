"""What an application has had acknowledged and what it has read, and what was wrong with it; told in a file.

Every record says its key, its number among those of the key, and a checksum of both, before what else it holds.
"""

from __future__ import annotations

import json
import threading
import time
import zlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_SAMPLES = 5
_REST = "1 x what was ordered, " * 30
_TELL_S = 0.2


def value_of(key: str, number: int) -> str:
    """The record of a key with that number."""
    return f"{key}:{number}:{zlib.crc32(f'{key}:{number}'.encode()):08x}:{_REST}"


def number_of(key: bytes | None, value: bytes | None) -> int | None:
    """The number of a record; None where it is not what anybody wrote."""
    name = (key or b"").decode(errors="replace")
    parts = (value or b"").decode(errors="replace").split(":")
    number = int(parts[1]) if len(parts) == 4 and parts[1].isdecimal() else -1
    return number if number >= 0 and (value or b"").decode(errors="replace") == value_of(name, number) else None


@dataclass(slots=True)
class Reading:
    """Records as one reader meets them: of each key all, each once, in their order, as they were written."""

    next: dict[str, int] = field(default_factory=dict)
    records: int = 0
    problems: Counter[str] = field(default_factory=Counter)
    samples: list[str] = field(default_factory=list)

    def note(self, key: bytes | None, value: bytes | None) -> None:
        """The next record."""
        self.records += 1
        number, name = number_of(key, value), (key or b"").decode(errors="replace")
        if number is None:
            self.wrong("altered", f"{key!r}={value!r:.60}")
            return
        expected = self.next.get(name, 0)
        if number != expected:
            kind = "repeated or reordered" if number < expected else "lost"
            self.wrong(kind, f"{name}:{number} in place of {name}:{expected}")
        self.next[name] = max(expected, number + 1)

    def wrong(self, kind: str, sample: str) -> None:
        """Something that should not be."""
        self.problems[kind] += 1
        if len(self.samples) < _SAMPLES:
            self.samples.append(f"{kind}: {sample}")


class Ledger:
    """What one application keeps of itself; several threads may note."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._written: Counter[str] = Counter()
        self._refused: list[str] = []
        self._last: tuple[str, float] | None = None
        self._standstills: list[int] = []
        self._read = Reading()
        self._told = 0.0

    def acknowledged(self, key: bytes, value: bytes, cluster: str, error: Any) -> None:
        """A record's delivery; the time between the last one on a cluster and the first one on another is kept."""
        with self._lock:
            now = time.monotonic()
            name = key.decode()
            if error is not None:
                self._refused.append(str(error))
                return
            if number_of(key, value) != self._written[name]:
                self._refused.append(f"{value.decode()} was acknowledged as number {self._written[name]}")
            self._written[name] += 1
            if self._last is not None and self._last[0] != cluster:
                self._standstills.append(round(1000 * (now - self._last[1])))
            self._last = cluster, now

    def read(self, key: bytes | None, value: bytes | None) -> None:
        """A record that was read."""
        with self._lock:
            self._read.note(key, value)

    @property
    def is_level(self) -> bool:
        """Whether as much was read as was acknowledged."""
        with self._lock:
            return self._read.records >= self._written.total()

    def tell(self, *, ended: bool = False) -> None:
        """Write it down now and then, and at the end."""
        if not ended and time.monotonic() - self._told < _TELL_S:
            return
        self._told = time.monotonic()
        with self._lock:
            told = {
                "written": dict(self._written),
                "refused": self._refused[:_SAMPLES],
                "cluster": "" if self._last is None else self._last[0],
                "standstills_ms": list(self._standstills),
                "read": dict(self._read.next),
                "records_read": self._read.records,
                "problems": dict(self._read.problems),
                "samples": list(self._read.samples),
                "ended": ended,
            }
        beside = self._path.with_suffix(".new")
        beside.write_text(json.dumps(told))
        beside.replace(self._path)


def told(path: Path) -> Mapping[str, Any]:
    """What an application has told last; empty before it has told anything."""
    found: Mapping[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    return found
