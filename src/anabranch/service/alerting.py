"""Looking at the alerts of every stream, and telling their receivers, on the instance that acts.

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
from anabranch.service.hub import Hub
from anabranch.service.stored import Stored
from anabranch.service.streaming import Streaming
from anabranch.store.streams import StoredStream
from anabranch.streams.alerts.conditions import WatchedStream, conditions
from anabranch.streams.alerts.rules import AlertRules
from anabranch.streams.alerts.standing import Alert, AlertState
from anabranch.streams.restarting import WINDOW_MS

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
        hub: Hub,
        receivers: Receivers,
        public: str,
        acts: Callable[[], bool],
        every_s: float = EVERY_S,
    ) -> None:
        self.receivers = receivers
        self.firing: dict[tuple[str, str, str], int] = {}
        self.untold: Counter[str] = Counter()
        self._stored = stored
        self._streaming = streaming
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
        """Look at every stream once, and tell what is to be told; raises StoreError."""
        kept, alerts, since = self._stored.streams, self._stored.alerts, now_ms() - WINDOW_MS
        streams, triggers, failures, rules, standing = await self._stored.ask(
            lambda: (kept.all(), kept.triggers(), kept.failures(since), alerts.all_rules(), alerts.all())
        )
        live = {one.name: one.live for one in self._streaming.known()}
        firing: dict[tuple[str, str, str], int] = {}
        for stream in streams:
            told = live.get(stream.name)
            seen = WatchedStream(
                *(stream.wanted, stream.state, stream.why, triggers.get(stream.name, "")),
                failures.get(stream.name, ()),
                {} if told is None else told.queries,
                told is not None,
            )
            chosen = rules.get(stream.name, AlertRules())
            for alert in await self._stand(stream, chosen, seen, standing.get(stream.name, ())):
                if alert.state is AlertState.FIRING:
                    firing[stream.name, alert.kind.value, alert.query] = alert.since
                await self._tell(stream, chosen, alert)
        self.firing = firing
        for gone in {*standing, *rules} - {one.name for one in streams}:
            await self._stored.ask(partial(alerts.forget, gone))

    async def _stand(
        self, stream: StoredStream, rules: AlertRules, seen: WatchedStream, before: Sequence[Alert]
    ) -> list[Alert]:
        """How its alerts stand now, each that is another one written down."""
        now = now_ms()
        known = {(one.kind, one.query): one for one in before}
        found = {(one.kind, one.query): one for one in conditions(rules, seen, now)}
        alerts: list[Alert] = []
        for key in sorted({*known, *found}):
            alert = known.get(key, Alert(*key))
            condition = found.get(key)
            if condition is not None:
                fresh = alert.seen(condition, rules.rules[key[0]], now)
            elif not rules.rules[key[0]].is_on or (seen.is_seen and key[1] and key[1] not in seen.queries):
                fresh = alert.over(now)
            else:
                fresh = alert  # of a query of which nothing is known just now
            if fresh != alert:
                await self._stored.ask(partial(self._stored.alerts.keep, stream.name, fresh))
                if fresh.state is not alert.state:
                    self._hub.tell("stream", {"name": stream.name})
            alerts.append(fresh)
        return alerts

    async def _tell(self, stream: StoredStream, rules: AlertRules, alert: Alert) -> None:
        chosen = [name for name in rules.told_to(self.receivers) if name in self.receivers]
        for name, state in alert.due(chosen):
            now = asyncio.get_running_loop().time()
            next_s, wait_s = self._waits.get(name, (0.0, self._every_s))
            if now < next_s:
                continue
            try:
                await send(name, self.receivers[name], self._notice(stream, alert, state))
            except NotToldError as error:
                self.untold[name] += 1
                self._waits[name] = now + wait_s, min(LONGEST_WAIT_S, wait_s * 2)
                log.warning("nobody took an alert", stream=stream.name, receiver=name, why=error.message)
                continue
            self._waits.pop(name, None)
            alert = alert.was_told(name, state)
            await self._stored.ask(partial(self._stored.alerts.keep, stream.name, alert))

    def _notice(self, stream: StoredStream, alert: Alert, state: AlertState) -> AlertNotice:
        key = f"{stream.name}/{stream.created}/{alert.kind}/{alert.query}/{state}/{alert.since}"
        public = self._public.rstrip("/")
        return AlertNotice(
            id=hashlib.sha256(key.encode()).hexdigest()[:32],
            stream=stream.name,
            alert=alert.kind.value,
            query=alert.query,
            state=state.value,
            since_ms=alert.since,
            words=alert.words,
            owner=stream.owner,
            link=f"{public}/streams/{stream.name}" if public else "",
        )
