"""Faults planted in real topics: each is found and named at its exact offset, and nothing else is."""

from __future__ import annotations

import random

import pytest
from pyspark.sql import SparkSession

from anabranch.offsets.offset_map import MappedRange, OffsetMap
from anabranch.sandbox import SandboxCluster
from anabranch.spark.verify.run import Comparison
from anabranch.verify.findings import Finding
from qa.verify_lab import Fault, Mirror, fresh, messages, pin_of, plant, spec_of, write
from tests.chance import seed

pytestmark = pytest.mark.test


def found(
    spark: SparkSession, old: SandboxCluster, new: SandboxCluster, topic: str, ranges: OffsetMap
) -> list[Finding]:
    """Compare, and say what was found."""
    comparison = Comparison(spark, spec_of(old, new, [pin_of(topic, ranges)]))
    for _ in comparison.rounds():
        pass
    return [one for named in comparison.findings().values() for one in named.samples]


def written(old: SandboxCluster, new: SandboxCluster, mirror: Mirror, topic: str) -> str:
    """Both logs in a topic of that name."""
    write(old, topic, mirror.source)
    write(new, topic, mirror.target)
    return topic


@pytest.mark.full
def test_equal_logs_have_no_differences(spark: SparkSession, old: SandboxCluster, new: SandboxCluster) -> None:
    """All shapes of records, and nothing is found."""
    records = messages(3000, random.Random(seed(1)))
    topic = written(old, new, Mirror(records, records, OffsetMap.of([MappedRange(0, 0, 3000)]), ()), fresh("equal"))
    comparison = Comparison(spark, spec_of(old, new, [pin_of(topic, OffsetMap.of([MappedRange(0, 0, 3000)]))]))
    for work in comparison.rounds():
        assert work.lanes[0].chunks == set()
    assert comparison.work.lanes[0].source.records == 3000
    assert comparison.work.lanes[0].source == comparison.work.lanes[0].target == comparison.work.lanes[0].uncommitted
    assert comparison.findings() == {}


@pytest.mark.parametrize(
    ("fixed", "size"),
    [(3, 4_000), *(pytest.param(one, 70_000, marks=pytest.mark.full) for one in (0, 1, 2))],
)
def test_every_kind_of_fault_is_found_where_it_was_planted(
    spark: SparkSession, old: SandboxCluster, new: SandboxCluster, fixed: int, size: int
) -> None:
    """All faults at once that a map knows of, at random places: of one chunk in CI, of two where all is run."""
    chance = random.Random(seed(fixed))
    topic = fresh("planted")
    faults = [fault for fault in Fault if fault is not Fault.UNTOLD_DROP]
    mirror = plant(messages(size, chance), faults, chance, topic)
    written(old, new, mirror, topic)
    assert found(spark, old, new, topic, mirror.ranges) == list(mirror.expected)
