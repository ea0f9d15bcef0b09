"""The reference pages say what the command line has, each verb and option in its own place, and nothing else."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any

import pytest
import typer

from anabranch.cli.main import app
from anabranch.cli.verify.guard import COULD_NOT_TELL
from anabranch.errors import AnabranchError, ClusterError, ConfigError, ProtocolError, RefusedError
from anabranch.verify.report import ComparisonVerdict

pytestmark = pytest.mark.unit

REFERENCE = Path(__file__).parents[3] / "docs" / "reference"
PAGE = (REFERENCE / "cli.md").read_text(encoding="utf-8")
CODES = (REFERENCE / "exit-codes.md").read_text(encoding="utf-8")
ROOT: Any = typer.main.get_command(app)
WITH_A_PAGE = {"sandbox"}
"""Groups whose verbs are only named here: they have a page of their own."""
SECTIONS = dict(re.findall(r"^## `(\w+)`[^\n]*\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
SHORT = re.compile(r"`(-[a-z])`")


def rows(group: str) -> dict[str, tuple[str, str]]:
    """What a section's table says, by verb: (how it is typed, what it does); some rows are of two verbs."""
    found = {}
    for line in SECTIONS[group].splitlines():
        if line.startswith("| `"):
            typed, does = line.strip("| ").split(" | ", 1)
            for verb in re.findall(rf"`{group} ([\w-]+)", typed):
                assert verb not in found
                found[verb] = typed, does
    return found


def shared(group: str, typed: str) -> str:
    """What stands before the table for verbs that take a ROUTE or a REWRITE."""
    before = " ".join(SECTIONS[group].partition("\n| verb")[0].split())
    parts = (
        re.search(rf"A `{word}` .*?(?= A `|All of them)", before) for word in ("ROUTE", "REWRITE") if word in typed
    )
    return " ".join(part[0] for part in parts if part is not None)


VERBS = [
    (group, verb, ROOT.commands[group].commands[verb])
    for group in ROOT.commands
    if group not in WITH_A_PAGE
    for verb in ROOT.commands[group].commands
]
each_verb = pytest.mark.parametrize(("group", "verb", "command"), VERBS, ids=[f"{one[0]}-{one[1]}" for one in VERBS])


def options(command: Any) -> Iterator[tuple[set[str], set[str], Any]]:
    """Each option's long names, its short ones, and its default as it is typed; None where it has none."""
    for parameter in command.params:
        names = {name for name in (*parameter.opts, *parameter.secondary_opts) if name.startswith("-")}
        default = parameter.default
        if isinstance(default, bool | tuple | list) or callable(default) or not names:
            default = None
        elif isinstance(default, Enum):
            default = default.value
        if names:
            long = {name for name in names if name.startswith("--")}
            yield long, names - long, f"{default:g}" if isinstance(default, float) else default


def test_every_group_has_its_section_and_every_section_its_group() -> None:
    """And each of its verbs one row; the groups with a page of their own name their verbs."""
    assert SECTIONS.keys() == ROOT.commands.keys()
    for group in SECTIONS.keys() - WITH_A_PAGE:
        assert rows(group).keys() == ROOT.commands[group].commands.keys()
    for group in WITH_A_PAGE:
        named = re.search(rf"`{group} ([\w|-]+)`", SECTIONS[group])
        assert named is not None
        assert set(named[1].split("|")) == ROOT.commands[group].commands.keys()


@each_verb
def test_a_verbs_row_has_its_options_and_no_others(group: str, verb: str, command: Any) -> None:
    """Those of a ROUTE and a REWRITE stand before the table, ``--target`` and what ``-o`` means at the page's head."""
    typed, does = rows(group)[verb]
    text = f"{typed} {shared(group, typed)} {does}"
    long = {name for names, _, _ in options(command) for name in names}
    short = {name for _, names, _ in options(command) for name in names}
    head = PAGE.partition("\n## ")[0]
    assert all(f"`{name}`" in head for name in ("--target", "-t", "-o", "--output"))
    assert ("-o" in short) is (re.search(r"\[-o\]|`-o`", f"{typed} {does}") is not None)
    assert long - {"--target", "--output"} <= set(OPTION.findall(text))
    assert set(OPTION.findall(text)) <= long
    assert short - {"-o", "-t"} == set(SHORT.findall(does)) - {"-o", "-t"}


@each_verb
def test_a_documented_default_is_the_verbs_own(group: str, verb: str, command: Any) -> None:
    """The first value that is said of an option is its default; one without a default has none said."""
    typed, does = rows(group)[verb]
    text = f"{typed} {shared(group, typed)} {does}"
    for names, short, default in options(command):
        if "-o" in short or not names & set(OPTION.findall(text)):
            continue
        (name,) = names if len(names) == 1 else {next(iter(names & set(OPTION.findall(text))))}
        said = re.search(rf"{name}\b(?!-)[^`]*`(?: \(`-\w`\))?(.*?)(?=`--|\Z)", text)
        assert said is not None, name
        value = re.search(r"`([^`-][^`]*)`|\((\d[\d.]*)\)", said[1])
        if default is None:
            assert re.search(r"default|\((\d[\d.]*)\)", said[1]) is None, name
        else:
            assert value is not None and (value[1] or value[2]) == str(default), (name, said[1])


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
    """6 is that of the two verbs that answer in part; ``verify`` exits with its verdict."""
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
    saying = {(group, verb) for group, verb, _ in VERBS if "code 6" in rows(group)[verb][1]}
    assert saying == {("offsets", verb) for verb in own}
    verdicts = meanings(CODES.partition("\n## `verify`")[2])
    assert {code: text.partition(":")[0] for code, text in verdicts.items()} == {
        str(ComparisonVerdict.EQUAL.exit_code): "equal",
        str(ComparisonVerdict.DIFFERENT.exit_code): "different",
        str(COULD_NOT_TELL): "could not tell",
        "3, 4, 5": "could not tell either, for the reason that these codes have above",
        "130": "Ctrl-C",
    }
    assert ComparisonVerdict.UNKNOWN.exit_code == COULD_NOT_TELL
