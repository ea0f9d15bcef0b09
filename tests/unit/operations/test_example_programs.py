"""The programs in ``examples`` that need Spark to run: at least they are imported, and read their options."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from examples.api import compare

pytestmark = pytest.mark.unit

Asked = tuple[str, str, bool, Path]


@pytest.mark.parametrize(
    ("words", "asked"),
    [
        (["old-new", "new"], ("old-new", "new", False, Path("comparisons"))),
        (["old-new", "new", "--resume", "--directory", "there"], ("old-new", "new", True, Path("there"))),
    ],
)
def test_a_program_compares_what_its_options_say(
    words: list[str], asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And exits with the verdict."""
    heard: list[Asked] = []

    async def compared(*options: object) -> int:
        heard.append(options)  # type: ignore[arg-type]
        return 1

    monkeypatch.setattr(compare, "compare", compared)
    monkeypatch.setattr(sys, "argv", ["compare", *words])
    assert compare.main() == 1
    assert heard == [asked]


def test_a_program_without_its_link_says_what_it_takes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As any program does."""
    monkeypatch.setattr(sys, "argv", ["compare"])
    with pytest.raises(SystemExit, match="2"):
        compare.main()
    assert "link, target" in capsys.readouterr().err
