"""The window of batches in flight, and the guard it stands on."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.model.lane import LaneMode
from anabranch.offsets.offset_map import MappedRange
from anabranch.protocol import (
    WINDOW,
    Claim,
    ClaimState,
    Ending,
    GapRecord,
    LaneStopped,
    OffsetSpan,
    Ownership,
    OwnershipEnded,
    Pipeline,
    Stop,
    Strong,
    Weak,
    guard,
    head_padding,
)
from anabranch.protocol.endings import LaneMisuseError
from anabranch.protocol.guard import MARGIN_MS
from anabranch.protocol.guard import barred as may_keep
from anabranch.protocol.head_padding import PAD_LIMIT
from anabranch.protocol.pipeline import IDLE_S
from tests.unit.clock import Clock

pytestmark = pytest.mark.unit

NOW = 1_700_000_000_000
E = 86_400_000
OWNERSHIP = Ownership(
    lane="t-0",
    mode=LaneMode.MAPPED,
    claim=Claim("t-0", 9, LaneMode.MAPPED, "me", None, NOW, ClaimState.CLAIMED, 0, 0),
    claim_offset=3,
    leader_epoch=1,
    expiration_ms=E,
    position=100,
    sequence=100,
    tail_end=7,
    target_end=8,
    last_timestamp=None,
    settled=frozenset(),
    why="asked for",
)


def pipeline(ownership: Ownership = OWNERSHIP, *, sole: bool = True, clock: Clock | None = None) -> Pipeline:
    """A fresh pipeline at NOW."""
    return Pipeline(ownership, sole_writer=sole, clock=clock or Clock(), wall_ms=lambda: NOW)


def test_the_first_batch_goes_alone_and_then_five_may_fly() -> None:
    """Before the first acknowledgement the broker does not know the producer id."""
    p = pipeline()
    assert p.room() == 1
    assert p.send((OffsetSpan(100, 10),), NOW) == 100
    assert p.room() == 0
    assert p.acknowledge(0, 8) == (MappedRange(100, 8, 10),)
    assert p.room() == 5
    for i in range(5):
        p.send((OffsetSpan(110 + i, 1),), NOW)
    assert p.room() == 0
    assert [p.acknowledge(0, 18 + i) for i in range(5)] == [(MappedRange(110 + i, 18 + i, 1),) for i in range(5)]
    assert p.clean and p.position == 115


def test_under_a_weak_guard_one_batch_flies_at_a_time() -> None:
    """A refused batch must not be overtaken by the next one of a forgotten producer id."""
    p = pipeline()
    p.send((OffsetSpan(100, 1),), NOW - E)
    p.acknowledge(0, 8)
    assert p.room() == 1
    p.send((OffsetSpan(101, 1),), NOW)
    assert p.room() == 0
    p.acknowledge(0, 9)
    p.send((OffsetSpan(102, 1),), NOW - E)
    assert p.room() == 0


def test_sequences_wrap() -> None:
    """2^31 - 1 is followed by 0."""
    p = pipeline(replace(OWNERSHIP, position=(1 << 31) - 2, sequence=(1 << 31) - 2))
    p.send((OffsetSpan((1 << 31) - 2, 3),), NOW)
    assert p.next_sequence == 1 and p.next_offset == (1 << 31) + 1


@pytest.mark.parametrize(("sole", "base"), [(True, 7), (True, 9), (False, 7)])
def test_an_unexpected_base_offset_ends_the_ownership(sole: bool, base: int) -> None:
    """Where others write too, only going back is unexpected."""
    p = pipeline(sole=sole)
    p.send((OffsetSpan(100, 1),), NOW)
    with pytest.raises(OwnershipEnded) as ended:
        p.acknowledge(0, base)
    assert ended.value.reason is Ending.BASE_OFFSET and str(base) in str(ended.value)


def test_beside_other_writers_a_later_base_offset_is_the_run() -> None:
    """The acknowledgement says where the run lies."""
    p = pipeline(sole=False)
    p.send((OffsetSpan(100, 2),), NOW)
    assert p.acknowledge(0, 20) == (MappedRange(100, 20, 2),)


def test_after_a_doubt_nothing_is_sent_and_nothing_is_clean() -> None:
    """The first error comes back again and again."""
    p = pipeline()
    p.send((OffsetSpan(100, 1),), NOW)
    with pytest.raises(OwnershipEnded) as first:
        p.acknowledge(47, -1)
    assert first.value.reason is Ending.FENCED
    assert p.room() == 0 and not p.clean
    with pytest.raises(OwnershipEnded):
        p.send((OffsetSpan(101, 1),), NOW)
    with pytest.raises(OwnershipEnded):
        p.acknowledge(0, 9)
    assert p.fail(Ending.TIMED_OUT) is first.value


def test_a_refused_record_stops_the_lane_at_its_offset() -> None:
    """The lane names the batch that the target refused, not the one after it."""
    p = pipeline()
    p.send((OffsetSpan(100, 3),), NOW)
    with pytest.raises(LaneStopped) as stopped:
        p.acknowledge(10, -1)
    assert stopped.value.offset == 100 and stopped.value.reason is Stop.TOO_LARGE


@pytest.mark.parametrize("flying", [1, 2, 5])
def test_a_refused_batch_leaves_the_claim_clean_only_where_it_flew_alone(flying: int) -> None:
    """What flies behind it may be appended yet: a next owner that does not fence would write in front of it."""
    p = pipeline()
    p.send((OffsetSpan(100, 1),), NOW)
    p.acknowledge(0, 8)
    for number in range(flying):
        p.send((OffsetSpan(101 + number, 1),), NOW)
    with pytest.raises(LaneStopped):
        p.acknowledge(10, -1)
    assert p.clean == (flying == 1)


def test_a_gap_is_passed_by_a_gap_record_only() -> None:
    """Without one that was acknowledged nothing is sent past the gap; with it, the runs say what lies where."""
    p = pipeline()
    with pytest.raises(LaneMisuseError):
        p.send((OffsetSpan(105, 1),), NOW)
    spans = (OffsetSpan(105, 2), OffsetSpan(110, 1))
    p.intend()
    assert p.gap_records_ahead
    p.permit(GapRecord("t-0", 7, 100, 0, (*spans, OffsetSpan(120, 1))))
    assert p.send(spans, NOW) == 100
    assert p.acknowledge(0, 8) == (MappedRange(105, 8, 2), MappedRange(110, 10, 1))
    assert p.position == p.next_offset == 111 and p.gap_records_ahead
    with pytest.raises(LaneMisuseError):
        p.send((OffsetSpan(111, 1),), NOW)
    assert p.send((OffsetSpan(120, 4),), NOW) == 103
    assert not p.gap_records_ahead and p.send((OffsetSpan(124, 1),), NOW) == 107


def test_misuse_is_named() -> None:
    """Sending twice and sending without room are bugs, not endings."""
    p = pipeline()
    with pytest.raises(LaneMisuseError):
        p.send((OffsetSpan(99, 1),), NOW)
    p.send((OffsetSpan(100, 1),), NOW)
    with pytest.raises(LaneMisuseError):
        p.send((OffsetSpan(101, 1),), NOW)


def test_an_identity_lane_goes_on_behind_what_was_filled_and_not_with_batches_in_flight() -> None:
    """Its next record lies where the filled gap ends, and counts on from the sequence before it."""
    clock = Clock()
    p = pipeline(replace(OWNERSHIP, mode=LaneMode.IDENTITY, position=8, sequence=8, target_end=8), clock=clock)
    p.send((OffsetSpan(8, 2),), NOW)
    with pytest.raises(LaneMisuseError):
        p.filled(12)
    p.acknowledge(0, 8)
    clock.now += 2 * IDLE_S
    p.filled(12)
    assert (p.next_offset, p.position, p.target_end, p.next_sequence) == (12, 12, 12, 10)
    assert not p.needs_epoch_check()
    p.send((OffsetSpan(12, 1),), NOW)
    assert p.acknowledge(0, 12) == (MappedRange(12, 12, 1),)


def test_an_idle_ownership_asks_for_its_leader_epoch() -> None:
    """After a second with nothing in flight, until confirmed, and never with batches in flight."""
    clock = Clock()
    p = pipeline(clock=clock)
    assert not p.needs_epoch_check()
    clock.now = 1.5
    assert p.needs_epoch_check()
    p.epoch_confirmed()
    assert not p.needs_epoch_check()
    p.send((OffsetSpan(100, 1),), NOW)
    clock.now = 9.0
    assert not p.needs_epoch_check()
    p.acknowledge(0, 8)
    assert not p.needs_epoch_check()
    clock.now = 10.5
    assert p.needs_epoch_check()


@given(st.lists(st.integers(NOW - 2 * E, NOW)), st.integers(0, 2 * E))
def test_the_guard_is_strong_only_with_an_hour_to_spare(timestamps: list[int], expiration: int) -> None:
    """Strong means that every timestamp outlives the next hour; the reason is a sentence either way."""
    strength = guard(expiration, NOW, timestamps)
    strong = all(t + expiration > NOW + MARGIN_MS for t in timestamps or [NOW])
    assert isinstance(strength, Strong if strong else Weak)
    assert " " in strength.reason


HOUR = 3_600_000


@pytest.mark.parametrize(
    ("expiration", "age", "reason"),
    [
        (E, 0, "the target remembers the lane's producer id for 24 h more"),
        (2 * E, 0, "the target remembers the lane's producer id for 2 d more"),
        (2 * HOUR, HOUR - 1, "the target remembers the lane's producer id for 60 min more"),
        (2 * HOUR, HOUR, "records are 60 min old and the target forgets producer ids after 2 h"),
        (2 * HOUR, 7_199_000, "records are 119 min old and the target forgets producer ids after 2 h"),
        (HOUR, 0, "the target forgets producer ids after 60 min, which leaves no margin of 1 h"),
        (119_999, 0, "the target forgets producer ids after 119 s, which leaves no margin of 1 h"),
        (120_000, 0, "the target forgets producer ids after 2 min, which leaves no margin of 1 h"),
        (0, 0, "the target forgets producer ids after 0 s, which leaves no margin of 1 h"),
    ],
)
def test_the_guard_says_for_how_long(expiration: int, age: int, reason: str) -> None:
    """In the largest unit of which there are two."""
    assert guard(expiration, NOW, [NOW, NOW - age]).reason == reason


@pytest.mark.parametrize(
    ("by_coordinator", "expiration", "oldest", "why"),
    [
        (True, E, None, "ALTER on the target cluster"),
        (False, None, None, "does not tell producer.id.expiration.ms"),
        (False, HOUR, None, "leaves no margin of 1 h"),
        (False, E, NOW - E + HOUR, "records are 23 h old"),
        (False, E, NOW - E + HOUR + 1, ""),
        (False, HOUR + 1, None, ""),
    ],
)
def test_why_a_lane_may_not_keep_its_offsets_is_told(
    by_coordinator: bool, expiration: int | None, oldest: int | None, why: str
) -> None:
    """Rights first, then what the target does not tell, then how long it remembers."""
    told = may_keep(by_coordinator, expiration, NOW, oldest)
    assert why in told and bool(told) == bool(why)


@pytest.mark.parametrize(
    ("start", "end", "may_delete", "policy", "why"),
    [
        (PAD_LIMIT + 1, 0, True, "delete", "is padded by 50,000,000 offsets at most"),
        (PAD_LIMIT, 0, True, "delete", ""),
        (70, 0, False, "delete", "the lane starts at source offset 70: padding needs DELETE on target topic t"),
        (70, 0, True, "compact", "padding needs cleanup.policy=delete, t has compact"),
        (70, 0, True, "compact,delete", "padding needs cleanup.policy=delete, t has compact,delete"),
        (70, 0, True, None, "padding needs cleanup.policy=delete, t has None"),
        (70, 1, True, "delete", "the target log is not empty: it ends at 1"),
        (1, 0, True, "delete", ""),
    ],
)
def test_why_a_head_cannot_be_padded_is_told(
    start: int, end: int, may_delete: bool, policy: str | None, why: str
) -> None:
    """Others' records are never deleted with the padding, and nothing is padded for hours."""
    told = head_padding.barred("t", start, end, may_delete, policy)
    assert why in told and bool(told) == bool(why)


