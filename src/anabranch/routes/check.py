"""What is wrong with a route table: every reason at once, with names.

Invariants, of a table in which nothing is wrong
    R4  of the rules that match any client at all, no two have one priority.
    R5  every code and cluster that is named is there, and no code leads to itself over others.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import chain, groupby, islice, pairwise

from anabranch.errors import InvalidFieldError
from anabranch.model.naming import TemplateNaming
from anabranch.model.reasons import Reason, Severity
from anabranch.model.routing import ClientRole
from anabranch.routes.table import SAME_NAMES, Code, Destination, Match, RouteTable, Rule

MOST_OVERLAPS = MOST_LOOPS = 100
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")


def check(table: RouteTable, clusters: frozenset[str]) -> tuple[Reason, ...]:
    """Every fault of a table, and what is worth a look; ``clusters`` are those that are known by name."""
    known = clusters | frozenset(table.clusters)
    faults = [*_codes(table, known), *_rules(table, known), *_overlaps(table.rules)]
    loops = islice(_loops(table), MOST_LOOPS)
    return (*faults, *loops, *(finding for rule in table.rules for finding in _worth_a_look(rule)))


def _error(what: str, fix: str = "") -> Reason:
    return Reason.found(Severity.ERROR, what, fix)


def _codes(table: RouteTable, known: frozenset[str]) -> Iterator[Reason]:
    for name, code in table.codes.items():
        if not _NAME.fullmatch(name):
            yield _error(f"code {name!r} is not a legal name", "use letters, digits, '.', '_' and '-', at most 63")
        yield from _destination(f"code {name!r}", code.destination, table.codes, known)


def _rules(table: RouteTable, known: frozenset[str]) -> Iterator[Reason]:
    names = [rule.name for rule in table.rules]
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield _error(f"rule {name!r} is there {names.count(name)} times", "give each a name of its own")
    for rule in table.rules:
        what = f"rule {rule.name!r}"
        if not _NAME.fullmatch(rule.name):
            yield _error(f"{what} has no legal name", "use letters, digits, '.', '_' and '-', at most 63")
        code = rule.match.code
        if code is not None and not any(code.matches(name) for name in table.codes):
            yield _error(f"{what} is for code {code}, and there is none", "add it below codes, or correct the rule")
        if rule.match.group is not None and rule.match.role is ClientRole.PRODUCER:
            yield _error(f"{what} is for producers of a group, and producers have none", "leave role or group out")
        yield from _destination(what, rule.destination, table.codes, known)


def _destination(
    what: str, destination: Destination, codes: Mapping[str, Code], known: frozenset[str]
) -> Iterator[Reason]:
    if bool(destination.cluster) == bool(destination.code):
        given = "both a cluster and a code" if destination.cluster else "neither a cluster nor a code"
        yield _error(f"{what} leads to {given}", "name one of them")
        return
    if destination.cluster and destination.cluster not in known:
        fix = f"anabranch context add {destination.cluster} --bootstrap HOST:PORT"
        yield _error(f"{what} leads to cluster {destination.cluster!r}, which is no context of the service", fix)
    if destination.code and destination.code not in codes:
        yield _error(f"{what} leads to code {destination.code!r}, and there is none", "add it below codes")
    try:
        TemplateNaming("", destination.topics)
    except InvalidFieldError:
        yield _error(f"{what}: topics {destination.topics!r} does not hold {{topic}} once and nothing else in braces")


def _overlaps(rules: tuple[Rule, ...]) -> Iterator[Reason]:
    """Each pair that overlaps, of very many the first ones: whoever corrects them asks again."""
    return islice(_every_overlap(rules), MOST_OVERLAPS)


def _every_overlap(rules: tuple[Rule, ...]) -> Iterator[Reason]:
    for one, other in _pairs(rules):
        if one.priority == other.priority and (client := shared_client(one.match, other.match)) is not None:
            yield _error(
                f"rules {one.name!r} and {other.name!r} have priority {one.priority}, and both match {client}",
                "give one of them a higher priority, or have them match different clients",
            )


def _pairs(rules: tuple[Rule, ...]) -> Iterator[tuple[Rule, Rule]]:
    """The pairs of rules of one priority, but for such as want two names of the field by which most of them go.

    So that of thousands of rules, each for one application, few are left to be looked at.
    """
    for _, group in groupby(rules, key=lambda rule: rule.priority):
        alike = [(rule, rule.match.patterns()) for rule in group]
        fields = Counter(field for _, patterns in alike for field, one in patterns.items() if one.is_whole)
        field = fields.most_common(1)[0][0] if fields else ""
        named: dict[str, list[Rule]] = {}
        others: list[Rule] = []
        for rule, patterns in alike:
            pattern = patterns.get(field)
            if pattern is None or not pattern.is_whole:
                before, kept = chain(*named.values(), others), others
            else:
                kept = named.setdefault(pattern.text, [])
                before = chain(kept, others)
            for other in before:
                yield other, rule
            kept.append(rule)


def shared_client(one: Match, other: Match) -> str | None:
    """A client that both match, in words; None where there is none."""
    if one.role is not None and other.role is not None and one.role is not other.role:
        return None
    role = one.role or other.role
    mine, theirs = one.patterns(), other.patterns()
    if role is ClientRole.PRODUCER and ("group" in mine or "group" in theirs):
        return None
    told = [f"a {role.value}" if role is not None else "a client"]
    for field in [*mine, *(name for name in theirs if name not in mine)]:
        if field in mine and field in theirs:
            name = mine[field].shared_with(theirs[field])
        else:
            name = next(patterns[field].example() for patterns in (mine, theirs) if field in patterns)
        if name is None:
            return None
        told.append(f"{field} {name!r}")
    return " with ".join([told[0], ", ".join(told[1:])]) if told[1:] else told[0]


def _loops(table: RouteTable) -> Iterator[Reason]:
    """Each loop once; rules count as if they could match, so that no client can ever meet a loop.

    Where loops share a way, some may be told only once that is corrected: each that is told ends in a way of its own.
    """
    leads: dict[str, dict[str, str]] = {
        name: {code.destination.code: f"code {name!r}"} if code.destination.code in table.codes else {}
        for name, code in table.codes.items()
    }
    for rule in table.rules:
        if rule.destination.code in table.codes:
            for name in table.codes:
                if rule.match.code is None or rule.match.code.matches(name):
                    leads[name].setdefault(rule.destination.code, f"rule {rule.name!r}")
    done: set[str] = set()
    for name in sorted(leads):
        while (loop := _loop_from(name, leads, [], done)) is not None:
            by = ", ".join(dict.fromkeys(leads[one][other] for one, other in pairwise(loop)))
            yield _error(
                f"the codes {' -> '.join(loop)} lead to each other, by {by}",
                "have one of them name a cluster, or name in the rule the codes that it is for",
            )
            del leads[loop[-2]][loop[-1]]  # it is told; those that are left are found without it


def _loop_from(name: str, leads: Mapping[str, Mapping[str, str]], path: list[str], done: set[str]) -> list[str] | None:
    if name in path:
        return [*path[path.index(name) :], name]
    if name in done:
        return None
    for other in sorted(leads[name]):
        if (loop := _loop_from(other, leads, [*path, name], done)) is not None:
            return loop
    done.add(name)
    return None


def _worth_a_look(rule: Rule) -> Iterator[Reason]:
    parts = [field for field in rule.match.patterns() if field not in ("code", "group")]
    if rule.match.role is not ClientRole.PRODUCER and rule.match.group is None and parts:
        yield Reason.found(
            Severity.WARNING,
            f"rule {rule.name!r} goes by {', '.join(parts)} and not by group: members of one group could be led to two "
            "clusters; one that would be is refused",
            "add the group to the rule",
        )
    if rule.destination.topics != SAME_NAMES and rule.match.topic is None:
        yield Reason.found(
            Severity.INFO,
            f"rule {rule.name!r} renames every topic of the clients that it matches",
            "add a topic to the rule where it is for some topics alone",
        )
