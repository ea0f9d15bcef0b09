"""Route tables, ways and versions as tables: pure functions from what the service answers to what Rich prints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from anabranch.cli.render import grid
from anabranch.cli.words import count, moment, printable
from anabranch.routes.table import SAME_NAMES, Destination, Match, RouteTable

MOST_MISSES = 20
"""Rules that do not match, of one hop, each in a line of its own."""


def version(answer: Mapping[str, Any], table: RouteTable) -> RenderableType:
    """A version of the route table: who published it and why, its codes, and its rules as they decide."""
    parts: list[RenderableType] = [
        Text.assemble(
            (f"version {answer['version']}", "bold"),
            f", {moment(answer['at_ms'])} by {answer['author']}: {printable(answer['reason'])}",
        )
    ]
    codes = grid("CODE", "LEADS TO", "DESCRIPTION")
    for name, code in sorted(table.codes.items()):
        codes.add_row(*_cells(name, leads_to(code.destination), code.description))
    parts.append(codes if table.codes else Text("no codes"))
    if table.rules:
        rules = grid("PRIORITY", "RULE", "MATCHES", "LEADS TO", right=("PRIORITY",))
        for rule in table.rules:
            told = rule.name, matches(rule.match), leads_to(rule.destination)
            rules.add_row(count(rule.priority), *_cells(*told))
        parts.append(rules)
    if table.clusters:
        clusters = grid("CLUSTER", "APPLICATIONS REACH IT AT", "PROTOCOL")
        for name, context in sorted(table.clusters.items()):
            clusters.add_row(*_cells(name, ",".join(context.bootstrap), context.security.protocol.value))
        parts.append(clusters)
    return Group(*parts)


def versions(found: Sequence[Mapping[str, Any]]) -> RenderableType:
    """One line a version, the newest first."""
    if not found:
        return Text("no route table yet; publish one with: anabranch route apply -f FILE --reason WHY --execute")
    table = grid("VERSION", "AT", "AUTHOR", "REASON", right=("VERSION",))
    for one in found:
        table.add_row(count(one["version"]), moment(one["at_ms"]), *_cells(one["author"], one["reason"]))
    return table


def _cells(*texts: str) -> list[Text]:
    """Texts that others have written: neither styles nor what steers a terminal."""
    return [Text(printable(one)) for one in texts]


def matches(match: Match) -> str:
    """The clients that a rule is for."""
    told = [match.role.value] if match.role is not None else []
    told += [f"{name.removeprefix('parameters.')} {pattern}" for name, pattern in match.patterns().items()]
    return ", ".join(told) or "every client"


def leads_to(destination: Destination) -> str:
    """Where a code or a rule leads."""
    return _leads(
        destination.cluster, destination.code, destination.topics, destination.may_read, destination.may_write
    )


def _leads(cluster: str, code: str, topics: str, may_read: bool, may_write: bool) -> str:
    told = [f"cluster {cluster}" if cluster else f"code {code}"]
    told += [f"topics {topics}"] if topics != SAME_NAMES else []
    told += [] if may_read and may_write else [_may(may_read, may_write)]
    return ", ".join(told)


def _may(may_read: bool, may_write: bool) -> str:
    if may_read and may_write:
        return "may read and write"
    return "may only read" if may_read else "may only write" if may_write else "may neither read nor write"


def explanation(answer: Mapping[str, Any]) -> RenderableType:
    """Where a client is led, and each hop of each topic's way with the rules that were looked at."""
    parts: list[RenderableType] = []
    route, problem = answer["route"], answer["problem"]
    if route is not None:
        parts += _led(route)
    if problem is not None:
        parts.append(Text(f"refused: {printable(problem['detail'])}", style="bold red"))
    for way in answer["ways"]:
        if way["topic"] is not None:
            parts.append(Text(f"topic {way['topic']}", style="bold"))
        for hop in way["hops"]:
            parts += _hop(hop)
    return Group(*parts)


def _led(route: Mapping[str, Any]) -> list[RenderableType]:
    by = f"rule {route['rule']}" if route["rule"] else "no rule"
    text = Text.assemble(
        f"code {route['code']} leads to ",
        (f"cluster {route['cluster']}", "bold green"),
        f" by {by}, since version {count(route['since'])}; {_may(route['may_read'], route['may_write'])}",
    )
    text.append(f"\n  {', '.join(route['bootstrap'])}, {route['security']['protocol']}", style="dim")
    for asked, there in route["topics"].items():
        if asked != there:
            text.append(f"\n  topic {asked} is called {there} there")
    return [text]


def _hop(hop: Mapping[str, Any]) -> list[RenderableType]:
    where, won = hop["destination"], hop["rule"]
    decides = f"rule {won} decides" if won else "no rule matches, the code decides"
    leads = _leads(where["cluster"], where["code"], where["topics"], where["may_read"], where["may_write"])
    lines: list[RenderableType] = [Text.assemble(f"  code {hop['code']}: {decides}: ", (leads, "bold"))]
    missed = 0
    for one in hop["considered"]:
        name = f"{one['priority']:>6,}  rule {one['rule']}"
        if one["rule"] == won:
            lines.append(_rule(f"{name} matches, and decides", "green"))
        elif not one["misses"]:
            lines.append(_rule(f"{name} matches, and has a lower priority than {won}", "yellow"))
        else:
            missed += 1
            if missed <= MOST_MISSES:
                lines.append(_rule(f"{name} does not match: {', '.join(one['misses'])}", "dim"))
    if missed > MOST_MISSES:
        lines.append(_rule(f"{count(missed - MOST_MISSES)} rules more do not match; -o json has each", "dim"))
    return lines


def _rule(text: str, style: str) -> RenderableType:
    return Padding(Text(printable(text), style), (0, 0, 0, 4))
