"""Topics that real MirrorMaker 2 copied, killed twice while it did: every position is found from the records alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from anabranch.offsets.align.lane import Bounds
from anabranch.sandbox import SandboxCluster
from anabranch.spark.align.run import Rebuilding
from anabranch.spark.verify.run import Comparison
from anabranch.verify.findings import FindingKind
from anabranch.verify.pins import LogEnds, pin
from qa import killed_mirror
from qa.offsets import rebuild_spec
from qa.verify_lab import context_of, spec_of
from tests.unit.offsets.alignlab import Mirror

pytestmark = [pytest.mark.full, pytest.mark.timeout(1800)]

RECORDS = 60_000
TOPIC = "killed"
PARTITIONS = 2


def test_each_record_of_a_killed_mirror_is_mapped_to_its_last_copy_and_the_rest_is_named_as_repeats(
    pair: tuple[SandboxCluster, SandboxCluster], spark: SparkSession, tmp_path: Path
) -> None:
    """Against the numbers that the records tell, read by another client; and a comparison through the maps finds
    nothing but the repeats."""
    old, new = pair
    killed_mirror.fill(old, TOPIC, RECORDS, PARTITIONS)
    copy = killed_mirror.copy(old, new, TOPIC, tmp_path, forgets=True)
    maps = Rebuilding(spark, rebuild_spec(context_of(old), context_of(new), "lab", {TOPIC: copy})).maps()
    repeats: dict[str, int] = {}
    for one in maps:
        number = one.source.partition
        source = dict(killed_mirror.numbers(old, TOPIC, number))
        target = dict(killed_mirror.numbers(new, copy, number))
        where = {told: offset for offset, told in source.items() if told is not None}
        truth = {offset: where[told] for offset, told in target.items() if told is not None}
        kept = Mirror({}, {}, truth, Bounds(0, 0, 0, 0)).kept()
        pairs = {run.source + at: run.target + at for run in one.ranges for at in range(run.length)}
        assert {offset: pairs.get(offset) for offset in kept} == kept
        for offset in pairs.keys() - kept.keys():
            assert source[offset] is None and target[pairs[offset]] is None
        assert len(pairs) == len(source)
        assert not one.unclear
        assert one.ranges.target_end == len(target)
        repeats[str(one.lane)] = len(target) - len(pairs)
    assert sum(repeats.values()) > 0, "the mirror copied nothing twice"
    far = LogEnds(0, 1 << 62)
    pins = [pin(str(one.lane), one.source, one.target, one.ranges, far, far) for one in maps]
    comparison = Comparison(spark, spec_of(old, new, pins))
    list(comparison.rounds())
    findings = comparison.findings()
    for at, one in enumerate(pins):
        counts = findings[at].counts
        # Of more than five thousand it is not looked up what they repeat.
        assert counts[FindingKind.DUPLICATE] + counts[FindingKind.UNEXPECTED] == counts.differences == repeats[one.lane]
        assert counts[FindingKind.DUPLICATE]
