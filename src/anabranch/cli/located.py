"""The contexts file that a verb, or shell completion, uses, and the target in it."""

from __future__ import annotations

import os
from pathlib import Path

import typer

from anabranch.cli.hints import typed_target
from anabranch.config import contexts as store
from anabranch.model.cluster import ClusterContext


def contexts(ctx: typer.Context, new: bool = False) -> store.Contexts:
    """The contexts file in use; one that was named must be there unless it may be ``new``.  Raises ``ConfigError``."""
    root = ctx.find_root()
    flag: Path | None = root.obj or root.params.get("contexts")  # a shell that completes runs no callback
    location = store.locate(flag, os.environ, Path.cwd())
    if not new:
        location.check_named()
    return store.load(location)


def target(ctx: typer.Context, flag: str | None) -> ClusterContext:
    """The target that a verb acts on; raises ``ConfigError``."""
    typed_target.set(flag)
    return contexts(ctx).target_context(flag, os.environ)
