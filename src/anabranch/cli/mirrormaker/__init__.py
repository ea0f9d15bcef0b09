"""``anabranch mm2``: working beside MirrorMaker 2."""

from __future__ import annotations

import typer

from anabranch.cli.mirrormaker.publish import publish
from anabranch.cli.mirrormaker.report import report
from anabranch.cli.mirrormaker.translate import translate

app = typer.Typer(help="Check MirrorMaker 2's offsets, and publish exact ones for its clients.", no_args_is_help=True)
app.command("report")(report)
app.command("translate")(translate)
app.command("publish")(publish)
