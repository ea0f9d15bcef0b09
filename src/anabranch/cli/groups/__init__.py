"""``anabranch groups``: one module a verb, or a pair that belong together."""

from __future__ import annotations

import typer

from anabranch.cli.groups.baseline import baseline
from anabranch.cli.groups.create import create
from anabranch.cli.groups.show import list_, show
from anabranch.cli.groups.sync import plan, sync
from anabranch.cli.groups.undo import undo

app = typer.Typer(help="Move consumer groups to another cluster.", no_args_is_help=True)
app.command("list")(list_)
app.command("show")(show)
app.command("baseline")(baseline)
app.command("plan")(plan)
app.command("sync")(sync)
app.command("create")(create)
app.command("undo")(undo)
