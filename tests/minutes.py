"""Where the minutes of a run are: ``python -m tests.minutes REPORT ...`` prints worker-minutes by directory.

The reports are pytest's: ``--junit-xml=FILE`` writes one, and ``make full`` leaves one for each chapter in ``build/``.
A worker-minute is a minute of one of the processes that run tests side by side; what a test of another one waited for
meanwhile is in it.  Fixtures count for the test that first wanted them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from xml.etree import ElementTree

from rich.console import Console
from rich.table import Table

from anabranch.errors import InvalidFieldError

DEEP = ("tests.integration.",)
"""Below these a directory counts by itself."""


def directory_of(module: str) -> str:
    """The directory that a test's time is counted for: ``tests/unit``, ``tests/integration/links``."""
    parts = module.split(".")
    return "/".join(parts[: 3 if module.startswith(DEEP) else 2])


def spent(reports: Iterable[Path]) -> dict[str, tuple[int, float]]:
    """For each directory how many tests ran, and the seconds that they took; raises InvalidFieldError."""
    found: dict[str, tuple[int, float]] = {}
    for report in reports:
        try:
            cases = ElementTree.parse(report).iter("testcase")
        except (OSError, ElementTree.ParseError) as error:
            raise InvalidFieldError(
                str(report), "testsuites", f"not a report of pytest: {error}", "--junit-xml=FILE"
            ) from error
        for case in cases:
            directory = directory_of(case.attrib["classname"])
            tests, seconds = found.get(directory, (0, 0.0))
            found[directory] = tests + 1, seconds + float(case.attrib["time"])
    return found


def main(arguments: Sequence[str]) -> int:
    """Print the table, the longest first; returns the exit code."""
    if not arguments:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        found = spent(map(Path, arguments))
    except InvalidFieldError as error:
        print(error, file=sys.stderr)
        return 2
    table = Table("directory", "tests", "worker-minutes")
    for directory, (tests, seconds) in sorted(found.items(), key=lambda one: -one[1][1]):
        table.add_row(directory, f"{tests:,}", f"{seconds / 60:.1f}")
    table.add_section()
    table.add_row(
        "all", f"{sum(one[0] for one in found.values()):,}", f"{sum(one[1] for one in found.values()) / 60:.1f}"
    )
    Console().print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
