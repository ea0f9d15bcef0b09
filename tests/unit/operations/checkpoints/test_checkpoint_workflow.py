"""The verbs on a query's checkpoint and a link between simulated clusters: planned, carried out, proved, undone."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeVar

import pytest

from anabranch.checkpoints.reports import Lag, VerificationReport
from anabranch.config.maps_file import StoredMap
from anabranch.kafka.admin import create_topic
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.clusters import Clusters
from anabranch.kafka.security import open_cluster
from anabranch.kafka.settling import until_led
from anabranch.kafka.simulated.cluster import SimulatedCluster
from anabranch.model.lane import LaneKey
from anabranch.model.plans import PlanChangedError
from anabranch.model.reasons import Reason, ReasonKind
from anabranch.model.topics import TopicId, TopicPartition
from anabranch.offsets.offset_map import OffsetMap
from anabranch.operations.checkpoints import activity, rewrite, undo
from anabranch.operations.checkpoints.errors import JobStillWritingError, PlanRefusedError, UnfinishedRewriteError
from anabranch.operations.checkpoints.inspect import inspect
from anabranch.operations.checkpoints.live import read_target
from anabranch.operations.checkpoints.plans import RewritePlan, RewriteReport, RewriteRequest
from anabranch.operations.checkpoints.proving import prove
from anabranch.operations.checkpoints.routes import MappedLane
from anabranch.operations.checkpoints.translation_source import ByLinks, ByMaps, ByOffsets, LinkAt, TranslationSource
from anabranch.operations.checkpoints.unmodified_restart import ReadableRange
from anabranch.operations.checkpoints.verify import verify
from anabranch.records.encode import encode
from anabranch.records.header import read_header
from anabranch.records.record import Record, TimestampType
from tests.unit.link_lab import LINK, RUNS, SOURCE_END, TARGET_END, TO_A, A, B, Lab, append, lab
from tests.unit.operations.checkpoints.world import WISH, settle, snapshot

pytestmark = pytest.mark.unit

CONF = '{"batchWatermarkMs":0,"batchTimestampMs":1700000000000,"conf":{}}'
OLD = {"orders-0": 20, "orders-1": 27}
NEW = {"old.orders-0": 10, "old.orders-1": 12}
GIVEN = {TO_A: 3, TopicPartition(TO_A.topic, 1): 4}


@pytest.fixture(scope="module")
def both() -> Iterator[Lab]:
    """The clusters, which no test here changes but by topics of its own."""
    with lab() as made:
        yield made


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A query of both partitions that was stopped long ago."""
    root = tmp_path / "cp"
    for path, text in (
        ("metadata", '{"id":"9c622e09-a5ca-440c-aa7c-9397f25e9a38"}'),
        ("offsets/0", f'v1\n{CONF}\n{{"orders":{{"0":12,"1":14}}}}'),
        ("offsets/1", f'v1\n{CONF}\n{{"orders":{{"0":20,"1":27}}}}'),
        ("commits/0", 'v1\n{"nextBatchWatermarkMs":0}'),
        ("commits/1", 'v1\n{"nextBatchWatermarkMs":0}'),
    ):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    settle(root)
    return root


def reads_on(place: Path) -> dict[str, object]:
    """Where the query reads on."""
    found = asyncio.run(inspect(str(place))).page.sources[0].positions
    return {str(one.partition): one.offset for one in found if one.role == "next"}


T = TypeVar("T")


def ask(both: Lab, verb: Callable[[Clusters], Awaitable[T]]) -> T:
    """What comes of a verb that is handed both clusters."""

    async def run() -> T:
        async with Clusters(lambda _: both.source) as clusters:
            return await verb(clusters)

    return asyncio.run(run())


def planned(both: Lab, place: Path, translation: TranslationSource, stopped: bool = False) -> RewritePlan:
    """What a rewrite in place would do."""
    request = RewriteRequest(str(place), WISH, translation, stopped=stopped)
    return ask(both, lambda clusters: rewrite.plan(clusters, request))


def rewritten(both: Lab, plan: RewritePlan) -> RewriteReport:
    """A plan is carried out."""
    return ask(both, lambda clusters: rewrite.apply(clusters, plan))


