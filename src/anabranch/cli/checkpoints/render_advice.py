"""Advice as text: the ways in a table, then each with its conditions, and the steps of the best."""

from __future__ import annotations

from collections.abc import Mapping

from rich.console import Group, RenderableType
from rich.text import Text

from anabranch.checkpoints.advice import Advice, Condition, ConditionStatus, Effect, Way
from anabranch.cli.render import grid
from anabranch.cli.words import count, duration

_STYLE: Mapping[ConditionStatus, str] = {
    ConditionStatus.MET: "green",
    ConditionStatus.LATER: "yellow",
    ConditionStatus.UNKNOWN: "yellow",
    ConditionStatus.UNMET: "bold red",
}


def advice(found: Advice, every: bool = False) -> RenderableType:
    """All ways; the steps of the first, with ``every`` those of each."""
    head = Text.assemble((found.path, "bold"), f"  {found.engine}, job {found.job or '-'}")
    seen = Text("\n".join(found.seen))
    naive = Text(
        f"only the servers changed: {_effect(found.unmodified_restart)}",
        style="" if found.unmodified_restart.exact else "yellow",
    )
    parts: list[RenderableType] = [head, seen, naive, Text(), _table(found), Text()]
    for number, way in enumerate(found.ways, 1):
        parts.append(_way(number, way, every or (way is found.best)))
    if found.best is None:
        parts.append(Text("no way is possible as things are: see the conditions that are not met", style="bold red"))
    return Group(*parts)


def _table(found: Advice) -> RenderableType:
    table = grid("", "WAY", "READ AGAIN", "NEVER READ", "WAITS", "CONDITIONS", right=("READ AGAIN", "NEVER READ"))
    for number, way in enumerate(found.ways, 1):
        waits = "?" if way.waits_s is None else duration(way.waits_s) if way.waits_s else "0 s"
        effect = way.effect
        table.add_row(
            str(number),
            way.kind.value,
            "?" if effect.repeated is None else count(effect.repeated),
            "?" if effect.lost is None else count(effect.lost),
            waits,
            _statuses(way),
        )
    return table


def _statuses(way: Way) -> Text:
    text = Text()
    for status in ConditionStatus:
        number = way.count(status)
        if number:
            text.append(", " if text else "").append(f"{number:,} {status.value}", style=_STYLE[status])
    return text


def _way(number: int, way: Way, steps: bool) -> RenderableType:
    text = Text()
    text.append(f"{number}. {way.title}\n", style="bold")
    for one in way.conditions:
        text.append_text(_condition(one))
    if not way.effect.exact:
        text.append(f"   effect: {_effect(way.effect)}\n", style="yellow")
    for note in way.notes:
        text.append(f"   note: {note}\n", style="dim")
    text.rstrip()
    parts: list[RenderableType] = [text]
    for at, step in enumerate(way.steps if steps else (), 1):
        parts.append(Text(f"   {at}) {step.what}"))
        if step.command:
            # A command is pasted: it must not be broken, however long it is.
            parts.append(Text(f"        {step.command}", style="cyan", no_wrap=True, overflow="ignore"))
    return Group(*parts, Text())


def _condition(one: Condition) -> Text:
    text = Text("   ")
    text.append(one.status.value, style=_STYLE[one.status])
    text.append(f": {one.what}")
    if one.why:
        text.append(f" ({one.why})")
    text.append("\n")
    if one.fix and one.status is not ConditionStatus.MET:
        text.append(f"      fix: {one.fix}\n")
    return text


def _effect(effect: Effect) -> str:
    again = "unknown" if effect.repeated is None else count(effect.repeated)
    never = "unknown" if effect.lost is None else count(effect.lost)
    text = f"{again} records read again, {never} never read"
    return f"{text}; {effect.why}" if effect.why else text
