"""Changing the rules of a stream's alerts."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from anabranch.errors import InvalidFieldError
from anabranch.model.plans import REQUEST, plan_hash
from anabranch.streams.alerts.rules import AlertKind, AlertRule, AlertRules, with_settings

if TYPE_CHECKING:  # a program without the service has no database
    from anabranch.store.alerts import StoredAlerts
    from anabranch.store.streams import StoredStreams


@dataclass(frozen=True, slots=True)
class AlertRuleLine:
    """A rule; ``is_changed`` is whether it is another one than before, or than in the beginning."""

    kind: AlertKind
    limit: float
    for_s: float
    is_on: bool
    is_changed: bool


@dataclass(frozen=True, slots=True)
class AlertsPlan:
    """The rules that a stream would have; ``receivers`` are who is told."""

    stream: str
    rules: tuple[AlertRuleLine, ...]
    receivers: tuple[str, ...]
    hash: str
    made: AlertRules = field(metadata=REQUEST)
    revision: int = field(metadata=REQUEST)


@dataclass(frozen=True, slots=True)
class ChangedAlerts:
    """A stream whose alerts were changed."""

    stream: str


def rule_lines(rules: AlertRules, before: Mapping[AlertKind, AlertRule]) -> tuple[AlertRuleLine, ...]:
    """The rules beside those of before."""
    return tuple(
        AlertRuleLine(kind, rule.limit, rule.for_s, rule.is_on, rule != before[kind])
        for kind, rule in rules.rules.items()
    )


async def plan(
    streams: StoredStreams,
    alerts: StoredAlerts,
    name: str,
    settings: Sequence[str],
    receivers: Sequence[str] | None,
    known: Collection[str],
) -> AlertsPlan:
    """What some settings make of a stream's rules; ``receivers`` is who is to be told, None for those of before.

    ``known`` are the receivers that the service has.  Raises NoStreamError, InvalidFieldError.
    """
    _, (before, revision) = await asyncio.to_thread(lambda: (streams.get(name), alerts.rules(name)))
    made = with_settings(before, settings)
    if receivers is not None:
        for one in receivers:
            if one not in known and one != "all":
                told = f"the service's file has {', '.join(sorted(known))}" if known else "its file has none"
                raise InvalidFieldError("alerts", "receivers", f"there is no receiver {one!r}", told)
        chosen = None if "all" in receivers else tuple(dict.fromkeys(receivers))
        made = AlertRules(made.rules, chosen)
    lines, told_to = rule_lines(made, before.rules), made.told_to(known)
    hash_ = plan_hash("streams.alerts", name, revision, made.fields())
    return AlertsPlan(name, lines, told_to, hash_, made, revision)


async def apply(alerts: StoredAlerts, planned: AlertsPlan, author: str) -> ChangedAlerts:
    """Keep them; raises StreamChangedError."""
    await asyncio.to_thread(alerts.change, planned.stream, planned.revision, planned.made, author)
    return ChangedAlerts(planned.stream)
