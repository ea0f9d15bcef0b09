"""Where an application is to run, and where it does: two small files by which the demo, or a hook, leads it."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

STOPPED = "stopped"
CHECKPOINT = "checkpoint"
"""The directory of a Spark query's checkpoint, below that of its control."""
_LOOK_S = 0.05


@dataclass(frozen=True, slots=True)
class Control:
    """``wanted`` holds the name of a cluster, or ``stopped``; ``at`` what the application has made of it.

    Each is written beside its place and renamed, so that nobody reads half of it.
    """

    directory: Path

    def want(self, where: str) -> None:
        """Tell the application where to run, or to stop."""
        _write(self.directory / "wanted", where)

    def wanted(self) -> str:
        """What it was told last."""
        return _read(self.directory / "wanted")

    def tell(self, where: str) -> None:
        """The application's own word: it runs there, or has stopped and holds nothing open."""
        _write(self.directory / "at", where)

    def at(self) -> str:
        """What it told last."""
        return _read(self.directory / "at")

    def lead(self, where: str, seconds: float) -> bool:
        """Have it go there, and wait; returns whether it has."""
        self.want(where)
        deadline = time.monotonic() + seconds
        while self.at() != where and time.monotonic() < deadline:
            time.sleep(_LOOK_S)
        return self.at() == where

    def hook(self, where: str) -> list[str]:
        """The command that does the same for the service: a shell's word ``where``, such as ``$ANABRANCH_TO``."""
        script = (
            f'cd "$0" && printf %s "{where}" > wanted.hook && mv wanted.hook wanted && '
            f'until [ "$(cat at)" = "{where}" ]; do sleep 0.05; done'
        )
        return ["sh", "-c", script, str(self.directory)]


def _write(path: Path, text: str) -> None:
    beside = path.with_name(f"{path.name}.{os.getpid()}")
    beside.write_text(text)
    beside.replace(path)


def _read(path: Path) -> str:
    return path.read_text() if path.exists() else STOPPED
