"""The reference pages say all that the command line has."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from anabranch.cli import checkpoint, context, groups, link, mirrormaker, offsets, verify
from anabranch.errors import AnabranchError, ClusterError, ConfigError, ProtocolError, RefusedError

pytestmark = pytest.mark.unit

REFERENCE = Path(__file__).parents[3] / "docs" / "reference"


def verbs(app: typer.Typer) -> Iterator[tuple[str, list[str]]]:
    """Each verb of a group with its option names."""
    group: Any = typer.main.get_command(app)
    for name, command in group.commands.items():
        yield name, [option for parameter in command.params for option in parameter.opts if option.startswith("--")]


GROUPS = {
    "checkpoint": checkpoint.app,
    "context": context.app,
    "groups": groups.app,
    "link": link.app,
    "mm2": mirrormaker.app,
    "offsets": offsets.app,
    "verify": verify.app,
}


@pytest.mark.parametrize(("group", "app"), GROUPS.items())
def test_every_verb_and_option_is_in_the_reference(group: str, app: typer.Typer) -> None:
    """No verb and no option is left out of cli.md."""
    page = (REFERENCE / "cli.md").read_text(encoding="utf-8")
    for verb, options in verbs(app):
        assert f"`{group} {verb}" in page
        for option in options:
            assert re.search(rf"`{option}\b", page) or f" {option} " in page, (verb, option)


@pytest.mark.parametrize("branch", [AnabranchError, ConfigError, RefusedError, ClusterError, ProtocolError])
def test_every_branch_of_errors_has_its_line(branch: type[AnabranchError]) -> None:
    """The exit codes of the classes are those of the page."""
    page = (REFERENCE / "exit-codes.md").read_text(encoding="utf-8")
    assert f"\n| {branch.exit_code} |" in page
