"""What a person decided, in the lanes that are handed out; and the sentences that lanes show."""

from __future__ import annotations

import time
import uuid
from types import SimpleNamespace
from typing import Any, cast

import pytest

from anabranch.copier.lane.lane import Lane, LanePhase
from anabranch.copier.planning.lanes import lanes_of
from anabranch.copier.planning.pairs import TopicPair
from anabranch.copier.reporting.report import state_of
from anabranch.copier.source.open_transaction_watch import is_held, sentence
from anabranch.copier.target.foreign_writers import named, with_foreign_writer
from anabranch.kafka.cluster import PartitionMeta, TopicMeta
from anabranch.model.decisions import LaneDecision, SourcePartition
from anabranch.model.lane import KNOWN_S, LaneAssignment, LaneKey, LaneState
from anabranch.model.link import ClusterRef, LinkSpec, ModePolicy
from anabranch.model.start import LaneStart, StartKind, StartPosition
from anabranch.model.topics import TopicId, TopicPartition
from anabranch.model.transactions import OpenTransaction, SourceTransaction
from anabranch.records.header import BatchHeader

pytestmark = pytest.mark.unit

TOPIC, TARGET = uuid.UUID(int=7), TopicId(uuid.UUID(int=8))
SPEC = LinkSpec("link", ClusterRef("old", "a"), ClusterRef("new", "b"), start=StartPosition(StartKind.LATEST))


def a_lane() -> Lane:
    """A lane of partition 0 that runs."""
    place = TopicPartition("orders", 0)
    lane = Lane(LaneAssignment(LaneKey("link", TopicId(TOPIC), 0), place, place, TARGET, LaneStart(), ModePolicy.AUTO))
    lane.phase = LanePhase.RUNNING
    return lane


def test_lanes_are_handed_out_as_was_decided() -> None:
    """Generation, start and accepted loss of the partition that was decided about, and of no other."""
    part = PartitionMeta(1, 0, (1,), (1,), 0)
    pair = TopicPair(TopicMeta("orders", TOPIC, False, 0, {0: part, 1: part, 2: part}, None), "orders")
    decisions = {
        place: LaneDecision("link", place, generation, start, skip, 0, "why")
        for place, generation, start, skip in (
            (SourcePartition(TopicId(TOPIC), 1), 2, 30, (40, 50)),
            (SourcePartition(TopicId(TOPIC), 2), 0, None, (5, 9)),
            (SourcePartition(TARGET, 0), 7, 1, None),
        )
    }
    first, second, third = lanes_of(SPEC, pair, TARGET, False, decisions)
    latest = LaneStart(StartKind.LATEST)
    assert (first.lane.generation, first.start, first.skip) == (0, latest, None)
    assert (second.lane.generation, second.start, second.skip) == (2, LaneStart(StartKind.OFFSETS, 30), (40, 50))
    assert (third.lane.generation, third.start, third.skip) == (0, latest, (5, 9))


def test_a_lane_is_held_only_where_all_that_is_stable_was_read_and_there_is_more() -> None:
    """A lane that still has something to read, or that is at the very end, waits for nobody."""
    lane = a_lane()
    lane.source.stable, lane.source.high_watermark, lane.fetched.fetch_offset = 10, 15, 10
    assert is_held(lane)
    lane.fetched.fetch_offset = 9
    assert not is_held(lane)
    lane.fetched.fetch_offset = lane.source.stable = 15
    assert not is_held(lane)


def test_a_held_lane_waits_and_a_paused_one_is_paused() -> None:
    """The state says what most asks for a look."""
    lane = a_lane()
    assert state_of(lane, paused=False) is LaneState.COPYING  # where the end is has not been told yet
    lane.source.seen_at = time.monotonic()
    assert state_of(lane, paused=False) is LaneState.FOLLOWING
    lane.status.held_by = "open transaction"
    assert state_of(lane, paused=False) is LaneState.WAITING
    assert state_of(lane, paused=True) is LaneState.PAUSED


def test_a_lane_follows_only_where_all_that_the_source_has_was_read() -> None:
    """One that waits for memory, or was just resumed, has an empty queue too; what is in flight lags for a moment."""
    lane = a_lane()
    lane.phase, lane.source.seen_at = LanePhase.RUNNING, time.monotonic()
    lane.source.stable, lane.copied.position, lane.fetched.fetch_offset = 1_000_000, 10, 10
    assert state_of(lane, paused=False) is LaneState.COPYING
    lane.fetched.fetch_offset = 1_000_000
    lane.active = cast(
        Any, SimpleNamespace(pipeline=SimpleNamespace(in_flight=1))
    )  # all that the last fetch found is on its way
    assert lane.reached == 10 and state_of(lane, paused=False) is LaneState.FOLLOWING
    lane.active = None
    assert lane.reached == 1_000_000 and state_of(lane, paused=False) is LaneState.FOLLOWING


def test_a_lane_whose_source_does_not_answer_is_unreachable() -> None:
    """Also one that never heard of it; whoever paused it, or a person who must act, comes first."""
    lane = a_lane()
    lane.source.made_at -= KNOWN_S + 1
    assert state_of(lane, paused=False) is LaneState.UNREACHABLE
    assert state_of(lane, paused=True) is LaneState.PAUSED
    lane.source.seen_at = time.monotonic() - KNOWN_S - 1
    lane.status.held_by = "open transaction"
    assert state_of(lane, paused=False) is LaneState.UNREACHABLE
    lane.phase = LanePhase.TAKING
    assert state_of(lane, paused=False) is LaneState.WAITING


def test_the_first_open_transaction_is_named_and_the_others_counted() -> None:
    """Only the first one holds the lane; where it has just ended, nothing is said."""
    one = SourceTransaction(OpenTransaction(7, 0, -1, 10, 1000), 1000)
    assert sentence([], 5000) == ""
    assert sentence([one], 61_000).endswith(
        "(age 60 s) begins at offset 10: nothing after it may be copied before it ends"
    )
    assert ", and 2 more are open after it: nothing" in sentence([one], 61_000, more=2)


def test_a_foreign_writer_is_named_once_in_the_reason_of_the_mode() -> None:
    """Reasons are persisted and taken up again by the next owner, so they must not grow."""
    header = BatchHeader(40, 100, 0, 2, 0, 0, 2, 0, 0, 4711, 0, 0, 3)
    words = named(header)
    assert words == "someone else writes to the target partition (producer id 4711 at offset 40)"
    assert "without a producer id" in named(header._replace(producer_id=-1))
    reason = with_foreign_writer("the link asks for mapped lanes", words)
    assert reason == f"the link asks for mapped lanes; {words}"
    assert with_foreign_writer(reason, words) == reason
    assert (with_foreign_writer("", words), with_foreign_writer("why", "")) == (words, "why")
