"""A client's standing with the route service: registered, reporting, and told of changes; one thread for each client.

Whoever uses it is told in the session's thread, one thing after another, and must not stay there long.

Invariants
    N1  a route of the disk is used only while the service does not answer, and never after a refusal.
    N2  after every connect the client registers again before it watches, so what it missed is in that answer.
    N3  ``ready`` is sent until the service has taken it, or the switch that it answers has ended.
    N4  no two attempts are closer than chance puts them: each wait is drawn, and the longest doubles.
    N5  its client is told one thing after another, in the order in which the session was told it; an event of before
        the last answer is not told: the session connects again and asks.  Where an answer tells of a switch that the
        stream has not told of, or of the end of one, what the stream still has may be older: of switches before.
    N6  of a process that was forked the parent goes on alone: the child asks nothing in its name.
"""

from __future__ import annotations

import contextlib
import os
import random
import selectors
import socket
import threading
import uuid
import weakref
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Protocol

from anabranch.errors import AnabranchError
from anabranch.model.clock import monotonic
from anabranch.model.routing import ClientFacts, ClientReport, Route, RouteQuery
from anabranch.sdk.cache import LOG, RouteCache
from anabranch.sdk.config import Settings
from anabranch.sdk.errors import MalformedRouteError, RouteProblemError, ServiceDownError
from anabranch.sdk.service import RouteService, Watch
from anabranch.sdk.stream import ServerEvent
from anabranch.sdk.wire import get, query_fields, report_fields, route_of

_FIRST_WAIT_S = 0.5
_LONGEST_WAIT_S, _LONGEST_PAUSED_S = 30.0, 2.0
"""Between two attempts to reach the service, and while a switch has the client pause."""
_SILENCE_S = 60.0
"""Three of the comments by which the service keeps a stream open: then it is taken for dead."""
_GONE = 404


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a client was led.  ``hold`` is the switch before whose end it must not connect, or empty.

    ``ended`` is a switch whose end the client may not have heard, with ``starts``, or empty.
    ``told_s`` is when the service told it, by this machine's monotonic clock; it may lie before its start.
    """

    route: Route
    hold: str
    told_s: float
    ended: str = ""
    starts: Mapping[str, int] = field(default_factory=dict, hash=False)


class Follower(Protocol):
    """Whoever is told of changes; called in the session's thread."""

    def on_route(self, route: Route, hold: str) -> None:
        """The route as the service has it now, and the switch that is under way for this client, or empty."""

    def on_prepare(self, switch: str, deadline_ms: int, lost: bool) -> None:
        """Pause, hand over, and answer by ``Session.ready``; ``lost`` says that the old cluster does not answer."""

    def on_go(self, switch: str, route: Route, starts: Mapping[str, int]) -> None:
        """Go on by this route."""

    def on_cancel(self, switch: str, why: str) -> None:
        """Go on as before."""

    def on_refused(self, error: RouteProblemError) -> None:
        """The client is led nowhere any more."""

    def on_tick(self) -> None:
        """Some time has passed."""

    def on_fork(self) -> None:
        """This is the child of a fork, where the client is of no use."""

    def follows(self, route: Route) -> bool:
        """Whether the client works by this route already."""

    def figures(self) -> ClientReport:
        """What is to be reported; its version is the session's."""


@dataclass
class _Ready:
    positions: Mapping[str, int]
    uncertain: Mapping[str, int]
    static_member: str


@dataclass
class _Pace:
    """When things are due, by the monotonic clock."""

    report_s: float = 10.0
    report_at: float = 0.0
    wait_s: float = _FIRST_WAIT_S
    heard_at: float = field(default_factory=monotonic)

    def drawn(self, longest_s: float = _LONGEST_WAIT_S) -> float:
        """A wait of so long at most, and the next one is drawn from twice as much."""
        found = random.uniform(0, min(self.wait_s, longest_s))
        self.wait_s = min(2 * self.wait_s, _LONGEST_WAIT_S)
        return found


