"""``anabranch offsets export``: the maps of a link as a file, to translate without its clusters."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from anabranch.cli import port
from anabranch.cli.options import LinkArgument, TargetOption, target
from anabranch.config import maps_file


class FileFormat(StrEnum):
    """``json`` is read back by programs; ``csv`` has a line a run, for spreadsheets and databases."""

    JSON = "json"
    CSV = "csv"


def export(
    ctx: typer.Context,
    link: LinkArgument,
    out: Annotated[Path, typer.Option("--out", help="The file, replaced at once.", show_default=False)],
    format_: Annotated[FileFormat, typer.Option("--format", help="json, or csv with a line a run.")] = FileFormat.JSON,
    target_name: TargetOption = None,
) -> None:
    """Write all maps of a link to a file; nothing is written where one of them is in doubt."""
    source_name, target_context, stored, lanes = port.offsets().export(target(ctx, target_name), link)
    if format_ is FileFormat.JSON:
        maps_file.save(out, link, source_name, target_context, stored, lanes)
    else:
        maps_file.save_csv(out, lanes)
    typer.echo(f"{len(lanes):,} lanes, {sum(len(one.runs) for one in lanes):,} runs are in {out}", err=True)
