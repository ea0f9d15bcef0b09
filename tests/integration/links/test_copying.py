"""What a link copies, and how: records, batches, runs, modes, start positions and names."""

from __future__ import annotations

import time
from contextlib import ExitStack

import pytest

from anabranch.model.lane import LaneMode, LaneState
from anabranch.model.link import ModePolicy
from anabranch.model.plugins import PluginSpec
from anabranch.model.start import StartKind, StartPosition
from anabranch.model.topics import TopicPartition
from anabranch.sandbox import SandboxCluster
from qa.logcompare import disk_batches
from tests.integration.links.lab import link
from tests.integration.links.topics import OLD_MS, create, delete_records, ends, fresh, numbered, produce

pytestmark = pytest.mark.test

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
ODD = (
    {"key": None, "value": None},
    {"key": b"", "value": b""},
    {"key": b"deleted", "value": None},
    {"key": None, "value": b"no key"},
    {"key": b"h", "value": b"v", "headers": [("b", b"1"), ("a", b"2"), ("b", b"1"), ("b", None), ("", b"")]},
    {"key": b"\x00\xff", "value": bytes(range(256))},
)


@pytest.mark.real
def test_everything_of_a_record_is_kept_with_all_codecs_and_batch_boundaries(
    old: SandboxCluster, new: SandboxCluster
) -> None:
    """Nulls, empty values, header order and duplicates, times, codecs and batches are the same on both disks."""
    young, aged = fresh("kept"), fresh("kept")
    now = int(time.time() * 1000)
    for topic, timestamp in ((young, now), (aged, OLD_MS)):
        create(old, topic)
        for number, codec in enumerate(CODECS):
            odd = [{**record, "timestamp": timestamp + number} for record in ODD]
            produce(old, topic, odd, codec=codec, batch=5)
            produce(old, topic, numbered(30, first=30 * number, timestamp=timestamp), codec=codec, batch=5 + 6 * number)
    count = 5 * (30 + len(ODD))
    with link(old, new, [young, aged]) as made, made.running():
        for topic, mode in ((young, LaneMode.IDENTITY), (aged, LaneMode.MAPPED)):
            made.await_position(topic, count)
            made.await_(lambda status: sum(lane.records for lane in status.lanes) >= 2 * count)
            assert made.lane(topic).mode is mode
            assert made.assert_copied(topic) == count
            made.assert_same_batches(topic)
        assert made.lane(young).target_end == count
        assert "remembers" in made.lane(young).mode_reason
        assert "old and the target forgets producer ids after" in made.lane(aged).mode_reason


@pytest.mark.real
def test_batches_of_few_records_are_joined_and_everything_of_a_record_is_kept(
    old: SandboxCluster, new: SandboxCluster
) -> None:
    """Nulls, empty values, header order and duplicates, times and codecs; the target has far fewer batches."""
    topic = create(old, fresh("small"))
    for number, codec in enumerate(CODECS):
        odd = [{**record, "timestamp": OLD_MS + number} for record in ODD]
        produce(old, topic, odd * 10, codec=codec, batch=1 + number % 3)
    with link(old, new, topic) as made, made.running():
        made.await_position(topic, 50 * len(ODD))
        assert made.assert_copied(topic) == 50 * len(ODD)
    here, there = (disk_batches(cluster.layout.nodes[0].data / f"{topic}-0") for cluster in (old, new))
    assert len(there) < len(here) / 4
    assert {batch.codec for batch in there} == {batch.codec for batch in here}


def test_a_used_target_topic_is_copied_into_behind_what_it_has(old: SandboxCluster, new: SandboxCluster) -> None:
    """The lane is mapped, says why, and what was there before stays untouched."""
    topic = create(old, fresh("used"))
    create(new, topic)
    produce(new, topic, numbered(25, first=900))
    produce(old, topic, numbered(100), batch=30)
    with link(old, new, topic) as made, made.running():
        lane = made.await_position(topic, 100)
        assert lane.mode is LaneMode.MAPPED
        assert "25" in lane.mode_reason
        assert made.assert_copied(topic) == 100
        assert [(run.source, run.length) for run in made.ranges(lane.lane)] == [(0, 100)]
        assert made.ranges(lane.lane)[0].target >= 25