class Session:
    """Begun by ``register``; ``follow`` starts its thread, ``close`` ends it and takes the client off the list."""

    def __init__(self, settings: Settings, query: RouteQuery, follower: Follower) -> None:
        self.id = uuid.uuid4().hex
        self.query = query
        self._facts = ClientFacts(settings.application, socket.gethostname(), "", os.getpid(), _version())
        self._service = RouteService(settings.service, settings.token, settings.ca_file)
        self._cache = RouteCache(settings.cache, settings.service)
        self._follower = follower
        self._lock = threading.RLock()
        self._standing: Standing | None = None
        self._followed = 0
        self._ready: dict[str, _Ready] = {}
        self._pace = _Pace()
        self._thread: threading.Thread | None = None
        self._closed = False
        self._newest = 0
        self._is_behind = False
        self._waking, self._woken = socket.socketpair()
        self._waking.setblocking(False)
        self._woken.setblocking(False)
        _SESSIONS.add(self)

    @property
    def route_age_s(self) -> float:
        """How long ago the service told the route that is followed; 0 before there is one."""
        standing = self._standing
        return 0.0 if standing is None else max(0.0, monotonic() - standing.told_s)

    def register(self, query: RouteQuery | None = None) -> Standing:
        """Register, or register again with other topics; the client is told the answer.

        Takes the route of the disk where the service does not answer, and says how old it is.  Raises NoRouteError,
        RouteProblemError, MissingSecretError, MalformedRouteError.
        """
        with self._lock:
            asked = query or self.query
            try:
                standing = self._registered(asked)
            except ServiceDownError as error:
                standing = self._from_disk(asked, error)
            self.query = asked
            self._newest = max(self._newest, standing.route.version)
            if standing.hold != self._holds():
                self._is_behind = True
                self.wake()
            self._tell(standing)
            return standing

    def follow(self) -> None:
        """Watch and report from now on."""
        with self._lock:
            if self._thread is None and not self._closed:
                self._thread = threading.Thread(target=self._run, name=f"anabranch-route-{self.id[:8]}", daemon=True)
                self._thread.start()

    def ready(
        self, switch: str, positions: Mapping[str, int], uncertain: Mapping[str, int], static_member: str = ""
    ) -> None:
        """Answer a ``prepare``; it is sent by the session's thread."""
        self._ready[switch] = _Ready(dict(positions), dict(uncertain), static_member)
        self.wake()

    def wake(self) -> None:
        """Have the thread look around."""
        with contextlib.suppress(OSError):
            self._waking.send(b"x")

    def close(self, timeout_s: float = 5.0) -> None:
        """Report a last time, be forgotten by the service, and end the thread; never raises."""
        with self._lock:
            closed, self._closed = self._closed, True
            thread = self._thread
        if closed:
            return
        self.wake()
        if thread is not None and thread is not threading.current_thread():
            thread.join(timeout_s)
        if thread is not None:
            with contextlib.suppress(AnabranchError):
                self._report(timeout_s)
                self._service.ask("DELETE", self._path(), timeout_s=timeout_s)
        self._service.close()
        self._waking.close()
        self._woken.close()

    def abandon(self) -> None:
        """Leave it to the parent of a fork: no thread of it is here, and its connections are the parent's (N6)."""
        self._lock = threading.RLock()  # whoever held it is not here
        self._closed, self._thread = True, None
        self._follower.on_fork()

    # -- asking ----------------------------------------------------------------------------------------

    def _path(self, rest: str = "") -> str:
        return f"/api/v1/clients/{self.id}{rest}"

    def _registered(self, query: RouteQuery) -> Standing:
        self._answer_late()
        answer = self._service.ask("PUT", self._path(), query_fields(query, self._facts))
        if not isinstance(answer, dict):
            raise MalformedRouteError("registration", "it is no object")
        route = route_of(answer.get("route"))
        self._paced(answer)
        self._cache.keep_told(query, route)
        ended = answer.get("go")
        if not isinstance(ended, dict):
            return Standing(route, str(answer.get("hold") or ""), monotonic())
        return Standing(route, "", monotonic(), get(ended, "switch", str), get(ended, "starts", dict))

    def _from_disk(self, query: RouteQuery, error: ServiceDownError) -> Standing:
        kept = self._cache.instead(query, error, self._leads_on)
        if self._standing is None:
            return Standing(kept.route, "", monotonic() - kept.age_s)
        more = replace(self._standing.route, topics=kept.route.topics)
        return replace(self._standing, route=more, ended="", starts={})

    def _leads_on(self, kept: Route) -> bool:
        """Whether a route of the disk adds topics to where the client is, or it is nowhere yet."""
        route = None if self._standing is None else self._standing.route
        return route is None or replace(kept, topics={}).leads_as(replace(route, topics={}))

    def _paced(self, answer: Mapping[str, Any]) -> None:
        self._pace.report_s = max(1.0, get(answer, "report_ms", int) / 1000)

    def _report(self, timeout_s: float = 10.0) -> None:
        standing = self._standing
        # What it is told while it is held it does not follow yet, nor before it has gone where that leads.
        if standing is not None and not standing.hold and self._follower.follows(standing.route):
            self._followed = standing.route.version
        figures = replace(self._follower.figures(), version=self._followed)
        answer = self._service.ask("POST", self._path("/report"), report_fields(figures), timeout_s)
        if isinstance(answer, dict):
            self._paced(answer)
        self._heard()

    def _heard(self) -> None:
        """The service is there, and would have told if the route were another."""
        with self._lock:
            if self._standing is not None:
                self._standing = replace(self._standing, told_s=monotonic())

    # -- the thread ------------------------------------------------------------------------------------

    def _run(self) -> None:
        while not self._closed:
            wait = None
            try:
                wait = self._connected()
            except ServiceDownError as error:
                LOG.info("%s", error.message)
            except RouteProblemError as error:
                self._refused(error)
            except AnabranchError as error:
                LOG.warning("%s", error.message)
            except Exception:
                if not self._closed:  # else its sockets may have been closed under it
                    LOG.exception("following the route failed")
            self._pause(self._wait() if wait is None else wait)

    def _wait(self) -> float:
        """The wait before the next attempt."""
        return self._pace.drawn(_LONGEST_PAUSED_S if self._holds() else _LONGEST_WAIT_S)

    def _refused(self, error: RouteProblemError) -> None:
        """A client that the service has forgotten registers again; any other refusal is the client's."""
        if error.status != _GONE:
            self._follower.on_refused(error)

    def _pause(self, seconds: float) -> None:
        """Wait until the next attempt; whoever waits here is still there for its client."""
        until = monotonic() + seconds
        while not self._closed and (left := until - monotonic()) > 0:
            self._waited(None, min(left, 0.5))
            self._follower.on_tick()

    def _connected(self) -> float | None:
        """Be registered and watch until the stream ends; the wait before the next attempt, where it was told."""
        with self._lock:
            standing = self._registered(self.query)
            self._newest, self._is_behind = standing.route.version, False
            self._tell(standing)
        watch = self._service.watch(self._path("/watch"))
        try:
            self._pace.heard_at = monotonic()
            self._pace.report_at = monotonic() + random.uniform(0, self._pace.report_s)
            return self._watched(watch)
        finally:
            watch.close()

    def _tell(self, standing: Standing) -> None:
        """Tell the client what was answered; under the lock, so that no event comes in between (N5)."""
        held, self._standing = self._holds(), standing
        if standing.ended:
            self._follower.on_go(held or standing.ended, standing.route, standing.starts)
        else:
            self._follower.on_route(standing.route, standing.hold)

    def _watched(self, watch: Watch) -> float | None:
        while not self._closed:
            for event in watch.read():
                self._pace.wait_s = _FIRST_WAIT_S
                with self._lock:
                    ending = self._told(event)
                if ending is not None:
                    return ending
            if self._is_behind:
                return self._pace.drawn()
            self._follower.on_tick()
            self._answer_ready()
            now = monotonic()
            if now >= self._pace.report_at:
                self._report()
                self._pace.report_at = now + self._pace.report_s
            if self._waited(watch, min(0.5, max(0.0, self._pace.report_at - monotonic()))):
                self._pace.heard_at = monotonic()
            elif monotonic() - self._pace.heard_at > _SILENCE_S:
                raise ServiceDownError(self._service.url, "the event stream is silent")
        return 0.0

    def _waited(self, watch: Watch | None, seconds: float) -> bool:
        """Wait for the stream, or to be woken; whether the stream has something."""
        with selectors.DefaultSelector() as selector:
            selector.register(self._woken, selectors.EVENT_READ)
            if watch is not None:
                selector.register(watch, selectors.EVENT_READ)
            found = [key.fileobj for key, _ in selector.select(seconds)]
        with contextlib.suppress(OSError):
            while self._woken.recv(64):
                pass
        return watch in found

    def _answer_late(self) -> None:
        """Say where the client has paused before it is told how that ended: it would begin without that being known."""
        if self._standing is not None:
            with contextlib.suppress(RouteProblemError):  # it is forgotten: it says so once it is registered again
                self._answer_ready()

    def _answer_ready(self) -> None:
        for switch, answer in list(self._ready.items()):
            body = {"switch": switch, **asdict(answer)}
            try:
                self._service.ask("POST", self._path("/ready"), body)
            except RouteProblemError as error:
                if error.status == _GONE:
                    raise
                LOG.warning("switch %s: %s", switch, error.message)
            if self._ready.get(switch) is answer:
                self._ready.pop(switch, None)

    def _told(self, event: ServerEvent) -> float | None:
        """Hand an event on, under the lock; the wait before the next connection where this one is of no more use."""
        if self._is_behind:
            return self._pace.drawn()
        data = event.data if isinstance(event.data, dict) else {}
        if event.kind == "ending":
            return random.uniform(0, get(data, "retry_within_ms", int) / 1000)
        if event.kind in ("route", "go") and self._is_stale(route_of(data.get("route"))):
            return self._pace.drawn()
        if event.kind == "route":
            self._follower.on_route(self._stands(route_of(data.get("route"))), self._holds())
        elif event.kind == "prepare":
            switch = get(data, "switch", str)
            self._holding(switch)
            self._follower.on_prepare(switch, get(data, "deadline_ms", int), data.get("lost") is True)
        elif event.kind == "go":
            switch, route = get(data, "switch", str), self._stands(route_of(data.get("route")))
            self._ended(switch)
            self._follower.on_go(switch, route, get(data, "starts", dict))
        elif event.kind == "cancel":
            switch = get(data, "switch", str)
            self._ended(switch)
            self._follower.on_cancel(switch, str(data.get("why", "")))
        elif event.kind == "refused":
            self._follower.on_refused(_problem(data.get("problem")))
        return None

    def _is_stale(self, route: Route) -> bool:
        """Whether it was told before a registration was answered: of an older table, or without a topic of that."""
        named = (topic for topic in self.query.topics if not topic.startswith("^"))
        return route.version < self._newest or not route.topics.keys() >= set(named)

    def _stands(self, route: Route) -> Route:
        self._standing = Standing(route, self._holds(), monotonic())
        self._newest = route.version
        self._cache.keep_told(self.query, route)
        return route

    def _holding(self, switch: str) -> None:
        if self._standing is not None:
            self._standing = replace(self._standing, hold=switch)

    def _holds(self) -> str:
        return "" if self._standing is None else self._standing.hold

    def _ended(self, switch: str) -> None:
        self._ready.pop(switch, None)
        if self._standing is not None and self._standing.hold == switch:
            self._standing = replace(self._standing, hold="")


_SESSIONS: weakref.WeakSet[Session] = weakref.WeakSet()


def _forked() -> None:
    for session in list(_SESSIONS):
        session.abandon()


os.register_at_fork(after_in_child=_forked)


def _version() -> str:
    try:
        return version("anabranch")
    except PackageNotFoundError:
        return "unknown"  # the package alone, on a path


def _problem(fields: Any) -> RouteProblemError:
    told = fields if isinstance(fields, dict) else {}
    texts = {name: str(told.get(name, "")) for name in ("type", "detail", "hint")}
    return RouteProblemError(int(told.get("status", 409)), texts["type"], texts["detail"], texts["hint"])
