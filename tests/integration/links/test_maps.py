"""Translated positions hold for readers: from each source offset, a reader of the target misses nothing and sees
nothing again.  Both sides are read by librdkafka."""

from __future__ import annotations

import time
from bisect import bisect_left

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from anabranch.copier.reporting.progress_writer import ProgressWriter
from anabranch.kafka.log import KeyedLog
from anabranch.model import topics as model
from anabranch.model.lane import LaneMode
from anabranch.model.link import ModePolicy, UnknownLinkError
from anabranch.offsets.offset_map import MappedRange
from anabranch.offsets.translate import After, Before, Exact, to_source, to_target
from anabranch.sandbox import SandboxCluster
from anabranch.state.codecs import ranges as range_codec
from anabranch.state.codecs.topics import RUNS
from anabranch.state.maps.reading import LaneInDoubtError, LaneMap, LinkMaps, read_maps
from anabranch.state.segments import index
from qa import offsets as offset_engine
from qa.logcompare import ComparedRecord, read_log
from qa.service import until
from tests.chance import is_full
from tests.integration.links.lab import TIMEOUT_S, Link, link
from tests.integration.links.test_gaps import compacted_with_a_gap, interleave, keep_as_it_is
from tests.integration.links.topics import (
    TRANSACTIONS,
    create,
    delete_records,
    drop,
    end_transactions,
    ends,
    fresh,
    numbered,
    produce,
    transaction,
)

pytestmark = pytest.mark.test

LATER = 2**62
"""An owner epoch above all others, so that what is stored with it counts: compaction may leave a late request alone."""


def maps_of(made: Link) -> LinkMaps:
    """The maps of a link as they are now."""
    found: LinkMaps = made.on_target(lambda client: read_maps(client, made.id))
    return found


def map_of(made: Link, topic: str, position: int) -> LaneMap:
    """The map of a topic's first partition once it accounts for a source position."""
    deadline = time.monotonic() + TIMEOUT_S
    while True:
        found = maps_of(made).of_source(model.TopicPartition(topic, 0))
        if found is not None and found.ranges.source_end >= position:
            return found
        assert time.monotonic() < deadline, found
        time.sleep(0.2)


def log_of(cluster: SandboxCluster, topic: str) -> list[ComparedRecord]:
    """What a read-committed consumer is given."""
    return read_log(
        {"bootstrap.servers": cluster.internal_bootstrap, "fetch.wait.max.ms": 20}, topic, 0, committed=True
    )


def first_from(cluster: SandboxCluster, topic: str, offset: int) -> bytes | None:
    """The value of the first record that a consumer sees who goes on at an offset."""
    consumer = Consumer(
        {
            "bootstrap.servers": cluster.internal_bootstrap,
            "group.id": fresh("reader"),
            "enable.auto.commit": False,
            "auto.offset.reset": "error",
            "fetch.wait.max.ms": 20,
            "enable.partition.eof": True,
        }
    )
    try:
        consumer.assign([TopicPartition(topic, 0, offset)])
        message = consumer.poll(TIMEOUT_S)
        assert message is not None
        if message.error() is not None:
            assert message.error().name() == "_PARTITION_EOF", message.error()
            return None
        return bytes(message.value())
    finally:
        consumer.close()


def assert_exact(made: Link, topic: str, lane: LaneMap) -> int:
    """From each offset of the source on, both sides show the same records; returns how many offsets were asked."""
    here, there = log_of(made.old, topic), log_of(made.new, lane.target.topic)
    start, _ = ends(made.old, topic)
    low, high = ends(made.new, lane.target.topic)
    sources, targets = [entry.offset for entry in here], [entry.offset for entry in there]
    assert lane.ranges.is_sound()
    for offset in range(start, lane.ranges.source_end + 1):
        answer = to_target(lane.ranges, offset)
        assert isinstance(answer, Exact), (offset, answer)
        assert low <= answer.offset <= high, (offset, answer)
        unread = [entry.digest for entry in here[bisect_left(sources, offset) :]]
        assert [entry.digest for entry in there[bisect_left(targets, answer.offset) :]] == unread, (offset, answer)
    for offset in range(lane.ranges.target_start, lane.ranges.target_end + 1):
        back = to_source(lane.ranges, offset)
        assert isinstance(back, Exact), (offset, back)
        unread = [entry.digest for entry in there[bisect_left(targets, offset) :]]
        assert [entry.digest for entry in here[bisect_left(sources, back.offset) :]] == unread, (offset, back)
    return lane.ranges.source_end + 1 - start