def test_a_lane_turns_mapped_when_an_old_record_arrives_and_stays_exact(
    old: SandboxCluster, new: SandboxCluster
) -> None:
    """Identity up to the old timestamp, mapped from there; the records and the runs are exact across the change."""
    topic = create(old, fresh("turning"))
    produce(old, topic, numbered(50), batch=10)
    with link(old, new, topic) as made, made.running():
        lane = made.await_position(topic, 50)
        assert lane.mode is LaneMode.IDENTITY
        produce(old, topic, numbered(40, first=50, timestamp=OLD_MS), batch=10)
        made.await_position(topic, 90)
        made.await_(lambda status: status.lanes[0].mode is LaneMode.MAPPED)
        produce(old, topic, numbered(40, first=90), batch=10)
        lane = made.await_position(topic, 130)
        assert lane.mode is LaneMode.MAPPED
        assert "old" in lane.mode_reason
        assert made.assert_copied(topic) == 130
        runs = made.ranges(lane.lane)
        assert (runs[0].source, runs[0].target, runs[0].length) == (0, 0, 50)
        assert runs[-1].target > runs[-1].source, "a mapped lane's fence takes an offset"


def test_runs_can_be_rebuilt_from_the_targets_log_alone(old: SandboxCluster, new: SandboxCluster) -> None:
    """Over several runs of the link, with the marks of every takeover in the log, both ways give the same runs."""
    topic = create(old, fresh("rebuilt"))
    with link(old, new, topic) as made:
        for turn in range(3):
            timestamp = OLD_MS if turn else None
            produce(old, topic, numbered(40, first=40 * turn, timestamp=timestamp), batch=9)
            with made.running():
                made.await_position(topic, 40 * (turn + 1))
        with made.running(lease_seconds=2):
            produce(old, topic, numbered(40, first=120, timestamp=OLD_MS), batch=9)
            lane = made.await_position(topic, 160)
        assert made.assert_copied(topic) == 160
        assert made.rebuilt(lane) == made.ranges(lane.lane)
        assert len(made.rebuilt(lane)) > 1


def test_a_log_that_starts_above_0_is_copied_from_its_start(old: SandboxCluster, new: SandboxCluster) -> None:
    """What the source no longer has is not missed; the runs begin at the log's start, in the middle of a batch too."""
    topic = create(old, fresh("headless"))
    produce(old, topic, numbered(100), batch=20)
    delete_records(old, topic, 47)
    with link(old, new, topic) as made, made.running():
        lane = made.await_position(topic, 100)
        assert (lane.log_start, lane.records) == (47, 53)
        assert lane.mode is LaneMode.IDENTITY
        assert made.assert_copied(topic) == 53


def test_a_lane_begins_at_a_given_offset_in_the_middle_of_a_batch(old: SandboxCluster, new: SandboxCluster) -> None:
    """The head of the batch is left out, whatever the codec; another partition begins at its earliest record."""
    topics = {codec: create(old, fresh("middle"), 2) for codec in CODECS}
    for codec, topic in topics.items():
        produce(old, topic, [r for p in range(2) for r in numbered(60, partition=p)], codec=codec, batch=20)
    start = StartPosition(StartKind.OFFSETS, None, {TopicPartition(topic, 0): 33 for topic in topics.values()})
    with link(old, new, list(topics.values()), start=start) as made, made.running():
        for topic in topics.values():
            made.await_position(topic, 60)
            made.await_position(topic, 60, 1)
            assert made.assert_copied(topic, first=33) == 27
        assert made.assert_copied(topic, partition=1) == 60


