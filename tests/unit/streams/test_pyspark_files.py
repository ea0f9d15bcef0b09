"""A PySpark file is looked at before it is saved: by its text alone, with the line of what is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from anabranch.streams.errors import ScriptError
from anabranch.streams.kinds import StreamKind, kind_of_file
from anabranch.streams.pyspark_file import check_file

pytestmark = pytest.mark.unit

GOOD = "import os\n\n\ndef main(job):\n    pass\n"


def test_a_file_with_main_is_one_and_nothing_of_it_is_run() -> None:
    """Its line is told; what it says at its top is not done."""
    assert check_file(GOOD) == 4
    assert check_file("raise SystemExit\ndef main(job, more=1): pass") == 2
    assert check_file("def main(*all_of_it): pass") == 1


@pytest.mark.parametrize(
    ("text", "place", "problem"),
    [
        ("x = 1\ndef main(job:\n    pass\n", (2, 9), "'(' was never closed"),
        ("def main(job):\n    return 'a\n", (2, 12), "unterminated string literal"),
        ("def main(job):\nreturn 1\n", (2, 1), "expected an indented block"),
        ("def main(job):\n    yield\n\nreturn 1\n", (4, 1), "'return' outside function"),
        ("def run(job):\n    pass\n", (0, 0), "the file has no function main"),
        ("def main():\n    pass\n", (1, 1), "main is called with one argument"),
        ("x = 1\ndef main(job, other):\n    pass\n", (2, 1), "main is called with one argument"),
        ("def main(job, *, other):\n    pass\n", (1, 1), "main is called with one argument"),
        ("async def main(job):\n    pass\n", (1, 1), "main is a coroutine"),
        ("x = " + "(" * 5000, (0, 0), ""),
        ("CREATE TABLE t USING rate;", (1, 8), "invalid syntax"),
        ("def main(job):\n    '\0'", (0, 0), "null bytes"),
    ],
)
def test_what_cannot_be_run_is_refused_with_its_line(text: str, place: tuple[int, int], problem: str) -> None:
    """And a caret where Python says where it is."""
    with pytest.raises(ScriptError) as refused:
        check_file(text)
    error = refused.value
    assert problem in error.problem
    if place[0]:
        assert (error.line, error.column, error.number) == (*place, 0)
        assert error.excerpt.splitlines()[1] == " " * (place[1] - 1) + "^"
    assert error.exit_code == 2 and error.hint


def test_the_ending_of_a_file_says_its_kind() -> None:
    """All but .py is SQL."""
    assert kind_of_file(Path("a/b.py")) is StreamKind.PYSPARK
    assert {kind_of_file(Path(name)) for name in ("b.sql", "b", "b.PY", "py")} == {StreamKind.SQL}
