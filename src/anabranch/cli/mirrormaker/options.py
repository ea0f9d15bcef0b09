"""What several verbs take."""

from __future__ import annotations

from typing import Annotated

import typer

from anabranch.cli.completing import context_names

MirroredOption = Annotated[
    str,
    typer.Option(
        "--source",
        "-s",
        help="Context of the cluster that MirrorMaker copies.",
        autocompletion=context_names,
        show_default=False,
    ),
]
TargetAliasOption = Annotated[
    str | None,
    typer.Option("--target-alias", help="The target's alias in MirrorMaker's properties.", show_default=False),
]
LookOption = Annotated[int, typer.Option("--look", min=0, help="Look up so many positions in the logs' records.")]
SourceAliasOption = Annotated[
    str | None,
    typer.Option("--source-alias", help="The source's alias in MirrorMaker's properties.", show_default=False),
]
SeparatorOption = Annotated[str, typer.Option("--separator", help="MirrorMaker's replication.policy.separator.")]
