"""Mirrors that are written record by record, aligned by the job: what it says against what was done."""

from __future__ import annotations

import random

import pytest
from pyspark.sql import SparkSession

from anabranch.config.rebuildspec import RebuildSpec, RecordPart
from anabranch.offsets.align.gaps import Why
from anabranch.offsets.align.lane import Bounds
from anabranch.offsets.offset_map import MappedRange
from anabranch.sandbox import SandboxCluster
from anabranch.spark.align.run import Rebuilding
from qa.offsets import rebuild_spec
from qa.verify_lab import BEGIN_MS, Message, context_of, fresh, messages, write
from tests.chance import seed
from tests.unit.offsets.alignlab import align

pytestmark = pytest.mark.test


def planned(pair: tuple[SandboxCluster, SandboxCluster], topic: str, **changes: frozenset[RecordPart]) -> RebuildSpec:
    """The plan for a topic of one name on both sides."""
    old, new = pair
    return rebuild_spec(context_of(old), context_of(new), "lab", {topic: topic}, **changes)


def same(number: int) -> Message:
    """Records that are equal for equal numbers."""
    return Message(b"k", b"same %d" % number, (), BEGIN_MS)


@pytest.mark.full
def test_crashes_losses_and_changes_are_found_in_a_long_mirror(
    pair: tuple[SandboxCluster, SandboxCluster], spark: SparkSession
) -> None:
    """Thirty thousand records of all shapes, copied with two crashes, a gap, a foreign and an altered record."""
    topic = fresh("shapes")
    source = messages(30_000, random.Random(seed(3)))
    foreign = Message(b"foreign", b"", (), BEGIN_MS)
    altered = Message(b"altered", source[25_000].value, (), BEGIN_MS)
    target = [
        *source[:12_000],
        *source[9_000:9_500],
        *source[9_400:20_000],
        foreign,
        *source[20_010:25_000],
        altered,
        *source[25_001:29_000],
    ]
    write(pair[0], topic, source)
    write(pair[1], topic, target)
    rebuilding = Rebuilding(spark, planned(pair, topic))
    (found,) = rebuilding.maps()
    assert list(found.ranges) == [
        MappedRange(0, 0, 9_000),
        MappedRange(9_000, 12_000, 400),
        MappedRange(9_400, 12_500, 10_600),
        MappedRange(20_010, 23_101, 4_990),
        MappedRange(25_001, 28_092, 3_999),
    ]
    assert not found.unclear
    assert (found.ranges.source_end, found.ranges.target_end) == (29_000, len(target))


@pytest.mark.full
@pytest.mark.parametrize("fixed", [0, 1, 2])
def test_the_job_says_of_equal_records_what_the_pure_functions_say(
    fixed: int, pair: tuple[SandboxCluster, SandboxCluster], spark: SparkSession
) -> None:
    """Most records are equal to others, some are lost, and the mirror goes back: both ways give one answer."""
    chance = random.Random(seed(fixed))
    topic = fresh("dull")
    source = [chance.choice((1, 2, 3, 1000 + at)) for at in range(3000)]
    target: list[int] = []
    at = 0
    while at < len(source):
        if chance.random() > 0.02:
            target.append(source[at])
        at += 1
        if chance.random() < 0.005:
            at = max(0, at - chance.randint(1, 100))
    write(pair[0], topic, [same(one) for one in source])
    write(pair[1], topic, [same(one) for one in target])
    (found,) = Rebuilding(spark, planned(pair, topic)).maps()
    bounds = Bounds(0, len(source), 0, len(target))
    wanted = align(dict(enumerate(map(str, source))), dict(enumerate(map(str, target))), bounds)
    assert found.ranges == wanted.ranges
    assert found.unclear == wanted.unclear
    assert found.unclear


@pytest.mark.full
def test_constant_topics_are_exact_only_where_they_are_equally_long(
    pair: tuple[SandboxCluster, SandboxCluster], spark: SparkSession
) -> None:
    """Five thousand equal records: all of them copied, and all but one."""
    whole, short = fresh("constant"), fresh("constant")
    for topic, lost in ((whole, 0), (short, 1)):
        write(pair[0], topic, [same(1)] * 5000)
        write(pair[1], topic, [same(1)] * (5000 - lost))
    old, new = pair
    spec = rebuild_spec(context_of(old), context_of(new), "lab", {whole: whole, short: short})
    by_topic = {one.source.topic: one for one in Rebuilding(spark, spec).maps()}
    assert list(by_topic[whole].ranges) == [MappedRange(0, 0, 5000)]
    assert not by_topic[whole].unclear
    assert not by_topic[short].ranges
    assert [tuple(one) for one in by_topic[short].unclear] == [(0, 5000, 0, 4999, Why.SEVERAL)]


@pytest.mark.full
def test_what_the_other_tool_changes_in_every_record_can_be_left_out(
    pair: tuple[SandboxCluster, SandboxCluster], spark: SparkSession
) -> None:
    """A mirror with its own clock and a header of its own: nothing agrees, unless both are ignored."""
    topic = fresh("clocked")
    source = [Message(None, b"%d" % at, (), BEGIN_MS + at) for at in range(1000)]
    target = [Message(None, one.value, (("via", b"other"),), one.timestamp + 5000) for one in source[:900]]
    write(pair[0], topic, source)
    write(pair[1], topic, target)
    (found,) = Rebuilding(spark, planned(pair, topic)).maps()
    assert not found.ranges
    ignored = planned(pair, topic, ignore=frozenset(RecordPart))
    (found,) = Rebuilding(spark, RebuildSpec.from_json(ignored.to_json())).maps()
    assert list(found.ranges) == [MappedRange(0, 0, 900)]
