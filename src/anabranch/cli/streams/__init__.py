"""``anabranch stream``: SQL jobs on streams; one module a verb."""

from __future__ import annotations

import typer

from anabranch.cli.streams.preview import preview
from anabranch.cli.streams.run import run
from anabranch.cli.streams.validate import validate

app = typer.Typer(help="Run SQL on streams.", no_args_is_help=True)
app.command("validate")(validate)
app.command("preview")(preview)
app.command("run")(run)
