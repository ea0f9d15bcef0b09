"""Alerts of links: what is told of a state, and that what is not known is never taken for well."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.errors import InvalidFieldError
from anabranch.streams.alerts.jobs import AlertedJob
from anabranch.streams.alerts.link_conditions import WatchedLink
from anabranch.streams.alerts.rules import AlertKind, AlertRules, with_settings
from anabranch.streams.restarting import WINDOW_MS
from anabranch.streams.states import StreamState, StreamWanted

pytestmark = pytest.mark.unit

NOW = 10 * WINDOW_MS
RULES = with_settings(AlertRules(), ["lag=10", "restarts=0"])
JOB = AlertedJob("old-new", "new")


def told(seen: WatchedLink, kind: AlertKind) -> tuple[bool | None, str]:
    """What a rule says of it."""
    return next((one.is_true, one.words) for one in seen.conditions(RULES, NOW) if one.kind is kind)


def test_a_link_has_the_alerts_that_it_can_have() -> None:
    """It has no trigger: a setting of that rule is refused with those that there are."""
    seen = WatchedLink(StreamWanted.RUNNING, StreamState.RUNNING, "")
    assert tuple(one.kind for one in seen.conditions(AlertRules(), NOW)) == JOB.kinds
    assert AlertedJob("counts").kinds == tuple(AlertKind)
    with pytest.raises(InvalidFieldError, match="no setting") as raised:
        with_settings(AlertRules(), ["slow=off"], JOB.kinds)
    assert "alive, lag, restarts" in str(raised.value.hint)
    assert seen.conditions(with_settings(AlertRules(), ["alive=off", "lag=off", "restarts=off"]), NOW) == ()


def test_a_link_that_does_not_go_on_is_not_alive() -> None:
    """Lanes that have stopped, a run that ended by itself, a cluster that is away; not one that was asked to end."""
    alive = AlertKind.ALIVE
    for state, is_true in (
        (StreamState.RUNNING, False),
        (StreamState.STARTING, True),
        (StreamState.DEGRADED, True),
    ):
        assert told(WatchedLink(StreamWanted.RUNNING, state, ""), alive)[0] is is_true
    for state in (StreamState.STOPPED, StreamState.STOPPING, StreamState.DRAFT):
        assert told(WatchedLink(StreamWanted.STOPPED, state, ""), alive)[0] is False
        assert told(WatchedLink(StreamWanted.STOPPED, state, "", not_read="away"), alive)[0] is None
    failed = WatchedLink(StreamWanted.STOPPED, StreamState.FAILED, "its run has ended")
    assert told(failed, alive) == (True, "it is to run, and is failed: its run has ended")
    away = WatchedLink(StreamWanted.RUNNING, StreamState.RUNNING, "", not_read="cluster new is not read: refused")
    assert told(away, alive) == (
        True,
        "it is to run, and whether it does cannot be determined: cluster new is not read: refused",
    )


def test_runs_that_failed_within_an_hour_count() -> None:
    """One of longer ago does not."""
    seen = WatchedLink(StreamWanted.RUNNING, StreamState.RUNNING, "", failures=(NOW - WINDOW_MS,))
    assert told(seen, AlertKind.RESTARTS)[0] is False
    seen = WatchedLink(StreamWanted.RUNNING, StreamState.RUNNING, "", failures=(NOW - WINDOW_MS, NOW - 1))
    assert told(seen, AlertKind.RESTARTS) == (
        True,
        "its job has failed 1 times within an hour, and 0 are allowed",
    )


@given(
    st.sampled_from(StreamState),
    st.sampled_from(StreamWanted),
    st.integers(0, 20),
    st.integers(0, 20),
    st.booleans(),
    st.sampled_from(["", "away"]),
)
def test_a_lag_is_told_only_where_it_is_known(
    state: StreamState, wanted: StreamWanted, known: int, hidden: int, is_whole: bool, not_read: str
) -> None:
    """A5: whatever hides in lanes whose end is not known, an answer is right for it."""
    seen = WatchedLink(wanted, state, "", known, is_whole, not_read=not_read)
    answer = told(seen, AlertKind.LAG)[0]
    real = known if is_whole else known + hidden
    if answer is True:
        assert real > 10 and not not_read
    if answer is False:
        assert wanted is StreamWanted.STOPPED or (real <= 10 if is_whole else False)
    if is_whole and not not_read and wanted is StreamWanted.RUNNING and state is not StreamState.FAILED:
        assert answer is (real > 10)
