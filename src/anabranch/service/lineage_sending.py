"""Telling an OpenLineage endpoint which runs of streams begin and end, and what they make of what.

Invariants
    L14  whoever tells of a run waits for nothing: where the endpoint is away events wait, at most ``MOST_WAITING`` of
         them, and each is tried for ``PATIENCE_S``; what was not taken is counted.
    L15  an event that is told again, as by a service that has started anew, has the same run id (at least once).
"""

from __future__ import annotations

import asyncio
import json
import time
import urllib.error
from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from http.client import HTTPException
from typing import Any

import structlog

from anabranch.errors import AnabranchError
from anabranch.model.secrets import SecretRef
from anabranch.service.posting import post
from anabranch.streams.lineage.document import lineage_of
from anabranch.streams.lineage.openlineage import RunEventType, lineage_run, run_event

MOST_WAITING = 1000
PATIENCE_S = 60.0
TIMEOUT_S = 10.0
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.5, 10.0
_PASSING = frozenset({408, 425, 429})

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class LineageEndpoint:
    """An address that takes run events as JSON by POST; a token is sent as a bearer's."""

    url: str
    token: SecretRef | None = None


class LineageSending:
    """What is to be told to an endpoint; without one nothing is."""

    def __init__(self, endpoint: LineageEndpoint | None, patience_s: float = PATIENCE_S) -> None:
        self.endpoint = endpoint
        self.results: Counter[str] = Counter()
        self._patience_s = patience_s
        self._waiting: deque[Mapping[str, Any]] = deque()
        self._come = asyncio.Event()

    def tell(
        self, type: RunEventType, stream: str, run: str, document: Mapping[str, Any] | None, error: str = ""
    ) -> None:
        """Of a run, with the lineage that it has told: an event for each of its queries (L14)."""
        if self.endpoint is None or document is None:
            return
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        try:
            for event in events_of(type, now, stream, run, document, error):
                if len(self._waiting) >= MOST_WAITING:
                    self.results["not_taken"] += 1
                else:
                    self._waiting.append(event)
        except AnabranchError as why:
            log.warning("the lineage of a run cannot be determined", stream=stream, run=run, why=why.message)
        self._come.set()

    async def watch(self) -> None:
        """Send what waits, in order, until this is cancelled."""
        while True:
            while not self._waiting:
                self._come.clear()
                await self._come.wait()
            taken = await self._send(self._waiting[0])
            self._waiting.popleft()
            self.results["taken" if taken else "not_taken"] += 1

    @property
    def waiting(self) -> int:
        """How many events wait."""
        return len(self._waiting)

    async def _send(self, event: Mapping[str, Any]) -> bool:
        """Whether it was taken, tried for a while; what the endpoint refuses is not tried again."""
        assert self.endpoint is not None
        deadline, pause = time.monotonic() + self._patience_s, _FIRST_PAUSE_S
        while True:
            try:
                await asyncio.to_thread(_post, self.endpoint, event)
                return True
            except urllib.error.HTTPError as error:
                why, is_passing = f"it answered {error.code}", error.code >= 500 or error.code in _PASSING
            except (OSError, HTTPException) as error:
                why, is_passing = str(error) or type(error).__name__, True
            except (AnabranchError, ValueError) as error:  # no secret, or an address that is none
                why, is_passing = str(error), False
            if not is_passing or time.monotonic() + pause > deadline:
                log.warning("OpenLineage took no event", job=event["job"]["name"], type=event["eventType"], why=why)
                return False
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE_S)


def events_of(
    type: RunEventType, at: str, stream: str, run: str, document: Mapping[str, Any], error: str = ""
) -> list[dict[str, Any]]:
    """An event for each INSERT of a run (L15); raises LineageDocumentError."""
    found = lineage_of(document)
    return [
        run_event(lineage_run(type, at, stream, run, number, error), one, found.datasets)
        for number, one in enumerate(found.inserts, 1)
    ]


def _post(endpoint: LineageEndpoint, event: Mapping[str, Any]) -> None:
    token = endpoint.token
    headers = {} if token is None else {"Authorization": f"Bearer {token.resolve().reveal()}"}
    post(endpoint.url, json.dumps(event, ensure_ascii=False).encode(), headers, TIMEOUT_S)
