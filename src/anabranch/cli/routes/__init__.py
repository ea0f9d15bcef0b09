"""``anabranch route``: where applications that name a cluster code are led, asked of the service."""

from __future__ import annotations

import typer

from anabranch.cli.routes.change import apply, rollback
from anabranch.cli.routes.clients import clients
from anabranch.cli.routes.explain import explain
from anabranch.cli.routes.show import show, versions
from anabranch.cli.routes.switches import cancel, switches

app = typer.Typer(
    help="Lead applications to clusters by code: codes, rules, versions, and who is where.", no_args_is_help=True
)
app.command("show")(show)
app.command("versions")(versions)
app.command("explain")(explain)
app.command("apply")(apply)
app.command("rollback")(rollback)
app.command("clients")(clients)
app.command("switches")(switches)
app.command("cancel")(cancel)