class Clocks:
    """A monotonic clock in seconds and a wall clock in ms."""

    def __init__(self) -> None:
        self.s = 0.0
        self.ms = NOW

    def pipeline(self, ownership: Ownership) -> Pipeline:
        """An ownership's window by these clocks."""
        return Pipeline(ownership, sole_writer=False, clock=lambda: self.s, wall_ms=lambda: self.ms)


@pytest.mark.parametrize("by", ["wall", "monotonic"])
@pytest.mark.parametrize(
    ("expiration", "transactional_id", "limit"), [(E, None, E // 2), (20 * E, None, 10 * E), (20 * E, "t", E)]
)
def test_nothing_is_sent_under_a_claim_that_has_grown_too_old(
    by: str, expiration: int, transactional_id: str | None, limit: int
) -> None:
    """By either clock: one that was set back makes the claim no younger.  Under a coordinator's id for a day."""
    clocks = Clocks()
    claim = replace(OWNERSHIP.claim, transactional_id=transactional_id)
    pipeline = clocks.pipeline(replace(OWNERSHIP, claim=claim, expiration_ms=expiration))
    for age_ms, aging in ((limit // 2 - 1, False), (limit // 2, True), (limit - 1, True)):
        clocks.s, clocks.ms = (0.0, NOW + age_ms) if by == "wall" else (age_ms / 1000, NOW - age_ms)
        assert pipeline.is_aging() is aging
    pipeline.send((OffsetSpan(100, 1),), NOW)
    pipeline.acknowledge(0, 8)
    clocks.s, clocks.ms = (0.0, NOW + limit) if by == "wall" else (limit / 1000, NOW)
    for _ in range(2):
        with pytest.raises(OwnershipEnded) as ended:
            pipeline.send((OffsetSpan(101, 1),), NOW)
        assert ended.value.reason is Ending.CLAIM_OLD
    assert not pipeline.clean


def test_an_identity_claim_does_not_grow_old() -> None:
    """It stands for all owners, for ever; the guard says whether it may be written under."""
    clocks = Clocks()
    pipeline = clocks.pipeline(replace(OWNERSHIP, mode=LaneMode.IDENTITY))
    clocks.s = 10 * E / 1000
    assert not pipeline.is_aging()
    assert pipeline.send((OffsetSpan(100, 1),), NOW) == 100


def test_an_ownership_goes_on_over_another_connection_only_with_nothing_in_flight() -> None:
    """And sends one batch alone before others follow: the broker may have forgotten the producer id meanwhile."""
    clocks = Clocks()
    pipeline = clocks.pipeline(OWNERSHIP)
    pipeline.send((OffsetSpan(100, 1),), NOW)
    with pytest.raises(LaneMisuseError):
        pipeline.reconnected()
    pipeline.acknowledge(0, 8)
    assert pipeline.room() == WINDOW
    clocks.s = 2 * IDLE_S
    assert pipeline.needs_epoch_check()
    pipeline.reconnected()
    assert (pipeline.room(), pipeline.needs_epoch_check()) == (1, False)
    pipeline.send((OffsetSpan(101, 1),), NOW)
    assert pipeline.room() == 0


def test_the_first_batch_of_an_ownership_goes_alone_however_young_the_records_are() -> None:
    """Where it is refused, a second one would be appended behind the gap that it leaves."""
    clocks = Clocks()
    pipeline = clocks.pipeline(replace(OWNERSHIP, last_timestamp=NOW))
    assert pipeline.room() == 1
    pipeline.send((OffsetSpan(100, 1),), NOW)
    assert pipeline.room() == 0
    pipeline.acknowledge(0, 8)
    assert pipeline.room() == WINDOW
