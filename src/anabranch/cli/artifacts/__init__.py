"""``anabranch artifact``: jars, wheels and files of Python that functions of streams come from."""

from __future__ import annotations

import typer

from anabranch.cli.artifacts.changing import delete, upload
from anabranch.cli.artifacts.showing import download, list_, show

app = typer.Typer(
    help="Keep the jars, wheels and Python files that functions of streams come from.", no_args_is_help=True
)
app.command("upload")(upload)
app.command("list")(list_)
app.command("show")(show)
app.command("download")(download)
app.command("delete")(delete)
