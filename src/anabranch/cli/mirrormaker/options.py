"""What both verbs take."""

from __future__ import annotations

from typing import Annotated

import typer

SourceAliasOption = Annotated[
    str | None,
    typer.Option("--source-alias", help="The source's alias in MirrorMaker's properties.", show_default=False),
]
SeparatorOption = Annotated[str, typer.Option("--separator", help="MirrorMaker's replication.policy.separator.")]
