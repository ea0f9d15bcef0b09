"""Registered clients as a table of 80 columns, in which those that are stale or behind stand out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from anabranch.cli.hints import quoted
from anabranch.cli.render import grid
from anabranch.cli.words import count, duration, printable
from anabranch.model.routing import ClientRole


def clients(answer: Mapping[str, Any], now_ms: int) -> RenderableType:
    """One line a client in 80 columns, those that are stale or behind first; below, why, and their last errors."""
    found: Sequence[Mapping[str, Any]] = answer["clients"]
    if not found:
        return Text("no client matches" if answer["total"] else "no client is registered")
    table = grid("CLIENT", "HOST", "GROUP", "CODE", "CLUSTER", "VERSION", "LAG", "SEEN", right=("VERSION", "LAG"))
    for column in table.columns[5:]:
        column.no_wrap = True  # names alone may be long
    errors: list[Text] = []
    for one in sorted(found, key=lambda one: (one["live"], not one["behind"])):
        query, report = one["query"], one["report"]
        name = printable(query["client_id"] or one["facts"]["application"] or one["id"][:8])
        reads = query["role"] == ClientRole.CONSUMER.value
        table.add_row(
            Text(name),
            Text(f"{printable(one['facts']['host'])}:{one['facts']['pid']}"),
            Text(printable(query["group"]) or "-") if reads else Text("producer", style="dim"),
            Text(printable(query["code"])),
            Text(one["cluster"] or "-"),
            Text(f"{report['version']} behind", style="yellow") if one["behind"] else str(report["version"]),
            count(report["lag"]) if reads else "",
            _seen(one, now_ms),
        )
        if report["last_error"]:
            errors.append(Text(f"{name}: {printable(report['last_error'])}", style="red"))
    return Group(table, *errors, *_whys(found), Text(_shown(answer), style="dim"))


def _whys(found: Sequence[Mapping[str, Any]]) -> list[Text]:
    """Why clients are stale or behind, and the next command; those that are so alike in one."""
    stale = [one for one in found if not one["live"]]
    behind = [one for one in found if one["live"] and one["behind"]]
    told: list[Text] = []
    if stale:
        told.append(
            Text(
                "stale: its lease has run out. It has ended without saying so, or does not reach the service and goes "
                "on by the last route that it was told: look at its process and its log. Where it would be led: "
                f"{_explain(stale[0])}",
                style="yellow",
            )
        )
    if behind:
        clusters = ", ".join(sorted({printable(one["cluster"]) for one in behind}))
        told.append(
            Text(
                f"behind: it is led to {clusters} by a newer version, and has not said yet that it goes by it. It goes "
                "over in its own calls alone, and says so in its next report. Whether a switch has it wait: "
                f"anabranch route switches; why it is led there: {_explain(behind[0])}",
                style="yellow",
            )
        )
    return told


def _explain(one: Mapping[str, Any]) -> str:
    """The command that explains a client's route."""
    query = one["query"]
    words = [quoted(printable(query["code"])), f"--role {query['role']}"]
    words += [f"--topic {quoted(printable(topic))}" for topic in query["topics"][:1]]
    words += [f"--group {quoted(printable(query['group']))}"] if query["group"] else []
    words += [f"--client-id {quoted(printable(query['client_id']))}"] if query["client_id"] else []
    words += [f"--param {quoted(printable(f'{name}={value}'))}" for name, value in sorted(query["parameters"].items())]
    return f"anabranch route explain {' '.join(words)}"


def _seen(one: Mapping[str, Any], now_ms: int) -> Text:
    ago = duration(max(0, now_ms - one["seen_ms"]) // 1000)
    return Text(ago) if one["live"] else Text(f"stale {ago}", style="bold red")


def _shown(answer: Mapping[str, Any]) -> str:
    found = answer["clients"]
    stale, behind = sum(not one["live"] for one in found), sum(one["behind"] for one in found)
    told = f"{count(len(found))} of {count(answer['matching'])} that match, {count(answer['total'])} are registered"
    return f"{told}; {count(stale)} stale, {count(behind)} behind"
