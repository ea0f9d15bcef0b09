"""Everything, in chapters of half an hour at most: ``python -m tests.full [CHAPTER ...]``, which is ``make full``.

A ledger, ``tests/full.json``, says of each chapter at which commit it ran last, and how it ended.  It is committed, so
that a run that takes a day may go on in another clone.  What has passed is run again only when something changed that
it may rest on, between that commit and the files as they are: any file but the test files of other chapters, the change
log and the ledger; where a chapter holds what copies and compares, nothing of what is built upon that either.  A work
tree with changes that are not committed has no commit: what passes there counts for nothing later.

A chapter in which a test was inconclusive has not passed: what was to happen to the product did not.  One that took
longer than it may has passed, since how long it takes is the machine's business; the table says so, and one that does
on a machine that does nothing else is to be cut.

Exit codes: 0 every chapter has passed with the files as they are, 1 one failed, was inconclusive or has not run.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).parents[1]
LEDGER = ROOT / "tests" / "full.json"
LIMIT_MINUTES = 30
_WORLD = (
    *("clocks", "counts", "deleted_source", "expired_source", "idle_lanes", "judge", "lagging_brokers", "leaps"),
    *("logins", "lost_topics", "memory", "passwords", "quotas", "retired_runs", "rights", "silence", "times"),
    *("unclean_source", "walked_ways", "world"),
)
CHAPTERS: Mapping[str, tuple[str, ...]] = {
    "pure": ("tests/unit", "tests/model"),
    "lives": ("tests/simulation/test_lives.py",),
    "more-lives": ("tests/simulation/test_more_lives.py",),
    "long-lives": (
        "tests/simulation/test_long_lives.py",  # which begins with what takes nearly as long as the chapter may
        *(f"tests/simulation/test_{name}.py" for name in _WORLD),
    ),
    "contract": ("tests/contract",),
    "clusters": ("tests/integration/kafka", "tests/integration/sandbox", "tests/integration/mm2"),
    "links": ("tests/integration/links",),
    "checkpoints": ("tests/integration/checkpoints", "tests/packaging"),
    "verify": ("tests/integration/verify",),
    "rebuild": ("tests/integration/rebuild",),
    "migrations": ("tests/integration/migrations",),
    "kills": ("tests/integration/kills",),
    "all-kills": ("tests/integration/kills/test_killed_everywhere.py",),
    "single-kills": ("tests/integration/kills/test_killed_once.py", "tests/integration/kills/test_killed_lost.py"),
    "spark": ("tests/integration/spark",),
    "streams": ("tests/integration/streams",),
    "sinks": ("tests/integration/streams/sinks", "tests/integration/streams/test_kafka_sink_kills.py"),
    "routes": ("tests/integration/sdk",),
    "service": ("tests/integration/store", "tests/integration/service"),
    "pages": ("tests/integration/web",),
    "faults": ("tests/fault/test_faults.py", "tests/fault/test_schedule.py", "tests/fault/test_stopped_worker.py"),
    "ends": ("tests/fault/ends",),
    "killed-comparisons": ("tests/fault/ends/test_killed_comparisons.py",),
    "stream-ends": ("tests/fault/test_stream_ends.py", "tests/fault/test_stream_looks_end.py"),
    "moves": ("tests/fault/test_killed_identity.py", "tests/fault/test_moved_identity.py", "tests/fault/test_moves.py"),
}
"""Each test file belongs to exactly one chapter: to the one that names it, or the directory nearest to it."""
_PAGES = "web/tests"
"""Tests of the chapter ``pages`` that pytest starts through a file of its own."""
COPIES = frozenset({"lives", "more-lives", "long-lives", "contract", "clusters", "verify", "faults", "moves"})
"""Chapters of copying and comparing: no test of theirs, and no module that one imports, knows of what is above."""
_NOUNS_ABOVE = ("artifacts", "catalog", "migrations", "routes", "streams")
_PACKAGES_ABOVE = (
    *("migration", "routes", "sdk", "service", "store", "streams", "spark/routes", "spark/streams"),
    *(f"{at}/{noun}" for at in ("cli", "operations") for noun in _NOUNS_ABOVE),
)
_TESTS_ABOVE = ("kills", "migrations", "sdk", "service", "store", "streams", "web")
ABOVE = (
    *("docs/", "web/", "tests/unit/", "schemas/migration.schema.json"),
    *("qa/route_service.py", "src/anabranch/config/migration_file.py"),
    *(
        f"src/anabranch/storage/{of_streams}.py"
        for of_streams in ("saved_checkpoints", "stream_checkpoints", "stream_ends")
    ),
    *(f"src/anabranch/{package}/" for package in _PACKAGES_ABOVE),
    *(f"tests/integration/{noun}/" for noun in _TESTS_ABOVE),
)
"""What is built upon copying.  That no chapter of copying imports it is what lets it change without them."""
_RESTS_ON_NONE = ("CHANGELOG.md", "tests/full.py", str(LEDGER.relative_to(ROOT)), "tests/mutants.json")
"""Which tests a chapter ran stands in the ledger."""
OF_PURE = ("tests/mutants/", "tests/minutes.py", "tests/unit/cli/printing.py", "tests/unit/kafka/scripted.py")
"""What no test but those of the chapter ``pure`` imports."""
Files = Mapping[str, str]
"""Path to the hash of what it holds."""


@dataclass(frozen=True, slots=True)
class Entry:
    """How a chapter ended: ``commit`` is None for a work tree with changes; ``counts`` are pytest's.

    ``tests`` are the files and directories that it ran, and what it left to others.  Of what was flaky or inconclusive
    there are the names; the reasons, in which are places of a machine, stand in what the run prints.
    """

    commit: str | None
    tests: Sequence[str]
    ended: str
    minutes: float
    exit_code: int
    counts: Mapping[str, int]
    flaky: Sequence[str] = ()
    inconclusive: Sequence[str] = ()

    @property
    def passed(self) -> bool:
        """Whether no test failed, and each one told something."""
        return not self.exit_code and not self.inconclusive


def read_ledger(path: Path = LEDGER) -> dict[str, Entry]:
    """What is known of the chapters; nothing where there is no ledger."""
    if not path.exists():
        return {}
    return {name: Entry(**entry) for name, entry in json.loads(path.read_text(encoding="utf-8")).items()}


def write_ledger(ledger: Mapping[str, Entry], path: Path = LEDGER) -> None:
    """Keep it, in one piece."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(".part")
    draft.write_text(json.dumps({name: asdict(entry) for name, entry in ledger.items()}, indent=2) + "\n", "utf-8")
    os.replace(draft, path)


