"""``anabranch offsets``: translate offsets by a link's maps, exactly or not at all."""

from __future__ import annotations

import typer

from anabranch.cli.offsets.export import export
from anabranch.cli.offsets.ranges import ranges
from anabranch.cli.offsets.rebuild import rebuild
from anabranch.cli.offsets.translate import translate

app = typer.Typer(help="Translate offsets between the clusters of a link, exactly.", no_args_is_help=True)
app.command("translate")(translate)
app.command("ranges")(ranges)
app.command("export")(export)
app.command("rebuild")(rebuild)
