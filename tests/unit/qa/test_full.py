"""The chapters of ``make full``, and their ledger."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.full import (
    CHAPTERS,
    COPIES,
    LIMIT_MINUTES,
    ROOT,
    Entry,
    Files,
    arguments_of,
    chapter_of,
    commit_of_tree,
    due,
    files_of,
    read_ledger,
    table,
    write_ledger,
)

pytestmark = pytest.mark.unit
COMMIT, OTHER, UNKNOWN = "a" * 40, "b" * 40, "c" * 40
FILES = {
    **dict.fromkeys(("src/anabranch/errors.py", "tests/integration/links/stand.py", "CHANGELOG.md"), "1"),
    **dict.fromkeys(("tests/integration/links/test_stops.py", "web/tests/pages.test.mjs", "tests/full.json"), "1"),
}
FIRST, SECOND, THIRD, FOURTH, FIFTH = list(CHAPTERS)[:5]


def entry(name: str, commit: str | None = COMMIT, exit_code: int = 0, minutes: float = 3.0) -> Entry:
    """How a chapter ended, with the files as they are."""
    counts = {"tests": 7, "skipped": 1, "failures": exit_code}
    return Entry(commit, arguments_of(name), "2026-01-01T00:00:00Z", minutes, exit_code, counts, [], [])


def known(commit: str) -> Files | None:
    """The files of the commits that there are."""
    return {COMMIT: FILES, OTHER: {**FILES, "src/anabranch/errors.py": "2"}}.get(commit)


def elsewhere(name: str) -> Entry:
    """It passed, with another file below it."""
    return entry(name, OTHER)


def test_each_test_file_is_in_one_chapter() -> None:
    """No test is forgotten, none runs twice."""
    files = {str(path.relative_to(ROOT)) for path in (ROOT / "tests").rglob("test_*.py")}
    for file in sorted(files):
        holding = [name for name in CHAPTERS if _runs(name, file)]
        assert holding == [chapter_of(file)], (file, holding)
    assert all((ROOT / path).exists() for paths in CHAPTERS.values() for path in paths)


def _runs(name: str, file: str) -> bool:
    """Whether what pytest is told for a chapter makes it run a file."""
    told = arguments_of(name)
    left_out = [one.removeprefix("--ignore=") for one in told if one.startswith("--")]
    at = Path(file)
    return any(at.is_relative_to(one) for one in told) and not any(at.is_relative_to(one) for one in left_out)


def test_what_another_chapter_names_is_left_out() -> None:
    """So that what takes long in a directory may be a chapter of its own."""
    assert "--ignore=tests/integration/streams/sinks" in arguments_of("streams")
    assert arguments_of("sinks") == CHAPTERS["sinks"]
    assert chapter_of("tests/integration/streams/sinks/test_new.py") == "sinks"
    assert chapter_of("tests/integration/streams/test_new.py") == "streams"
    assert chapter_of("tests/integration/test_nowhere.py") is None


def test_what_passed_with_these_files_is_not_due() -> None:
    """Failed, with other files, with changes that are not committed, and never run: all due."""
    names = list(CHAPTERS)
    ledger = {
        FIRST: entry(FIRST),
        SECOND: entry(SECOND, exit_code=1),
        THIRD: elsewhere(THIRD),
        FOURTH: entry(FOURTH, None),
    }
    assert due(ledger, FILES, known) == names[1:]
    assert due(ledger, FILES, known, [FIRST, THIRD]) == [THIRD]
    assert due(ledger, None, known) == names
    assert due({name: entry(name) for name in names}, FILES, known) == []


def test_what_was_inconclusive_has_not_passed_and_what_took_long_has() -> None:
    """The machine did not do its part: the chapter runs again; how long it takes says nothing of the product."""
    ledger = {name: entry(name, minutes=LIMIT_MINUTES + 1.0) for name in CHAPTERS}
    assert due(ledger, FILES, known) == []
    ledger[SECOND] = replace(ledger[SECOND], inconclusive=["tests/fault/test_faults.py::test_x"])
    assert due(ledger, FILES, known) == [SECOND]
    (line,) = (one for one in table(ledger, FILES, known) if one.startswith(f"{SECOND} "))
    assert "INCONCLUSIVE" in line and "1 inconclusive" in line


@pytest.mark.test
def test_what_ran_other_tests_or_at_a_commit_that_is_not_here_is_due() -> None:
    """A chapter that holds more now has not passed."""
    ledger = {name: entry(name) for name in CHAPTERS}
    ledger[FIRST] = replace(ledger[FIRST], tests=["tests/unit"])
    ledger[SECOND] = entry(SECOND, UNKNOWN)
    assert due(ledger, FILES, known) == [FIRST, SECOND]
    assert files_of(UNKNOWN) is None


@pytest.mark.parametrize(
    ("changed", "again"),
    [
        ("src/anabranch/errors.py", set(CHAPTERS)),
        ("tests/integration/links/stand.py", set(CHAPTERS)),
        ("tests/integration/links/test_stops.py", {"links"}),
        ("tests/integration/links/test_new.py", {"links"}),
        ("tests/fault/ends/test_killed_jobs.py", {"ends"}),
        ("tests/fault/ends/test_killed_comparisons.py", {"killed-comparisons"}),
        ("web/tests/pages.test.mjs", {"pages"}),
        ("web/tests/support/shared.mjs", set(CHAPTERS) - COPIES),
        ("src/anabranch/migration/spec.py", set(CHAPTERS) - COPIES),
        ("tests/integration/streams/stand.py", set(CHAPTERS) - COPIES),
        ("src/anabranch/operations/links/create.py", set(CHAPTERS)),
        ("src/anabranch/storage/stream_ends.py", set(CHAPTERS) - COPIES),
        ("src/anabranch/storage/local.py", set(CHAPTERS)),
        ("tests/mutants/stages.py", {"pure"}),
        ("tests/unit/link_lab.py", set(CHAPTERS) - COPIES),
        ("CHANGELOG.md", set()),
        ("tests/full.py", set()),
        ("tests/full.json", set()),
    ],
)
def test_a_chapter_runs_again_where_it_may_rest_on_a_change(changed: str, again: set[str]) -> None:
    """A test file is its own chapter's; all else is everybody's, but for what nothing reads."""
    ledger = {name: entry(name) for name in CHAPTERS}
    assert set(due(ledger, {**FILES, changed: "2"}, known)) == again


@pytest.mark.test
def test_the_files_of_a_commit_are_read() -> None:
    """Each path, with a hash of what it holds."""
    files = files_of("HEAD")
    assert files is not None and len(files["tests/full.py"]) == 40 and "build/full.xml" not in files
    assert commit_of_tree() is None or len(commit_of_tree() or "") == 40


def test_the_ledger_is_kept(tmp_path: Path) -> None:
    """As it was written; none where there is none."""
    path = tmp_path / "build" / "full.json"
    assert read_ledger(path) == {}
    ledger = {"links": entry("links"), "faults": entry("faults", None, exit_code=2)}
    write_ledger(ledger, path)
    kept = read_ledger(path)
    assert {name: replace(one, tests=tuple(one.tests)) for name, one in kept.items()} == ledger and not list(
        path.parent.glob("*.part")
    )


def test_the_table_hides_nothing() -> None:
    """What failed, did not run, took too long or ran before a change says so."""
    names = list(CHAPTERS)
    ledger = {
        FIRST: entry(FIRST, minutes=LIMIT_MINUTES + 1.0),
        SECOND: entry(SECOND, exit_code=1),
        THIRD: elsewhere(THIRD),
        FOURTH: entry(FOURTH, None),
    }
    lines = {line.split()[0]: line for line in table(ledger, FILES, known)}
    assert "longer than 30 minutes" in lines[FIRST] and " 6 " in lines[FIRST]
    assert "FAILED (exit code 1)" in lines[SECOND]
    assert "before later changes" in lines[THIRD]
    assert "not committed" in lines[FOURTH]
    assert "has not run" in lines[FIFTH]
    assert table(ledger, FILES, known)[-1] == f"to run with the files as they are: {', '.join(names[1:])}"
    assert table({name: entry(name) for name in names}, FILES, known)[-1] == "all chapters passed"
