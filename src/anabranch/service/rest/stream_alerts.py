"""Alerts of streams: how they stand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fastapi import APIRouter
from starlette.responses import JSONResponse

from anabranch.operations.streams.alerting import AlertRuleLine, rule_lines
from anabranch.service.answers import answered
from anabranch.service.rest.streams import StreamNamePath, TargetQuery
from anabranch.service.stream_links import meant
from anabranch.service.web import AsViewer, Here, answer
from anabranch.streams.alerts.jobs import AlertedJob
from anabranch.streams.alerts.rules import DEFAULTS, AlertKind
from anabranch.streams.alerts.standing import Alert, AlertState

router = APIRouter(prefix="/api/v1", tags=["streams"])


@dataclass(frozen=True, slots=True)
class StreamAlertAnswer:
    """An alert that waits or fires, or is over; of one query where it names one, of a link where it has a target."""

    stream: str
    target: str
    kind: AlertKind
    query: str
    state: AlertState
    since_ms: int
    words: str


@dataclass(frozen=True, slots=True)
class StreamAlertsAnswer:
    """The alerts of a stream and its rules; ``receivers`` are who is told."""

    stream: str
    target: str
    alerts: tuple[StreamAlertAnswer, ...]
    rules: tuple[AlertRuleLine, ...]
    receivers: tuple[str, ...]


@router.get("/alerts", responses=answered(Sequence[StreamAlertAnswer]))
async def alerts(here: Here, _: AsViewer) -> JSONResponse:
    """The alerts that fire, of all streams and links."""
    found = await here.stored.ask(here.stored.alerts.all)
    return answer(
        [_answer(job, one) for job, of_job in sorted(found.items()) for one in of_job if one.state is AlertState.FIRING]
    )


@router.get("/streams/{name}/alerts", responses=answered(StreamAlertsAnswer))
async def stream_alerts(here: Here, name: StreamNamePath, _: AsViewer, target: TargetQuery = None) -> JSONResponse:
    """The alerts of one stream or link, those that are over too, and its rules."""
    stored = here.stored
    link = await meant(stored.streams, here.stream_links, name, target)
    job = AlertedJob(name, "" if link is None else link[0].name)
    found, (rules, _revision) = await stored.ask(lambda: (stored.alerts.of(job), stored.alerts.rules(job)))
    told = tuple(_answer(job, one) for one in found)
    receivers = rules.told_to(here.alerting.receivers)
    return answer(StreamAlertsAnswer(*(job.name, job.target), told, rule_lines(job, rules, DEFAULTS), receivers))


def _answer(job: AlertedJob, one: Alert) -> StreamAlertAnswer:
    return StreamAlertAnswer(job.name, job.target, one.kind, one.query, one.state, one.since, one.words)
