"""Break the code in one way after the other, and see which breaks the tests without processes find.

``python -m tests.mutants [NAME ...]`` copies ``src``, puts one mutant at a time into the copy and runs there what
``make unit`` runs, first the tests of the package that was broken, and then more seeds of the simulation, until one
test fails.  ``--list`` names the mutants, ``--jobs`` says how many at once.  What came of each is kept in
``build/mutants.json``.

Exit codes: 0 at least 95 in 100 were found and each survivor is explained, 1 fewer, or one is not, or a test fails
without a break, 2 a mutant does not fit the code.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

from tests.mutants.lists import MUTANTS
from tests.mutants.mutant import Mutant, StaleMutantError, broken

ROOT = Path(__file__).parents[2]
WANTED = 0.95
STAGE_S = 900
_LIVED = ("lanes", "replicate")
"""The packages that a simulated life is made of."""
_FAILED = 1  # pytest's exit code for tests that failed


@dataclass(frozen=True, slots=True)
class Found:
    """What came of a mutant: the first test that failed, or none."""

    mutant: Mutant
    test: str
    stage: str
    seconds: float

    @property
    def is_found(self) -> bool:
        """Whether some test failed."""
        return bool(self.test)


def stages(mutant: Mutant) -> list[tuple[str, list[str]]]:
    """What to run, the likeliest to fail first."""
    package = mutant.file.split("/")[0]
    near = ROOT / "tests" / "unit" / package
    unit = ("unit", ["--only-tier", "unit", "tests", f"--ignore=tests/unit/{package}"])
    simulation = ("simulation", ["--tier", "test", "tests/simulation", "-k", "seeds_hold or short_life"])
    then = [simulation, unit] if package in _LIVED else [unit, simulation]
    return [*([("near", ["--only-tier", "unit", str(near.relative_to(ROOT))])] if near.is_dir() else []), *then]


def look(mutant: Mutant, copy: Path) -> Found:
    """Put the mutant into a copy of the sources and run the stages until a test fails; the copy is as before then."""
    began = time.monotonic()
    target = copy / "anabranch" / mutant.file
    with _changed(target, broken(mutant, copy)):
        for stage, paths in stages(mutant):
            test = _first_failure(copy, paths)
            if test:
                return Found(mutant, test, stage, time.monotonic() - began)
    return Found(mutant, "", "", time.monotonic() - began)


@contextmanager
def _changed(path: Path, text: str) -> Iterator[None]:
    before, stat = path.read_bytes(), path.stat()
    path.write_text(text, encoding="utf-8")
    try:
        yield
    finally:
        path.write_bytes(before)
        os.utime(path, (stat.st_atime, stat.st_mtime))


def _first_failure(copy: Path, paths: Sequence[str]) -> str:
    command = [sys.executable, "-m", "pytest", "-q", "-x", "--tb=no", "-p", "no:cacheprovider"]
    try:
        ended = subprocess.run(
            [*command, *paths],
            cwd=ROOT,
            # Bytecode of a mutant could be taken for that of the next one, made in the same second.
            env={**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            timeout=STAGE_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"no end within {STAGE_S} s"
    if ended.returncode == 0:
        return ""
    failed = [line for line in ended.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    if ended.returncode != _FAILED or not failed:
        raise RuntimeError(f"pytest ended with {ended.returncode}:\n{ended.stdout[-2000:]}{ended.stderr[-2000:]}")
    return failed[0].partition(" ")[2]


def run(mutants: Sequence[Mutant], jobs: int) -> list[Found]:
    """Look at each, some at once, each of these in a copy of its own."""
    with tempfile.TemporaryDirectory(prefix="anabranch-mutants-") as place, ThreadPoolExecutor(jobs) as pool:
        copies: SimpleQueue[Path] = SimpleQueue()
        for number in range(jobs):
            copy = Path(place) / str(number)
            shutil.copytree(ROOT / "src", copy)
            copies.put(copy)
        # What fails without a break says nothing of any.
        if test := _first_failure(copy, ["--only-tier", "unit", "tests"]):
            raise SystemExit(f"this fails without a break: {test}")

        def one(mutant: Mutant) -> Found:
            copy = copies.get()
            try:
                found = look(mutant, copy)
            finally:
                copies.put(copy)
            said = f"{found.stage}: {found.test}" if found.is_found else "SURVIVES"
            print(f"{mutant.name:<44} {found.seconds:>6.1f} s  {said}", flush=True)
            return found

        return list(pool.map(one, mutants))


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
        for one in chosen:
            broken(one, ROOT / "src")
    except StaleMutantError as error:
        print(error, file=sys.stderr)
        return 2
    found = run(chosen, arguments.jobs)
    (ROOT / "build").mkdir(exist_ok=True)
    rows = [
        {"name": one.mutant.name, "file": one.mutant.file, "why": one.mutant.why, "test": one.test, "stage": one.stage}
        for one in found
    ]
    (ROOT / "build" / "mutants.json").write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")
    survivors = [one.mutant for one in found if not one.is_found]
    for mutant in survivors:
        print(f"SURVIVES {mutant.name} ({mutant.file}): {mutant.why}; {mutant.survives or 'NOT EXPLAINED'}")
    count = len(found) - len(survivors)
    print(f"{count} of {len(found)} found ({100 * count / len(found):.0f} %)")
    return 0 if count >= WANTED * len(found) and all(one.survives for one in survivors) else 1


if __name__ == "__main__":
    sys.exit(main())
