"""Other addresses of a cluster by the same name: whether they lead to the same one is told by its id.

Invariant: a table by which a name would come to stand for another cluster is not published unless clients go over at
once; where the id is not known that is said, and clients compare ids themselves.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass

from anabranch.errors import RefusedError
from anabranch.model.cluster import ClusterContext
from anabranch.model.reasons import Reason, Severity
from anabranch.operations.routes.desk import RouteDesk
from anabranch.routes.table import RouteTable


@dataclass(eq=False)
class ReaddressedError(RefusedError):
    """The new addresses of a cluster's name are those of another one."""

    cluster: str
    addresses: tuple[str, ...]
    was: str
    is_now: str

    @property
    def message(self) -> str:
        return (
            f"{', '.join(self.addresses)} is not cluster {self.cluster}, but another one: its id is {self.is_now}, and "
            f"that of {self.cluster} {self.was}; no position in one is one in the other"
        )

    _hint = (
        "give it a name of its own, and lead clients there by a link: `anabranch context add NAME --bootstrap HOST`; "
        "or have each go over as it hears of it: --at-once"
    )


async def other_addresses(desk: RouteDesk, before: RouteTable, after: RouteTable, at_once: bool) -> list[Reason]:
    """What is worth a look of clusters that clients are to reach by other addresses; raises ReaddressedError."""
    found: list[Reason] = []
    for former, later in _readdressed(desk, before, after):
        was, is_now = await asyncio.gather(desk.cluster_id(former), desk.cluster_id(later))
        name, there = later.name, ", ".join(later.bootstrap)
        if was and is_now and was != is_now:
            other = ReaddressedError(name, later.bootstrap, was, is_now)
            if not at_once:
                raise other
            found.append(Reason.found(Severity.WARNING, other.message))
        elif not (was and is_now):
            found.append(
                Reason.found(
                    Severity.WARNING,
                    f"whether {there} is still cluster {name} is not known here: clients of the SDK compare ids, and "
                    "take no position on another one",
                    "see that the addresses before and these are of one cluster",
                )
            )
    return found


def _readdressed(
    desk: RouteDesk, before: RouteTable, after: RouteTable
) -> Iterator[tuple[ClusterContext, ClusterContext]]:
    """How clusters to which both tables lead are reached before and after, where that is by other addresses."""
    known = desk.contexts()
    for name in sorted(_led_to(before) & _led_to(after)):
        former, later = (table.clusters.get(name) or known.get(name) for table in (before, after))
        if former is not None and later is not None and set(former.bootstrap) != set(later.bootstrap):
            yield former, later


def _led_to(table: RouteTable) -> set[str]:
    destinations = [code.destination for code in table.codes.values()] + [rule.destination for rule in table.rules]
    return {one.cluster for one in destinations if one.cluster}
