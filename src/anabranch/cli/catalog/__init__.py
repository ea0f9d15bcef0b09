"""``anabranch catalog``: tables, views and functions that streams share, and who may use them, asked of the service."""

from __future__ import annotations

import typer

from anabranch.cli.catalog.define import create, import_topics
from anabranch.cli.catalog.drop import drop
from anabranch.cli.catalog.rights import grant, group, revoke, set_entry
from anabranch.cli.catalog.show import grants, groups, list_entries, show, versions

app = typer.Typer(help="Share tables, views and functions between streams, under grants.", no_args_is_help=True)
app.command("list")(list_entries)
app.command("show")(show)
app.command("versions")(versions)
app.command("create")(create)
app.command("import")(import_topics)
app.command("drop")(drop)
app.command("set")(set_entry)
app.command("grants")(grants)
app.command("grant")(grant)
app.command("revoke")(revoke)
app.command("groups")(groups)
app.command("group")(group)
