"""What a session knows of its client: it tells it everything, and does not keep it alive."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from anabranch.model.routing import ClientReport, Route
from anabranch.sdk.cache import LOG
from anabranch.sdk.errors import RouteProblemError
from anabranch.sdk.orders import Orders


class Led(Protocol):
    """A client that follows a route; called in the session's thread."""

    route_problem: RouteProblemError | None

    def told(self, tell: Callable[[Orders], None]) -> None:
        """Take an order."""

    def prepared(self, switch: str, deadline_ms: int, lost: bool) -> None:
        """Take the order to pause."""

    def tick(self) -> None:
        """Some time has passed."""

    def forked(self) -> None:
        """This is the child of a fork."""

    def follows(self, route: Route) -> bool:
        """Whether it works by this route already."""

    def figures(self) -> ClientReport:
        """What is reported."""


class Following:
    """The ``Follower`` of a session; a client that is gone hears nothing."""

    def __init__(self, client: Callable[[], Led | None]) -> None:
        self._client = client

    def on_route(self, route: Route, hold: str) -> None:
        """See ``Follower``."""
        if (one := self._client()) is not None:
            one.route_problem = None
            one.told(lambda orders: orders.on_route(route, hold))

    def on_prepare(self, switch: str, deadline_ms: int, lost: bool) -> None:
        """See ``Follower``."""
        if (one := self._client()) is not None:
            one.prepared(switch, deadline_ms, lost)

    def on_go(self, switch: str, route: Route, starts: Mapping[str, int]) -> None:
        """See ``Follower``."""
        if (one := self._client()) is not None:
            one.told(lambda orders: orders.on_go(switch, route, starts))

    def on_cancel(self, switch: str, why: str) -> None:
        """See ``Follower``."""
        if (one := self._client()) is not None:
            LOG.info("switch %s was given up: %s", switch, why)
            one.told(lambda orders: orders.on_cancel(switch))

    def on_refused(self, error: RouteProblemError) -> None:
        """It stays where it is: what is wrong with its route is a person's to mend, and no reason to stop.

        The same thing is logged once, however often it is heard.
        """
        if (one := self._client()) is not None:
            if one.route_problem is None or one.route_problem.message != error.message:
                LOG.warning("%s; %s", error.message, error.hint)
            one.route_problem = error

    def on_tick(self) -> None:
        """See ``Follower``."""
        if (one := self._client()) is not None:
            one.tick()

    def on_fork(self) -> None:
        """See ``Follower``."""
        if (one := self._client()) is not None:
            one.forked()

    def follows(self, route: Route) -> bool:
        """See ``Follower``."""
        one = self._client()
        return one is not None and one.follows(route)

    def figures(self) -> ClientReport:
        """See ``Follower``."""
        one = self._client()
        return ClientReport() if one is None else one.figures()
