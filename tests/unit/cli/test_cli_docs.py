"""The reference pages say what the program has, and nothing else."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any

import pytest
import typer

from anabranch.cli.app import app
from anabranch.cli.verify.guard import COULD_NOT_TELL
from anabranch.errors import AnabranchError, ClusterError, ConfigError, ProtocolError, RefusedError
from anabranch.verify.report import ComparisonVerdict
from qa import at_once, reference

pytestmark = pytest.mark.unit

REFERENCE = Path(__file__).parents[3] / "docs" / "reference"
PAGE = (REFERENCE / "cli.md").read_text(encoding="utf-8")
CODES = (REFERENCE / "exit-codes.md").read_text(encoding="utf-8")
ROOT: Any = typer.main.get_command(app)
VERBS = [
    (group, verb, reference.verbs_of(ROOT.commands[group])[verb])
    for group in ROOT.commands
    if group != "sandbox"
    for verb in reference.verbs_of(ROOT.commands[group])
]
SECTIONS = {
    verb: text
    for verb, text in re.findall(r"^##+ `([\w -]+)`\n(.*?)(?=^##+ |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    if " " in verb or not hasattr(ROOT.commands[verb], "commands")
}
"""Each verb's part of the page."""


@pytest.mark.parametrize("path", reference.pages(), ids=lambda path: path.name)
def test_a_page_is_what_the_program_says(path: Path) -> None:
    """Each verb, argument, option and default; each metric with its type and labels."""
    assert path.read_text(encoding="utf-8") == reference.pages()[path], f"write it again with: {reference.COMMAND}"


def test_the_page_has_every_verb_with_its_options() -> None:
    """The generator leaves out none."""
    sandbox = {f"sandbox {verb}" for verb in ROOT.commands["sandbox"].commands}
    assert SECTIONS.keys() == {f"{group} {verb}".strip() for group, verb, _ in VERBS} | sandbox
    for group, verb, command in VERBS:
        names = [name for one in command.params for name in (*one.opts, *one.secondary_opts) if name.startswith("-")]
        assert all(f"`{name}`" in SECTIONS[f"{group} {verb}".strip()] for name in names)


def test_each_verb_shows_its_plan_first_acts_at_once_or_reads() -> None:
    """A new one has to be said to be one of these, with the reason; what acts at once in part has both."""
    every = {f"{group} {verb}".strip() for group, verb, _ in VERBS}
    options = {
        f"{group} {verb}": {name for one in command.params for name in one.opts} for group, verb, command in VERBS
    }
    dry = {verb for verb, names in options.items() if "--execute" in names} - at_once.IN_PART.keys()
    kinds = (dry, at_once.at_once(), at_once.READS, frozenset(at_once.IN_PART))
    assert set().union(*kinds) == every
    assert sum(map(len, kinds)) == len(every), "a verb is of two kinds"
    assert all("--plan" in options[verb] for verb in dry), "it is not to apply a plan that nobody saw"
    for verb, (named, _) in at_once.IN_PART.items():
        assert {"--execute", "--plan", *named} <= options[verb]
    assert all(set(words.split()[2:]) <= options[" ".join(words.split()[:2])] for words in at_once.NOT_UNDONE)


def test_pages_that_help_names_are_there() -> None:
    """Each link of a generated page leads somewhere."""
    for path, text in reference.pages().items():
        for link in re.findall(r"\]\(([^)#]+\.md)", text):
            assert (path.parent / link).is_file(), link


@pytest.mark.parametrize(
    ("branch", "word"),
    [
        (AnabranchError, "a fault of Anabranch itself"),
        (ConfigError, "a file, a flag or an environment variable is wrong"),
        (RefusedError, "understood and refused"),
        (ClusterError, "could not be reached, or refused"),
        (ProtocolError, "break the wire format"),
    ],
)
def test_every_branch_of_errors_has_its_line(branch: type[AnabranchError], word: str) -> None:
    """The exit codes of the classes are those of the page, each with its meaning."""
    assert word in meanings(CODES.partition("\n## ")[0])[str(branch.exit_code)]


def meanings(text: str) -> dict[str, str]:
    """A table of exit codes, by code."""
    return dict(re.findall(r"^\| ([\d, ]+) \| ([^|]*) \|", text, re.MULTILINE))


def test_codes_of_single_verbs_are_in_their_rows() -> None:
    """6 is that of the three verbs that answer in part; ``verify`` exits with its verdict."""
    table = meanings(CODES.partition("\n## ")[0])
    assert table.keys() == {"0", "1", "2", "3", "4", "5", "6", "7", "130", "143"}
    own = {
        verb
        for verb in ROOT.commands["offsets"].commands
        for one in vars(importlib.import_module(f"anabranch.cli.offsets.{verb}")).values()
        if isinstance(one, type) and issubclass(one, AnabranchError) and one.exit_code == 6
    }
    assert own == {"rebuild", "translate"}
    assert set(re.findall(r"`offsets (\w+)`", table["6"])) == own
    told = {*(f"offsets {verb}" for verb in own), "mm2 translate"}
    assert {verb for verb, text in SECTIONS.items() if "\n- 6: " in text} == told
    assert "`mm2 translate`" in table["6"]
    verdicts = meanings(CODES.partition("\n## `verify`")[2])
    assert {code: text.partition(":")[0] for code, text in verdicts.items()} == {
        str(ComparisonVerdict.EQUAL.exit_code): "equal",
        str(ComparisonVerdict.DIFFERENT.exit_code): "different",
        str(COULD_NOT_TELL): "could not tell",
        "3, 4, 5": "could not tell either, for the reason that these codes have above",
        "130": "Ctrl-C",
    }
    assert ComparisonVerdict.UNKNOWN.exit_code == COULD_NOT_TELL
