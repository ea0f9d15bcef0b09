"""What ``anabranch.operations`` offers is there, and the reference names just that."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from anabranch import operations

pytestmark = pytest.mark.unit
FOLDER = Path(operations.__path__[0])
PAGE = (Path(__file__).parents[3] / "docs" / "reference" / "api.md").read_text("utf-8")
ROWS = dict(re.findall(r"^\| `(\w+)` \| (.*\|.*) \|$", PAGE, re.MULTILINE))
PARTS = {"routes.planning"}
"""Modules with a plan that is part of another verb's."""
LOOK = """
import sys, anabranch
assert len(sys.modules) < 150, "import anabranch brings too much"
for noun in anabranch.operations.__all__:
    package = getattr(anabranch.operations, noun)
    for name in package.__all__:
        getattr(package, name)
print(*sorted({"pyspark", "pyarrow", "sqlalchemy", "fastapi", "uvicorn"} & sys.modules.keys()))
"""


@pytest.mark.parametrize("noun", operations.__all__)
def test_each_noun_offers_modules_that_are_there(noun: str) -> None:
    """By attribute, as its users write it."""
    package = getattr(operations, noun)
    offered = {name: getattr(package, name) for name in package.__all__}
    assert offered
    assert all(isinstance(module, ModuleType) for module in offered.values())


def test_every_noun_is_offered_with_each_verb_that_plans() -> None:
    """A folder is a noun, and a module with a plan is a verb of it."""
    nouns = {path.parent.name for path in FOLDER.glob("*/__init__.py")}
    assert nouns == set(operations.__all__)
    planning = {
        f"{path.parent.name}.{path.stem}"
        for path in FOLDER.glob("*/*.py")
        for node in ast.parse(path.read_text("utf-8")).body
        if isinstance(node, ast.AsyncFunctionDef) and re.match(r"plan(_|$)", node.name)
    }
    offered = {f"{noun}.{name}" for noun in nouns for name in import_module(f"anabranch.operations.{noun}").__all__}
    assert planning - offered == PARTS


@pytest.mark.test
def test_what_is_offered_brings_neither_spark_nor_a_database_nor_a_server() -> None:
    """All of it at once; ``import anabranch`` alone brings next to nothing."""
    done = subprocess.run([sys.executable, "-c", LOOK], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, ""), done.stderr


@pytest.mark.parametrize("noun", sorted(ROWS))
def test_the_reference_names_what_a_noun_offers(noun: str) -> None:
    """All of it, and nothing that was called so once."""
    named = {name.partition(".")[0] for name in re.findall(r"`([\w.]+)`", ROWS[noun])}
    named |= set(re.findall(rf"`{noun}\.(\w+)`", PAGE))
    assert named == set(import_module(f"anabranch.operations.{noun}").__all__)


def test_every_noun_is_in_the_reference() -> None:
    """Jobs are what other nouns start, and stand in its text."""
    assert {*ROWS, "jobs"} == set(operations.__all__)
    assert "`jobs.launcher`" in PAGE