@pytest.mark.real
@pytest.mark.parametrize("mode", [pytest.param(ModePolicy.AUTO, marks=pytest.mark.full), ModePolicy.MAPPED])
def test_every_offset_of_a_transactional_log_is_translated_exactly(
    old: SandboxCluster, new: SandboxCluster, mode: ModePolicy
) -> None:
    """Under identity and mapped, over several owners; the end, behind the last marker, is the target's end."""
    topic = create(old, fresh("translated-transactions"))
    produce(old, topic, numbered(20), batch=7)
    interleave(old, topic, 5)
    with link(old, new, topic, mode=mode) as made:
        for _ in range(3):
            with made.running():
                made.await_position(topic, ends(old, topic)[1])
            interleave(old, topic, 3)
            transaction(old, topic, [b"dropped"], commit=False)
        with made.running():
            made.await_position(topic, ends(old, topic)[1])
        end = ends(old, topic)[1]
        lane = map_of(made, topic, end)
        assert lane.mode is (LaneMode.IDENTITY if mode is ModePolicy.AUTO else LaneMode.MAPPED)
        assert assert_exact(made, topic, lane) == end + 1
        assert to_target(lane.ranges, end) == Exact(ends(new, topic)[1], to_target(lane.ranges, end).reason)
        assert isinstance(to_target(lane.ranges, end + 1), After)
        values = {entry.offset: entry for entry in log_of(old, topic)}
        for offset in range(0, end + 1, 17):
            answer = to_target(lane.ranges, offset)
            assert isinstance(answer, Exact)
            following = min((at for at in values if at >= offset), default=None)
            seen = first_from(new, topic, answer.offset)
            assert (seen is None) == (following is None)
            if following is not None:
                assert seen == first_from(old, topic, following)
        assert_shown(made, topic)


def assert_shown(made: Link, topic: str) -> None:
    """What is shown of the lane's ranges says of each record where it lies on the target."""
    (shown,) = offset_engine.ranges(made.target, made.id, f"{topic}-0")
    lies = {one.source + at: one.target + at for one in shown.ranges for at in range(one.length)}
    there = {entry.offset: entry.digest for entry in log_of(made.new, shown.target.topic)}
    here = {entry.offset: entry.digest for entry in log_of(made.old, topic)}
    assert here and {offset: there.get(lies.get(offset, -1)) for offset in here} == here
    assert (shown.source_end, shown.target_end) == (ends(made.old, topic)[1], ends(made.new, topic)[1])


