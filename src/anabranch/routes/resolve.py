"""Where a client is led by a route table, and why.

Invariants
    R1  the same table and client give the same answer: of the rules that match, one has the highest priority
        (`check` refuses tables in which two of one priority could match a client).
    R2  every hop is to a code that was not passed before, so an answer takes at most as many hops as there are codes.
    R3  a client has one cluster: topics that lead to two are refused, never answered by one of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from anabranch.model.naming import TemplateNaming
from anabranch.model.routing import RouteQuery
from anabranch.routes.errors import PatternTopicsError, RouteLoopError, SplitTopicsError, UnknownCodeError
from anabranch.routes.table import SAME_NAMES, Destination, Match, RouteTable


@dataclass(frozen=True, slots=True)
class Considered:
    """A rule that was looked at: ``misses`` are the fields of it that the client does not match, each in words."""

    rule: str
    priority: int
    misses: tuple[str, ...]

    @property
    def matches(self) -> bool:
        """Whether the client matches it."""
        return not self.misses


@dataclass(frozen=True, slots=True)
class Hop:
    """One code on the way: the rules that were looked at, the highest priority first, and the one that won.

    ``rule`` is empty where the code itself decided; ``destination`` is where that leads.
    """

    code: str
    considered: tuple[Considered, ...]
    rule: str
    destination: Destination


@dataclass(frozen=True, slots=True)
class TopicRoute:
    """Where one topic of a client is led, hop by hop; ``topic`` None stands for a client that has named none."""

    topic: str | None
    hops: tuple[Hop, ...]

    @property
    def cluster(self) -> str:
        """The cluster at its end."""
        return self.hops[-1].destination.cluster

    @property
    def rule(self) -> str:
        """The last rule that decided, empty where none did."""
        return next((hop.rule for hop in reversed(self.hops) if hop.rule), "")

    @property
    def may_read(self) -> bool:
        """Whether every part of the way allows it."""
        return all(hop.destination.may_read for hop in self.hops)

    @property
    def may_write(self) -> bool:
        """Whether every part of the way allows it."""
        return all(hop.destination.may_write for hop in self.hops)

    @property
    def topic_there(self) -> str | None:
        """What the topic is called there: renamed by each hop in turn."""
        name = self.topic
        for hop in self.hops:
            if name is not None:
                name = TemplateNaming("", hop.destination.topics).renamed(name)
        return name


def resolve(table: RouteTable, query: RouteQuery) -> tuple[TopicRoute, ...]:
    """The way of each topic of a client, or of the client where it names none; all lead to one cluster.

    Raises UnknownCodeError, SplitTopicsError, PatternTopicsError, RouteLoopError.
    """
    for topic in query.topics:
        if topic.startswith("^"):
            _check_pattern(table, query, topic)
    ways = tuple(_way(table, query, topic) for topic in query.topics or (None,))
    for way in ways[1:]:
        if way.cluster != ways[0].cluster:
            raise SplitTopicsError(str(ways[0].topic), ways[0].cluster, str(way.topic), way.cluster)
    return ways


def _way(table: RouteTable, query: RouteQuery, topic: str | None) -> TopicRoute:
    hops: list[Hop] = []
    code = query.code
    while True:
        if any(hop.code == code for hop in hops):
            raise RouteLoopError((*(hop.code for hop in hops), code))
        hop = _hop(table, replace(query, code=code), topic)
        hops.append(hop)
        if not hop.destination.code:
            return TopicRoute(topic, tuple(hops))
        code = hop.destination.code


def _hop(table: RouteTable, query: RouteQuery, topic: str | None) -> Hop:
    if query.code not in table.codes:
        raise UnknownCodeError(query.code, tuple(sorted(table.codes)))
    considered = [
        (rule, Considered(rule.name, rule.priority, _misses(rule.match, query, topic))) for rule in table.rules
    ]
    won = next((rule for rule, one in considered if one.matches), None)
    destination = table.codes[query.code].destination if won is None else won.destination
    return Hop(query.code, tuple(one for _, one in considered), "" if won is None else won.name, destination)


def _misses(match: Match, query: RouteQuery, topic: str | None) -> tuple[str, ...]:
    missed = []
    if match.role is not None and match.role is not query.role:
        missed.append(f"it is a {query.role.value}, not a {match.role.value}")
    values = {"code": query.code, "topic": topic, "group": query.group or None, "client_id": query.client_id or None}
    for field, pattern in match.patterns().items():
        parameter = field.removeprefix("parameters.")
        value = values[field] if field in values else query.parameters.get(parameter)
        if value is None:
            missed.append(f"it has no {field}")
        elif not pattern.matches(value):
            missed.append(f"its {field} is {value!r}, not {pattern}")
    return tuple(missed)


def _check_pattern(table: RouteTable, query: RouteQuery, topic: str) -> None:
    """A regular expression stands for topics that nobody knows yet, so nothing on its way may go by them."""
    hops = _way(table, query, None).hops
    for hop in hops:
        here = replace(query, code=hop.code)
        for rule in table.rules:
            others = replace(rule.match, topic=None)
            if rule.match.topic is not None and not _misses(others, here, None):
                raise PatternTopicsError(topic, rule.name)
        if hop.destination.topics != SAME_NAMES:
            raise PatternTopicsError(topic, hop.rule or hop.code)
