"""A link's target past the pin: what the link copied there excuses what a cleaner took, and no stranger's does.

Without real cleaners and Spark `tests/unit/spark/test_past_pins.py` and `tests/unit/verify/test_past.py` show it.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import replace

import pytest
from pyspark.sql import SparkSession

from anabranch.config.verifyspec import ReaderKind, VerifyOptions, VerifySpec
from anabranch.sandbox import SandboxCluster
from anabranch.spark.verify.run import Comparison, LaneFindings
from anabranch.verify.findings import Finding, FindingKind
from qa import comparing as engine
from qa.logcompare import read_log
from qa.timeouts import LONG_TIMEOUT_S
from tests.integration.links.lab import Link, link
from tests.integration.links.topics import configure, create, ends, fresh, produce

pytestmark = [pytest.mark.full, pytest.mark.timeout(600)]

COMPACTED = {"cleanup.policy": "compact"}
CLEANED = {"segment.ms": "100", "min.cleanable.dirty.ratio": "0.01", "file.delete.delay.ms": "100"}
KEYS = [b"u%d" % number for number in range(10)]


def values(rounds: int, keys: list[bytes] = KEYS) -> list[dict[str, bytes]]:
    """So many values of each key, in turn."""
    return [{"key": key, "value": b"%d" % number} for number in range(rounds) for key in keys]


def planned(made: Link, reader: ReaderKind = ReaderKind.RECORDS) -> VerifySpec:
    """A comparison that is pinned now."""
    return engine.plan(made.source, made.target, made.id, VerifyOptions(reader)).spec(made.source, made.target)


def found(spark: SparkSession, spec: VerifySpec) -> LaneFindings | None:
    """Compare to the end; what is found in the only lane."""
    comparison = Comparison(spark, spec)
    for _ in comparison.rounds():
        pass
    named = comparison.findings()
    return named.get(0)


def stored(new: SandboxCluster, topic: str) -> set[int]:
    """The offsets that the target still holds."""
    log = read_log({"bootstrap.servers": new.internal_bootstrap, "fetch.wait.max.ms": 20}, topic, 0, committed=True)
    return {entry.offset for entry in log}


def test_a_record_behind_the_last_copy_is_unexpected(
    spark: SparkSession, old: SandboxCluster, new: SandboxCluster
) -> None:
    """Whichever reader is used, and whether or not anything is new to be compared."""
    topic = create(old, fresh("behind"))
    produce(old, topic, values(3))
    with link(old, new, topic) as made:
        with made.running():
            made.await_position(topic, 30)
        assert found(spark, planned(made)) is None
        end = ends(new, topic)[1]
        produce(new, topic, [{"key": b"stranger", "value": b"1"}, {"key": b"stranger", "value": b"2"}])
        for reader in ReaderKind:
            spec = planned(made, reader)
            named = found(spark, spec)
            assert named is not None and not named.doubt
            lane = spec.pins[0].lane
            assert named.samples == tuple(Finding(lane, FindingKind.UNEXPECTED, -1, at) for at in (end, end + 1))
            assert named.counts.differences == named.counts[FindingKind.UNEXPECTED] == 2


def test_the_newest_value_is_missing_where_only_a_stranger_wrote_its_key_again(
    spark: SparkSession, old: SandboxCluster, new: SandboxCluster
) -> None:
    """The cleaner took the copies of one key for a record that no link copied: nothing excuses that."""
    topic = create(old, fresh("newest"), configs=COMPACTED)
    produce(old, topic, values(5))
    with link(old, new, topic) as made:
        with made.running():
            made.await_position(topic, 50)
        copied = stored(new, topic)
        mine = {at for at in copied if at % len(KEYS) == 1}
        configure(new, topic, CLEANED)
        produce(new, topic, values(2, [b"u1"]))
        deadline = time.monotonic() + LONG_TIMEOUT_S
        while mine & stored(new, topic):
            assert time.monotonic() < deadline, "the cleaner did not run"
            produce(new, topic, values(1, [b"roll"]))
            time.sleep(0.3)
        named = found(spark, planned(made))
        assert named is not None
        missing = [one.source for one in named.samples if one.kind is FindingKind.MISSING]
        assert missing == [1, 11, 21, 31, 41], (
            "the newest is 41, and nothing that the link copied is later than the others"
        )
        assert named.counts[FindingKind.UNEXPECTED] > 0
        kinds = {kind for kind, number in named.counts.by_kind.items() if number}
        assert kinds <= {FindingKind.MISSING, FindingKind.UNEXPECTED, FindingKind.GONE_TARGET_COMPACTION}


def test_what_the_link_copied_past_the_pin_excuses(
    spark: SparkSession, old: SandboxCluster, new: SandboxCluster
) -> None:
    """The link went on meanwhile, and the cleaner took all that was pinned for its later copies."""
    topic = create(old, fresh("later"), configs=COMPACTED)
    produce(old, topic, values(5))
    with link(old, new, topic) as made:
        with made.running():
            made.await_position(topic, 50)
            spec = planned(made)
            pinned = range(spec.pins[0].target_to)
            configure(new, topic, CLEANED)
            count, deadline = 50, time.monotonic() + LONG_TIMEOUT_S
            while stored(new, topic) & set(pinned):
                assert time.monotonic() < deadline, "the cleaner did not run"
                produce(old, topic, values(1))
                count += len(KEYS)
                made.await_position(topic, count)
            named = found(spark, spec)
        assert named is not None and not named.doubt
        assert Counter(named.counts.by_kind) == {FindingKind.GONE_TARGET_COMPACTION: 50}
        named = found(spark, replace(spec, keep=False))
        assert named is not None and named.counts.differences == 0
        assert named.doubt.startswith("50 records are absent from the target; "), "who knows who wrote the later ones"
