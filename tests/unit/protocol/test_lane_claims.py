"""The journal's fold: who comes before, who comes after, and what a lane was first claimed with."""

from __future__ import annotations

import pickle
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.model.lane import LaneMode
from anabranch.model.preconditions import SILENT_MS
from anabranch.protocol import (
    Claim,
    ClaimKey,
    ClaimLog,
    ClaimState,
    Ending,
    FenceKey,
    LaneStopped,
    OwnershipEnded,
    Stop,
    age,
    refusal,
)

pytestmark = pytest.mark.unit

HOUR = 3_600_000
NOW = 1_700_000_000_000
E = 24 * HOUR


def claim(
    producer_id: int,
    *,
    owner: str = "a",
    mode: LaneMode = LaneMode.MAPPED,
    state: ClaimState = ClaimState.CLAIMED,
    at: int = NOW,
    start: int = 0,
    floor: int = 0,
) -> Claim:
    """A claim of the lane under test."""
    return Claim("t-0", producer_id, mode, owner, None, at, state, start, floor)


def log(*claims: Claim) -> ClaimLog:
    """A journal that holds these claims, one offset each."""
    return ClaimLog((offset, c.key, c) for offset, c in enumerate(claims))


def test_everything_unreleased_before_mine_is_fenced() -> None:
    """Released ones and later ones are left alone."""
    journal = log(claim(1), claim(2, state=ClaimState.RELEASED), claim(3), claim(4, owner="me"), claim(5))
    assert [c.producer_id for c in journal.predecessors("t-0", 4, E, NOW)] == [1, 3]


def test_a_claim_that_nobody_can_write_under_any_more_is_left_out_but_never_an_identity_claim() -> None:
    """Its owner ended a day before; an identity claim stands for all of its owners for ever."""
    over = NOW - E - age.OVER_MS
    journal = log(claim(1, at=over), claim(2, at=over, mode=LaneMode.IDENTITY), claim(3, at=over + 1), claim(4))
    assert [c.producer_id for c in journal.predecessors("t-0", 4, E, NOW)] == [2, 3]


