"""``anabranch checkpoint undo``: take a rewrite in place back, byte for byte."""

from __future__ import annotations

from anabranch.cli import port
from anabranch.cli.checkpoints import render as render_checkpoints
from anabranch.cli.checkpoints.options import CheckpointRefusedError, PathArgument
from anabranch.cli.dryrun import ExecuteOption, say_dry_run
from anabranch.cli.hints import quoted
from anabranch.cli.output import Format, FormatOption, emit


def undo(
    path: PathArgument,
    execute: ExecuteOption = False,
    output: FormatOption = Format.TABLE,
) -> None:
    """Restore the bytes from before the newest rewrite in place, also of one that broke off."""
    found = port.checkpoints().undo(path, execute)
    emit(found, render_checkpoints.undo(found), output)
    if found.refusals:
        raise CheckpointRefusedError("it cannot be undone", len(found.refusals))
    if not execute:
        say_dry_run(f"anabranch checkpoint undo {quoted(path)} --execute")
