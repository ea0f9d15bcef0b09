"""The steps of the runbook of a cutover: each command at its place, in the order in which the product takes them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.unit.cli.test_docs_commands import parse

pytestmark = pytest.mark.unit

PAGE = (Path(__file__).parents[3] / "docs" / "how-to" / "cutover.md").read_text(encoding="utf-8")
STEPS = {
    "A week before": (
        *("context test", "link create", "link create --execute", "link run", "groups list", "groups baseline"),
        *("link metrics", "checkpoint advise"),
    ),
    "A day before": ("verify start", "groups plan", "checkpoint plan"),
    "An hour before": ("link show", "verify start"),
    "1. Move consumer groups, one application at a time": (
        *("groups plan", "groups sync --execute", "groups undo", "groups undo --execute", "offsets translate"),
    ),
    "2. Move a Spark job": (
        *("checkpoint plan", "checkpoint rewrite --execute", "checkpoint verify", "checkpoint undo --execute"),
    ),
    "3. Move a Flink job": ("checkpoint plan", "checkpoint rewrite --execute", "checkpoint verify"),
    "4. Decision point: move the producers?": (),
    "5. Move the producers": ("link wait", "verify start", "offsets export", "link pause", "link stop"),
    "After producers have moved": (
        *("link create", "link create --execute", "link run", "link wait", "link pause", "link stop"),
        *("groups plan", "groups sync --execute"),
    ),
    "The days after": ("link delete", "link delete --execute"),
}
"""What is typed under each heading, by its verb and whether it changes something."""


def typed(section: str) -> list[str]:
    """The commands of a section's blocks, as they stand there."""
    blocks = re.findall(r"^ *```console\n(.*?)^ *```", section, re.MULTILINE | re.DOTALL)
    return [line.strip() for block in blocks for line in block.splitlines() if line.strip()]


def sections() -> dict[str, str]:
    """Each heading of the page, in order, with what stands under it."""
    parts = re.split(r"^##+ (.+)\n", PAGE, flags=re.MULTILINE)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


def step(command: str) -> str:
    """Its verb, and whether it is carried out."""
    _, noun, verb, *more = command.split()
    return f"{noun} {verb}" + (" --execute" if "--execute" in more else "")


def test_each_step_of_the_runbook_stands_at_its_place() -> None:
    """No heading and no command more or fewer, none at another place; and each is one that can be typed."""
    found = {heading: tuple(map(step, typed(section))) for heading, section in sections().items()}
    assert {heading: steps for heading, steps in found.items() if heading != "The night"} == STEPS
    assert found["The night"] == ()
    assert [heading for heading in found if heading != "The night"] == list(STEPS)
    for section in sections().values():
        for command in typed(section):
            assert command.startswith("anabranch ")
            parse(command.removeprefix("anabranch "))


def test_what_is_carried_out_was_planned_before_with_the_same_words() -> None:
    """The dry run that gives the hash stands above it in the same section, and is about the same link and groups."""
    planned_by = {"groups sync": "groups plan", "checkpoint rewrite": "checkpoint plan"}
    hashes = 0
    for heading, section in sections().items():
        before: list[str] = []
        for command in typed(section):
            if "--plan HASH" in command:
                hashes += 1
                words = command.replace(" --plan HASH", "").replace(" --execute", "")
                verb = step(words)
                words = re.sub(r" --to \S+", "", words.replace(verb, planned_by.get(verb, verb), 1))
                assert words in before, (heading, command)
            before.append(command)
    assert hashes == sum(section.count("--plan HASH") for section in sections().values()) == 6