def proved(both: Lab, place: Path, translation: TranslationSource) -> VerificationReport:
    """The result is held against its own backup."""
    return ask(both, lambda clusters: verify(clusters, str(place), WISH, translation))


def undone(place: Path) -> None:
    """The newest rewrite is taken back."""
    asyncio.run(undo.apply(asyncio.run(undo.plan(str(place)))))


def by_link(both: Lab, times: int = 1) -> TranslationSource:
    """By the link's live maps."""
    return TranslationSource(ByLinks((LinkAt(LINK, both.target),) * times))


def test_a_rewrite_by_a_link_is_what_was_planned_and_is_proved_and_undone(both: Lab, place: Path) -> None:
    """In a gap as in a run the position is that of the first copy that was not read."""
    translation, before = by_link(both), snapshot(place, hidden=True)
    plan = planned(both, place, translation)
    assert (plan.refusals, reads_on(place)) == ((), OLD)
    done = rewritten(both, plan)
    assert (done.plan.hash, reads_on(place)) == (plan.hash, NEW)
    found = proved(both, place, translation)
    assert found.sound and found.was == f"backup {done.undo}"
    undone(place)
    assert snapshot(place, hidden=True) == before


def test_another_plan_than_the_one_that_was_shown_is_not_carried_out(both: Lab, place: Path) -> None:
    """The hash is compared before anything is written."""
    plan = replace(planned(both, place, by_link(both)), hash="0123456789abcdef")
    before = snapshot(place, hidden=True)
    with pytest.raises(PlanChangedError, match="since plan 0123456789abcdef"):
        rewritten(both, plan)
    assert snapshot(place, hidden=True) == before


def test_a_plan_of_which_the_checkpoint_has_gone_on_is_not_carried_out(both: Lab, place: Path) -> None:
    """It is made again from its own request, and its hash is another one."""
    plan = planned(both, place, by_link(both))
    (place / "offsets" / "1").write_text((place / "offsets" / "1").read_text().replace("20", "21"))
    settle(place)
    before = snapshot(place, hidden=True)
    with pytest.raises(PlanChangedError, match=f"since plan {plan.hash}"):
        rewritten(both, plan)
    assert snapshot(place, hidden=True) == before


def test_a_rewrite_is_taken_back_only_as_it_was_shown(both: Lab, place: Path) -> None:
    """A second rewrite since is another plan to undo; nothing is put back."""
    rewritten(both, planned(both, place, by_link(both)))
    shown = asyncio.run(undo.plan(str(place)))
    settle(place)
    rewritten(both, planned(both, place, TranslationSource(ByOffsets("positions.json", GIVEN, both.target))))
    with pytest.raises(PlanChangedError):
        asyncio.run(undo.apply(shown))
    assert reads_on(place) == {"old.orders-0": 3, "old.orders-1": 4}


def test_a_job_that_has_just_written_is_not_rewritten(both: Lab, place: Path) -> None:
    """Its plan notes it; carrying it out is refused, and nothing is written."""
    settle(place, at_s=4_000_000_000)
    before = snapshot(place, hidden=True)
    plan = planned(both, place, by_link(both))
    assert not plan.refusals and "the job may still run" in plan.notes[-1]
    with pytest.raises(PlanRefusedError, match="the job may still run") as told:
        rewritten(both, plan)
    assert [one.why for one in told.value.refusals] == [ReasonKind.RUNNING]
    assert snapshot(place, hidden=True) == before


