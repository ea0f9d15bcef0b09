"""The rules that each stream has from its beginning, and what its owner has changed of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from typing import Any

from anabranch.errors import InvalidFieldError

_SPAN = re.compile(r"(\d+(?:\.\d+)?)(s|m|h)?")
_UNITS = {"s": 1, "m": 60, "h": 3600, None: 1}
LONGEST_S = 86_400


class AlertKind(StrEnum):
    """What is looked at."""

    ALIVE = "alive"
    """A stream that is to run and does not."""
    LAG = "lag"
    """Records of Kafka behind the last micro-batch of a query; the limit is a number of records."""
    RESTARTS = "restarts"
    """Runs that failed within an hour; the limit is how many may."""
    SLOW = "slow"
    """A micro-batch that takes longer than the trigger; the limit is how many times as long it may."""


@dataclass(frozen=True, slots=True)
class AlertRule:
    """When it is an alert: above ``limit`` (of ``alive`` nothing) without a break for so many seconds."""

    limit: float
    for_s: float
    is_on: bool = True


DEFAULTS: Mapping[AlertKind, AlertRule] = {
    AlertKind.ALIVE: AlertRule(0, 60),
    AlertKind.LAG: AlertRule(100_000, 300),
    AlertKind.RESTARTS: AlertRule(3, 0),
    AlertKind.SLOW: AlertRule(2, 300),
}


@dataclass(frozen=True, slots=True)
class AlertRules:
    """The rules of a stream; ``receivers`` are those who are told, None for all that the service has."""

    rules: Mapping[AlertKind, AlertRule] = field(default_factory=lambda: dict(DEFAULTS), hash=False)
    receivers: tuple[str, ...] | None = None

    def changed(self, kind: AlertKind, **values: Any) -> AlertRules:
        """Another limit, time or switch of a rule."""
        return replace(self, rules={**self.rules, kind: replace(self.rules[kind], **values)})

    def told_to(self, known: Iterable[str]) -> tuple[str, ...]:
        """Who is told, of those that a service has where none are named."""
        return tuple(sorted(known)) if self.receivers is None else self.receivers

    def fields(self) -> dict[str, Any]:
        """As a document; what is as by default is left out."""
        rules = {kind.value: asdict(rule) for kind, rule in self.rules.items() if rule != DEFAULTS[kind]}
        receivers = {} if self.receivers is None else {"receivers": list(self.receivers)}
        return {**({"rules": rules} if rules else {}), **receivers}

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> AlertRules:
        """The document; what it does not name is as by default."""
        told = {AlertKind(kind): AlertRule(**rule) for kind, rule in fields.get("rules", {}).items()}
        receivers = fields.get("receivers")
        return cls({**DEFAULTS, **told}, None if receivers is None else tuple(receivers))


def with_settings(
    rules: AlertRules, settings: Iterable[str], kinds: Sequence[AlertKind] = tuple(AlertKind)
) -> AlertRules:
    """Rules with settings such as ``lag=50000``, ``lag.for=5m``, ``slow=off``; raises InvalidFieldError.

    ``kinds`` are the alerts that the job has.
    """
    for text in settings:
        name, equals, value = (part.strip() for part in text.partition("="))
        word, dot, what = name.partition(".")
        if not equals or word not in kinds or (dot and what != "for"):
            known = ", ".join(kinds)
            fix = f"write KIND=LIMIT, KIND=on, KIND=off or KIND.for=TIME, where KIND is {known}"
            raise InvalidFieldError("alerts", text, "this is no setting of an alert", fix)
        kind = AlertKind(word)
        if dot:
            rules = rules.changed(kind, for_s=_seconds(text, value))
        elif value in ("on", "off"):
            rules = rules.changed(kind, is_on=value == "on")
        else:
            rules = rules.changed(kind, limit=_limit(text, kind, value), is_on=True)
    return rules


def _limit(text: str, kind: AlertKind, value: str) -> float:
    if kind is AlertKind.ALIVE:
        raise InvalidFieldError("alerts", text, "alive has no limit", "alive.for=TIME says how long it may be away")
    match = re.fullmatch(r"\d{1,15}(\.\d{1,3})?", value.replace(",", ""))
    if match is None:
        raise InvalidFieldError("alerts", text, f"{value!r} is no number", "such as lag=50000")
    return float(match[0])


def _seconds(text: str, value: str) -> float:
    match = _SPAN.fullmatch(value)
    seconds = -1.0 if match is None else float(match[1]) * _UNITS[match[2]]
    if not 0 <= seconds <= LONGEST_S:
        raise InvalidFieldError("alerts", text, f"{value!r} is no time of at most a day", "such as 90s, 5m or 1h")
    return seconds
