"""Why chapters need not run again for some changes: they do not import what changed."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import grimp
import pytest

from tests.full import ABOVE, CHAPTERS, COPIES, OF_PURE, ROOT

pytestmark = pytest.mark.test
STARTED = (
    *("anabranch.spark.jobs.link", "anabranch.spark.jobs.verify", "anabranch.copier", "anabranch.sandbox"),
    *("anabranch.operations.links", "anabranch.operations.verify", "anabranch.operations.mirrormaker"),
    *("anabranch.cli.links", "anabranch.cli.verify", "anabranch.cli.mirrormaker"),
)
"""What these chapters start as processes of their own, or through the command line."""


@cache
def product() -> grimp.ImportGraph:
    """Who imports whom in the product."""
    return grimp.build_graph("anabranch", "qa", cache_dir=None)


def imported_by(path: Path) -> Iterator[str]:
    """The names that a file imports, wherever in it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{one.name}" for one in node.names)


def files_of_chapter(name: str) -> set[Path]:
    """Its test files, what configures them, and every file beside the product that these import."""
    left = [
        file
        for place in (ROOT / path for path in CHAPTERS[name])
        for file in (place.rglob("*.py") if place.is_dir() else [place])
    ]
    left += [ROOT / "tests" / "conftest.py"]
    seen: set[Path] = set()
    while left:
        file = left.pop()
        if file in seen:
            continue
        seen.add(file)
        left += (place / "conftest.py" for place in file.parents if (place / "conftest.py").exists())
        for module in imported_by(file):
            place = ROOT / module.replace(".", "/")
            left += (one for one in (place.with_suffix(".py"), place / "__init__.py") if one.exists())
    return seen


def is_above(module: str) -> bool:
    """Whether a module of the product is in what is above, as a file or as a package."""
    path = module.replace(".", "/") if module.startswith("qa") else f"src/{module.replace('.', '/')}"
    return any(f"{path}{end}".startswith(ABOVE) for end in (".py", "/"))


@pytest.mark.parametrize("name", sorted(COPIES))
def test_a_chapter_of_copying_rests_on_nothing_above(name: str) -> None:
    """Neither a file of its tests nor a module of the product that these reach."""
    files = files_of_chapter(name)
    above = [str(file.relative_to(ROOT)) for file in files if str(file.relative_to(ROOT)).startswith(ABOVE)]
    assert not above
    named = {module for file in files for module in imported_by(file) if module in product().modules}
    reached = named.union(*(product().find_upstream_modules(module) for module in named))
    assert len(reached) > 50, "the chapter tests the product"
    assert not sorted(module for module in reached if is_above(module))


@pytest.mark.parametrize("name", sorted(set(CHAPTERS) - {"pure"}))
def test_what_only_tests_without_a_process_use_is_imported_by_no_other_chapter(name: str) -> None:
    """Nor is it gone."""
    files = (str(file.relative_to(ROOT)) for file in files_of_chapter(name))
    assert not [file for file in files if file.startswith(OF_PURE)]
    assert all((ROOT / path).exists() for path in OF_PURE)


@pytest.mark.parametrize("started", STARTED)
def test_what_they_start_rests_on_nothing_above(started: str) -> None:
    """A process is not seen in what a test imports."""
    modules = {started} | product().find_descendants(started)
    reached = modules.union(*(product().find_upstream_modules(module) for module in modules))
    assert not sorted(module for module in reached if is_above(module))


def test_what_is_above_is_there() -> None:
    """A package that was given another name would be forgotten."""
    assert not [path for path in ABOVE if not (ROOT / path).exists()]
