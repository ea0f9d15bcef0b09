"""The most memory that a process had."""

from __future__ import annotations

from pathlib import Path


def peak_bytes(pid: int | str = "self") -> int:
    """Resident bytes at the most, of this process or another.

    ``getrusage`` would tell those of the process that started this one, where that had more: its figure outlives
    ``exec``.
    """
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        name, _, value = line.partition(":")
        if name == "VmHWM":
            return int(value.split()[0]) * 1024
    raise RuntimeError("the system tells no peak of the memory")
