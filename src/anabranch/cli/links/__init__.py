"""``anabranch link``: one module a verb, or a pair that undo each other."""

from __future__ import annotations

import typer

from anabranch.cli.links.abort_transaction import abort_transaction
from anabranch.cli.links.accept import accept
from anabranch.cli.links.change import pause, resume, set_
from anabranch.cli.links.create import create
from anabranch.cli.links.delete import delete
from anabranch.cli.links.metrics import metrics
from anabranch.cli.links.package import package
from anabranch.cli.links.run import run
from anabranch.cli.links.show import list_, show
from anabranch.cli.links.stop import stop
from anabranch.cli.links.wait import wait

app = typer.Typer(help="Copy from one cluster to another.", no_args_is_help=True)
app.command("create")(create)
app.command("list")(list_)
app.command("show")(show)
app.command("wait")(wait)
app.command("run")(run)
app.command("stop")(stop)
app.command("package")(package)
app.command("pause")(pause)
app.command("resume")(resume)
app.command("set")(set_)
app.command("accept")(accept)
app.command("abort-transaction")(abort_transaction)
app.command("delete")(delete)
app.command("metrics")(metrics)
