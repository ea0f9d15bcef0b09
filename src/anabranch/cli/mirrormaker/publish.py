"""``anabranch mm2 publish``: a link's exact positions for clients that ask MirrorMaker 2's topics."""

from __future__ import annotations

import typer

from anabranch.cli import port
from anabranch.cli.dryrun import ExecuteOption, say_dry_run
from anabranch.cli.hints import quoted, repeated
from anabranch.cli.mirrormaker import options, tables
from anabranch.cli.mirrormaker.options import SeparatorOption, SourceAliasOption
from anabranch.cli.options import LinkArgument, TargetOption, contexts, target
from anabranch.cli.output import Format, FormatOption, emit
from anabranch.mirrormaker.names import SEPARATOR


def publish(
    ctx: typer.Context,
    link: LinkArgument,
    target_name: TargetOption = None,
    source_alias: SourceAliasOption = None,
    separator: SeparatorOption = SEPARATOR,
    execute: ExecuteOption = False,
    output: FormatOption = Format.TABLE,
) -> None:
    """Write every group's exact position as a checkpoint, where RemoteClusterUtils and MirrorClient read it."""
    there = target(ctx, target_name)
    here = contexts(ctx).get(port.links().show(there, link).spec.source.context)
    found = options.mirrors().publish_link(here, there, link, execute, source_alias=source_alias, separator=separator)
    emit(found, tables.published(found, separator), output)
    if not execute:
        words = "" if source_alias is None else f" --source-alias {quoted(source_alias)}"
        words += "" if separator == SEPARATOR else f" --separator {quoted(separator)}"
        command = f"anabranch mm2 publish {link}{words}{repeated(target_name)} --execute"
        say_dry_run(command)
