"""What a client has to do next, by what it was told: a pure state machine, whose owner holds a lock around it.

Invariants
    O1  while a switch holds the client (``HELD``, ``PAUSED``) nothing but the end of that switch lets it go on.
    O2  a client is only ``OPEN`` by a route to which it has connected, after it paused where it was.
    O3  it is told to pause only where it would otherwise go on differently, or a switch asks.
    O4  of two targets that it was told the later one counts.
    O5  the end of a switch that was not heard is read off the next registration: the service holds it no more.
    O6  where partitions are to begin is known until the client has connected where it was told so, whatever it is told
        meanwhile of the route that leads there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from anabranch.model.routing import Route


class Phase(StrEnum):
    """``PAUSING``: the next call of the application has to pause; ``GOING``: it has to connect to ``target``."""

    HELD = "held"
    GOING = "going"
    OPEN = "open"
    PAUSING = "pausing"
    PAUSED = "paused"


def goes_on_as(old: Route, new: Route) -> bool:
    """Whether a client that works by the old route may go on by the new one as it is; it may have more topics."""
    both = old.topics.keys() & new.topics.keys()
    return replace(old, topics={}).leads_as(replace(new, topics={})) and all(
        old.topics[topic] == new.topics[topic] for topic in both
    )


@dataclass
class Orders:
    """``route`` is by what the client works, or worked before it paused; ``target`` where it goes on, once known.

    ``switch`` is the one that holds it, or empty.  ``starts`` are for partitions in which nothing is committed there.
    ``told`` is where the service led it last, with ``begins`` there, where that is another place than ``route``: there
    it goes if the switch that holds it is given up.
    ``lost`` says that the cluster of ``route`` does not answer: nothing is handed over there.
    """

    phase: Phase = Phase.HELD
    route: Route | None = None
    switch: str = ""
    target: Route | None = None
    told: Route | None = None
    starts: Mapping[str, int] = field(default_factory=dict)
    begins: Mapping[str, int] = field(default_factory=dict)
    lost: bool = False

    @property
    def is_waiting(self) -> bool:
        """Whether only what it is told lets the client go on."""
        return self.phase in (Phase.HELD, Phase.PAUSED)

    def follows(self, route: Route) -> bool:
        """Whether the client works by this route, or, where it was nowhere yet, begins by it as it is used."""
        if self.route is None:
            return self.phase is Phase.GOING and not self.starts
        return self.phase is Phase.OPEN and goes_on_as(self.route, route)

    def on_route(self, route: Route, hold: str) -> None:
        """The route of the service, and the switch that it says is under way for this client."""
        if self.phase is Phase.OPEN:
            self._on_route_open(route, hold)
        elif hold and hold != self.switch:
            self.on_prepare(hold)
        elif not hold:
            stays = self.phase is Phase.GOING and self.target is not None and goes_on_as(self.target, route)
            self._decided(route, self.starts if stays else {})
        if hold:
            if self.phase is Phase.PAUSING and self.route is not None and goes_on_as(self.route, route):
                self.route = replace(route, topics={**self.route.topics, **route.topics})  # one may still write to them
            stays = self.told is not None and goes_on_as(self.told, route)
            self.told, self.begins = route, self.begins if stays else {}

    def on_prepare(self, switch: str, lost: bool = False) -> None:
        """A switch has begun, or goes on without the cluster where the client is."""
        self.lost = lost
        if self.target is not None:
            self.told, self.begins = self.target, self.starts
        if self.phase is Phase.OPEN:
            self.phase = Phase.PAUSING
        elif self.phase is Phase.GOING:
            self.phase = Phase.HELD
        self.switch, self.target = switch, None

    def on_go(self, switch: str, route: Route, starts: Mapping[str, int]) -> None:
        """A switch has been made."""
        if self.phase is Phase.OPEN:
            self._on_route_open(route, "")
            self.starts = starts
        elif self.switch in ("", switch):
            self._decided(route, starts)

    def on_cancel(self, switch: str) -> None:
        """A switch has been given up: the client goes on where it is, or was about to go."""
        if self.switch != switch or self.phase is Phase.OPEN:
            return
        if self.told is not None:
            self._decided(self.told, self.begins)
        elif self.route is not None:
            self._decided(self.route, {})

    def paused(self) -> str:
        """The client has paused and handed over; the switch that wants to hear of it, or empty."""
        assert self.phase is Phase.PAUSING
        self.phase = Phase.PAUSED if self.target is None else Phase.GOING
        return self.switch

    def left(self) -> None:
        """The client has left where it was, while it was told that it need not: it connects there again."""
        assert self.phase is Phase.OPEN
        self.phase, self.target = Phase.GOING, self.route

    def connected(self, to: Route) -> None:
        """The client has connected where it was told to go on when it began to; what was told meanwhile is next."""
        self.route = to
        told_otherwise = self.target is None or not goes_on_as(to, self.target)
        if self.phase is Phase.GOING:
            self.lost = False  # that was where it came from
        if self.phase is not Phase.GOING or told_otherwise:
            self.phase = Phase.PAUSING
        else:
            self._is_open()

    def _on_route_open(self, route: Route, hold: str) -> None:
        assert self.route is not None
        if goes_on_as(self.route, route):
            self.route = replace(route, topics={**self.route.topics, **route.topics})
            if hold:
                self.on_prepare(hold)
        elif hold:
            self.on_prepare(hold)
        else:
            self.phase, self.switch, self.target, self.starts = Phase.PAUSING, "", route, {}

    def _decided(self, route: Route, starts: Mapping[str, int]) -> None:
        self.switch = ""
        if self.phase is Phase.PAUSING and self.route is not None and goes_on_as(self.route, route):
            self.route = replace(route, topics={**self.route.topics, **route.topics})
            self._is_open()
            return
        self.target, self.starts = route, starts
        if self.is_waiting:
            self.phase = Phase.GOING

    def _is_open(self) -> None:
        self.phase, self.target, self.starts, self.lost = Phase.OPEN, None, {}, False
        self.told, self.begins = None, {}
