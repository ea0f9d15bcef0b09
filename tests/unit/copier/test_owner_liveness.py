"""Who is alive, by what was persisted and claimed, and where a lane begins that nobody has claimed."""

import asyncio
from types import SimpleNamespace
from typing import cast

import pytest

from anabranch.copier.lane.lane import Lane
from anabranch.copier.ownership import start as beginning
from anabranch.copier.ownership.other_owners import OtherOwners
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.partitions import EARLIEST, LATEST
from anabranch.model.clock import now_ms
from anabranch.model.lane import LaneAssignment, LaneKey, LaneMode
from anabranch.model.link import ModePolicy
from anabranch.model.start import LaneStart, StartKind
from anabranch.model.topics import TopicId, TopicPartition
from anabranch.protocol.claims import Claim, ClaimLog, ClaimState, PlacedClaim
from anabranch.state.topics.control import Progress
from anabranch.state.topics.journal import Journal
from anabranch.state.topics.owner_liveness import LANE_TIMEOUT_S, OwnerLiveness

pytestmark = pytest.mark.unit

PLACE = TopicPartition("t", 0)
ONE, OTHER = (LaneKey("l", TopicId.ZERO, partition) for partition in (0, 1))


def test_an_owner_lives_while_it_files_any_of_its_lanes() -> None:
    """A lane that stands still need not be persisted for its owner to be heard of."""
    heard = OwnerLiveness(lambda: 10.0)
    heard.note(ONE, "a", 1.0)
    heard.note(OTHER, "a", 9.0)
    assert heard.get(ONE) == ("a", 9.0)


def test_who_persisted_a_lane_last_counts_and_not_who_is_heard_of_last() -> None:
    """Another owner's persisting of another lane says nothing about this one."""
    heard = OwnerLiveness(lambda: 10.0)
    heard.note(ONE, "a", 1.0)
    heard.note(ONE, "b", 2.0)
    heard.note(OTHER, "a", 9.0)
    assert heard.get(ONE) == ("b", 2.0)


def test_a_lane_that_its_owner_files_no_more_is_given_up_in_the_end() -> None:
    """An owner that is alive may have left the lane without a word."""
    heard = OwnerLiveness(lambda: 2.0 + LANE_TIMEOUT_S)
    heard.note(ONE, "a", 1.0)
    heard.note(OTHER, "a", 31.0)
    assert heard.get(ONE) == ("a", 1.0)


def test_of_a_lane_that_was_never_persisted_or_forgotten_nobody_is_heard() -> None:
    """No news is None."""
    heard = OwnerLiveness()
    assert heard.get(ONE) is None
    heard.note(ONE, "a", 1.0)
    heard.forget(ONE)
    assert heard.get(ONE) is None


def test_owners_are_forgotten_once_they_are_many_and_silent() -> None:
    """Each worker process is an owner: what is remembered of them stays bounded, and their lanes stay known."""
    heard = OwnerLiveness(lambda: 5000.0)
    for number in range(2000):
        heard.note(LaneKey("l", TopicId.ZERO, number), f"o{number}", float(number))
    assert heard.get(LaneKey("l", TopicId.ZERO, 5)) == ("o5", 5.0)
    assert len(heard._owners) < 1100


@pytest.mark.parametrize(
    ("owner", "age_ms", "state", "waits"),
    [
        ("other/a", 0, ClaimState.CLAIMED, True),
        ("other/a", 60_000, ClaimState.CLAIMED, False),
        ("other/a", 0, ClaimState.RELEASED, False),
        ("mine/a", 0, ClaimState.CLAIMED, False),
        ("mine/b", 0, ClaimState.CLAIMED, False),
    ],
)
def test_who_has_claimed_a_lane_just_now_is_left_it_though_nothing_is_persisted_yet(
    owner: str, age_ms: int, state: ClaimState, waits: bool
) -> None:
    """Else two runs of one link take a lane from each other for ever; those of one run hand it over."""
    lane = Lane(LaneAssignment(ONE, PLACE, PLACE, TopicId.ZERO, LaneStart(), ModePolicy.AUTO))
    claim = Claim(lane.key, 7, LaneMode.MAPPED, owner, None, now_ms() - age_ms, state, 0, 0)
    claims = SimpleNamespace(claims=lambda _: (PlacedClaim(3, claim),))
    journal, progress = SimpleNamespace(claims=claims), SimpleNamespace(liveness=OwnerLiveness())
    others = OtherOwners("mine/a", cast(Journal, journal), cast(Progress, progress))
    assert others.is_anothers(lane) is waits


BEGINS = {EARLIEST: 3, 1_000: 7, LATEST: 20}
"""Where the source has a record at or after a time, its beginning and its end."""


@pytest.mark.parametrize(
    ("start", "begins"),
    [
        (LaneStart(), 3),
        (LaneStart(StartKind.LATEST), 20),
        (LaneStart(StartKind.TIMESTAMP, 1_000), 7),
        (LaneStart(StartKind.TIMESTAMP, 9_000), 20),
        (LaneStart(StartKind.OFFSETS, 12), 12),
    ],
)
def test_a_lane_begins_where_it_was_told_to(start: LaneStart, begins: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """At a time after which nothing was written that is behind the last record: what is older was not asked for."""

    async def offset_at(_: Cluster, at: TopicPartition, when: int) -> int:
        return BEGINS.get(when, -1)

    monkeypatch.setattr(beginning, "offset_at", offset_at)
    assignment = LaneAssignment(ONE, PLACE, PLACE, TopicId.ZERO, start, ModePolicy.AUTO)
    assert asyncio.run(beginning.start_of(cast(Cluster, None), assignment, ClaimLog())) == begins
