"""Which test found each mutant last: ``tests/mutants.json``, committed, so that the next run begins with that one."""

from __future__ import annotations

import json
import os
from pathlib import Path
from threading import Lock


def witness(said: str) -> str:
    """The test in what a stage said of a failure; empty where none failed."""
    return said.partition(" - ")[0]


class Witnesses:
    """By the name of a mutant, the test that failed last.  Threads may share it."""

    def __init__(self, path: Path) -> None:
        self._path, self._lock = path, Lock()
        self._known: dict[str, str] = json.loads(path.read_text("utf-8")) if path.exists() else {}

    def of(self, name: str) -> str:
        """The test that found a mutant; empty where none is known."""
        return self._known.get(name, "")

    def put(self, name: str, said: str) -> None:
        """Keep what a stage said of a mutant, or forget one that no test found."""
        with self._lock:
            before = self._known.get(name)
            if test := witness(said):
                self._known[name] = test
            else:
                self._known.pop(name, None)
            if self._known.get(name) == before:
                return
            draft = self._path.with_suffix(".part")
            draft.write_text(json.dumps(dict(sorted(self._known.items())), indent=2) + "\n", "utf-8")
            os.replace(draft, self._path)
