"""The plan of another route table: what it changes, whom it moves, and why it is not done."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from anabranch.config.routes_file import table_fields
from anabranch.errors import RefusedError
from anabranch.model.cluster import ClusterContext
from anabranch.model.plans import REQUEST, plan_hash
from anabranch.model.reasons import Reason
from anabranch.model.routing import Client
from anabranch.operations.routes.desk import RouteDesk
from anabranch.routes import check
from anabranch.routes.errors import InvalidTableError
from anabranch.routes.impact import Impact, impact
from anabranch.routes.remembered import RememberedRoutes
from anabranch.routes.table import RouteTable

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Changed:
    """The names of what a table has more, less, or otherwise than the one before it."""

    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RoutesPlan:
    """A table that takes the place of version ``base``, 0 where it is the first; ``reasons`` are worth a look.

    The hash covers the base, the table, and which groups move where: not which clients happen to be registered.
    """

    base: int
    reason: str
    codes: Changed
    rules: Changed
    clusters: Changed
    reasons: tuple[Reason, ...]
    impact: Impact
    hash: str
    table: RouteTable = field(metadata=REQUEST)

    @property
    def changes_nothing(self) -> bool:
        """Whether the table is the one that applies."""
        return not any((*one.added, *one.removed, *one.changed) for one in (self.codes, self.rules, self.clusters))


@dataclass(frozen=True, slots=True)
class RoutesPublished:
    """What came of it; ``moved`` counts the clients that changed, ``groups`` are those that moved, from where to where.

    Of a table that applied already ``version`` is that one, and nothing was published.
    """

    version: int
    at_ms: int
    author: str
    moved: int
    groups: Mapping[str, tuple[str, str]]
    hash: str


@dataclass(eq=False)
class ForbiddenImpactError(RefusedError):
    """A table would refuse clients that are led now, or split groups."""

    reasons: tuple[Reason, ...]

    @property
    def message(self) -> str:
        return f"the route table is not published: {'; '.join(reason.what for reason in self.reasons)}"

    @property
    def hint(self) -> str:
        return self.reasons[0].fix


async def plan_table(desk: RouteDesk, table: RouteTable, reason: str) -> RoutesPlan:
    """The plan that publishes a table; raises InvalidTableError, ForbiddenImpactError."""
    newest, clients = await asyncio.gather(desk.newest(), desk.clients())
    before, base = (RouteTable(), 0) if newest is None else (newest.table, newest.version)
    # Rules are held against each other, and clients against both tables: of thousands it would be felt.
    return await asyncio.to_thread(_plan, before, base, table, reason, clients, desk.contexts())


def _plan(
    before: RouteTable,
    base: int,
    table: RouteTable,
    reason: str,
    clients: Sequence[Client],
    contexts: Mapping[str, ClusterContext],
) -> RoutesPlan:
    found = check.check(table, frozenset(contexts))
    if faults := check.errors(found):
        raise InvalidTableError("route table", faults)
    moved = impact(RememberedRoutes(before, base, contexts), RememberedRoutes(table, base + 1, contexts), clients)
    if moved.forbids:
        raise ForbiddenImpactError(moved.forbids)
    groups = {group: list(ends) for group, ends in moved.groups.items()}
    return RoutesPlan(
        base,
        reason,
        _changed(before.codes, table.codes),
        _changed({rule.name: rule for rule in before.rules}, {rule.name: rule for rule in table.rules}),
        _changed(before.clusters, table.clusters),
        found,
        moved,
        plan_hash(base, table_fields(table), groups),
        table,
    )


def _changed(before: Mapping[str, T], after: Mapping[str, T]) -> Changed:
    return Changed(
        tuple(sorted(after.keys() - before.keys())),
        tuple(sorted(before.keys() - after.keys())),
        tuple(sorted(name for name in before.keys() & after.keys() if before[name] != after[name])),
    )
