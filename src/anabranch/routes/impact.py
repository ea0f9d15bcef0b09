"""What a change of the route table does to the clients that are registered.

Invariants
    R6  a client is named in an impact if and only if it would have to change something, or would be refused.
    R7  a change after which the live consumers of one group would be on two clusters is refused, with their names.
    R9  one that leads clients of one topic from one cluster to two topics of another is refused: a link copies it to
        one of them alone, and positions are those there.
    R10 clients for which a topic would be called otherwise on their own cluster are named: a link copies to another
        cluster, so that no switch can move them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from anabranch.errors import RefusedError
from anabranch.model.reasons import Reason, Severity, errors
from anabranch.model.routing import Client, ClientRole, Route, RouteQuery

Router = Callable[[RouteQuery], Route]
"""Where a query is led; raises RefusedError."""


@dataclass(frozen=True, slots=True)
class ClientMove:
    """A client that a change moves; ``before`` or ``after`` is None where it is refused, ``why`` says why."""

    client: Client
    before: Route | None
    after: Route | None
    why: str = ""

    @property
    def changes_cluster(self) -> bool:
        """Whether it is led to another cluster, so that its position there matters."""
        return self.before is not None and self.after is not None and self.before.cluster != self.after.cluster

    @property
    def renames(self) -> Mapping[str, str]:
        """Topics that are called otherwise from then on, by their names there before, where it stays on its cluster."""
        if self.before is None or self.after is None or self.changes_cluster:
            return {}
        led = led_topics(self.client.query, self.before, self.after)
        return {here: there for here, there in led.items() if here != there}


@dataclass(frozen=True, slots=True)
class Impact:
    """The clients that move, and what forbids it or is worth a look; ``staying`` counts all others."""

    moves: tuple[ClientMove, ...] = ()
    reasons: tuple[Reason, ...] = ()
    staying: int = 0
    groups: Mapping[str, tuple[str, str]] = field(default_factory=dict, hash=False)
    """Groups that move: from which cluster to which."""

    @property
    def forbids(self) -> tuple[Reason, ...]:
        """The reasons because of which it is not done."""
        return errors(self.reasons)


def impact(before: Router, after: Router, clients: Sequence[Client]) -> Impact:
    """What changes for clients when one table takes the place of another."""
    moves: list[ClientMove] = []
    leads: dict[str, tuple[Route | None, Route | None]] = {}
    for client in clients:
        former, _ = _asked(before, client.query)
        later, why = _asked(after, client.query)
        leads[client.id] = (former, later)
        if later is None or former is None or not former.leads_as(later):
            moves.append(ClientMove(client, former, later, why))
    return Impact(
        tuple(moves),
        (*_refused(moves), *_splits(clients, leads), *_two_names(moves), *_parted(clients, leads)),
        len(clients) - len(moves),
        _groups(moves),
    )


def not_waited_for(stale: Impact, live: Impact) -> list[Reason]:
    """What is said of clients whose leases have run out and that a change would move: a switch does not wait for them.

    A group that live consumers have is moved with these.
    """
    moves = [move for move in stale.moves if move.changes_cluster]
    groups = {group: ends for group, ends in stale.groups.items() if group not in live.groups}
    writers = [move.client.words for move in moves if move.client.query.role is ClientRole.PRODUCER]
    found = [
        Reason.found(
            Severity.WARNING,
            f"group {group} has no live consumer: its positions stay on {before}, and its consumers are led to {after}",
            f"anabranch groups sync LINK {group} --target {after} --execute, before they are started again",
        )
        for group, (before, after) in sorted(groups.items())
    ]
    found += renamed(stale.moves, Severity.WARNING)
    if writers:
        found.append(
            Reason.found(
                Severity.WARNING,
                f"not seen any more, and not waited for: {_few(writers)}; one that still runs writes on to its "
                "cluster until it reaches the service",
                "see that they have ended: anabranch route clients",
            )
        )
    return found


def led_topics(query: RouteQuery, before: Route, after: Route) -> dict[str, str]:
    """Names of a client's topics where it is led now to names where it will be; of a regular expression none."""
    return {
        before.topics.get(topic, topic): after.topics.get(topic, topic)
        for topic in query.topics
        if not topic.startswith("^")
    }


def _asked(router: Router, query: RouteQuery) -> tuple[Route | None, str]:
    try:
        return router(query), ""
    except RefusedError as error:
        return None, error.message


