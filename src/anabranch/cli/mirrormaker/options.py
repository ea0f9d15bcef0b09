"""What both verbs take, and the engine behind them, imported when a verb runs."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Protocol, cast

import typer

from anabranch.mirrormaker.report import MirrorReport
from anabranch.model.cluster import ClusterContext

if TYPE_CHECKING:
    from anabranch.operations.mirrormaker import Published

SourceAliasOption = Annotated[
    str | None,
    typer.Option("--source-alias", help="The source's alias in MirrorMaker's properties.", show_default=False),
]
SeparatorOption = Annotated[str, typer.Option("--separator", help="MirrorMaker's replication.policy.separator.")]


class Mirrors(Protocol):
    """``anabranch.operations.mirrormaker``; every function raises ``AnabranchError``."""

    def report(
        self,
        source: ClusterContext,
        target: ClusterContext,
        source_alias: str | None = None,
        target_alias: str | None = None,
        *,
        separator: str,
        link: str | None,
        look: int,
    ) -> MirrorReport:
        """Compare MirrorMaker's answers with the exact ones."""

    def publish_link(
        self,
        source: ClusterContext,
        target: ClusterContext,
        link: str,
        execute: bool,
        *,
        source_alias: str | None,
        separator: str,
    ) -> Published:
        """Show a link's exact positions; write them if ``execute``."""


def mirrors() -> Mirrors:
    """The engine's side of MirrorMaker 2."""
    return cast(Mirrors, import_module("anabranch.operations.mirrormaker"))