@cache
def arguments_of(name: str) -> tuple[str, ...]:
    """What pytest is told to run for a chapter: its files and directories, without what in these is another one's."""
    others = [path for other, held in CHAPTERS.items() if other != name for path in held]
    inside = [path for path in others if any(Path(path).is_relative_to(one) for one in CHAPTERS[name])]
    return (*CHAPTERS[name], *(f"--ignore={path}" for path in inside))


FilesOf = Callable[[str], Files | None]
"""The files of a commit; None for one that is not known here."""


def is_same(name: str, entry: Entry, files: Files, files_of: FilesOf) -> bool:
    """Whether a chapter ran these tests, with all that it may rest on as it is in ``files``."""
    before = None if entry.commit is None else files_of(entry.commit)
    if before is None or tuple(entry.tests) != arguments_of(name):
        return False
    return not any(may_rest_on(name, path) for path in _changed(before, files))


def _changed(before: Files, now: Files) -> Iterable[str]:
    return (path for path in before.keys() | now.keys() if before.get(path) != now.get(path))


def may_rest_on(name: str, path: str) -> bool:
    """Whether a change of this file makes a chapter due again."""
    if path in _RESTS_ON_NONE or chapter_of(path) not in {name, None}:
        return False
    if path.startswith(OF_PURE):
        return name == "pure"
    return not (name in COPIES and path.startswith(ABOVE))


def chapter_of(path: str) -> str | None:
    """The chapter that a test file belongs to; None for what any chapter may use."""
    if path.startswith(f"{_PAGES}/") and path.endswith(".test.mjs"):
        return "pages"
    if not (Path(path).name.startswith("test_") and path.endswith(".py")):
        return None
    holding = [(len(one), name) for name, held in CHAPTERS.items() for one in held if Path(path).is_relative_to(one)]
    return max(holding)[1] if holding else None


def due(ledger: Mapping[str, Entry], files: Files | None, files_of: FilesOf, wanted: Sequence[str] = ()) -> list[str]:
    """The chapters to run, in order: of those wanted, or of all, what has not passed with these files.

    ``files`` is None where some changes are not committed: all is due.
    """

    def has_passed(name: str) -> bool:
        entry = ledger.get(name)
        return files is not None and entry is not None and entry.passed and is_same(name, entry, files, files_of)

    return [name for name in CHAPTERS if (name in wanted or not wanted) and not has_passed(name)]


