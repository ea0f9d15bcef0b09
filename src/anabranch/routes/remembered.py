"""Routes by one table, each distinct question answered once: of ten thousand alike clients one costs anything.

Invariants
    R8  what is left out of a question is what no rule of the table looks at, and rules that are not looked at are such
        as cannot match: so it is answered as `route` answers the whole question by the whole table.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from anabranch.errors import RefusedError
from anabranch.model.cluster import ClusterContext
from anabranch.model.routing import Route, RouteQuery
from anabranch.routes.pattern import Pattern
from anabranch.routes.routing import route
from anabranch.routes.table import Match, RouteTable, Rule

MOST = 50_000
"""Distinct questions whose answers are kept."""

Key = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class LooksAt:
    """What the rules of some tables look at of a client, beside its code, role and topics.

    Invariant: two queries with one ``key`` are answered alike by each of these tables.
    """

    group: bool
    client_id: bool
    parameters: tuple[str, ...]

    @classmethod
    def of(cls, table: RouteTable) -> LooksAt:
        """That of one table."""
        matches = [rule.match for rule in table.rules]
        return cls(
            any(match.group is not None for match in matches),
            any(match.client_id is not None for match in matches),
            tuple(sorted({name for match in matches for name in match.parameters})),
        )

    def plus(self, other: LooksAt) -> LooksAt:
        """That of the tables of both."""
        parameters = tuple(sorted({*self.parameters, *other.parameters}))
        return LooksAt(self.group or other.group, self.client_id or other.client_id, parameters)

    def key(self, query: RouteQuery) -> Key:
        """What it is of a query; each of ten thousand clients has one made, so nothing else is."""
        group, client_id = query.group if self.group else "", query.client_id if self.client_id else ""
        if not self.parameters:
            return (query.code, query.role, query.topics, group, client_id)
        values = [query.parameters.get(name) for name in self.parameters]
        return (query.code, query.role, query.topics, group, client_id, *values)

    def part(self, query: RouteQuery) -> RouteQuery:
        """A query without what is not looked at."""
        parameters = {name: query.parameters[name] for name in self.parameters if name in query.parameters}
        group, client_id = query.group if self.group else "", query.client_id if self.client_id else ""
        return replace(query, group=group, client_id=client_id, parameters=parameters)


class RememberedRoutes:
    """A `Router` of a table; the same object for the same answer."""

    def __init__(self, table: RouteTable, version: int, contexts: Mapping[str, ClusterContext]) -> None:
        self.table = table
        self.version = version
        self._contexts = contexts
        self.looks_at = LooksAt.of(table)
        self._rules = _ByName(table.rules)
        self._answers: dict[Key, Route | RefusedError] = {}
        self._made: dict[Key, Route] = {}

    def __call__(self, query: RouteQuery) -> Route:
        """Where a client is led; raises RefusedError."""
        key = self.looks_at.key(query)
        found = self._answers.get(key)
        if found is None:
            if len(self._answers) >= MOST:
                self._answers.clear()
                self._made.clear()
            found = self._answers[key] = self._answer(self.looks_at.part(query))
        if isinstance(found, RefusedError):
            raise found.with_traceback(None)
        return found

    def _answer(self, query: RouteQuery) -> Route | RefusedError:
        table = RouteTable(self.table.codes, tuple(self._rules.for_(query)), self.table.clusters)
        try:
            made = route(table, self.version, self._contexts, query)
        except RefusedError as error:
            return error
        told = (made.code, made.cluster, made.may_read, made.may_write, made.rule, *sorted(made.topics.items()))
        return self._made.setdefault(told, made)


class _ByName:
    """Rules by one whole name that each of them wants, if it wants any: the others are looked at for every client."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._any: list[Rule] = []
        self._named: dict[tuple[str, str], list[Rule]] = {}
        for rule in rules:
            name = _whole_name(rule.match)
            if name is None:
                self._any.append(rule)
            else:
                self._named.setdefault(name, []).append(rule)

    def for_(self, query: RouteQuery) -> list[Rule]:
        """Every rule that may match a client."""
        found = list(self._any)
        if self._named:
            values = {"group": query.group, "client_id": query.client_id}
            values |= {f"parameters.{name}": value for name, value in query.parameters.items()}
            for name in values.items():
                found += self._named.get(name, ())
        return found


def _whole_name(match: Match) -> tuple[str, str] | None:
    named: dict[str, Pattern] = {f"parameters.{name}": pattern for name, pattern in match.parameters.items()}
    for field, pattern in (("group", match.group), ("client_id", match.client_id)):
        if pattern is not None:
            named[field] = pattern
    return next(((field, pattern.example()) for field, pattern in named.items() if pattern.is_whole), None)
