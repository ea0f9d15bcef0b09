"""``anabranch link package``: this installation as an archive for the machines of a Spark cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from anabranch.operations.jobs import environment


def package(
    out: Annotated[Path, typer.Option(help="The archive to write.")] = Path("anabranch-env.tar.gz"),
    python: Annotated[
        str | None,
        typer.Option(help="Python there: a name or a path; default: this one's version.", show_default=False),
    ] = None,
) -> None:
    """Write an archive with Anabranch and its packages, for machines that have nothing but Python.

    It has the plugins that are installed here, too. See docs/how-to/run-on-a-cluster.md.
    """
    name = python or environment.default_python()
    packed = environment.build(out, name)
    typer.echo(f"{packed.path}: {len(packed.packages):,} packages, {packed.size / 1e6:,.0f} MB; it runs with {name}")
    typer.echo("use it: anabranch link run LINK --master yarn --archive " + str(packed.path))
