"""Commands in hints: they go to the target that was typed, and can be pasted."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from anabranch.cli import hints, render
from anabranch.model.reasons import Reason, Severity

pytestmark = pytest.mark.unit


@pytest.fixture(autouse=True)
def _typed() -> Iterator[None]:
    """What a test says was typed ends with it."""
    token = hints.typed_target.set("new")
    yield
    hints.typed_target.reset(token)


@pytest.mark.parametrize(
    ("hint", "shown"),
    [
        ("anabranch link accept l orders", "anabranch link accept l --target new orders"),
        ("look again: `anabranch link delete l`", "look again: `anabranch link delete l --target new`"),
        ("`anabranch link list` shows the links", "`anabranch link list --target new` shows the links"),
        (
            "`anabranch verify show l --watch`, or `anabranch verify stop l` first",
            "`anabranch verify show l --target new --watch`, or `anabranch verify stop l --target new` first",
        ),
        ("anabranch groups plan l --target other", "anabranch groups plan l --target other"),
        ("anabranch context show new", "anabranch context show new"),
        ("compare: `anabranch verify`, then copy", "compare: `anabranch verify`, then copy"),
        ("let it go on: anabranch link accept", "let it go on: anabranch link accept"),
        ("anabranch link create --source NAME --target NAME", "anabranch link create --source NAME --target NAME"),
    ],
)
def test_commands_that_take_a_target_are_given_the_one_that_was_typed(hint: str, shown: str) -> None:
    """Each of them, and no other words."""
    assert hints.aimed(hint) == shown


def test_without_a_typed_target_hints_stay_as_they_are() -> None:
    """The default is meant."""
    hints.typed_target.set(None)
    assert hints.aimed("anabranch link run l") == "anabranch link run l"


def test_fixes_of_findings_go_to_the_typed_target() -> None:
    """Those that a running link has persisted, too."""
    fix = "anabranch link set l --include REGEX"
    assert "fix: anabranch link set l --target new --include REGEX" in str(
        render.findings([Reason.found(Severity.WARNING, "x", fix)])
    )
