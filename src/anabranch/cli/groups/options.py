"""Options that the verbs about groups share, and the error that ends a refusal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from anabranch.cli.completing import context_names, source_groups, source_topics
from anabranch.cli.hints import quoted, repeated
from anabranch.errors import RefusedError
from anabranch.groups.select import GroupSelection

GroupsArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="GROUP",
        help="Regular expressions that match whole names; default all that have committed something in the link.",
        autocompletion=source_groups,
        show_default=False,
    ),
]
ExcludeOption = Annotated[
    list[str] | None,
    typer.Option(help="Groups to leave out; wins over GROUP. Repeatable.", autocompletion=source_groups),
]
ClusterOption = Annotated[
    str | None,
    typer.Option(
        "--target",
        "-t",
        help="Context of the cluster that the group is on.",
        autocompletion=context_names,
        show_default=False,
    ),
]
TopicsOption = Annotated[
    list[str] | None,
    typer.Option(
        help="Source topics that count; commits of others are left out. Repeatable.", autocompletion=source_topics
    ),
]


@dataclass(eq=False)
class GroupsRefusedError(RefusedError):
    """Some groups were not moved, or would not be; the table says why of each."""

    what: str
    number: int
    next: str = ""

    @property
    def message(self) -> str:
        groups = "1 group" if self.number == 1 else f"{self.number:,} groups"
        return f"{groups} {self.what}"

    _hint = "{next}"


def selection(groups: list[str] | None, exclude: list[str] | None, topics: list[str] | None) -> GroupSelection:
    """What was typed, checked; raises ``InvalidFieldError``."""
    return GroupSelection(tuple(groups or ()), tuple(exclude or ()), tuple(topics or ()))


def arguments(
    groups: list[str] | None, exclude: list[str] | None, topics: list[str] | None, target_name: str | None
) -> str:
    """The selection and the target as they were typed, to be repeated in a hint."""
    words = [quoted(one) for one in groups or ()]
    words += [f"--exclude {quoted(one)}" for one in exclude or ()]
    words += [f"--topics {quoted(one)}" for one in topics or ()]
    return "".join(f" {word}" for word in words) + repeated(target_name)
