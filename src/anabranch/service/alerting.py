"""Looking at the alerts of every stream and link, and telling their receivers, on the instance that acts.

How an alert stands is written down before anybody is told of it, and who has taken it afterwards: a service that is
killed in between tells it once more, under the same id (at least once).
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import structlog

from anabranch.errors import AnabranchError
from anabranch.model.clock import now_ms
from anabranch.service.alert_sending import AlertNotice, Mail, NotToldError, Webhook, send
from anabranch.service.alerted import Alerted, look
from anabranch.service.hub import Hub
from anabranch.service.stored import Stored
from anabranch.service.stream_links import StreamLinks
from anabranch.service.streaming import Streaming
from anabranch.streams.alerts.jobs import AlertedJob
from anabranch.streams.alerts.rules import AlertRules
from anabranch.streams.alerts.standing import Alert, AlertState

EVERY_S = 5.0
LONGEST_WAIT_S = 300.0

log = structlog.get_logger()
Receivers = Mapping[str, Webhook | Mail]


class Alerting:
    """The alerts of one store; ``receivers`` are those of the service's file by their names."""

    def __init__(
        self,
        stored: Stored,
        streaming: Streaming,
        links: StreamLinks,
        hub: Hub,
        receivers: Receivers,
        public: str,
        acts: Callable[[], bool],
        every_s: float = EVERY_S,
    ) -> None:
        self.receivers = receivers
        self.firing: dict[tuple[str, str, str, str], int] = {}
        self.untold: Counter[str] = Counter()
        self._stored = stored
        self._streaming = streaming
        self._links = links
        self._hub = hub
        self._acts = acts
        self._public = public
        self._every_s = every_s
        self._waits: dict[str, tuple[float, float]] = {}

    async def watch(self) -> None:
        """Look until this is cancelled."""
        while True:
            await asyncio.sleep(self._every_s)
            if not self._acts():
                self.firing = {}
                continue
            try:
                await self.look()
            except AnabranchError as error:
                log.warning("alerts were not looked at", why=error.message)
            except Exception:
                log.exception("alerts were not looked at")

    async def look(self) -> None:
        """Look at every stream and link once, and tell what is to be told; raises StoreError."""
        found = await look(self._stored, self._streaming, self._links)
        firing: dict[tuple[str, str, str, str], int] = {}
        for one in found.jobs:
            chosen = found.rules.get(one.job, AlertRules())
            for alert in await self._stand(one, chosen, found.alerts.get(one.job, ())):
                self._note(firing, one.job, alert)
                await self._tell(one, chosen, alert)
        for away in {*found.alerts, *found.rules} - {one.job for one in found.jobs}:
            if not away.target or self._links.is_gone(away.name, away.target):
                await self._stored.ask(partial(self._stored.alerts.forget, away))
                continue
            for alert in found.alerts.get(away, ()):  # of a cluster that was never read: it stands as it stood
                self._note(firing, away, alert)
        self.firing = firing

    def _note(self, firing: dict[tuple[str, str, str, str], int], job: AlertedJob, alert: Alert) -> None:
        if alert.state is AlertState.FIRING:
            firing[job.name, job.target, alert.kind.value, alert.query] = alert.since

    async def _stand(self, one: Alerted, rules: AlertRules, before: Sequence[Alert]) -> list[Alert]:
        """How its alerts stand now, each that is another one written down."""
        now = now_ms()
        known = {(alert.kind, alert.query): alert for alert in before}
        found = {(true.kind, true.query): true for true in one.seen.conditions(rules, now)}
        alerts: list[Alert] = []
        for key in sorted({*known, *found}):
            alert = known.get(key, Alert(*key))
            condition = found.get(key)
            if condition is not None:
                fresh = alert.seen(condition, rules.rules[key[0]], now)
            elif not rules.rules[key[0]].is_on or one.seen.has_lost(key[1]):
                fresh = alert.over(now)
            else:
                fresh = alert  # of a query of which nothing is known just now
            if fresh != alert:
                await self._stored.ask(partial(self._stored.alerts.keep, one.job, fresh))
                if fresh.state is not alert.state:
                    self._hub.tell("stream", {"name": one.job.name})
            alerts.append(fresh)
        return alerts

    async def _tell(self, one: Alerted, rules: AlertRules, alert: Alert) -> None:
        chosen = [name for name in rules.told_to(self.receivers) if name in self.receivers]
        for name, state in alert.due(chosen):
            now = asyncio.get_running_loop().time()
            next_s, wait_s = self._waits.get(name, (0.0, self._every_s))
            if now < next_s:
                continue
            try:
                await send(name, self.receivers[name], self._notice(one, alert, state))
            except NotToldError as error:
                self.untold[name] += 1
                self._waits[name] = now + wait_s, min(LONGEST_WAIT_S, wait_s * 2)
                log.warning("nobody took an alert", job=one.job.words, receiver=name, why=error.message)
                continue
            self._waits.pop(name, None)
            alert = alert.was_told(name, state)
            await self._stored.ask(partial(self._stored.alerts.keep, one.job, alert))

    def _notice(self, one: Alerted, alert: Alert, state: AlertState) -> AlertNotice:
        job = one.job
        key = f"{job.name}/{one.made}/{alert.kind}/{alert.query}/{state}/{alert.since}"
        key = f"{job.target}/{key}" if job.target else key
        public = self._public.rstrip("/")
        return AlertNotice(
            id=hashlib.sha256(key.encode()).hexdigest()[:32],
            stream=job.name,
            target=job.target,
            alert=alert.kind.value,
            query=alert.query,
            state=state.value,
            since_ms=alert.since,
            words=alert.words,
            owner=one.owner,
            link=f"{public}{one.page}" if public else "",
        )
