"""Options that several verbs share, and the contexts that they lead to."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from anabranch.cli.hints import typed_target
from anabranch.config import contexts as store
from anabranch.model.cluster import ClusterContext

TargetOption = Annotated[
    str | None, typer.Option("--target", "-t", help="Context of the target, which stores the link.", show_default=False)
]
LinkArgument = Annotated[str, typer.Argument(metavar="LINK", help="The link's id.", show_default=False)]


def contexts(ctx: typer.Context, new: bool = False) -> store.Contexts:
    """The contexts file in use; one that was named must be there unless it may be ``new``.  Raises ``ConfigError``."""
    flag: Path | None = ctx.find_root().obj
    location = store.locate(flag, os.environ, Path.cwd())
    if not new:
        location.check_named()
    return store.load(location)


def target(ctx: typer.Context, flag: str | None) -> ClusterContext:
    """The target that a verb acts on; raises ``ConfigError``."""
    typed_target.set(flag)
    return contexts(ctx).target_context(flag, os.environ)
