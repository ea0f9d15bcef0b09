"""Routes that the service told, kept on disk for when it does not answer.

One file for each client, by what it is apart from its topics; in it the routes of its topics.  Whether an answer may
be taken from here is the session's matter: never after a refusal.

Invariants
    C1  a file is whole or not there: it is written beside and renamed.
    C2  a route is given for exactly the topics that were told, all of which lead to one cluster by the same answer.
    C3  the age is that of the oldest thing in the answer.
    C4  it holds references to secrets, and no secret.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from anabranch.errors import ProtocolError
from anabranch.model.clock import now_ms
from anabranch.model.routing import Route, RouteQuery
from anabranch.sdk.errors import NoRouteError, ServiceDownError
from anabranch.sdk.wire import get, route_fields, route_of

LOG = logging.getLogger("anabranch.sdk")
_KEPT = 8
_FORMAT = 1


@dataclass(frozen=True, slots=True)
class KeptRoute:
    """A route of the disk; ``told_ms`` is when the service told it."""

    route: Route
    told_ms: int

    @property
    def age_s(self) -> float:
        """How old it is."""
        return max(0, now_ms() - self.told_ms) / 1000


class RouteCache:
    """The routes of the clients of one service in one directory; ``log`` is told of age and of faults."""

    def __init__(self, directory: Path, service: str, log: logging.Logger = LOG) -> None:
        self._directory = directory
        self._service = service
        self._log = log

    def keep(self, query: RouteQuery, route: Route) -> None:
        """Write it down; raises OSError."""
        told = {"told_ms": now_ms(), "asked": sorted(query.topics), "route": route_fields(route)}
        rest = [one for one in self._read(query) if _is_beside(one, query)]
        self._write(self._path(query), {"format": _FORMAT, "answers": [told, *rest][:_KEPT]})

    def keep_told(self, query: RouteQuery, route: Route) -> None:
        """Write it down, or log why it is not."""
        try:
            self.keep(query, route)
        except OSError as error:
            self._log.warning("route of %s is not kept on disk: %s", query.code, error.strerror)

    def instead(
        self, query: RouteQuery, away: ServiceDownError, serves: Callable[[Route], bool] = lambda _: True
    ) -> KeptRoute:
        """The route to go by while the service is away, and its age logged; raises NoRouteError where none serves."""
        kept = self.find(query)
        if kept is None or not serves(kept.route):
            raise NoRouteError(query.code, away.message) from None
        self._log.warning(
            "%s; cluster code %s leads to cluster %s by a route that is %.0f s old",
            away.message,
            query.code,
            kept.route.cluster,
            kept.age_s,
        )
        return kept

    def find(self, query: RouteQuery) -> KeptRoute | None:
        """The newest that was told for all of its topics; None where there is none, or it cannot be read."""
        for one in self._read(query):
            with contextlib.suppress(ProtocolError):
                route = route_of(one.get("route"))
                asked = one.get("asked")
                if isinstance(asked, list) and _covers(asked, query.topics):
                    names = {topic: route.topics[topic] for topic in query.topics if topic in route.topics}
                    return KeptRoute(replace(route, topics=names), get(one, "told_ms", int))
        return None

    def _path(self, query: RouteQuery) -> Path:
        who = [self._service, query.code, query.role.value, query.group, query.client_id]
        text = json.dumps([*who, sorted(query.parameters.items())])
        return self._directory / f"{hashlib.sha256(text.encode()).hexdigest()[:32]}.json"

    def _read(self, query: RouteQuery) -> list[dict[str, Any]]:
        try:
            found = json.loads(self._path(query).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return []
        answers = found.get("answers") if isinstance(found, dict) and found.get("format") == _FORMAT else None
        return [one for one in answers if isinstance(one, dict)] if isinstance(answers, list) else []

    def _write(self, path: Path, value: object) -> None:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        number, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}-")
        try:
            with os.fdopen(number, "w", encoding="utf-8") as file:
                json.dump(value, file)
            os.replace(name, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(name)
            raise


def _covers(asked: Sequence[str], topics: Sequence[str]) -> bool:
    """Whether an answer for some topics is one for these: one for none of them is its own question."""
    return set(topics) <= set(asked) if topics else not asked


def _is_beside(one: dict[str, Any], query: RouteQuery) -> bool:
    """Whether an older answer stays: it is of topics that the newer one does not speak of."""
    asked = one.get("asked")
    if not isinstance(asked, list):
        return False
    return not _covers(sorted(query.topics), asked)
