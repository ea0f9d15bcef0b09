"""Advice on real clusters: what it counts is what is there, and what it tells to do can be done."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from pathlib import Path

import pytest
from confluent_kafka import TopicPartition as Place

from anabranch.checkpoints.advice import Advice, ConditionStatus, ResumeOffsets, Way, WayKind
from anabranch.checkpoints.plan import RewriteSpec
from anabranch.kafka.clusters import Clusters
from anabranch.model.cluster import ClusterContext
from anabranch.model.link import ModePolicy
from anabranch.model.reasons import Reason
from anabranch.model.start import StartKind, StartPosition
from anabranch.model.topics import TopicPartition
from anabranch.operations.checkpoints import advise as operation
from anabranch.operations.checkpoints.advice_input import AdviceInput
from anabranch.operations.checkpoints.translation_source import ByLinks, ByStart, LinkAt, TranslationSource
from anabranch.sandbox import ClusterSpec, SandboxCluster
from qa import groups
from qa.brokers import STEADY
from tests.integration.links.groups import commit, reader, store
from tests.integration.links.lab import TIMEOUT_S, Link, link
from tests.integration.links.topics import create, fresh, numbered, produce
from tests.simulated import clusters

pytestmark = pytest.mark.test

GOLDEN = Path(__file__).parents[2] / "golden" / "flink" / "2.2.0"
SAVEPOINTS = GOLDEN / "names"


def by(made: Link) -> TranslationSource:
    """Positions are translated by a link."""
    return TranslationSource(ByLinks((LinkAt(made.id, made.target),)))


def advise(
    made: Link,
    path: str,
    told: AdviceInput,
    translation: TranslationSource | None,
    source: ClusterContext | None = None,
) -> tuple[Advice, ResumeOffsets | Reason]:
    """What is advised, with the contexts of a link's clusters."""

    async def run() -> tuple[Advice, ResumeOffsets | Reason]:
        async with Clusters({one.name: one for one in (made.source, made.target)}.__getitem__) as clusters:
            return await operation.advise(clusters, path, told, RewriteSpec(), translation, source)

    return asyncio.run(run())


def told(made: Link, **more: object) -> AdviceInput:
    """The flags of the link's route, and more."""
    return AdviceInput(("--link", made.id, "--target", made.target.name), **more)  # type: ignore[arg-type]


def way(advice: Advice, kind: WayKind) -> Way:
    """One of the ways."""
    return next(one for one in advice.ways if one.kind is kind)


def a_query(place: Path, topic: str, offsets: list[int]) -> str:
    """A Spark checkpoint with one committed batch, as far as advice looks at it."""
    for name in ("offsets", "commits", "sources/0"):
        (place / name).mkdir(parents=True)
    (place / "metadata").write_text('{"id":"9c622e09-a5ca-440c-aa7c-9397f25e9a38"}')
    line = json.dumps({topic: {str(at): offset for at, offset in enumerate(offsets)}}, separators=(",", ":"))
    begun = json.dumps({topic: dict.fromkeys(map(str, range(len(offsets))), 0)}, separators=(",", ":"))
    (place / "offsets" / "0").write_text(
        'v1\n{"batchWatermarkMs":0,"batchTimestampMs":1795224587031,"conf":{"spark.sql.shuffle.partitions":"1"}}\n'
        + line
    )
    (place / "commits" / "0").write_text('v1\n{"nextBatchWatermarkMs":0}')
    (place / "sources" / "0" / "0").write_bytes(b"\0v1\n" + begun.encode())
    return str(place)


def test_a_flink_job_on_a_mapped_link_is_advised_in_numbers(old: SandboxCluster, new: SandboxCluster) -> None:
    """Shift, lag and commits are counted on the clusters; a group begun as told stands exactly where the job is."""
    expected = json.loads((SAVEPOINTS / "expected.json").read_text())
    stands = {
        TopicPartition(at.rpartition(":")[0], int(at.rpartition(":")[2])): offset
        for at, offset in expected["sources"]["orders-source"]["next"].items()
    }
    topics = sorted({at.topic for at in stands})
    for topic in topics:
        create(old, topic, 2)
    for at in stands:
        produce(old, at.topic, numbered(100, partition=at.partition))
    commit(old, "flights", {(at.topic, at.partition): (offset - 1, "") for at, offset in stands.items()})
    start = StartPosition(StartKind.OFFSETS, offsets=dict.fromkeys(stands, 2))
    with link(old, new, topics, start=start, mode=ModePolicy.MAPPED) as made, made.running():
        for at in stands:
            made.await_position(at.topic, 100, partition=at.partition)
        path = str(SAVEPOINTS / expected["path"])
        inputs = told(made, group="flights", sql=False, measure_s=0.0)
        advice, exact = advise(made, path, inputs, by(made))
        assert advice.best is not None
        assert advice.best.kind is WayKind.REWRITE, advice.best
        assert (advice.unmodified_restart.repeated, advice.unmodified_restart.lost) == (0, 2 * len(stands))
        assert any(f"{400 - sum(stands.values())} records" in text for text in advice.seen), advice.seen
        fresh_uid = way(advice, WayKind.NEW_UID)
        assert fresh_uid.possible, fresh_uid.conditions
        assert f"{len(stands)} records would be read again and 0 never" in fresh_uid.notes[0]
        assert not way(advice, WayKind.IDENTITY).possible
        assert not way(advice, WayKind.PRODUCERS_FIRST).possible

        assert not isinstance(exact, Reason)
        assert exact.offsets == {at: offset - 2 for at, offset in stands.items()} and not exact.unread
        given = StartPosition(StartKind.OFFSETS, offsets=dict(exact.offsets))
        assert groups.create(made.target, "flights", topics, given).undo
        again, _ = advise(made, path, inputs, by(made))
        assert "0 records would be read again and 0 never" in way(again, WayKind.NEW_UID).notes[0]


