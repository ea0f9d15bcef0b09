"""One answer, three forms: a table for people, JSON and YAML for programs.

Data goes to standard output and nothing else does; ids and keys are written as their texts.
"""

from __future__ import annotations

import json
import sys
from enum import StrEnum
from typing import Annotated

import typer
import yaml
from rich.console import Console, RenderableType

from anabranch.operations.documents import plain

_PIPE_WIDTH = 180


class Format(StrEnum):
    """How an answer is written."""

    TABLE = "table"
    JSON = "json"
    YAML = "yaml"


FormatOption = Annotated[Format, typer.Option("-o", "--output", help="How to write the answer.")]


def console() -> Console:
    """Standard output; wide in a pipe, so that tables do not wrap there.

    What is printed is shown as it is: a group's name or an error of others may hold ``[b]`` or ``:x:``.
    """
    return Console(width=None if sys.stdout.isatty() else _PIPE_WIDTH, markup=False, emoji=False)


def error_console() -> Console:
    """Standard error; what is printed is shown as it is."""
    return Console(stderr=True, markup=False, emoji=False)


def emit(value: object, table: RenderableType, form: Format) -> None:
    """Write an answer in the form that was asked for; ``table`` is what people see."""
    if form is Format.JSON:
        typer.echo(json.dumps(plain(value), indent=2, ensure_ascii=False))
    elif form is Format.YAML:
        typer.echo(yaml.safe_dump(plain(value), sort_keys=False, allow_unicode=True), nl=False)
    else:
        console().print(table)
