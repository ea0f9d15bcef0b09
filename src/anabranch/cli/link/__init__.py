"""``anabranch link``: one module a verb, or a pair that undo each other."""

from __future__ import annotations

import typer

from anabranch.cli.link.abort_transaction import abort_transaction
from anabranch.cli.link.accept import accept
from anabranch.cli.link.change import pause, resume, set_
from anabranch.cli.link.create import create
from anabranch.cli.link.delete import delete
from anabranch.cli.link.metrics import metrics
from anabranch.cli.link.package import package
from anabranch.cli.link.run import run
from anabranch.cli.link.show import list_, show
from anabranch.cli.link.stop import stop
from anabranch.cli.link.wait import wait

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
