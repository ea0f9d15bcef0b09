"""Changing the rules of the alerts of a stream or a link."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from anabranch.errors import InvalidFieldError
from anabranch.model.plans import REQUEST, plan_hash
from anabranch.streams.alerts.jobs import AlertedJob
from anabranch.streams.alerts.rules import AlertKind, AlertRule, AlertRules, with_settings

if TYPE_CHECKING:  # a program without the service has no database
    from anabranch.store.alerts import StoredAlerts


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
    """The rules that a stream would have, or with a target a link; ``receivers`` are who is told."""

    stream: str
    rules: tuple[AlertRuleLine, ...]
    receivers: tuple[str, ...]
    hash: str
    made: AlertRules = field(metadata=REQUEST)
    revision: int = field(metadata=REQUEST)
    target: str = ""


@dataclass(frozen=True, slots=True)
class ChangedAlerts:
    """A stream, or with a target a link, whose alerts were changed."""

    stream: str
    target: str = ""


def rule_lines(job: AlertedJob, rules: AlertRules, before: Mapping[AlertKind, AlertRule]) -> tuple[AlertRuleLine, ...]:
    """The rules of a job beside those of before."""
    return tuple(
        AlertRuleLine(kind, rule.limit, rule.for_s, rule.is_on, rule != before[kind])
        for kind, rule in rules.rules.items()
        if kind in job.kinds
    )


async def plan(
    alerts: StoredAlerts,
    job: AlertedJob,
    settings: Sequence[str],
    receivers: Sequence[str] | None,
    known: Collection[str],
) -> AlertsPlan:
    """What some settings make of a job's rules; ``receivers`` is who is to be told, None for those of before.

    ``known`` are the receivers that the service has.  Raises InvalidFieldError.
    """
    before, revision = await asyncio.to_thread(alerts.rules, job)
    made = with_settings(before, settings, job.kinds)
    if receivers is not None:
        for one in receivers:
            if one not in known and one != "all":
                told = f"the service's file has {', '.join(sorted(known))}" if known else "its file has none"
                raise InvalidFieldError("alerts", "receivers", f"there is no receiver {one!r}", told)
        chosen = None if "all" in receivers else tuple(dict.fromkeys(receivers))
        made = AlertRules(made.rules, chosen)
    lines, told_to = rule_lines(job, made, before.rules), made.told_to(known)
    hash_ = plan_hash("streams.alerts", job.name, job.target, revision, made.fields())
    return AlertsPlan(job.name, lines, told_to, hash_, made, revision, job.target)


async def apply(alerts: StoredAlerts, planned: AlertsPlan, author: str) -> ChangedAlerts:
    """Keep them over the revision that the plan has seen; raises StreamChangedError where it is another one by now.

    Nothing else that they rest on changes while a service runs: the receivers are those of its file.
    """
    job = AlertedJob(planned.stream, planned.target)
    await asyncio.to_thread(alerts.change, job, planned.revision, planned.made, author)
    return ChangedAlerts(job.name, job.target)
