"""What the verbs need of the engine: a seam that tests fill with values.

The engine is imported when a verb runs, so that ``--help``, completion and the context verbs stay quick.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any, Protocol, cast

from anabranch.model.cluster import ClusterContext
from anabranch.model.link import LinkSpec
from anabranch.model.reports import DeletePlan, LinkStatus, ProbeReport


class Links(Protocol):
    """``anabranch.engine.links``; every function raises ``AnabranchError``."""

    def create(self, source: ClusterContext, target: ClusterContext, spec: LinkSpec, execute: bool) -> ProbeReport:
        """Probe both clusters; store the link if ``execute`` and nothing forbids it."""

    def list_links(self, target: ClusterContext) -> Sequence[LinkStatus]:
        """Every link that the target stores."""

    def show(self, target: ClusterContext, link_id: str) -> LinkStatus:
        """One link."""

    def set_wanted(self, target: ClusterContext, link_id: str, **changes: Any) -> None:
        """Change ``filter`` or ``rate_limit`` of the wanted state."""

    def pause(self, target: ClusterContext, link_id: str) -> None:
        """Have the workers stop reading; lanes and leases stay."""

    def resume(self, target: ClusterContext, link_id: str) -> None:
        """Undo ``pause``."""

    def delete(self, target: ClusterContext, link_id: str, execute: bool, fingerprint: str | None = None) -> DeletePlan:
        """Plan the deletion; carry it out if ``execute`` and the plan still has this fingerprint."""


class Launcher(Protocol):
    """``anabranch.engine.launcher``."""

    def run_link(
        self,
        target: ClusterContext,
        source: ClusterContext,
        link_id: str,
        master: str,
        lease_seconds: int,
    ) -> int:
        """Run the link's Spark query until it ends or is interrupted; returns its exit code."""


def links() -> Links:
    """The engine's links."""
    return cast(Links, import_module("anabranch.engine.links"))


def launcher() -> Launcher:
    """The engine's launcher."""
    return cast(Launcher, import_module("anabranch.engine.launcher"))
