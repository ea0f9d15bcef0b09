"""The plan of another route table: what it changes, whom it moves, and why it is not done."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from anabranch.config.routes_file import table_fields
from anabranch.errors import RefusedError
from anabranch.model.clock import now_ms
from anabranch.model.cluster import ClusterContext
from anabranch.model.plans import REQUEST, plan_hash
from anabranch.model.reasons import Reason, Severity, errors
from anabranch.model.routing import Client, ClientRole, WhenLost
from anabranch.operations.routes.addresses import other_addresses
from anabranch.operations.routes.desk import RouteDesk
from anabranch.operations.routes.moving import CopyingLink
from anabranch.routes import check
from anabranch.routes.errors import InvalidTableError
from anabranch.routes.impact import ClientMove, Impact, impact, led_topics, not_waited_for, renamed
from anabranch.routes.remembered import RememberedRoutes
from anabranch.routes.switch import NamedClient, Pair, SwitchPolicy
from anabranch.routes.table import RouteTable

T = TypeVar("T")
_AT_ONCE = Reason.found(
    Severity.WARNING,
    "clients go over at once, each as it hears of it: their groups' positions are not moved, and nobody waits until "
    "what was written last is copied",
    "leave --at-once out, and they are moved without losing or repeating a record",
)


@dataclass(frozen=True, slots=True)
class Changed:
    """The names of what a table has more, less, or otherwise than the one before it."""

    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SwitchLink:
    """Clients that are moved from one cluster to another, and the link whose map says where they go on."""

    before: str
    after: str
    link: str
    clients: int


@dataclass(frozen=True, slots=True)
class RoutesPlan:
    """A table that takes the place of version ``base``, 0 where it is the first; ``reasons`` are worth a look.

    ``switch`` are the links by which live clients are moved while they run; none where nobody is, or ``policy`` says
    at once.  The hash covers the base, the table, the policy, the links, and which groups move where: not
    which clients happen to be registered.
    """

    base: int
    reason: str
    codes: Changed
    rules: Changed
    clusters: Changed
    reasons: tuple[Reason, ...]
    impact: Impact
    policy: SwitchPolicy
    switch: tuple[SwitchLink, ...]
    hash: str
    table: RouteTable = field(metadata=REQUEST)

    @property
    def changes_nothing(self) -> bool:
        """Whether the table is the one that applies."""
        return not any((*one.added, *one.removed, *one.changed) for one in (self.codes, self.rules, self.clusters))


@dataclass(frozen=True, slots=True)
class RoutesPublished:
    """What came of it; ``moved`` counts the clients that changed, ``groups`` are those that moved, from where to where.

    ``switch`` is the one by which they were moved, or empty, ``doubts`` what is not known of a cluster that was lost.
    Of a table that applied already ``version`` is that one, and nothing was published.
    """

    version: int
    at_ms: int
    author: str
    moved: int
    groups: Mapping[str, tuple[str, str]]
    hash: str
    switch: str = ""
    doubts: tuple[str, ...] = ()


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


@dataclass(eq=False)
class RenamedInPlaceError(ForbiddenImpactError):
    """A table would have live clients go on with another topic of the same cluster, in which they have no place."""


async def plan_table(desk: RouteDesk, table: RouteTable, reason: str, policy: SwitchPolicy) -> RoutesPlan:
    """The plan that publishes a table; raises InvalidTableError, ForbiddenImpactError, NoLinkError, ClusterError.

    RenamedInPlaceError and ReaddressedError, too, unless clients go over at once.
    """
    newest, known = await asyncio.gather(desk.newest(), desk.clients())
    now = now_ms()
    clients, stale = [one for one in known if one.is_live(now)], [one for one in known if not one.is_live(now)]
    before, base = (RouteTable(), 0) if newest is None else (newest.table, newest.version)
    # Rules are held against each other, and clients against both tables: of thousands it would be felt.
    found, moved = await asyncio.to_thread(_found, before, base, table, clients, stale, desk.contexts())
    renames = renamed(moved.moves)
    if renames and not policy.at_once:
        raise RenamedInPlaceError(tuple(renames))
    pairs = moved_pairs(moved)
    links = {} if policy.at_once else await _links(desk, pairs)
    joined = tuple(SwitchLink(*pair, link.id, pairs[pair].clients) for pair, link in links.items())
    if pairs and policy.at_once:
        found = (*found, _AT_ONCE)
    elif pairs:
        found = (*found, *await _away(desk, {before for before, _ in pairs}, policy), *_paused(links))
        found = (*found, *await _wider(desk, moved))
    found = (*found, *await asyncio.to_thread(parted, moved, clients))
    readdressed = await other_addresses(desk, before, table, policy.at_once)
    found = (*found, *(Reason.found(Severity.WARNING, one.what) for one in renames), *readdressed)
    seen = {
        "groups": {group: list(ends) for group, ends in moved.groups.items()},
        "links": [[one.before, one.after, one.link] for one in joined],
        "policy": [policy.stragglers.value, policy.when_lost.value, policy.timeout_ms, policy.at_once],
    }
    return RoutesPlan(
        base,
        reason,
        _changed(before.codes, table.codes),
        _changed({rule.name: rule for rule in before.rules}, {rule.name: rule for rule in table.rules}),
        _changed(before.clusters, table.clusters),
        found,
        moved,
        policy,
        joined,
        plan_hash(base, table_fields(table), seen),
        table,
    )


def _found(
    before: RouteTable,
    base: int,
    table: RouteTable,
    clients: Sequence[Client],
    stale: Sequence[Client],
    contexts: Mapping[str, ClusterContext],
) -> tuple[tuple[Reason, ...], Impact]:
    found = check.check(table, frozenset(contexts))
    if faults := errors(found):
        raise InvalidTableError("route table", faults)
    here, there = RememberedRoutes(before, base, contexts), RememberedRoutes(table, base + 1, contexts)
    moved = impact(here, there, clients)
    if moved.forbids:
        raise ForbiddenImpactError(moved.forbids)
    return (*found, *not_waited_for(impact(here, there, stale), moved)), moved


def named_clients(moved: Impact) -> dict[str, NamedClient]:
    """The clients that a switch moves, by their ids."""
    return {
        move.client.id: NamedClient(
            move.client.words,
            move.client.query.role,
            move.client.query.group if move.client.query.role is ClientRole.CONSUMER else "",
            move.before.cluster,
            move.after.cluster,
            led_topics(move.client.query, move.before, move.after),
        )
        for move in moved.moves
        if move.changes_cluster and move.before is not None and move.after is not None
    }


@dataclass(frozen=True, slots=True)
class MovedPair:
    """Clients that are moved from one cluster to another: how many, and names of their topics there and here."""

    clients: int
    topics: Mapping[str, str]


def moved_pairs(moved: Impact) -> dict[Pair, MovedPair]:
    """What `named_clients` says of all clients together, made once for those that are led alike.

    A route names each topic of its client, so clients that share both routes share their topics.
    """
    counts: Counter[tuple[int, int]] = Counter()
    firsts: dict[tuple[int, int], ClientMove] = {}
    for move in moved.moves:
        routes = id(move.before), id(move.after)
        counts[routes] += 1
        firsts.setdefault(routes, move)
    found: dict[Pair, MovedPair] = {}
    for routes, move in firsts.items():
        if move.changes_cluster and move.before is not None and move.after is not None:
            pair = move.before.cluster, move.after.cluster
            topics = led_topics(move.client.query, move.before, move.after)
            known = found.get(pair, MovedPair(0, {}))
            found[pair] = MovedPair(known.clients + counts[routes], {**known.topics, **topics})
    return found


async def _away(desk: RouteDesk, clusters: Collection[str], policy: SwitchPolicy) -> list[Reason]:
    """What is said of clusters that clients leave and that do not answer."""
    waits = policy.when_lost is WhenLost.WAIT
    then = "is waited for until the switch is given up" if waits else "is left without it, once it was away for a while"
    fix = "bring it back, or go without it and be told what is in doubt: --when-lost go" if waits else ""
    whys = await asyncio.gather(*(desk.why_away(name) for name in sorted(clusters)))
    return [Reason.found(Severity.WARNING, f"{why}: it {then}", fix) for why in whys if why]


def parted(moved: Impact, clients: Sequence[Client]) -> list[Reason]:
    """What is said of processes that would read on one cluster and write on another, and do not now.

    What commits offsets in transactions is refused there.
    """
    if not moved.moves:
        return []
    after = {client.id: client.cluster for client in clients}
    after |= {move.client.id: move.after.cluster for move in moved.moves if move.after is not None}
    sides: dict[tuple[str, str, int, str], dict[ClientRole, Client]] = {}
    for client in clients:
        if client.facts.host:
            facts = client.facts
            process = facts.application, facts.host, facts.pid, client.query.code
            sides.setdefault(process, {}).setdefault(client.query.role, client)
    both = [
        (one[ClientRole.CONSUMER], one[ClientRole.PRODUCER]) for one in sides.values() if len(one) == len(ClientRole)
    ]
    found = [(one, other) for one, other in both if one.cluster == other.cluster and after[one.id] != after[other.id]]
    if not found:
        return []
    reader, writer = found[0]
    more = f" (and {len(found) - 1:,} more such processes)" if len(found) > 1 else ""
    here, there = after[reader.id], after[writer.id]
    what = (
        f"{reader.words} would read on {here}, and {writer.words}, of the same process, write on {there}{more}: "
        "if it commits offsets in transactions, each of them is refused until both are on one cluster"
    )
    return [Reason.found(Severity.WARNING, what, "lead both elsewhere by one change, where it does")]


async def _wider(desk: RouteDesk, moved: Impact) -> list[Reason]:
    """What is said of topics to which producers go that have more partitions there."""
    writers = [move for move in moved.moves if move.client.query.role is ClientRole.PRODUCER]
    written = sorted(moved_pairs(replace(moved, moves=tuple(writers))).items(), key=lambda item: item[0])
    found = await asyncio.gather(*(desk.wider(*pair, each.topics) for pair, each in written))
    return [
        Reason.found(
            Severity.WARNING,
            f"{words}: a key's records may come to another partition than those before, and be read ahead of them",
            "have as many partitions on both, or move the producers once consumers have read all",
        )
        for each in found
        for words in each
    ]


async def _links(desk: RouteDesk, pairs: Mapping[Pair, MovedPair]) -> dict[Pair, CopyingLink]:
    ordered = sorted(pairs.items(), key=lambda item: item[0])
    links = await asyncio.gather(*(desk.link(*pair, moved.topics) for pair, moved in ordered))
    return {pair: link for (pair, _), link in zip(ordered, links, strict=True)}


def _paused(links: Mapping[Pair, CopyingLink]) -> list[Reason]:
    """What is said of links that copy nothing now."""
    return [
        Reason.found(
            Severity.WARNING,
            f"link {link.id} is paused: the switch waits until it has copied what was written, and is given up else",
            f"anabranch link resume {link.id} --target {after}",
        )
        for (_, after), link in links.items()
        if link.is_paused
    ]


def _changed(before: Mapping[str, T], after: Mapping[str, T]) -> Changed:
    return Changed(
        tuple(sorted(after.keys() - before.keys())),
        tuple(sorted(before.keys() - after.keys())),
        tuple(sorted(name for name in before.keys() & after.keys() if before[name] != after[name])),
    )