@pytest.mark.parametrize("mode", [ModePolicy.AUTO, ModePolicy.MAPPED])
def test_a_lane_that_nobody_has_told_of_is_read_from_its_claims_and_the_log(
    old: SandboxCluster, new: SandboxCluster, mode: ModePolicy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its worker has ended within a second: neither where it stood nor a range was persisted."""
    topic = create(old, fresh("translated-untold"))
    produce(old, topic, numbered(20), batch=7)
    interleave(old, topic, 5)
    last = log_of(old, topic)[-1].offset

    async def silent(*_: object, **__: object) -> None:
        """Nothing is told."""

    with link(old, new, topic, mode=mode) as made:
        with monkeypatch.context() as patched:
            patched.setattr(ProgressWriter, "persist", silent)
            with made.running():
                until(lambda: len(log_of(new, topic)) == len(log_of(old, topic)))
        assert not made.status().lanes
        lane = map_of(made, topic, last + 1)
        assert lane.mode is (LaneMode.IDENTITY if mode is ModePolicy.AUTO else LaneMode.MAPPED)
        assert assert_exact(made, topic, lane) >= last + 2
        produce(old, topic, numbered(3, first=100))
        with made.running():
            made.await_position(topic, ends(old, topic)[1])
        lane = map_of(made, topic, ends(old, topic)[1])
        assert assert_exact(made, topic, lane) == ends(old, topic)[1] + 1


@pytest.mark.real
def test_every_offset_of_a_compacted_log_is_translated_exactly(old: SandboxCluster, new: SandboxCluster) -> None:
    """Positions in the gaps that compaction made lead to the next record that is left."""
    topic, _ = compacted_with_a_gap(old, fresh("translated-compacted"))
    keep_as_it_is(old, topic)
    end = ends(old, topic)[1]
    with link(old, new, topic) as made, made.running():
        lane = map_of(made, topic, end)
        assert any(
            isinstance(answer := to_target(lane.ranges, at), Exact) and answer.reason is not None for at in range(end)
        )
        assert assert_exact(made, topic, lane) == end + 1


def test_a_target_that_others_wrote_is_translated_exactly(old: SandboxCluster, new: SandboxCluster) -> None:
    """A mapped lane behind records that were there before, and a source that begins above zero."""
    topic = create(old, fresh("translated-behind"))
    create(new, topic)
    produce(new, topic, [{"value": b"foreign"}] * 5)
    produce(old, topic, numbered(50), batch=10)
    delete_records(old, topic, 13)
    with link(old, new, topic, mode=ModePolicy.MAPPED) as made:
        with made.running():
            lane = map_of(made, topic, 50)
        assert to_target(lane.ranges, 12) == Before(13, lane.ranges[0].target)
        assert (lane.ranges.target_start, lane.ranges.source_start) == (5, 13)
        assert assert_exact(made, topic, lane) == 38
        found = maps_of(made).of_target(lane.target)
        assert found is not None and (found.lane, found.ranges) == (lane.lane, lane.ranges)


def test_links_and_partitions_without_a_map_are_told_apart(old: SandboxCluster, new: SandboxCluster) -> None:
    """An unknown link is refused, a partition that no lane has begun to copy has no map, its topic has a name."""
    topic = create(old, fresh("translated-nothing"))
    with link(old, new, topic) as made:
        assert len(maps_of(made)) == 0
        with made.running():
            lane = map_of(made, topic, 0)
        found = maps_of(made)
        assert found.topics == {topic: topic}
        assert found.of_source(model.TopicPartition(topic, 1)) is None
        assert to_target(lane.ranges, 0) == Exact(0, to_target(lane.ranges, 0).reason)
        assert isinstance(to_target(lane.ranges, 1), After)
        with pytest.raises(UnknownLinkError):
            made.on_target(lambda client: read_maps(client, "unheard-of"))


def test_runs_that_were_overwritten_are_read_from_the_log(old: SandboxCluster, new: SandboxCluster) -> None:
    """An older version of the last segment, as a late request leaves it, makes no gap; nor does one that is gone."""
    topic = create(old, fresh("translated-overwritten"))
    interleave(old, topic, 10)
    with link(old, new, topic, mode=ModePolicy.MAPPED) as made:
        with made.running():
            lane = map_of(made, topic, ends(old, topic)[1])
        whole = list(lane.ranges)
        key = range_codec.range_key(lane.lane, 0)

        def overwrite(ranges: list[MappedRange]) -> None:
            value = range_codec.encode(ranges, LATER) if ranges else None
            made.on_target(lambda client: KeyedLog(client, RUNS).append([(key, value)], int(time.time() * 1000)))

        for kept in (len(whole) // 2, 1, 0):
            overwrite(whole[:kept])
            assert map_of(made, topic, 0).ranges == lane.ranges
        overwrite([MappedRange(run.source, run.target + 10_000, run.length) for run in whole])
        with pytest.raises(LaneInDoubtError, match="the log ends at"):
            maps_of(made).of_source(lane.source)
        drop(new, topic)
        create(new, topic)
        with pytest.raises(LaneInDoubtError, match="made again"):
            maps_of(made).of_source(lane.source)


@pytest.mark.parametrize("mode", [pytest.param(ModePolicy.AUTO, marks=pytest.mark.full), ModePolicy.MAPPED])
def test_segments_that_were_overwritten_make_no_gap(
    old: SandboxCluster,
    new: SandboxCluster,
    mode: ModePolicy,
    pytestconfig: pytest.Config,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An older version of a full segment, one that ends early, or none at all, with newer ones behind it.

    Each is mended from the log, or refused where a mapped lane's jumps are forgotten; no gap is told that is none.
    Segments are of a tenth of their ranges, where not everything is asked for.
    """
    size = index.SEGMENT_RANGES if is_full(pytestconfig) else index.SEGMENT_RANGES // 10
    monkeypatch.setattr(index, "SEGMENT_RANGES", size)
    topic = create(old, fresh("translated-segments"))
    transactions(old, topic, size + size // 3)
    with link(old, new, topic, mode=mode) as made:
        with made.running():
            lane = map_of(made, topic, ends(old, topic)[1])
            made.await_position(topic, ends(old, topic)[1])
        assert len(lane.ranges) > size
        first = list(lane.ranges)[:size]
        key = range_codec.range_key(lane.lane, 0)
        assert first[-1].length > 1
        short = MappedRange(first[-1].source, first[-1].target, 1)
        for stored in ([*first[:-1], short], first[:-1], first[: size // 2], first[:1], []):
            value = range_codec.encode(stored, LATER) if stored else None
            made.on_target(
                lambda client, value=value: KeyedLog(client, RUNS).append([(key, value)], int(time.time() * 1000))
            )
            told = maps_of(made)
            if mode is ModePolicy.MAPPED and told.doubts:
                assert "no longer known" in told.doubts[lane.source].reason
            else:
                assert told.maps[lane.source].ranges == lane.ranges


def transactions(cluster: SandboxCluster, topic: str, count: int) -> None:
    """Many transactions of two records, one after the other."""
    producer = Producer(
        {**TRANSACTIONS, "bootstrap.servers": cluster.internal_bootstrap, "transactional.id": topic, "linger.ms": 0}
    )
    producer.init_transactions(TIMEOUT_S)
    for number in range(count):
        producer.begin_transaction()
        for which in "ab":
            producer.produce(topic, f"{number} {which}".encode(), partition=0)
        producer.commit_transaction(TIMEOUT_S)
    end_transactions(cluster, topic)
