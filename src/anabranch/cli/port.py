"""What the verbs need of the engine: a seam that tests fill with values.

The engine is imported when a verb runs, so that ``--help``, completion and the context verbs stay quick.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any, Protocol, cast

from anabranch.model.cluster import ClusterContext
from anabranch.model.decisions import AcceptPlan
from anabranch.model.link import LinkSpec
from anabranch.model.reports import DeletePlan, LinkStatus, ProbeReport
from anabranch.model.transactions import AbortPlan


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


class Decisions(Protocol):
    """``anabranch.engine.decisions``."""

    def accept(
        self,
        source: ClusterContext,
        target: ClusterContext,
        link_id: str,
        where: str | None,
        execute: bool,
        fingerprint: str | None = None,
    ) -> AcceptPlan:
        """Plan what accepting means; store the decision if ``execute`` and the plan still has this fingerprint."""


class Transactions(Protocol):
    """``anabranch.engine.transactions``."""

    def abort_transaction(
        self,
        source: ClusterContext,
        target: ClusterContext,
        link_id: str,
        where: str,
        producer_id: int | None,
        execute: bool,
    ) -> AbortPlan:
        """Name the open transactions of a source partition; end one of them if ``execute``."""


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


def decisions() -> Decisions:
    """The engine's decisions."""
    return cast(Decisions, import_module("anabranch.engine.decisions"))


def transactions() -> Transactions:
    """The engine's way to end transactions."""
    return cast(Transactions, import_module("anabranch.engine.transactions"))


def launcher() -> Launcher:
    """The engine's launcher."""
    return cast(Launcher, import_module("anabranch.engine.launcher"))