def test_a_job_that_is_only_said_to_be_stopped_is_watched(
    both: Lab, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it writes between the two looks is found, and nothing of ours is written."""

    def batch(_: float) -> None:
        (place / "offsets" / "2").write_bytes((place / "offsets" / "1").read_bytes())

    monkeypatch.setattr(rewrite, "watch", partial(activity.watch, sleep=batch))
    with pytest.raises(JobStillWritingError, match="offsets/2"):
        rewritten(both, planned(both, place, by_link(both), stopped=True))
    (place / "offsets" / "2").unlink()
    assert reads_on(place) == OLD


def test_a_rewrite_that_broke_off_is_not_verified(both: Lab, place: Path) -> None:
    """However right its positions look: some files may be old."""
    done = rewritten(both, planned(both, place, by_link(both)))
    manifest = place / ".anabranch" / str(done.undo) / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"state": "done"', '"state": "begun"'))
    with pytest.raises(UnfinishedRewriteError):
        proved(both, place, by_link(both))


def test_of_two_rewrites_the_newest_is_proved(both: Lab, place: Path) -> None:
    """Against what it was made from, not against what the first was made from."""
    rewritten(both, planned(both, place, by_link(both)))
    settle(place)
    translation = TranslationSource(ByOffsets("positions.json", GIVEN, both.target))
    rewritten(both, planned(both, place, translation))
    assert reads_on(place) == {"old.orders-0": 3, "old.orders-1": 4}
    found = proved(both, place, translation)
    assert found.sound, found.problems
    undone(place)
    assert reads_on(place) == NEW


def test_a_map_of_a_topic_that_was_made_again_leads_nowhere(both: Lab, place: Path) -> None:
    """Only the id tells: name, partitions and offsets may all fit."""

    async def target_id(cluster: Cluster) -> TopicId:
        return TopicId((await cluster.metadata([TO_A.topic])).topics[TO_A.topic].id)

    def translation(id_: TopicId) -> TranslationSource:
        ranges = OffsetMap.of(RUNS).advance(SOURCE_END, TARGET_END)
        maps = tuple(
            StoredMap(
                LaneKey(LINK, TopicId.ZERO, at.partition), at, TopicPartition(TO_A.topic, at.partition), ranges, id_
            )
            for at in (A, B)
        )
        return TranslationSource(ByMaps("maps.json", maps, both.target))

    assert not planned(both, place, translation(both.on(both.target, target_id))).refusals
    told = planned(both, place, translation(TopicId(uuid.uuid4())))
    assert {one.why for one in told.refusals} == {ReasonKind.IN_DOUBT}


def test_a_topic_of_two_links_is_moved_by_neither(both: Lab, place: Path) -> None:
    """Which of two copies is meant cannot be told."""
    told = planned(both, place, by_link(both, times=2))
    assert {one.why for one in told.refusals} == {ReasonKind.AMBIGUOUS}


def test_a_lag_is_what_is_left_to_read(both: Lab, place: Path) -> None:
    """Against the old cluster, partition by partition."""
    lags = both.on(both.source, lambda cluster: inspect(str(place), cluster)).lags
    assert lags == (Lag("0", A, 0, 32, 12), Lag("0", B, 0, 32, 5))


def test_a_range_is_equal_where_both_logs_hold_as_many_records_as_the_map(both: Lab) -> None:
    """Batches that reach over its ends count in part; records that were not copied are not passed over."""
    ranges = OffsetMap.of(RUNS).advance(SOURCE_END, TARGET_END)
    lane = MappedLane("link", A, TO_A, ranges)

    async def ask(start: int, end: int) -> Reason | None:
        async with open_cluster(both.source) as here, open_cluster(both.target) as there:
            return await prove(here, there, lane, start, end, ReadableRange(0, TARGET_END, TARGET_END))

    assert asyncio.run(ask(12, 18)) is None
    told = asyncio.run(ask(15, 27))
    assert told is not None and told.why is ReasonKind.NOT_EQUAL
    assert "holds 12 records, of which 7 are in the map" in told.what


def test_the_end_of_a_log_is_before_an_open_transaction(both: Lab) -> None:
    """A reader that sees committed records only gets no further, whatever lies behind."""
    at = TopicPartition("transacted", 0)
    records = [Record(0, 1_000, TimestampType.CREATE_TIME, b"k", b"v")]
    batch = encode(records, producer_id=9_001, producer_epoch=0, sequence=0, transactional=True)

    async def make(cluster: Cluster) -> None:
        await create_topic(cluster, at.topic, 1, 1, {})
        await until_led(cluster, [at.topic])
        await append(cluster, at, 4)

    def begin(cluster: SimulatedCluster) -> None:
        partition = cluster.topics[at.topic].partitions[0]
        partition.led.log.append(batch, read_header(batch), partition.leader_epoch, 1_000)
        cluster.appended(partition)

    both.on(both.target, make)
    both.there.served.do(begin)
    assert both.on(both.target, lambda cluster: read_target(cluster, {at.topic})).log(at) == ReadableRange(0, 4, 5)
