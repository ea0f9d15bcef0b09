"""``anabranch migrate``: one module a verb."""

from __future__ import annotations

import typer

from anabranch.cli.migrations.discover import discover
from anabranch.cli.migrations.plan import plan

app = typer.Typer(help="Move applications from one cluster to another, in waves, by one plan.", no_args_is_help=True)
app.command("discover")(discover)
app.command("plan")(plan)
