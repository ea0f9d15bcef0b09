"""``anabranch stream``: SQL jobs on streams; one module a kind of verb."""

from __future__ import annotations

import typer

from anabranch.cli.streams.alerts import alerts
from anabranch.cli.streams.checkpoint import checkpoint
from anabranch.cli.streams.driving import abandon, restart, start, stop
from anabranch.cli.streams.lineage import lineage
from anabranch.cli.streams.preview import preview
from anabranch.cli.streams.run import run
from anabranch.cli.streams.saving import create, delete, edit, publish, rollback
from anabranch.cli.streams.showing import diff, list_, logs, show, versions
from anabranch.cli.streams.try_checkpoints import try_
from anabranch.cli.streams.validate import validate

app = typer.Typer(help="Run SQL on streams: here, or kept running by the service.", no_args_is_help=True)
app.command("validate")(validate)
app.command("preview")(preview)
app.command("try")(try_)
app.command("run")(run)
app.command("create")(create)
app.command("list")(list_)
app.command("show")(show)
app.command("edit")(edit)
app.command("versions")(versions)
app.command("diff")(diff)
app.command("publish")(publish)
app.command("rollback")(rollback)
app.command("start")(start)
app.command("stop")(stop)
app.command("restart")(restart)
app.command("abandon")(abandon)
app.command("logs")(logs)
app.command("alerts")(alerts)
app.command("checkpoint")(checkpoint)
app.command("lineage")(lineage)
app.command("delete")(delete)
