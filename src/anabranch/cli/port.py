"""What the verbs need of the engine: a seam that tests fill with values.

The engine is imported when a verb runs, so that ``--help``, completion and the context verbs stay quick.
"""

from __future__ import annotations

import subprocess
from collections.abc import Collection, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

from anabranch.cli.running import on_context, run
from anabranch.config.maps_file import StoredMap
from anabranch.config.rebuildspec import Part, RebuildSpec
from anabranch.config.verifyspec import VerifyOptions, VerifySpec
from anabranch.groups.create import CreatePlan
from anabranch.groups.freshness import SyncRound
from anabranch.groups.mark import MarkReport
from anabranch.groups.plan import GroupsPlan
from anabranch.groups.report import GroupReport, GroupsReport
from anabranch.groups.select import Selection
from anabranch.groups.undo import UndoPlan
from anabranch.model.cluster import ClusterContext
from anabranch.model.lane import LaneKey
from anabranch.model.positions import LaneRuns, Translation
from anabranch.model.reports import LinkStatus
from anabranch.model.start import StartPosition
from anabranch.model.topics import TopicPartition
from anabranch.state.codecs.verified import VerifyStatus


class Links:
    """What verbs of other nouns still ask about a link; those of links open their clusters themselves."""

    def show(self, target: ClusterContext, link_id: str) -> LinkStatus:
        """One link; raises ``AnabranchError``."""
        return run(_show(target, link_id))


async def _show(target: ClusterContext, link_id: str) -> LinkStatus:
    from anabranch.operations.links.show import show

    async with on_context(target) as cluster:
        return await show(cluster, link_id)


class Groups(Protocol):
    """``anabranch.operations.groups.groups``."""

    def list_groups(self, source: ClusterContext, target: ClusterContext, link_id: str) -> GroupsReport:
        """Every group of the source, on both sides."""

    def show(self, source: ClusterContext, target: ClusterContext, link_id: str, name: str) -> GroupReport:
        """One group in full."""

    def mark_groups(
        self, source: ClusterContext, target: ClusterContext, link_id: str, selection: Selection
    ) -> MarkReport:
        """Store where groups stand, and tell which of them the link would lose records for."""

    def sync(
        self,
        source: ClusterContext,
        target: ClusterContext,
        link_id: str,
        selection: Selection,
        execute: bool,
        fingerprint: str | None = None,
    ) -> GroupsPlan:
        """Plan to move groups; do it if ``execute`` and the plan still has this fingerprint."""

    def freshness(self, target: ClusterContext, link_id: str) -> SyncRound | None:
        """The last round of the link's continuous sync."""

    def undo_move(self, cluster: ClusterContext, undo_id: str, execute: bool) -> UndoPlan:
        """Plan to give groups back what they had; do it if ``execute``."""


class Subscriptions(Protocol):
    """``anabranch.operations.groups.subscriptions``."""

    def create(
        self, context: ClusterContext, group: str, topics: Sequence[str], start: StartPosition, execute: bool
    ) -> CreatePlan:
        """Plan to begin a group that is not there yet; do it if ``execute`` and nothing forbids it."""


class Offsets(Protocol):
    """``anabranch.operations.offsets.offsets``."""

    def translate(
        self,
        target: ClusterContext,
        link_id: str,
        questions: Sequence[tuple[TopicPartition, int]],
        *,
        reverse: bool = False,
        records: bool = False,
    ) -> Translation:
        """Translate offsets of source partitions, with ``reverse`` of target partitions."""

    def translate_group(
        self, source: ClusterContext, target: ClusterContext, link_id: str, group: str, *, reverse: bool = False
    ) -> Translation:
        """Translate what a group has committed on the source, with ``reverse`` on the target."""

    def runs(self, target: ClusterContext, link_id: str, where: str | None = None) -> Sequence[LaneRuns]:
        """The maps of a link, a source topic or a source partition."""

    def export(
        self, target: ClusterContext, link_id: str
    ) -> tuple[str, str, Mapping[LaneKey, bytes], Sequence[LaneRuns]]:
        """The contexts of source and target, each lane's stored runs, and the maps."""


class Verify(Protocol):
    """``anabranch.operations.verify.comparing``."""

    def plan(
        self,
        source: ClusterContext,
        target: ClusterContext,
        link_id: str,
        options: VerifyOptions,
        resume: bool = False,
    ) -> VerifySpec:
        """Pin the link's lanes; a resumed comparison keeps the pins and options of the one that was stopped."""

    def launch(
        self, spec: VerifySpec, master: str, directory: Path, settings: Mapping[str, str], detached: bool = False
    ) -> subprocess.Popen[bytes]:
        """Start the job, which ends with this process unless it is detached."""

    def detach(self, job: subprocess.Popen[bytes]) -> None:
        """Have a job that was launched outlive this process."""

    def show(self, target: ClusterContext, link_id: str) -> VerifyStatus:
        """The link's comparison."""

    def stop(self, target: ClusterContext, link_id: str) -> VerifyStatus:
        """Have the running comparison end after its round."""


class Rebuilding(Protocol):
    """``anabranch.operations.offsets.rebuilding``."""

    def plan(
        self,
        source: ClusterContext,
        target: ClusterContext,
        link: str,
        topics: Mapping[str, str],
        ignore: Collection[Part] = (),
    ) -> RebuildSpec:
        """Pin both logs of these topics, given as source name to target name."""

    def run(
        self, spec: RebuildSpec, out: Path, master: str, settings: Mapping[str, str], work: Path
    ) -> subprocess.Popen[str]:
        """Start the job; its steps are lines of its standard output."""

    def comparison(
        self, source: ClusterContext, target: ClusterContext, link: str, maps: Sequence[StoredMap]
    ) -> VerifySpec:
        """A comparison of both sides through maps."""


def links() -> Links:
    """The links of a target."""
    return Links()


def groups() -> Groups:
    """The engine's consumer groups."""
    return cast(Groups, import_module("anabranch.operations.groups.groups"))


def subscriptions() -> Subscriptions:
    """The engine's way to begin groups."""
    return cast(Subscriptions, import_module("anabranch.operations.groups.subscriptions"))


def offsets() -> Offsets:
    """The engine's way to translate offsets."""
    return cast(Offsets, import_module("anabranch.operations.offsets.offsets"))


def verify() -> Verify:
    """The engine's comparisons."""
    return cast(Verify, import_module("anabranch.operations.verify.comparing"))


def rebuilding() -> Rebuilding:
    """The engine's way to align topics."""
    return cast(Rebuilding, import_module("anabranch.operations.offsets.rebuilding"))
