"""Break the code in one way after the other, and see which breaks the tests without processes find.

``python -m tests.mutants [NAME ...]`` copies ``src``, puts one mutant at a time into the copy and runs there what
``make unit`` runs, first the test that found it last (``tests/mutants.json``), then the tests that import the module
that was broken, then those of its package, and then more seeds of the simulation, until one test fails.  Before the first it runs all of that without a
break.  ``--list`` names the mutants, ``--jobs`` says how many at once.

What came of each is kept in ``build/mutants.json`` at once: started again at the same commit it goes on with what is
left.  Mutants that are named are looked at whatever is known of them.

A mutant with which a stage does not end, and that no test of the others finds, is a kind of its own: a break that hangs
a test is not told from a machine that is slow.  It does not count as found.

Exit codes: 0 at least 95 in 100 were found and each other one is explained, 1 fewer, or one is not, or a test fails
without a break, or nothing could be told of a mutant, 2 a mutant does not fit the code.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from queue import SimpleQueue

from tests.full import commit_of_tree
from tests.mutants.ledger import Ledger, Row
from tests.mutants.lists import MUTANTS
from tests.mutants.mutant import Mutant, StaleMutantError, broken
from tests.mutants.stages import (
    ROOT,
    EndlessError,
    UnclearError,
    first_failure,
    of_file,
    of_witness,
    without_break,
)
from tests.mutants.witnesses import Witnesses

WANTED = 0.95
KNOWN = "found last"
WHOLE_S, LEAST_S, TIMES = 3600.0, 300.0, 5.0
"""A stage may take so long without a break; with one so many times as long as without, or so long at least."""


def look(mutant: Mutant, copy: Path, ledger: Ledger, known: str) -> Row:
    """Put the mutant into a copy of the sources and run the stages until a test fails; the copy is as before then.

    ``known`` is the test that found it last; empty where none did.  A stage that does not end is passed over.
    """
    began = time.monotonic()
    endless = ""
    with _changed(copy / "anabranch" / mutant.file, broken(mutant, copy)):
        if known:
            # A test that is no longer there, or no longer fails, says nothing: then all is run as if none were known.
            with suppress(UnclearError):
                if test := first_failure(copy, of_witness(known), LEAST_S):
                    return Row(mutant.name, mutant.file, mutant.why, test, KNOWN, round(time.monotonic() - began, 1))
        for stage, arguments in of_file(mutant.file):
            limit_s = max(LEAST_S, TIMES * ledger.passed.get(stage, ledger.passed["unit"]))
            try:
                test = first_failure(copy, arguments, limit_s)
            except EndlessError:
                endless = endless or stage
                continue
            if test:
                return Row(mutant.name, mutant.file, mutant.why, test, stage, round(time.monotonic() - began, 1))
    return Row(mutant.name, mutant.file, mutant.why, "", endless, round(time.monotonic() - began, 1))


@contextmanager
def _changed(path: Path, text: str) -> Iterator[None]:
    before, stat = path.read_bytes(), path.stat()
    path.write_text(text, encoding="utf-8")
    try:
        yield
    finally:
        path.write_bytes(before)
        os.utime(path, (stat.st_atime, stat.st_mtime))


def check(copy: Path, ledger: Ledger, mutants: Sequence[Mutant]) -> None:
    """Run each stage that these need without a break, once a commit: what fails then says nothing of any mutant."""
    for stage, arguments in without_break({mutant.package for mutant in mutants}):
        if stage in ledger.passed:
            continue
        began = time.monotonic()
        if test := first_failure(copy, arguments, WHOLE_S):
            raise SystemExit(f"this fails without a break ({stage}): {test}")
        ledger.passes(stage, round(time.monotonic() - began, 1))


def run(mutants: Sequence[Mutant], jobs: int, ledger: Ledger, witnesses: Witnesses) -> list[str]:
    """Look at each, some at once, each of these in a copy of its own; returns the names of which nothing is told."""
    unclear: list[str] = []
    with tempfile.TemporaryDirectory(prefix="anabranch-mutants-") as place, ThreadPoolExecutor(jobs) as pool:
        copies: SimpleQueue[Path] = SimpleQueue()
        for number in range(jobs):
            copy = Path(place) / str(number)
            shutil.copytree(ROOT / "src", copy)
            copies.put(copy)
        check(copy, ledger, mutants)

        def one(mutant: Mutant) -> None:
            copy = copies.get()
            try:
                row = look(mutant, copy, ledger, witnesses.of(mutant.name))
            except UnclearError as error:
                unclear.append(mutant.name)
                print(f"{mutant.name:<44} UNCLEAR: {error}", flush=True)
                return
            finally:
                copies.put(copy)
            ledger.put(row)
            witnesses.put(mutant.name, row.test)
            said = f"{row.stage}: {row.test}" if row.is_found else _otherwise(row)
            print(f"{mutant.name:<44} {row.seconds:>6.1f} s  {said}", flush=True)

        list(pool.map(one, mutants))
    return unclear


def _otherwise(row: Row) -> str:
    """What is said of a mutant that no test found."""
    return f"ENDLESS ({row.stage})" if row.is_endless else "SURVIVES"


def main() -> int:
    """Run, print, keep."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("names", nargs="*", help="these mutants (default: all)")
    parser.add_argument("--jobs", type=int, default=2, help="how many at once")
    parser.add_argument("--list", action="store_true", help="name them, with what goes wrong")
    arguments = parser.parse_args()
    chosen = [one for one in MUTANTS if not arguments.names or one.name in arguments.names]
    if missing := sorted(set(arguments.names) - {one.name for one in chosen}):
        print(f"no such mutant: {', '.join(missing)}", file=sys.stderr)
        return 2
    if arguments.list:
        print("\n".join(f"{one.name:<44} {one.file:<36} {one.why}" for one in chosen))
        return 0
    try:
        for mutant in chosen:
            broken(mutant, ROOT / "src")
    except StaleMutantError as error:
        print(error, file=sys.stderr)
        return 2
    ledger = Ledger(ROOT / "build" / "mutants.json", commit_of_tree("tests/mutants.json"))
    left = [one for one in chosen if arguments.names or one.name not in ledger.rows]
    if known := len(chosen) - len(left):
        print(f"{known} are known at this commit", flush=True)
    unclear = run(left, arguments.jobs, ledger, Witnesses(ROOT / "tests" / "mutants.json")) if left else []
    return _tell(chosen, ledger, unclear)


def _tell(chosen: Sequence[Mutant], ledger: Ledger, unclear: Sequence[str]) -> int:
    others = [one for one in chosen if one.name not in unclear and not ledger.rows[one.name].is_found]
    for mutant in others:
        said = _otherwise(ledger.rows[mutant.name])
        print(f"{said} {mutant.name} ({mutant.file}): {mutant.why}; {mutant.survives or 'NOT EXPLAINED'}")
    if unclear:
        print(f"nothing is told of {', '.join(unclear)}")
    endless = sum(ledger.rows[one.name].is_endless for one in others)
    count = len(chosen) - len(others) - len(unclear)
    print(f"{count} of {len(chosen)} found ({100 * count / len(chosen):.0f} %), {endless} without an end")
    return 0 if not unclear and count >= WANTED * len(chosen) and all(one.survives for one in others) else 1


if __name__ == "__main__":
    sys.exit(main())
