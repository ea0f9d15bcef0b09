"""Documents and modules that the sources name are there."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import pytest

from qa import structure

pytestmark = pytest.mark.unit
ROOT = structure.ROOT.parent
DOCUMENT = re.compile(r"\bdocs/[\w./-]+\.md\b")
NAME = re.compile(r"(?<![\w./@-])anabranch(?:\.[A-Za-z_]\w*)+(?![\w/-])")
NO_NAMES = {"anabranch.yaml", "anabranch.naming", "anabranch.filters", "anabranch.sinks", "anabranch.PACKAGE.MODULE"}
"""A file, groups of entry points, and a pattern."""


def sources() -> Iterator[Path]:
    """All of them, and what tests them."""
    for folder in ("src/anabranch", "qa", "benchmarks", "examples", "tests"):
        yield from sorted((ROOT / folder).rglob("*.py"))


@cache
def is_there(name: str) -> bool:
    """Whether a dotted name is a module, or is defined in one, or in a class of one."""
    parts = name.split(".")
    for at in range(len(parts), 0, -1):
        path = structure.ROOT.joinpath(*parts[:at])
        module = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        if module.is_file():
            return at == len(parts) or is_defined(ast.parse(module.read_text("utf-8")).body, parts[at:])
    return False


def is_defined(body: Sequence[ast.stmt], parts: Sequence[str]) -> bool:
    """Whether statements define a name; of a class, what lies in it."""
    for node in body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.name == parts[0]:
            return len(parts) == 1 or is_defined(node.body, parts[1:])
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if any(isinstance(one, ast.Name) and one.id == parts[0] for one in targets):
            return True
    return False


def test_documents_that_sources_name_are_there() -> None:
    """A page that got another name is named by it everywhere."""
    dead = {
        (str(path.relative_to(ROOT)), page)
        for path in sources()
        for page in DOCUMENT.findall(path.read_text("utf-8"))
        if not (ROOT / page).is_file()
    }
    assert not dead


def test_modules_that_docstrings_name_are_there() -> None:
    """In text between backquotes; those that code names are found by the type checker."""
    dead = {
        (str(path.relative_to(ROOT)), name)
        for path in sources()
        for quoted in re.findall(r"`([^`\n]+)`", path.read_text("utf-8"))
        for name in NAME.findall(quoted)
        if name not in NO_NAMES and not is_there(name)
    }
    assert not dead