@pytest.mark.real
def test_a_spark_query_on_identity_lanes_needs_no_rewrite(
    old: SandboxCluster, new: SandboxCluster, tmp_path: Path
) -> None:
    """Equal offsets are seen as such; what is not copied yet is told as what passes."""
    topic = create(old, fresh("advised"), 2)
    produce(old, topic, numbered(50))
    produce(old, topic, numbered(50, partition=1))
    path = a_query(tmp_path / "cp", topic, [40, 50])
    with link(old, new, topic) as made:
        with made.running():
            made.await_position(topic, 50)
            made.await_position(topic, 50, partition=1)
            advice, exact = advise(made, path, told(made, measure_s=0.0), by(made))
        assert advice.best is not None
        assert advice.best.kind is WayKind.IDENTITY
        assert advice.unmodified_restart.exact
        assert not isinstance(exact, Reason)
        assert exact.offsets == {TopicPartition(topic, 0): 40, TopicPartition(topic, 1): 50}
        produce(old, topic, numbered(20))
        later = a_query(tmp_path / "later", topic, [65, 50])
        behind, exact = advise(made, later, told(made, measure_s=0.0), by(made))
        assert isinstance(exact, Reason)
        rewritten = way(behind, WayKind.REWRITE)
        assert rewritten.possible
        assert rewritten.count(ConditionStatus.LATER) == 1


def test_sources_on_links_to_two_clusters_are_advised_each_with_its_own(
    old: SandboxCluster, new: SandboxCluster, pytestconfig: pytest.Config
) -> None:
    """Both targets are looked at; the positions of each are written and begun there, and one rewrite moves both."""
    place = GOLDEN / "retained"
    expected = json.loads((place / "expected.json").read_text())
    path = str(place / expected["path"])
    create(old, "orders", 4)
    create(old, "payments", 2)
    for topic, partitions in (("orders", 4), ("payments", 2)):
        for partition in range(partitions):
            produce(old, topic, numbered(60, partition=partition))
    begin = dict.fromkeys((TopicPartition("payments", 0), TopicPartition("payments", 1)), 2)
    start = StartPosition(StartKind.OFFSETS, offsets=begin)
    with (
        clusters(pytestconfig, ClusterSpec("far", overrides=STEADY)) as (far,),
        link(old, new, "orders", mode=ModePolicy.MAPPED) as near,
        link(old, far, "payments", start=start, mode=ModePolicy.MAPPED) as other,
        near.running(),
        other.running(),
    ):
        for partition in range(4):
            near.await_position("orders", 60, partition=partition)
        for partition in range(2):
            other.await_position("payments", 60, partition=partition)
        translation = TranslationSource(ByLinks((LinkAt(near.id, near.target), LinkAt(other.id, other.target))))
        flags = ("--link", f"{near.id}@new", "--link", f"{other.id}@far")
        advice, exact = advise(near, path, AdviceInput(flags, measure_s=0.0), translation)
        assert advice.best is not None and advice.best.kind is WayKind.REWRITE, advice.best
        assert (advice.unmodified_restart.repeated, advice.unmodified_restart.lost) == (0, 4), (
            "payments begin two records later there"
        )
        assert not isinstance(exact, Reason)
        assert exact.offsets[TopicPartition("orders", 0)] == 40 and exact.offsets[TopicPartition("payments", 0)] == 10
        steps = [step.command for step in way(advice, WayKind.DROP_SOURCE).steps]
        assert any(f"--link {near.id}@new --stay payments --out positions-new.json" in one for one in steps), steps
        assert any("--topic payments --start @positions-far.json --target far" in one for one in steps), steps
        again = way(advice, WayKind.RENAMED_TOPIC)
        assert not again.possible
        assert again.effect.repeated == sum(exact.offsets.values()), "both logs were looked at where they are"


def test_draining_is_timed_by_the_commits_of_two_looks(
    old: SandboxCluster, new: SandboxCluster, tmp_path: Path
) -> None:
    """A group that reads while it is looked at tells how long the rest will take; empty topics let producers lead."""
    topic = create(old, fresh("drained"))
    create(new, topic)
    produce(old, topic, numbered(5000), batch=500)
    path = a_query(tmp_path / "cp", topic, [100])
    group = fresh("drainer")
    over = threading.Event()

    def read() -> None:
        consumer, offset = reader(old, group), 100
        while not over.wait(0.1):
            offset += 1
            store(consumer, [Place(topic, 0, offset)])
        consumer.close()

    with link(old, new, fresh("nothing"), create=False) as made:
        commit(old, group, {(topic, 0): (100, "")})
        thread = threading.Thread(target=read)
        thread.start()
        try:
            inputs = AdviceInput(("--start", "earliest", "--target", "new"), group=group, measure_s=3.0, downtime_s=1e9)
            way_ = ByStart(StartPosition(StartKind.EARLIEST), made.target)
            deadline = time.monotonic() + TIMEOUT_S
            while True:
                advice, _ = advise(made, path, inputs, TranslationSource(way_), made.source)
                first = way(advice, WayKind.PRODUCERS_FIRST)
                if first.waits_s is not None:
                    break
                assert time.monotonic() < deadline, "nothing was ever committed between two looks"
        finally:
            over.set()
            thread.join()
    assert first.possible
    assert first.waits_s > 0
    assert first.effect.exact