@pytest.mark.parametrize("by_coordinator", [False, True])
def test_nobody_sends_under_a_claim_that_another_owner_may_leave_out(by_coordinator: bool) -> None:
    """Clocks that differ by a day do no harm, whatever the expiration."""
    for expiration in (0, 60_000, HOUR, 12 * HOUR, E, 30 * E):
        limit = age.limit_ms(expiration, by_coordinator=by_coordinator)
        last_sent = NOW + limit - 1
        assert not age.is_over(NOW, max(expiration, HOUR), last_sent + age.OVER_MS - 2 * HOUR)
        assert age.renew_ms(expiration, by_coordinator=by_coordinator) < limit
        assert limit <= max(expiration // 2, 2 * HOUR)


def test_an_id_that_its_coordinator_has_forgotten_carries_nobody() -> None:
    """A4: by whatever expiration its owner went, which the one who comes after need not know."""
    week = 7 * age.COORDINATED_MS
    for expiration in (0, HOUR, E, 24 * E):
        last_sent = NOW + age.limit_ms(expiration, by_coordinator=True) - 1
        assert age.silent_in_ms(NOW, last_sent + age.OVER_MS) > 0
    # Its claim may be a renewed one: the id was allocated a day before at most.
    allocated = NOW - age.COORDINATED_MS
    assert age.silent_in_ms(NOW, allocated + week) == 0
    assert age.silent_in_ms(NOW, allocated + SILENT_MS) == 0 < age.silent_in_ms(NOW, allocated + SILENT_MS - 1)


@pytest.mark.parametrize("hours", [1, 2, 24])
def test_a_marker_proves_a_fence_for_as_long_as_it_is_remembered(hours: int) -> None:
    """With an expiration of an hour, too: else each takeover would fence everyone  again."""
    expiration = hours * HOUR
    left = min(HOUR, expiration // 2)
    assert age.proves(NOW - expiration + left + 1, expiration, NOW)
    assert not age.proves(NOW - expiration + left, expiration, NOW)


def test_claims_are_useless_once_they_are_over_and_their_batches_are_gone() -> None:
    """Where they ended, or were fenced, lies below the log's start; what tells neither stays."""
    over = NOW - E - age.OVER_MS
    released = {"state": ClaimState.RELEASED, "at": over}
    journal = log(
        replace(claim(1, **released), end=10),
        replace(claim(2, **released), end=11),
        claim(3, **released),
        claim(4, at=over),
        claim(5, at=over),
        replace(claim(6, at=over, mode=LaneMode.IDENTITY), end=1),
        replace(claim(7, state=ClaimState.RELEASED), end=5),
        claim(8),
        replace(claim(9, **released), end=5),
    )
    for at, (producer_id, marker) in enumerate(((4, 9), (6, 1))):
        journal.apply_fence(20 + at, FenceKey("t-0", producer_id), marker)
    assert journal.useless("t-0", 8, E, NOW, 10) == (1, 4)
    assert journal.endless("t-0", 8, E, NOW) == (3, 5)
    journal.apply_fence(30, FenceKey("t-0", 3), 10)
    journal.apply_fence(31, FenceKey("t-0", 5), 11)
    assert journal.endless("t-0", 8, E, NOW) == ()
    assert journal.useless("t-0", 8, E, NOW, 10) == (1, 3, 4)


def test_a_note_whose_claim_is_forgotten_is_useless_once_its_marker_is_gone() -> None:
    """A takeover that was under way may have written it late."""
    journal = log(claim(1), claim(2))
    journal.apply_fence(20, FenceKey("t-0", 1), 5)
    journal.apply(21, ClaimKey("t-0", 1), None)
    assert journal.useless("t-0", 2, E, NOW, 4) == ()
    assert journal.useless("t-0", 2, E, NOW, 5) == (1,)
    journal.apply_fence(22, FenceKey("t-0", 1), None)
    assert journal.useless("t-0", 2, E, NOW, 5) == ()


def test_a_note_that_is_read_again_changes_nothing() -> None:
    """Reading on from an earlier offset is harmless, and the note that was written last counts."""
    journal = log(claim(1))
    journal.apply_fence(5, FenceKey("t-0", 1), 30)
    journal.apply_fence(6, FenceKey("t-0", 1), 40)
    journal.apply_fence(5, FenceKey("t-0", 1), 30)
    journal.apply_fence(6, FenceKey("t-0", 1), None)
    assert (journal.marker("t-0", 1), journal.marker("t-0", 2), journal.marker("t-1", 1)) == (40, None, None)
    assert journal.end == 7
    journal.apply_fence(7, FenceKey("t-0", 1), None)
    assert (journal.marker("t-0", 1), journal.end) == (None, 8)


def test_a_later_claim_by_somebody_else_is_a_successor() -> None:
    """One's own late claim and a late release are none."""
    assert log(claim(1), claim(2)).successor("t-0", 1) is None
    assert log(claim(1), claim(2, owner="b", state=ClaimState.RELEASED)).successor("t-0", 1) is None
    found = log(claim(1), claim(2), claim(3, owner="b")).successor("t-0", 1)
    assert found is not None and found.producer_id == 3
    assert log(claim(2, owner="b")).successor("t-0", 1) is None


def test_held_counts_what_the_workers_of_one_run_have_not_given_back() -> None:
    """The newest claim of each lane of the link counts, and nobody else's lanes and runs, nor shared ids."""

    def of(lane: str, producer_id: int, owner: str, state: ClaimState = ClaimState.CLAIMED) -> Claim:
        return replace(claim(producer_id, owner=owner, state=state), lane=lane)

    journal = log(
        of("l/t/0/0", 1, "run/a"),
        of("l/t/1/0", 2, "run/a"),
        of("l/t/1/0", 2, "run/a", ClaimState.RELEASED),
        of("l/t/2/0", 3, "run/a"),
        of("l/t/2/0", 4, "other/a"),
        of("l/t/3/0", 5, "run2/a"),
        of("l2/t/0/0", 6, "run/a"),
        replace(of("l/t/4/0", 7, "run/a"), mode=LaneMode.IDENTITY),
    )
    assert (journal.held("l", "run"), journal.held("l", "other"), journal.held("l", "none")) == (1, 1, 0)


def test_one_mapped_claim_makes_the_lane_mapped_for_good() -> None:
    """Even released, there is no way back to identity."""
    journal = log(claim(1, mode=LaneMode.IDENTITY), claim(2, state=ClaimState.RELEASED))
    assert journal.mode("t-0") is LaneMode.MAPPED
    assert journal.mode("other") is None


def test_the_first_identity_claim_names_the_shared_producer_id() -> None:
    """Whoever claimed later uses the first one's."""
    fixed = log(claim(7, mode=LaneMode.IDENTITY), claim(8, mode=LaneMode.IDENTITY)).fixed("t-0")
    assert fixed is not None and fixed.producer_id == 7


def test_a_tombstone_forgets_the_claim_but_not_the_producer_id() -> None:
    """Batches of a forgotten claim are still the lane's."""
    journal = log(claim(1), claim(2))
    journal.apply(2, ClaimKey("t-0", 1), None)
    assert [p.claim.producer_id for p in journal.claims("t-0")] == [2]
    assert journal.producer_ids("t-0") == {1, 2}


@given(st.lists(st.tuples(st.integers(1, 4), st.integers(0, 9), st.integers(0, 9), st.booleans()), max_size=20))
def test_compaction_changes_nothing(records: list[tuple[int, int, int, bool]]) -> None:
    """The last record of each key gives the same answers as the whole journal, and twice reads as once."""
    states = (ClaimState.CLAIMED, ClaimState.RELEASED)
    whole = [(i, claim(p, start=s, floor=f, state=states[r])) for i, (p, s, f, r) in enumerate(records)]
    last = sorted({c.producer_id: (i, c) for i, c in whole}.values(), key=lambda placed: placed[0])
    full = ClaimLog((i, c.key, c) for i, c in whole)
    compacted = ClaimLog((i, c.key, c) for i, c in last)
    for i, c in whole:
        full.apply(i, c.key, c)
    assert full.claims("t-0") == compacted.claims("t-0")
    assert full.producer_ids("t-0") == compacted.producer_ids("t-0")
    assert full.start("t-0", 5) == compacted.start("t-0", 5) <= 5
    assert full.floor("t-0", 5) == compacted.floor("t-0", 5) <= 5


@pytest.mark.parametrize("code", [3, 6, 7, 19, 20, 45, 46, 47, 74, 75, 78, 100])
def test_a_passing_error_ends_the_ownership_and_not_the_lane(code: int) -> None:
    """These mean: take over again."""
    error = refusal("t-0", code, 42)
    assert isinstance(error, OwnershipEnded) and error.retryable and error.code == code


@pytest.mark.parametrize(("code", "stop"), [(10, Stop.TOO_LARGE), (29, Stop.NOT_ALLOWED), (87, Stop.INVALID_RECORD)])
def test_a_lasting_refusal_stops_the_lane_at_its_offset(code: int, stop: Stop) -> None:
    """The message names the offset, the hint what to change."""
    error = refusal("t-0", code, 42)
    assert isinstance(error, LaneStopped) and error.reason is stop
    assert "offset 42" in str(error) and error.hint


def test_an_unknown_refusal_stops_the_lane() -> None:
    """Trying again for ever would hide it."""
    assert isinstance(refusal("t-0", 9999, 1), LaneStopped)


def test_endings_pickle_whole() -> None:
    """They cross process boundaries inside Spark."""
    for error in (refusal("t-0", 10, 42, "x"), OwnershipEnded("t-0", Ending.LEASE)):
        again = pickle.loads(pickle.dumps(error))
        assert str(again) == str(error) and again.reason is error.reason
