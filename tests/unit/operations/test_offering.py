"""What ``anabranch.operations`` offers is there, and the reference names just that."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from anabranch import operations

pytestmark = pytest.mark.unit
PAGE = (Path(__file__).parents[3] / "docs" / "reference" / "api.md").read_text("utf-8")
ROWS = dict(re.findall(r"^\| `(\w+)` \| (.*\|.*) \|$", PAGE, re.MULTILINE))


@pytest.mark.parametrize("noun", operations.__all__)
def test_each_noun_offers_modules_that_are_there(noun: str) -> None:
    """By attribute, as its users write it."""
    package = getattr(operations, noun)
    offered = {name: getattr(package, name) for name in package.__all__}
    assert offered
    assert all(isinstance(module, ModuleType) for module in offered.values())


@pytest.mark.parametrize("noun", sorted(ROWS))
def test_the_reference_names_what_a_noun_offers(noun: str) -> None:
    """All of it, and nothing that was called so once."""
    named = {name.partition(".")[0] for name in re.findall(r"`([\w.]+)`", ROWS[noun])}
    assert named == set(import_module(f"anabranch.operations.{noun}").__all__)


def test_every_noun_is_in_the_reference() -> None:
    """Jobs are what other nouns start, and stand in its text."""
    assert {*ROWS, "jobs"} == set(operations.__all__)
    assert "`jobs.launcher`" in PAGE
