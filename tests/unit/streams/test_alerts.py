"""Alerts of streams: what is told of a state, when one fires, and that each change is told once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.errors import InvalidFieldError
from anabranch.streams.alerts.conditions import AlertCondition, WatchedStream, conditions, trigger_ms
from anabranch.streams.alerts.rules import DEFAULTS, AlertKind, AlertRule, AlertRules, with_settings
from anabranch.streams.alerts.standing import Alert, AlertState
from anabranch.streams.restarting import WINDOW_MS
from anabranch.streams.states import StreamState, StreamWanted

pytestmark = pytest.mark.unit

NOW = 10 * WINDOW_MS


def watched(state: StreamState = StreamState.RUNNING, **more: Any) -> WatchedStream:
    """A stream that is to run."""
    return WatchedStream(StreamWanted.RUNNING, state, "", "2 seconds", **more)


def found(seen: WatchedStream, rules: AlertRules | None = None) -> Mapping[tuple[AlertKind, str], bool | None]:
    """Which conditions are true."""
    return {(one.kind, one.query): one.is_true for one in conditions(rules or AlertRules(), seen, NOW)}


def test_a_stream_that_is_to_run_and_does_not_is_not_alive() -> None:
    """One that was stopped by a person is no alert; one that has failed is, also where nobody waits for it any more."""
    alive = AlertKind.ALIVE, ""
    assert found(watched())[alive] is False
    for state in (StreamState.STARTING, StreamState.DEGRADED, StreamState.FAILED):
        assert found(watched(state))[alive] is True
    stopped = WatchedStream(StreamWanted.STOPPED, StreamState.STOPPED, "", "1 second")
    assert found(stopped)[alive] is False
    failed = WatchedStream(StreamWanted.STOPPED, StreamState.FAILED, "no such topic", "1 second")
    (told, *_) = conditions(AlertRules(), failed, NOW)
    assert (told.is_true, told.words) == (True, "it is to run, and is failed: no such topic")
    lost = WatchedStream(StreamWanted.STOPPED, StreamState.LOST, "", "1 second")
    assert conditions(AlertRules(), lost, NOW)[0].words == "it is to end, and is lost"
    assert conditions(AlertRules(), watched(StreamState.LOST), NOW)[0].words == "it is to run, and is lost"
    assert conditions(AlertRules(), watched(), NOW)[0].words == ""


def test_limits_are_of_what_was_told_and_what_was_not_is_not_known() -> None:
    """At the limit is no alert; of a run on another machine, or before the first batch, nothing is known."""
    rules = with_settings(AlertRules(), ["lag=10", "slow=1.5", "restarts=1"])
    queries = {"a": {"lag": 11, "batch_ms": 3000}, "b": {"lag": 10, "batch_ms": 3001}, "c": {"lag": None}}
    seen = watched(queries=queries, is_seen=True, failures=(NOW - WINDOW_MS, NOW - 5, NOW - 1))
    told = found(seen, rules)
    assert [told[AlertKind.LAG, name] for name in "abc"] == [True, False, None]
    assert [told[AlertKind.SLOW, name] for name in "abc"] == [False, True, None]
    assert told[AlertKind.RESTARTS, ""] is True
    away = found(watched(queries=queries, is_seen=False), rules)
    assert [away[AlertKind.LAG, name] for name in "abc"] == [None] * 3
    assert set(found(seen, with_settings(rules, ["lag=off", "slow=off", "alive=off"]))) == {(AlertKind.RESTARTS, "")}


@pytest.mark.parametrize(
    ("text", "ms"), [("1 second", 1000), ("5 Minutes", 300_000), ("500 milliseconds", 500), ("availableNow", None)]
)
def test_a_trigger_is_a_time_or_none(text: str, ms: int | None) -> None:
    """That of one that reads all there is says nothing of how long a batch may take."""
    assert trigger_ms(text) == ms


def test_rules_are_kept_as_what_differs() -> None:
    """And read back as they were; a rule that is not named is as in the beginning."""
    rules = with_settings(AlertRules(), ["lag=50000", "lag.for=5m", "slow=off", "alive.for=90s"])
    assert rules.rules[AlertKind.LAG] == AlertRule(50_000, 300)
    assert not rules.rules[AlertKind.SLOW].is_on and rules.rules[AlertKind.ALIVE].for_s == 90
    assert AlertRules.of(rules.fields()) == rules
    assert AlertRules().fields() == {} and AlertRules.of({}).rules == DEFAULTS
    only = AlertRules(rules.rules, ("ops",))
    assert AlertRules.of(only.fields()) == only and AlertRules.of({"receivers": []}).receivers == ()


@pytest.mark.parametrize(
    "text", ["lag", "lag=", "lag=x", "lag=-1", "alive=3", "lag.of=3", "lag.for=2d", "speed=3", "lag.for=99h"]
)
def test_a_setting_that_is_none_is_refused(text: str) -> None:
    """With what it could be."""
    with pytest.raises(InvalidFieldError):
        with_settings(AlertRules(), [text])


LOOKS = st.lists(st.tuples(st.sampled_from([True, False, None]), st.integers(1, 400)), max_size=30)


@given(LOOKS, st.integers(0, 500))
def test_an_alert_fires_after_its_time_and_each_change_is_told_once(
    looks: list[tuple[bool | None, int]], for_s: int
) -> None:
    """A1 to A3, by a second way to say when it fires: true at every known look over at least its time."""
    alert, rule, now = Alert(AlertKind.LAG, "q"), AlertRule(1, for_s), 0
    true_since: int | None = None
    fires, told = False, [AlertState.OVER]
    for is_true, seconds in looks:
        now += seconds * 1000
        if is_true is not None:
            true_since = (now if true_since is None else true_since) if is_true else None
            fires = (fires and is_true) or (is_true and now - (true_since or 0) >= for_s * 1000)
        alert = alert.seen(AlertCondition(AlertKind.LAG, "q", is_true, "words"), rule, now)
        assert (alert.state is AlertState.FIRING) == fires
        for name, state in alert.due(["ops"]):
            assert name == "ops" and state is not told[-1]
            told.append(state)
            alert = alert.was_told(name, state)
        assert not alert.due(["ops"])
        assert alert.state is AlertState.WAITING or told[-1] is alert.state
