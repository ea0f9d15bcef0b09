"""The route table: cluster codes, and rules that lead some of their clients elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from anabranch.model.cluster import ClusterContext
from anabranch.model.routing import ClientRole
from anabranch.routes.pattern import Pattern

SAME_NAMES = "{topic}"


@dataclass(frozen=True, slots=True)
class Match:
    """Which clients a rule is for: all that is named must match; what is not named may be anything.

    A pattern of something that a client does not have, such as a group of a producer, matches no client without it.
    """

    code: Pattern | None = None
    role: ClientRole | None = None
    topic: Pattern | None = None
    group: Pattern | None = None
    client_id: Pattern | None = None
    parameters: Mapping[str, Pattern] = field(default_factory=dict, hash=False)

    def patterns(self) -> dict[str, Pattern]:
        """The patterns by the names of their fields; a parameter's is ``parameters.NAME``."""
        named = {"code": self.code, "topic": self.topic, "group": self.group, "client_id": self.client_id}
        own = {f"parameters.{name}": pattern for name, pattern in self.parameters.items()}
        return {**{name: pattern for name, pattern in named.items() if pattern is not None}, **own}


@dataclass(frozen=True, slots=True)
class Destination:
    """Where a code or a rule leads: to a cluster, or to another code, whose rules then decide.

    ``topics`` is what topics are called there, with ``{topic}`` once, such as ``old.{topic}``.  A client may read, or
    write, where every part of its way allows it.
    """

    cluster: str = ""
    code: str = ""
    topics: str = SAME_NAMES
    may_read: bool = True
    may_write: bool = True


@dataclass(frozen=True, slots=True)
class Rule:
    """Of the rules that match a client the one with the highest priority decides."""

    name: str
    priority: int
    match: Match
    destination: Destination


@dataclass(frozen=True, slots=True)
class Code:
    """A cluster code, which applications name; ``destination`` is for clients that no rule matches."""

    name: str
    destination: Destination
    description: str = ""


@dataclass(frozen=True, slots=True)
class RouteTable:
    """Codes by name, and rules in the order in which they decide: the highest priority first.

    ``clusters`` say how applications reach a cluster, where that is not as the service reaches it.
    """

    codes: Mapping[str, Code] = field(default_factory=dict, hash=False)
    rules: tuple[Rule, ...] = ()
    clusters: Mapping[str, ClusterContext] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        ordered = tuple(sorted(self.rules, key=lambda rule: (-rule.priority, rule.name)))
        object.__setattr__(self, "rules", ordered)


@dataclass(frozen=True, slots=True)
class RouteVersion:
    """A route table as it was published: who did it, when and why; versions count from 1."""

    version: int
    at_ms: int
    author: str
    reason: str
    table: RouteTable


def may_move(before: RouteTable, after: RouteTable) -> bool:
    """Whether some client could be led to another cluster, or other topics, once a table takes the place of another.

    It does not depend on which clients there are: True also where nobody is moved.
    """
    kept = before.codes.keys() & after.codes.keys()
    return _rules_lead(before) != _rules_lead(after) or any(
        _leads(before.codes[name].destination) != _leads(after.codes[name].destination) for name in kept
    )


def _leads(destination: Destination) -> tuple[str, str, str]:
    return destination.cluster, destination.code, destination.topics


def _rules_lead(table: RouteTable) -> list[tuple[int, Match, tuple[str, str, str]]]:
    return [(rule.priority, rule.match, _leads(rule.destination)) for rule in table.rules]
