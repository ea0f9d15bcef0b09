"""``anabranch migrate``: what it plans by itself, and what it has the service do."""

from __future__ import annotations

import typer

from anabranch.cli.migrations.access import access
from anabranch.cli.migrations.cancel import cancel
from anabranch.cli.migrations.changing import approve, hold, release, resume, set_, throttle
from anabranch.cli.migrations.discover import discover
from anabranch.cli.migrations.plan import plan
from anabranch.cli.migrations.rehearse import rehearse
from anabranch.cli.migrations.show import show, status
from anabranch.cli.migrations.start import start
from anabranch.cli.migrations.waves import complete, reconcile, reverse, switch, verify

app = typer.Typer(help="Move applications from one cluster to another, in waves, by one plan.", no_args_is_help=True)
app.command("discover")(discover)
app.command("plan")(plan)
app.command("rehearse")(rehearse)
app.command("start")(start)
app.command("status")(status)
app.command("show")(show)
app.command("verify")(verify)
app.command("switch")(switch)
app.command("reverse")(reverse)
app.command("reconcile")(reconcile)
app.command("complete")(complete)
app.command("cancel")(cancel)
app.command("hold")(hold)
app.command("release")(release)
app.command("throttle")(throttle)
app.command("resume")(resume)
app.command("set")(set_)
app.command("approve")(approve)
app.command("access")(access)
