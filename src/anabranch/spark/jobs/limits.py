"""Limits that a job keeps by itself: of its memory, and of the rows that it tells."""

from __future__ import annotations

import json
import resource
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any


def limit_memory(most: int) -> None:
    """Have the system refuse this process, and each that it starts, more than ``most`` bytes of data of their own.

    Private writable memory is counted, as Linux has it for ``RLIMIT_DATA``: not the address space, of which a JVM
    reserves far more than it uses.  A system that cannot limit it does not.
    """
    with suppress(OSError, ValueError):
        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        least = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(resource.RLIMIT_DATA, (least, least))


@dataclass(slots=True)
class RoomForRows:
    """So many bytes of rows, as JSON, may still be told; ``most`` 0 is no limit."""

    most: int
    told: int = 0

    def take(self, rows: Sequence[Sequence[Any]]) -> list[Sequence[Any]]:
        """The first of them for which there is room."""
        if not self.most:
            return list(rows)
        taken: list[Sequence[Any]] = []
        for row in rows:
            size = len(json.dumps(row, ensure_ascii=False, default=str).encode("utf-8", "replace"))
            if self.told + size > self.most:
                break
            self.told += size
            taken.append(row)
        return taken
