"""The chapters of ``make full``, and their ledger."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.full import CHAPTERS, LIMIT_MINUTES, ROOT, Entry, due, read_ledger, table, write_ledger

pytestmark = pytest.mark.unit
HERE, THERE = "a" * 40, "b" * 40


def entry(commit: str | None = HERE, exit_code: int = 0, minutes: float = 3.0) -> Entry:
    """How a chapter ended."""
    return Entry(commit, "2026-01-01T00:00:00Z", minutes, exit_code, {"tests": 7, "skipped": 1, "failures": exit_code})


def test_each_test_file_is_in_one_chapter() -> None:
    """No test is forgotten, none runs twice."""
    files = {str(path.relative_to(ROOT)) for path in (ROOT / "tests").rglob("test_*.py")}
    for file in sorted(files):
        holding = [name for name, paths in CHAPTERS.items() if any(Path(file).is_relative_to(one) for one in paths)]
        assert len(holding) == 1, (file, holding)
    assert all((ROOT / path).exists() for paths in CHAPTERS.values() for path in paths)


def test_what_passed_at_this_commit_is_not_due() -> None:
    """Failed, of another commit, of no commit, and never run: all due."""
    names = list(CHAPTERS)
    ledger = {names[0]: entry(), names[1]: entry(exit_code=1), names[2]: entry(THERE), names[3]: entry(None)}
    assert due(ledger, HERE) == names[1:]
    assert due(ledger, HERE, [names[0], names[2]]) == [names[2]]
    assert due(ledger, None) == names
    assert due({name: entry() for name in names}, HERE) == []


def test_the_ledger_is_kept(tmp_path: Path) -> None:
    """As it was written; none where there is none."""
    path = tmp_path / "build" / "full.json"
    assert read_ledger(path) == {}
    ledger = {"links": entry(), "faults": entry(None, exit_code=2)}
    write_ledger(ledger, path)
    kept = read_ledger(path)
    assert {name: one.has_passed(HERE) for name, one in kept.items()} == {"links": True, "faults": False}
    assert kept["faults"].exit_code == 2 and not list(path.parent.glob("*.part"))


def test_the_table_hides_nothing() -> None:
    """What failed, did not run, took too long or ran elsewhere says so."""
    names = list(CHAPTERS)
    ledger = {
        names[0]: entry(minutes=LIMIT_MINUTES + 1.0),
        names[1]: entry(exit_code=1),
        names[2]: entry(THERE),
        names[3]: entry(None),
    }
    lines = {line.split()[0]: line for line in table(ledger, HERE)}
    assert "longer than 30 minutes" in lines[names[0]] and " 6 " in lines[names[0]]
    assert "FAILED (exit code 1)" in lines[names[1]]
    assert "at another commit" in lines[names[2]]
    assert "not committed" in lines[names[3]]
    assert "has not run" in lines[names[4]]
    assert table(ledger, HERE)[-1] == f"not passed at this commit: {', '.join(names[1:])}"
    assert table({name: entry() for name in names}, HERE)[-1] == "all chapters passed at this commit"
