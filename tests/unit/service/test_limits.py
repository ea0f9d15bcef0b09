"""How often somebody may ask: who guesses tokens is slowed down, who has one is not, and no account asks too much."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.service import instance
from anabranch.service.errors import TooManyRequestsError
from anabranch.service.instance import REQUESTS, REQUESTS_PER_S
from anabranch.service.limits import RateLimit
from qa.service import Answered, Served

pytestmark = pytest.mark.test

GUESSES = 25


def guess(served: Served, number: int, token: str = "") -> Answered:
    """A token that is nobody's."""
    text = token or f"anb_{number:043d}"
    return served.ask("GET", "/api/v1/me", role=None, headers={"Authorization": f"Bearer {text}"})


@pytest.mark.parametrize(
    "token", ["", "anb_guess", "\xff" * 47, "x" * 5_000], ids=["as-made", "short", "no-text", "long"]
)
def test_a_guesser_holds_nobody_up_who_has_a_token(alone: Served, token: str) -> None:
    """They share an address behind a proxy: wrong tokens are told to wait, a right one is answered all the same."""
    statuses = [guess(alone, number, token).status for number in range(GUESSES)]
    assert statuses[:20] == [401] * 20
    assert statuses[-1] == 429
    assert alone.get("/api/v1/me")["account"] == "viewer"
    assert alone.ask("POST", "/api/v1/session", {"token": alone.tokens["operator"]}, role=None).status == 204
    late = guess(alone, GUESSES, token)
    assert (late.status, late.json["retryable"]) == (429, True)
    assert int(late.headers["retry-after"]) >= 1
    signing_in = alone.ask("POST", "/api/v1/session", {"token": token[:300] or "anb_guess"}, role=None)
    assert signing_in.status == 429, "through the page as well"


def test_a_wrong_token_takes_nothing_from_an_accounts_own_limit(alone: Served) -> None:
    """The limits are two: of an address for tokens that are nobody's, of an account for its requests."""
    for number in range(GUESSES):
        guess(alone, number)
    limit = alone.instance.identity._requests
    assert limit._known.keys() <= {"viewer", "operator", "approver", "admin"}


def test_an_account_that_asks_too_often_is_told_to_wait_and_no_other_is(
    alone: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever of its tokens asks: with 429 and when it may go on."""
    monkeypatch.setattr(alone.instance.identity, "_requests", RateLimit(0.001, 3))
    second = alone.ask("POST", "/api/v1/tokens", {"account": "viewer", "name": "second"}, role="viewer").json["token"]
    headers = {"Authorization": f"Bearer {second}"}
    statuses = [alone.ask("GET", "/api/v1/me", role=None, headers=headers).status for _ in range(3)]
    assert statuses == [200, 200, 429]
    refused = alone.ask("GET", "/api/v1/me")
    assert (refused.status, refused.json["title"]) == (429, "too many requests")
    assert int(refused.headers["retry-after"]) > 900
    assert alone.get("/api/v1/me", role="operator")["account"] == "operator"
    assert alone.ask("GET", "/healthz", role=None).status == 200


def test_the_limit_is_what_the_reference_says(alone: Served) -> None:
    """Of the very one that runs: 400 at once, then 100 a second."""
    assert (REQUESTS_PER_S, REQUESTS) == (100, 400)
    limit = alone.instance.identity._requests
    assert (limit._rate, limit._burst) == (instance.REQUESTS_PER_S, instance.REQUESTS)


@given(st.lists(st.tuples(st.floats(0, 3), st.integers(1, 600)), min_size=1, max_size=30))
def test_nobody_is_answered_more_often_than_that(asked: list[tuple[float, int]]) -> None:
    """However requests are spread; who is refused holds up nobody else, and is answered after the time it was told."""
    limit = RateLimit(REQUESTS_PER_S, REQUESTS)
    now, answered = 0.0, 0
    for wait, number in asked:
        now += wait
        for _ in range(number):
            try:
                limit.take("ada", now)
            except TooManyRequestsError as error:
                limit.take("eve", now)
                now += error.wait_s
                limit.take("ada", now)
            answered += 1
        assert answered <= REQUESTS + now * REQUESTS_PER_S + 1e-6