def test_latest_copies_only_what_comes_later_and_remembers_where_it_began(
    old: SandboxCluster, new: SandboxCluster
) -> None:
    """The end is resolved once: what is written between two runs of the link is not lost."""
    topic = create(old, fresh("latest"))
    produce(old, topic, numbered(70))
    with link(old, new, topic, start=StartPosition(StartKind.LATEST)) as made:
        with made.running():
            made.await_(lambda status: bool(status.lanes) and status.lanes[0].state is LaneState.FOLLOWING)
            assert made.lane(topic).position == 70
            assert made.lane(topic).lag_records == 0
        produce(old, topic, numbered(30, first=70))
        with made.running():
            made.await_position(topic, 100)
            assert made.assert_copied(topic, first=70) == 30


def test_a_timestamp_begins_at_the_first_record_that_is_as_young(old: SandboxCluster, new: SandboxCluster) -> None:
    """Inside a batch as well; where no record is that young, the lane begins at the end."""
    topic = create(old, fresh("moment"), 2)
    produce(old, topic, numbered(50, timestamp=OLD_MS), batch=20)
    produce(old, topic, numbered(10, timestamp=OLD_MS - 5000, partition=1))
    with link(old, new, topic, start=StartPosition(StartKind.TIMESTAMP, OLD_MS + 27)) as made, made.running():
        made.await_position(topic, 50)
        assert made.assert_copied(topic, first=27) == 23
        produce(old, topic, numbered(5, first=10, timestamp=OLD_MS, partition=1))
        made.await_position(topic, 15, 1)
        assert made.assert_copied(topic, partition=1, first=10) == 5


def test_naming_policies_name_the_target_topics(old: SandboxCluster, new: SandboxCluster) -> None:
    """Prefix as MirrorMaker 2 has it, another separator, and a template; several links may copy one topic."""
    topic = create(old, fresh("named"))
    produce(old, topic, numbered(5))
    policies = {
        f"old.{topic}": PluginSpec("prefix"),
        f"old--{topic}": PluginSpec("prefix", {"separator": "--"}),
        f"dr-{topic}-from-old": PluginSpec("template", {"template": "dr-{topic}-from-{source}"}),
    }
    with ExitStack() as stack:
        links = {name: stack.enter_context(link(old, new, topic, naming=policy)) for name, policy in policies.items()}
        for made in links.values():
            stack.enter_context(made.running())
        for name, made in links.items():
            assert made.await_position(topic, 5).target.topic == name
            assert made.assert_copied(topic, name) == 5


def test_compacted_topics_without_gaps_are_copied_and_say_that_they_are_mapped(
    old: SandboxCluster, new: SandboxCluster
) -> None:
    """Identity would shift at the first gap, so such a lane is mapped from the beginning, and says why."""
    topic = create(old, fresh("table"), configs={"cleanup.policy": "compact"})
    produce(old, topic, [{"key": b"k%d" % n, "value": b"v"} for n in range(20)])
    with link(old, new, topic) as made, made.running():
        lane = made.await_position(topic, 20)
        assert lane.mode is LaneMode.MAPPED
        assert "compact" in lane.mode_reason
        made.assert_copied(topic)
    with link(old, new, topic, mode=ModePolicy.MAPPED, naming=PluginSpec("prefix")) as made, made.running():
        assert made.await_position(topic, 20).mode_reason == "the link asks for mapped lanes"


def test_an_empty_topic_is_followed_from_its_first_record(old: SandboxCluster, new: SandboxCluster) -> None:
    """Nothing to copy is no reason to wait; the first record is copied under its own offset."""
    topic = create(old, fresh("empty"))
    with link(old, new, topic) as made, made.running():
        made.await_(lambda status: bool(status.lanes) and status.lanes[0].state is LaneState.FOLLOWING)
        assert ends(new, topic) == (0, 0)
        produce(old, topic, numbered(3))
        assert made.await_position(topic, 3).mode is LaneMode.IDENTITY
        made.assert_copied(topic)
