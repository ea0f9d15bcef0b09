"""A change of the route table: what is other, who moves from where to where, and what is against it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from anabranch.cli.reasons import some
from anabranch.cli.render import findings, grid
from anabranch.cli.routes.render import leads_to, matches
from anabranch.cli.words import count, printable
from anabranch.model.cluster import ClusterContext
from anabranch.model.reasons import Reason, Severity
from anabranch.model.routing import ClientRole
from anabranch.routes.table import Code, RouteTable, Rule

_STYLES = {"added": "green", "removed": "red", "changed": "yellow"}


def plan(before: RouteTable, after: RouteTable, document: Mapping[str, Any]) -> RenderableType:
    """The difference of two tables, the clients that it moves, and every reason for a look or against it."""
    impact = document["impact"]
    parts: list[RenderableType] = [_differences(before, after)]
    if impact["moves"]:
        parts.append(_moves(impact["moves"]))
    moved, staying = len(impact["moves"]), impact["staying"]
    who = "1 registered client changes" if moved == 1 else f"{count(moved)} registered clients change"
    parts.append(Text(f"{who}, {count(staying)} {'stays' if staying == 1 else 'stay'} as they are"))
    parts += [Text(_switched(one)) for one in document["switch"]]
    if reasons := [*document["reasons"], *impact["reasons"]]:
        parts.append(findings(_reason(one) for one in reasons))
    if before == after:  # an empty plan is never applied
        version = document["base"]
        parts.append(Text(f"nothing to apply: version {version} is the same" if version else "nothing to apply"))
    else:
        parts.append(Text(f"version {document['base']} -> {document['base'] + 1}; plan {document['hash']}"))
    return Group(*parts)


def _switched(one: Mapping[str, Any]) -> str:
    who = "1 client is" if one["clients"] == 1 else f"{count(one['clients'])} clients are"
    return f"{who} moved while they run: {one['before']} -> {one['after']}, by the map of link {one['link']}"


def done(report: Mapping[str, Any]) -> RenderableType:
    """That a version is published, and how to go back."""
    version = report["version"]
    text = Text(f"done: version {version} of the route table applies")
    if version > 1:
        text.append(f"; what it would take to go back: anabranch route rollback {version - 1} --reason WHY")
    doubts = report.get("doubts", ())
    return Group(text, *(Text(f"in doubt: {printable(one)}", style="yellow") for one in doubts)) if doubts else text


def _differences(before: RouteTable, after: RouteTable) -> RenderableType:
    rows = [
        *_changed("code", before.codes, after.codes, _code),
        *_changed("rule", {rule.name: rule for rule in before.rules}, {rule.name: rule for rule in after.rules}, _rule),
        *_changed("cluster", before.clusters, after.clusters, _cluster),
    ]
    if not rows:
        return Text("no code and no rule changes")
    table = grid("CHANGE", "WHAT", "IS", "WAS")
    for change, what, former, later in rows:
        table.add_row(Text(change, style=_STYLES[change]), Text(what), Text(later), Text(former, style="dim"))
    return table


def _changed(
    noun: str, before: Mapping[str, Any], after: Mapping[str, Any], told: Callable[[Any], str]
) -> Iterator[tuple[str, str, str, str]]:
    """(change, what, was, is) of each that is not the same in both."""
    for name in sorted({*before, *after}):
        former, later = before.get(name), after.get(name)
        if former != later:
            change = "added" if former is None else "removed" if later is None else "changed"
            yield (
                change,
                f"{noun} {name}",
                "" if former is None else told(former),
                "" if later is None else told(later),
            )


def _code(code: Code) -> str:
    return leads_to(code.destination) + (f" ({code.description})" if code.description else "")


def _rule(rule: Rule) -> str:
    return f"{matches(rule.match)} -> {leads_to(rule.destination)}, priority {count(rule.priority)}"


def _cluster(context: ClusterContext) -> str:
    return f"{','.join(context.bootstrap)}, {context.security.protocol.value}"


def _moves(found: Sequence[Mapping[str, Any]]) -> RenderableType:
    """Clients that move in the same way in one line: a group, or the producers of an application."""
    alike: dict[tuple[str, str, str], list[str]] = {}
    for move in found:
        query, facts = move["client"]["query"], move["client"]["facts"]
        reads = query["role"] == ClientRole.CONSUMER.value
        of = facts["application"] or query["client_id"]
        who = f"group {query['group']}" if query["group"] else f"{'consumers' if reads else 'producers'} of {of}"
        alike.setdefault((who, *_ends(move)), []).append(f"{facts['host']}:{facts['pid']}")
    table = grid("WHO", "FROM", "TO", "CLIENTS", "FIRST", right=("CLIENTS",))
    for (who, former, later), names in sorted(alike.items()):
        style = "bold red" if later == "refused" else "bold" if former != later else ""
        told = Text(printable(who)), Text(former), Text(later, style=style), count(len(names))
        table.add_row(*told, Text(printable(some(names))))
    return table


def _ends(move: Mapping[str, Any]) -> tuple[str, str]:
    """Where it is led before and after; one that stays on its cluster has other names, addresses or rights there."""
    former, later = move["before"], move["after"]
    there = "refused" if later is None else str(later["cluster"])
    here = "refused" if former is None else str(former["cluster"])
    return here, f"{there}, otherwise" if here == there != "refused" else there


def _reason(told: Mapping[str, Any]) -> Reason:
    return Reason.found(Severity(told.get("severity", "error")), printable(told["what"]), printable(told["fix"]))