def table(ledger: Mapping[str, Entry], files: Files | None, files_of: FilesOf) -> list[str]:
    """A line for each chapter, and one for all of them."""
    lines = [f"{'chapter':<18} {'commit':<10} {'minutes':>7} {'passed':>6} {'failed':>6}  result"]
    for name in CHAPTERS:
        entry = ledger.get(name)
        if entry is None:
            lines.append(f"{name:<18} {'-':<10} {'-':>7} {'-':>6} {'-':>6}  has not run")
            continue
        result = "passed" if entry.passed else "INCONCLUSIVE"
        if entry.exit_code:
            result = f"FAILED (exit code {entry.exit_code})"
        if entry.commit is None:
            result += ", with changes that are not committed"
        elif files is None or not is_same(name, entry, files, files_of):
            result += ", before later changes"
        if entry.minutes > LIMIT_MINUTES:
            result += f", longer than {LIMIT_MINUTES} minutes"
        if entry.flaky:
            result += f", {len(entry.flaky)} flaky"
        if entry.inconclusive:
            result += f", {len(entry.inconclusive)} inconclusive"
        broken = entry.counts.get("failures", 0) + entry.counts.get("errors", 0)
        passed = entry.counts.get("tests", 0) - broken - entry.counts.get("skipped", 0)
        lines.append(
            f"{name:<18} {(entry.commit or '-')[:10]:<10} {entry.minutes:>7.1f} {passed:>6} {broken:>6}  {result}"
        )
    left = due(ledger, files, files_of)
    lines.append(f"to run with the files as they are: {', '.join(left)}" if left else "all chapters passed")
    return lines


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def commit_of_tree(besides: str = "") -> str | None:
    """The commit of the work tree; None where something is not committed, the ledger and a file ``besides`` aside."""
    kept = [f":!{path}" for path in (str(LEDGER.relative_to(ROOT)), besides) if path]
    changed = _git("status", "--porcelain", "--", ".", *kept)
    return None if changed else _git("rev-parse", "HEAD")


@cache
def files_of(commit: str) -> Files | None:
    """Each file of a commit, with the hash of what it holds; None for one that this clone has not."""
    try:
        lines = [line.split("\t", 1) for line in _git("ls-tree", "-r", "-z", commit).split("\0") if line]
    except subprocess.CalledProcessError:
        return None
    return {path: described.split()[2] for described, path in lines}


def run(name: str, commit: str | None) -> Entry:
    """Run a chapter to its end."""
    report, outcome = ROOT / "build" / f"full-{name}.xml", ROOT / "build" / f"full-{name}.txt"
    report.parent.mkdir(exist_ok=True)
    report.unlink(missing_ok=True)
    outcome.unlink(missing_ok=True)
    began = time.monotonic()
    ended = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-n", "2", "--dist", "loadscope", "--no-loadscope-reorder"),
            *("--tier", "full", f"--junit-xml={report}", "--durations=10", "--durations-min=60"),
            *arguments_of(name),
        ],
        cwd=ROOT,
        env={**os.environ, "ANABRANCH_SEEDS": "new", "ANABRANCH_OUTCOME": str(outcome)},
        check=False,
    )
    told = outcome.read_text("utf-8").splitlines() if outcome.exists() else []
    return Entry(
        commit=commit,
        tests=arguments_of(name),
        ended=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        minutes=round((time.monotonic() - began) / 60, 1),
        exit_code=ended.returncode,
        counts=_counts(report),
        flaky=_named(told, "FLAKY "),
        inconclusive=_named(told, "INCONCLUSIVE "),
    )


def _named(told: Sequence[str], word: str) -> list[str]:
    return [line.removeprefix(word).partition(": ")[0] for line in told if line.startswith(word)]


def _counts(report: Path) -> dict[str, int]:
    if not report.exists():
        return {}
    suite = ElementTree.parse(report).getroot().find("testsuite")
    return (
        {} if suite is None else {key: int(suite.get(key, "0")) for key in ("tests", "failures", "errors", "skipped")}
    )


def main(wanted: Sequence[str]) -> int:
    """Run what is due, print the table."""
    if unknown := sorted(set(wanted) - set(CHAPTERS)):
        print(f"no such chapter: {', '.join(unknown)}; there are {', '.join(CHAPTERS)}", file=sys.stderr)
        return 2
    commit = commit_of_tree()
    ledger = read_ledger()
    if commit is None:
        print("some changes are not committed: what passes now has to pass again once they are", flush=True)
    files = None if commit is None else files_of(commit)
    for name in due(ledger, files, files_of, wanted):
        print(f"== chapter {name}: {' '.join(arguments_of(name))}", flush=True)
        # A chapter that is ended in its middle has not passed.
        write_ledger({key: entry for key, entry in ledger.items() if key != name})
        ledger[name] = run(name, commit)
        write_ledger(ledger)
    print("\n".join(table(ledger, files, files_of)))
    return 1 if due(ledger, files, files_of) else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        print("ended; `make full` goes on with the chapter that ran", file=sys.stderr)
        sys.exit(130)
