"""What is known of the mutants at one commit: ``build/mutants.json``, written as it goes."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from threading import Lock


@dataclass(frozen=True, slots=True)
class Row:
    """What came of a mutant: the first test that failed and its stage; both are empty where it survives.

    A stage without a test is the first that did not end, where no test of any other failed.
    """

    name: str
    file: str
    why: str
    test: str
    stage: str
    seconds: float

    @property
    def is_found(self) -> bool:
        """Whether some test failed."""
        return bool(self.test)

    @property
    def is_endless(self) -> bool:
        """Whether no test failed, and some stage did not end."""
        return bool(self.stage) and not self.test


class Ledger:
    """The rows, by name, and how many seconds each stage took that passed without a break.

    What the file says of another commit, or of a work tree with changes (``commit`` is None), is forgotten.  Threads
    may share it.
    """

    def __init__(self, path: Path, commit: str | None) -> None:
        self._path, self._commit, self._lock = path, commit, Lock()
        self.rows: dict[str, Row] = {}
        self.passed: dict[str, float] = {}
        kept = json.loads(path.read_text("utf-8")) if path.exists() else None
        if commit is not None and isinstance(kept, dict) and kept["commit"] == commit:
            self.rows = {one["name"]: Row(**one) for one in kept["mutants"]}
            self.passed = dict(kept["passed"])

    def put(self, row: Row) -> None:
        """Keep what came of a mutant."""
        with self._lock:
            self.rows[row.name] = row
            self._write()

    def passes(self, stage: str, seconds: float) -> None:
        """Keep that a stage passes without a break."""
        with self._lock:
            self.passed[stage] = seconds
            self._write()

    def _write(self) -> None:
        kept = {
            "commit": self._commit,
            "passed": self.passed,
            "mutants": [asdict(self.rows[name]) for name in sorted(self.rows)],
        }
        self._path.parent.mkdir(parents=True, exist_ok=True)
        draft = self._path.with_suffix(".part")
        draft.write_text(json.dumps(kept, indent=2) + "\n", "utf-8")
        os.replace(draft, self._path)
