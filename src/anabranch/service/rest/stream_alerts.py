"""Alerts of streams: how they stand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fastapi import APIRouter
from starlette.responses import JSONResponse

from anabranch.operations.streams.alerting import AlertRuleLine, rule_lines
from anabranch.service.answers import answered
from anabranch.service.rest.streams import StreamNamePath
from anabranch.service.web import AsViewer, Here, answer
from anabranch.streams.alerts.rules import DEFAULTS, AlertKind
from anabranch.streams.alerts.standing import Alert, AlertState

router = APIRouter(prefix="/api/v1", tags=["streams"])


@dataclass(frozen=True, slots=True)
class StreamAlertAnswer:
    """An alert that waits or fires, or is over; of one query where it names one."""

    stream: str
    kind: AlertKind
    query: str
    state: AlertState
    since_ms: int
    words: str


@dataclass(frozen=True, slots=True)
class StreamAlertsAnswer:
    """The alerts of a stream and its rules; ``receivers`` are who is told."""

    stream: str
    alerts: tuple[StreamAlertAnswer, ...]
    rules: tuple[AlertRuleLine, ...]
    receivers: tuple[str, ...]


@router.get("/alerts", responses=answered(Sequence[StreamAlertAnswer]))
async def alerts(here: Here, _: AsViewer) -> JSONResponse:
    """The alerts that fire, of all streams."""
    found = await here.stored.ask(here.stored.alerts.all)
    return answer(
        [
            _answer(name, one)
            for name, of_stream in sorted(found.items())
            for one in of_stream
            if one.state is AlertState.FIRING
        ]
    )


@router.get("/streams/{name}/alerts", responses=answered(StreamAlertsAnswer))
async def stream_alerts(here: Here, name: StreamNamePath, _: AsViewer) -> JSONResponse:
    """The alerts of one stream, those that are over too, and its rules."""
    stored = here.stored
    with here.stream_links.refusing("alerts"):
        _kept, found, (rules, _revision) = await stored.ask(
            lambda: (stored.streams.get(name), stored.alerts.of(name), stored.alerts.rules(name))
        )
    told = tuple(_answer(name, one) for one in found)
    receivers = rules.told_to(here.alerting.receivers)
    return answer(StreamAlertsAnswer(name, told, rule_lines(rules, DEFAULTS), receivers))


def _answer(stream: str, one: Alert) -> StreamAlertAnswer:
    return StreamAlertAnswer(stream, one.kind, one.query, one.state, one.since, one.words)
