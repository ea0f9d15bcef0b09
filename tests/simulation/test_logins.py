"""Logins that hold for a while only, and tokens that nobody gives out, under a link that runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any
from unittest.mock import patch

import pytest

from anabranch.kafka import security
from anabranch.kafka.connection import Sasl, Transport
from anabranch.kafka.errors import NoTokenError
from anabranch.model.cluster import ClusterContext
from anabranch.state.codecs import topics
from tests.chance import seed
from tests.simulation.watched import Watched, watched

pytestmark = pytest.mark.test

MINUTE_S = 60.0
STANDSTILL_S = 1.0


@dataclass
class TokenServer:
    """Gives out what a login needs, or does not."""

    is_away: bool = False
    asked: int = 0


@contextmanager
def tokens() -> Iterator[TokenServer]:
    """Every login asks for a token first, also one that is made again."""
    server, usual = TokenServer(), security.transport_of

    def transport_of(context: ClusterContext) -> Transport:
        made = usual(context)
        inner = made.sasl
        if inner is None:
            return made

        def conversation(host: str) -> Any:
            server.asked += 1
            if server.is_away:
                raise NoTokenError(context.name, "https://tokens", "away")
            return inner.conversation(host)

        return replace(made, sasl=Sasl(inner.mechanism, conversation))

    with patch.object(security, "transport_of", transport_of):
        yield server


@contextmanager
def logged_in(lifetime_s: float) -> Iterator[Watched]:
    """A link to a target whose logins hold for so long."""
    with watched(seed(1), guarded=True) as link:
        link.world.clusters["target"].settings["connections.max.reauth.ms"] = f"{lifetime_s * 1000:.0f}"
        yield link


def claims(link: Watched) -> int:
    """How many records the log of claims has: one more, or two, with each takeover."""
    return len(link.persisted(topics.CLAIMS))


def standstill(link: Watched, since: float) -> float:
    """For how long at most, since a second, the target's log did not grow although there was more in the source's."""
    longest, last, before = 0.0, since, -1
    for (at, end), (_, written) in zip(link.seen, link.written, strict=True):
        if at < since:
            continue
        if end > before or end >= written:
            last, before = at, end
        longest = max(longest, at - last)
    return longest


def test_the_end_of_a_login_is_no_takeover() -> None:
    """A dozen lifetimes: the same connections, the same owner, and nothing stands still."""
    with tokens() as server, logged_in(10.0) as link:
        run = link.run()
        link.until(lambda: link.end_of("target") > 50)
        since, before, asked = link.now, claims(link), server.asked
        held = set(link.world.network.wires)
        link.pass_(120.0)
        assert server.asked - asked > 10, "no login was made again"
        assert claims(link) == before
        assert held <= set(link.world.network.wires)
        assert standstill(link, since) < STANDSTILL_S
        assert link.judge() == []
        link.end(run)


@pytest.mark.parametrize("lifetime_s", [20.0, 600.0])
def test_a_run_survives_a_minute_without_tokens(lifetime_s: float) -> None:
    """Connections that are there copy on while their logins hold; once there are tokens again, all goes on."""
    with tokens() as server, logged_in(lifetime_s) as link:
        run = link.run(10.0)
        link.until(lambda: link.end_of("target") > 50)
        since, before = link.now, link.end_of("target")
        server.is_away = True
        link.pass_(MINUTE_S)
        assert (standstill(link, since) < STANDSTILL_S) is (lifetime_s > MINUTE_S)
        assert run.exits == [] and not run.is_over
        server.is_away = False
        link.until(lambda: link.end_of("source") - link.end_of("target") < 20, 30.0)
        assert link.end_of("target") > before + 50
        assert link.judge() == []
        link.end(run)


def test_a_worker_that_dies_in_a_minute_without_tokens_is_replaced_after_it() -> None:
    """The new one waits, and takes over once it may log in."""
    with tokens() as server, logged_in(600.0) as link:
        run = link.run(10.0)
        link.until(lambda: link.end_of("target") > 50)
        server.is_away = True
        link.pass_(5.0)
        for slot in run.workers:
            slot.process.kill()
        before = link.end_of("target")
        link.pass_(MINUTE_S)
        assert run.exits == [] and not run.is_over and len(run.workers) > 1
        assert link.end_of("target") <= before + 20
        server.is_away = False
        link.pass_(30.0)
        assert link.end_of("target") > before + 50
        assert link.judge() == []
        link.end(run)
