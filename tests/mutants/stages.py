"""What is run to find a mutant, a stage after the other, and what pytest says of each."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Collection, Mapping
from pathlib import Path

from tests.again import SIMULATED

ROOT = Path(__file__).parents[2]
_STORE = ("--only-tier", "test", "tests/integration/store", "-k", "sqlite")
"""The store on a file, which needs no process; its tests are beside those of PostgreSQL."""
WHOLE: Mapping[str, tuple[str, ...]] = {
    "unit": ("--only-tier", "unit", "tests"),
    "simulation": ("--tier", "test", "tests/simulation", "-k", "seeds_hold or short_life or while_runs_are_retired"),
    "served": ("--only-tier", "test", "tests/unit"),
    "links": ("--only-tier", "test", *SIMULATED),
    "store": _STORE,
}
"""The stages as they are run without a break; the first has all that is near to any package.

What is ``served`` needs no broker's process either, but a socket, real time or a Python of its own: too much for the
tier ``unit``.  ``links`` are whole commands on clusters that are simulated.
"""
_PURE, _FEW = ("tests/unit", "tests/model"), 12
"""Where tests without a process are; of more files than this, that import a module, none is likelier than another."""
_LIVED = ("protocol", "copier", "state")
"""The packages that a simulated life is made of."""
_FAILED, _INTERRUPTED = 1, 2
"""pytest's exit codes for tests that failed, and for files that could not even be read."""


class UnclearError(RuntimeError):
    """pytest ended in a way that says nothing of the code."""


class EndlessError(UnclearError):
    """A stage did not end in time: the break keeps a test from ending, or the machine is slow."""


def without_break(packages: Collection[str]) -> list[tuple[str, tuple[str, ...]]]:
    """The stages that have to pass without a break before one in any of these packages is looked at."""
    used = {stage for package in packages for stage, _ in of_package(package)}
    return [(stage, arguments) for stage, arguments in WHOLE.items() if stage in used]


def of_package(package: str) -> list[tuple[str, tuple[str, ...]]]:
    """The stages for a break in a package, the likeliest to fail first."""
    near = f"tests/unit/{package}"
    unit = ("unit", (*WHOLE["unit"], f"--ignore={near}"))
    simulation, served, links = ((name, WHOLE[name]) for name in ("simulation", "served", "links"))
    if package == "store":
        return [("store", WHOLE["store"]), unit, served]
    then = [simulation, unit, links, served] if package in _LIVED else [unit, links, served, simulation]
    return [*([("near", ("--only-tier", "unit", near))] if (ROOT / near).is_dir() else []), *then]


def of_file(file: str) -> list[tuple[str, tuple[str, ...]]]:
    """The stages for a break in a file below ``src/anabranch``: first what imports its module, then its package's."""
    module = "anabranch." + file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    package, _, name = module.rpartition(".")
    says = re.compile(
        rf"^\s*(?:from {re.escape(module)} import|import {re.escape(module)}\b|from {re.escape(package)} import .*\b{name}\b)",
        re.MULTILINE,
    )
    pure = (path for place in _PURE for path in sorted((ROOT / place).rglob("test_*.py")))
    found = [str(path.relative_to(ROOT)) for path in pure if says.search(path.read_text("utf-8"))]
    direct = [("direct", ("-n0", "--only-tier", "unit", *found))] if 0 < len(found) <= _FEW else []
    return [*direct, *of_package(file.split("/", maxsplit=1)[0])]


def of_witness(test: str) -> tuple[str, ...]:
    """One test by its name, whatever its tier."""
    return ("-n0", "--tier", "test", test)


def first_failure(source: Path, arguments: tuple[str, ...], limit_s: float) -> str:
    """The first test that fails, with the package in ``source``; empty where all pass.

    Raises UnclearError, and EndlessError where it takes longer than ``limit_s``.
    """
    command = [sys.executable, "-m", "pytest", "-q", "-x", "--tb=no", "-p", "no:cacheprovider", *arguments]
    try:
        ended = subprocess.run(
            command,
            cwd=ROOT,
            # Bytecode of a mutant could be taken for that of the next one, made in the same second.
            env={**os.environ, "PYTHONPATH": str(source), "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            timeout=limit_s,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise EndlessError(f"no end within {limit_s:.0f} s") from error
    return failed(ended.returncode, ended.stdout, ended.stderr)


def failed(exit_code: int, out: str, err: str) -> str:
    """The first failure of a run of pytest that ended so; empty where there was none.  Raises UnclearError.

    A file that cannot be imported is an ERROR, and ends the run.
    """
    if exit_code == 0:
        return ""
    lines = [line for line in out.splitlines() if line.startswith(("FAILED ", "ERROR "))]
    if exit_code not in {_FAILED, _INTERRUPTED} or not lines:
        raise UnclearError(f"pytest ended with {exit_code}:\n{out[-2000:]}{err[-2000:]}")
    return lines[0].partition(" ")[2]
