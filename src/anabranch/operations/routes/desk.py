"""What operations on routes are handed: the versions, the clients, and the one way to publish."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from anabranch.errors import RefusedError
from anabranch.model.cluster import ClusterContext
from anabranch.model.routing import Client
from anabranch.operations.routes.moving import CopyingLink
from anabranch.routes.switch import Pair, Switch, SwitchPolicy
from anabranch.routes.table import RouteTable, RouteVersion


@dataclass(frozen=True, slots=True)
class SwitchOrder:
    """A switch that is to begin: the table over version ``base`` that it publishes, and how.

    ``run`` is the run of a migration that asks for it.  ``is_gated`` says whether it waits, once all have paused, until
    its gate is opened; a run has at most one such switch.  ``lost`` are clusters that are known not to answer.
    """

    table: RouteTable
    base: int
    reason: str
    policy: SwitchPolicy
    links: Mapping[Pair, str] = field(hash=False)
    run: str = ""
    is_gated: bool = False
    lost: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Switched:
    """A switch that was made, the version that it published, and what is not known of a cluster that was lost."""

    switch: str
    version: RouteVersion
    doubts: tuple[str, ...]


@dataclass(eq=False)
class SwitchCancelledError(RefusedError):
    """A switch was given up: every client is on the cluster where it was, and no table was published."""

    switch: str
    why: str

    _message = "switch {switch} was given up, and every client left where it was: {why}"
    _hint = "look at it: `anabranch route switches {switch}`"


class RouteDesk(Protocol):
    """Where route tables are kept, and who is led by them."""

    async def newest(self) -> RouteVersion | None:
        """The version that applies, None where none was published."""
        ...

    async def version(self, number: int) -> RouteVersion:
        """A version; raises RefusedError where it is not there."""
        ...

    async def clients(self) -> Sequence[Client]:
        """Every client that was seen of late, also those whose leases have run out or that have ended."""
        ...

    def contexts(self) -> Mapping[str, ClusterContext]:
        """The clusters that are known by name; one that is asked for and not there raises RefusedError."""
        ...

    async def why_away(self, cluster: str) -> str:
        """Why a cluster does not answer, empty where it does; not waited for long."""
        ...

    async def cluster_id(self, context: ClusterContext) -> str:
        """The id of the cluster that a context leads to, empty where that is not known; not waited for long."""
        ...

    async def link(self, before: str, after: str, topics: Mapping[str, str]) -> CopyingLink:
        """The link that copies topics from one cluster to another, where they are called so; raises NoLinkError."""
        ...

    async def wider(self, before: str, after: str, topics: Mapping[str, str]) -> Sequence[str]:
        """Topics that have more partitions on the second cluster, each in words; none where one does not answer."""
        ...

    async def switch(self, begun: SwitchOrder) -> Switched:
        """Move live clients while they run, and publish a table as all of them have paused.

        Raises SwitchCancelledError where they are left where they were.
        """
        ...

    async def publish(self, table: RouteTable, base: int, reason: str) -> RouteVersion:
        """Publish a table over the version ``base``; raises RefusedError where another one was published since."""
        ...


class SwitchDesk(Protocol):
    """Where switches that are under way are kept."""

    async def open_switch(self, switch: str) -> Switch:
        """A switch that can be given up; raises RefusedError once it cannot be, or has ended."""
        ...

    async def give_up(self, switch: str, reason: str) -> Switch:
        """Give a switch up, and wait until its clients are told; raises RefusedError once it cannot be."""
        ...
