"""``anabranch verify``: whether both clusters of a link hold the same, and what differs."""

from __future__ import annotations

import typer

from anabranch.cli.verify.show import show
from anabranch.cli.verify.start import resume, start
from anabranch.cli.verify.stop import stop

app = typer.Typer(
    help="Compare both sides of a link, record by record; exits with 0 equal, 1 different, 2 or more: could not tell.",
    no_args_is_help=True,
)
app.command("start")(start)
app.command("show")(show)
app.command("stop")(stop)
app.command("resume")(resume)
