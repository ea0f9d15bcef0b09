"""``anabranch``: the root of all verbs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from anabranch import __version__
from anabranch.cli import artifacts, catalog, groups, mirrormaker, offsets, sandbox, verify
from anabranch.cli import checkpoints as checkpoint
from anabranch.cli import contexts as context
from anabranch.cli import links as link
from anabranch.cli import migrations as migrate
from anabranch.cli import routes as route
from anabranch.cli import streams as stream
from anabranch.cli.accounts import accounts, tokens
from anabranch.cli.hints import typed_target
from anabranch.cli.serve import serve

app = typer.Typer(
    name="anabranch",
    help="Move Kafka clusters under running applications without losing, repeating, reordering or altering a record.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(context.app, name="context")
app.add_typer(link.app, name="link")
app.add_typer(groups.app, name="groups")
app.add_typer(mirrormaker.app, name="mm2")
app.add_typer(offsets.app, name="offsets")
app.add_typer(checkpoint.app, name="checkpoint")
app.add_typer(verify.app, name="verify")
app.add_typer(migrate.app, name="migrate")
app.command("serve")(serve)
app.add_typer(route.app, name="route")
app.add_typer(stream.app, name="stream")
app.add_typer(artifacts.app, name="artifact")
app.add_typer(catalog.app, name="catalog")
app.add_typer(accounts, name="account")
app.add_typer(tokens, name="token")
app.add_typer(sandbox.app, name="sandbox")


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"anabranch {__version__}")
        raise typer.Exit


@app.callback()
def root(
    ctx: typer.Context,
    contexts: Annotated[
        Path | None,
        typer.Option(
            "--contexts", help="Contexts file; default: ANABRANCH_CONTEXTS, else see docs/reference/contexts.md."
        ),
    ] = None,
    _: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Take the options that all verbs share."""
    ctx.obj = contexts
    typed_target.set(None)
