"""``anabranch checkpoint``: one module a verb, or a pair that belong together."""

from __future__ import annotations

import typer

from anabranch.cli.checkpoints.advise import advise
from anabranch.cli.checkpoints.inspect import inspect
from anabranch.cli.checkpoints.rewrite import plan, rewrite
from anabranch.cli.checkpoints.undo import undo
from anabranch.cli.checkpoints.verify import verify

app = typer.Typer(help="Move the positions inside of Spark's and Flink's checkpoints.", no_args_is_help=True)
app.command("inspect")(inspect)
app.command("advise")(advise)
app.command("plan")(plan)
app.command("rewrite")(rewrite)
app.command("verify")(verify)
app.command("undo")(undo)
