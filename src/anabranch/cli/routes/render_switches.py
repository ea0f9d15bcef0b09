"""Switches as tables of 80 columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from anabranch.cli.render import grid
from anabranch.cli.words import count, duration, printable
from anabranch.routes.switch import SwitchState

_STYLES = {"done": "green", "cancelled": "bold red"}


def switches(found: Sequence[Mapping[str, Any]], now_ms: int) -> RenderableType:
    """One line a switch; below, why those that were given up were."""
    if not found:
        return Text("no client was moved yet")
    table = grid("SWITCH", "BEGAN", "STATE", "VERSION", "CLIENTS", "PAUSED", right=("VERSION", "CLIENTS", "PAUSED"))
    table.columns[0].no_wrap = True
    for one in found:
        table.add_row(
            Text(one["id"]),
            f"{duration(max(0, now_ms - one['began_ms']) // 1000)} ago",
            Text(one["state"], style=_STYLES.get(one["state"], "yellow")),
            str(one["version"]),
            count(one["clients"]),
            count(one["paused"]),
        )
    whys = [Text(f"{one['id'][:8]}: {printable(one['why'])}", style="dim") for one in found if one["why"]]
    return Group(table, *whys)


def switch(answer: Mapping[str, Any], now_ms: int) -> RenderableType:
    """A switch and its clients: those that have not paused first."""
    one = answer["switch"]
    parts: list[RenderableType] = [switches([one], now_ms)]
    parts.append(Text(f"by {printable(one['author'])}: {printable(one['reason'])}"))
    if one["lost"]:
        parts.append(Text(f"without {', '.join(one['lost'])}, which did not answer", style="yellow"))
    parts += [Text(f"in doubt: {printable(doubt)}", style="yellow") for doubt in one["doubts"]]
    parts += [Text(f"{before} -> {after} by the map of link {link}") for before, after, link in answer["links"]]
    if answer["clients"]:
        not_paused = "not yet" if SwitchState(one["state"]).is_open else "no"
        table = grid(
            "CLIENT", "GROUP", "FROM", "TO", "PAUSED", "POSITIONS", "IN DOUBT", right=("POSITIONS", "IN DOUBT")
        )
        for client in sorted(answer["clients"], key=lambda client: bool(client["paused"])):
            doubt = sum(client["uncertain"].values())
            table.add_row(
                Text(printable(client["words"])),
                Text(printable(client["group"]) or "-"),
                Text(client["before"]),
                Text(client["after"]),
                Text("left behind", style="yellow") if client["left"] else "yes" if client["paused"] else not_paused,
                count(len(client["positions"])),
                Text(count(doubt), style="bold red" if doubt else ""),
            )
        parts.append(table)
    return Group(*parts)


def cancel_plan(plan: Mapping[str, Any]) -> RenderableType:
    """A switch that would be given up: what becomes of its clients and groups."""
    clients, paused = plan["clients"], plan["paused"]
    parts: list[RenderableType] = [
        Text(f"switch {plan['switch']} is {plan['state']}, and is given up: {printable(plan['reason'])}"),
        Text(f"version {plan['version']} is not published; {count(paused)} of {count(clients)} clients have paused"),
        Text("every client goes on where it was, at the record where it was"),
    ]
    if plan["groups"]:
        parts.append(Text(f"groups that were moved are taken back: {', '.join(map(printable, plan['groups']))}"))
    return Group(*parts)


def cancelled(done: Mapping[str, Any]) -> RenderableType:
    """That it was given up."""
    return Text(f"switch {done['switch']} was given up, and every client is where it was: {printable(done['why'])}")
