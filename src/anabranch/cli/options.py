"""Options that several verbs share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

import typer

from anabranch.cli.completing import context_names, link_ids
from anabranch.errors import InvalidFieldError

TargetOption = Annotated[
    str | None,
    typer.Option(
        "--target",
        "-t",
        help="Context of the target, which stores the link; default: ANABRANCH_TARGET, then the contexts file's.",
        autocompletion=context_names,
        show_default=False,
    ),
]
LinkArgument = Annotated[
    str, typer.Argument(metavar="LINK", help="The link's id.", autocompletion=link_ids, show_default=False)
]


def settings_of(texts: Iterable[str] | None) -> dict[str, str]:
    """Spark's settings from ``--conf KEY=VALUE``; raises ``InvalidFieldError``."""
    settings = {}
    for text in texts or ():
        key, equals, value = text.partition("=")
        if not equals:
            raise InvalidFieldError("Spark", "--conf", f"{text!r} is not KEY=VALUE")
        settings[key] = value
    return settings