def _refused(moves: Iterable[ClientMove]) -> list[Reason]:
    """Clients that would have no route any more, once for all that have none for the same reason."""
    found: dict[str, list[str]] = {}
    for move in moves:
        if move.after is None and move.before is not None:
            found.setdefault(move.why, []).append(move.client.words)
    return [
        Reason.found(Severity.ERROR, f"{_few(names)} would be refused: {why}", "correct the rules")
        for why, names in found.items()
    ]


def _splits(clients: Iterable[Client], leads: Mapping[str, tuple[Route | None, Route | None]]) -> list[Reason]:
    """Groups of which a part would be on another cluster than the rest."""
    found: dict[str, dict[str, list[str]]] = {}
    for client in clients:
        later = leads[client.id][1]
        if client.query.role is ClientRole.CONSUMER and client.query.group and later is not None:
            found.setdefault(client.query.group, {}).setdefault(later.cluster, []).append(client.words)
    return [
        Reason.found(
            Severity.ERROR,
            f"group {group} would be split: "
            + "; ".join(f"{len(names)} on {cluster} ({_few(names)})" for cluster, names in sorted(where.items())),
            "have the rule match the whole group",
        )
        for group, where in sorted(found.items())
        if len(where) > 1
    ]


def _two_names(moves: Iterable[ClientMove]) -> Iterator[Reason]:
    """Topics that would be two on the cluster where their clients go (R9); those that are led alike are looked at once.

    Of a regular expression no names are known before it meets them.
    """
    found: dict[tuple[str, str, str], dict[str, list[str]]] = {}
    seen: set[tuple[int, int]] = set()
    for move in moves:
        if move.before is None or move.after is None or not move.changes_cluster:
            continue
        if (alike := (id(move.before), id(move.after))) in seen:
            continue
        seen.add(alike)
        for here, there in led_topics(move.client.query, move.before, move.after).items():
            at = move.before.cluster, move.after.cluster, here
            found.setdefault(at, {}).setdefault(there, []).append(move.client.words)
    for (before, after, topic), names in sorted(found.items()):
        if len(names) > 1:
            told = "; ".join(f"{name} ({_few(whose)})" for name, whose in sorted(names.items()))
            what = f"topic {topic} of {before} would be {len(names)} topics on {after}: {told}"
            yield Reason.found(Severity.ERROR, what, "have all rules that lead there name it alike")


def renamed(moves: Iterable[ClientMove], severity: Severity = Severity.ERROR) -> list[Reason]:
    """Topics that would be called otherwise on a cluster where their clients stay (R10)."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for move in moves:
        for here, there in move.renames.items():
            assert move.before is not None
            found.setdefault((move.before.cluster, here, there), []).append(move.client.words)
    return [
        Reason.found(
            severity,
            f"topic {here} would be {there} on {cluster} for {_few(names)}: that is another log, where a group goes on "
            "at what it has committed, else by its auto.offset.reset, and no link moves it there",
            "end these clients before and start them again after it, or have each go over as it hears of it: --at-once",
        )
        for (cluster, here, there), names in sorted(found.items())
    ]


def _parted(clients: Iterable[Client], leads: Mapping[str, tuple[Route | None, Route | None]]) -> list[Reason]:
    """Topics whose producers leave a cluster on which consumers of theirs stay, and did read them there."""
    writers: dict[tuple[str, str], str] = {}
    for client in clients:
        former, later = leads[client.id]
        moved = former is not None and later is not None and former.cluster != later.cluster
        if client.query.role is ClientRole.PRODUCER and moved and former is not None and later is not None:
            writers.update(
                {(former.cluster, former.topics.get(one, one)): later.cluster for one in client.query.topics}
            )
    reasons = []
    for client in clients:
        later = leads[client.id][1]
        if client.query.role is not ClientRole.CONSUMER or later is None:
            continue
        for topic in client.query.topics:
            went = writers.get((later.cluster, later.topics.get(topic, topic)))
            if went is not None:
                reasons.append(
                    Reason.found(
                        Severity.WARNING,
                        f"{client.words} stays on {later.cluster}, and producers of {topic} go to {went}: it reads "
                        "their records only where a link copies them back",
                        f"move group {client.query.group} too, or run a link {went} -> {later.cluster}",
                    )
                )
    return reasons


def _groups(moves: Iterable[ClientMove]) -> dict[str, tuple[str, str]]:
    return {
        move.client.query.group: (move.before.cluster, move.after.cluster)
        for move in moves
        if move.client.query.group and move.changes_cluster and move.before is not None and move.after is not None
    }


def _few(names: Sequence[str], most: int = 3) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
