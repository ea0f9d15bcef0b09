"""Each command of the how-tos, the tutorial and the README is one that the command line takes: verb and options."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer

from anabranch.cli.app import app

pytestmark = pytest.mark.unit

ROOT: Any = typer.main.get_command(app)
TOP = Path(__file__).parents[3]
PAGES = (TOP / "README.md", TOP / "docs" / "tutorial.md", *sorted((TOP / "docs" / "how-to").glob("*.md")))
COMMAND = re.compile(r"(?:^|(?<=[`$&|(] )|(?<=[`(]))anabranch ((?:\\\n|[^`\n])+)", re.MULTILINE)
ENDS = {"|", "&", "&&", ";", ">", "2>", "||"}

RUNBOOK = (
    ("link old-new created; start it with:", "cli/links/render.py", "created; start it with:"),
    ("link old-new has copied what old held at", "cli/links/wait.py", 'else "has copied"'),
    ("has ended; go on with: anabranch link run", "cli/links/stop.py", " ended; go on with: anabranch link run"),
    ("... move; plan HASH", "cli/groups/render.py", "; plan {"),
    ("former commits`", "cli/groups/render.py", " former commits"),
    ("positions are where the map says", "cli/checkpoints/render.py", "positions are where the map says"),
    ("done: link old-new is deleted", "cli/links/render.py", "is deleted"),
    ("`not copied`", "model/reasons.py", '"not copied"'),
    ("`moving`", "model/reasons.py", '"moving"'),
)
"""What the runbook says of an answer, and the part of it that stands in a module."""


def parse(line: str) -> None:
    """Have the command line's parser read what is typed after ``anabranch``; raises what it would show."""
    words = shlex.split(line.replace("\\\n", " "), comments=True)
    end = next((at for at, word in enumerate(words) if word in ENDS), len(words))
    words, command = words[:end], ROOT
    context = typer.Context(command, info_name="anabranch")
    while words and hasattr(command, "commands") and not words[0].startswith("-"):
        name = words.pop(0)
        assert name in command.commands, f"there is no {name!r} in {line!r}"
        command = command.commands[name]
    command.make_parser(context).parse_args(args=list(words))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_each_command_of_a_page_can_be_typed(page: Path) -> None:
    """In blocks and in sentences; what it is about, files and links, need not be there."""
    for line in COMMAND.findall(page.read_text(encoding="utf-8")):
        parse(line)


def test_each_verb_that_a_sentence_names_is_there() -> None:
    """``groups sync`` in backquotes, on any page but those of decisions, which say what was."""
    named = re.compile(rf"`({'|'.join(ROOT.commands)}) (?!old-new|from\b)([a-z][a-z-]+)(?=[ `])")
    for page in (TOP / "README.md", *sorted((TOP / "docs").rglob("*.md"))):
        if page.parent.name != "adr":
            for noun, verb in named.findall(page.read_text(encoding="utf-8")):
                assert verb in ROOT.commands[noun].commands, f"{page.name}: there is no `{noun} {verb}`"


@pytest.mark.parametrize(("says", "module", "prints"), RUNBOOK)
def test_the_runbook_quotes_what_the_program_prints(says: str, module: str, prints: str) -> None:
    """Who does a cutover compares the two at night."""
    page = " ".join((TOP / "docs" / "how-to" / "cutover.md").read_text(encoding="utf-8").split())
    assert says in page
    assert prints in (TOP / "src" / "anabranch" / module).read_text(encoding="utf-8")


def test_a_stale_command_is_found() -> None:
    """A verb or an option that is gone."""
    assert sum(len(COMMAND.findall(page.read_text(encoding="utf-8"))) for page in PAGES) > 80
    with pytest.raises(AssertionError, match="there is no 'draw'"):
        parse("link draw old-new")
    with pytest.raises(Exception, match="--plan"):
        parse("link create --source old --plan # it is gone")
