"""What the pages are shown in their tests: links in every state, groups, a comparison with samples, a checkpoint."""

from __future__ import annotations

import json
import random
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from uuid import uuid5

from anabranch.config import maps_file
from anabranch.config.maps_file import StoredMap
from anabranch.kafka.admin import create_topic
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.log import KeyedLog
from anabranch.kafka.settling import until_led
from anabranch.mirrormaker.names import HEARTBEATS, checkpoints_topic, offset_syncs_topic
from anabranch.mirrormaker.store import OffsetSync
from anabranch.mirrormaker.wire import (
    Heartbeat,
    MirrorCheckpoint,
    encode_checkpoint,
    encode_heartbeat,
    encode_sync,
)
from anabranch.model.clock import now_ms
from anabranch.model.groups import Commit
from anabranch.model.lane import LaneKey, LaneMode, LaneProgress, LaneState
from anabranch.model.link import ClusterRef, LinkRecord, LinkSpec, WantedState
from anabranch.model.plugins import PluginSpec
from anabranch.model.reasons import Reason, Severity
from anabranch.model.reports import LinkPlan
from anabranch.model.topics import TopicId, TopicPartition
from anabranch.offsets.offset_map import OffsetMap
from anabranch.service.board import Sample
from anabranch.state.codecs.verified import LaneVerified, RunState, VerifyRun
from anabranch.state.topics.control import Links, Progress, ensure_topics, write
from anabranch.state.topics.verified import VerifiedTopic
from tests.unit.link_lab import LINK, RUNS, TO_A, TO_B, A, B, Lab
from tests.unit.operations.checkpoints.world import settle

NAMESPACE = TopicId.parse("AAAAAAAAAAAAAAAAAAAAAQ")
TOPICS = ("orders", "payments", "shipments", "returns", "catalogue.items", "catalogue.prices", "clicks", "sessions")
RUN = "run-1f0c2d3e4a5b"
CONF = '{"batchWatermarkMs":0,"batchTimestampMs":1700000000000,"conf":{}}'


def topic_id(name: str) -> TopicId:
    """The same id for the same name, whenever."""
    return TopicId(uuid5(NAMESPACE.uuid, name))


def lanes_of(link: str, number: int, owner: str, chance: random.Random, partitions: int = 100) -> list[LaneProgress]:
    """Lanes of a link that follow, with some that copy."""
    now = now_ms()
    made = []
    for at in range(number):
        topic = f"{TOPICS[(at // partitions) % len(TOPICS)]}.{at // partitions:03d}"
        source = TopicPartition(topic, at % partitions)
        end = chance.randrange(10_000, 50_000_000)
        lag = 0 if chance.random() < 0.9 else chance.randrange(1, 200_000)
        made.append(
            LaneProgress(
                lane=LaneKey(link, topic_id(topic), source.partition),
                source=source,
                target=source,
                state=LaneState.COPYING if lag else LaneState.FOLLOWING,
                mode=LaneMode.MAPPED if at % 7 == 0 else LaneMode.IDENTITY,
                mode_reason="the source topic is compacted" if at % 7 == 0 else "",
                position=end - lag,
                log_start=0,
                stable=end,
                high_watermark=end,
                target_end=end - lag,
                records=end - lag,
                bytes=(end - lag) * 310,
                records_per_s=chance.uniform(0, 4000),
                bytes_per_s=chance.uniform(0, 4000) * 310,
                lag_bytes=lag * 310,
                lag_seconds=lag / 900,
                owner=owner,
                updated_at_ms=now,
                source_seen_ms=now,
                latency_ms=chance.randrange(4, 60),
            )
        )
    return made


def moved(lanes: Sequence[LaneProgress], chance: random.Random, most: int) -> list[tuple[int, LaneProgress]]:
    """Some lanes a second later, by their index."""
    now = now_ms()
    found = []
    for at in chance.sample(range(len(lanes)), min(most, len(lanes))):
        lane = lanes[at]
        if lane.state in {LaneState.STOPPED, LaneState.PAUSED}:
            found.append((at, replace(lane, updated_at_ms=now, source_seen_ms=now)))
            continue
        more = chance.randrange(0, 4000)
        lag = max(0, lane.stable - lane.position + chance.randrange(-3000, 1500)) if lane.lag_records else 0
        end = lane.stable + more
        found.append(
            (
                at,
                replace(
                    lane,
                    stable=end,
                    high_watermark=end,
                    position=end - lag,
                    records=lane.records + more,
                    bytes=lane.bytes + more * 310,
                    records_per_s=float(more),
                    bytes_per_s=more * 310.0,
                    lag_bytes=lag * 310,
                    lag_seconds=lag / 900,
                    latency_ms=chance.randrange(4, 60) if more else None,
                    state=LaneState.COPYING if lag else LaneState.FOLLOWING,
                    updated_at_ms=now,
                    source_seen_ms=now,
                ),
            )
        )
    return found


def stopped(lane: LaneProgress) -> LaneProgress:
    """The same lane, stopped."""
    why = "the batch at offset 1,204 has 1,310,720 B, more than max.message.bytes of the target topic (1,048,588)"
    return replace(
        lane,
        state=LaneState.STOPPED,
        lag_seconds=None,
        stop_reason=why,
        stop_offset=lane.position,
        records_per_s=0.0,
        bytes_per_s=0.0,
        stable=lane.position + 5_231,
        high_watermark=lane.position + 5_231,
    )


def paused(lane: LaneProgress) -> LaneProgress:
    """The same lane, paused with its link."""
    return replace(lane, state=LaneState.PAUSED, records_per_s=0.0, bytes_per_s=0.0)


async def add_link(
    cluster: Cluster, record: LinkRecord, lanes: Sequence[LaneProgress], findings: Iterable[Reason] = ()
) -> None:
    """Store a link with its lanes, and what was planned."""
    await ensure_topics(cluster)
    links, progress = Links(cluster), Progress(cluster)
    await links.put(record)
    await progress.persist(lanes)
    if lanes:
        await progress.plan(plan_of(record.wanted.spec.id, lanes, findings))


def plan_of(link: str, lanes: Sequence[LaneProgress], findings: Iterable[Reason] = ()) -> LinkPlan:
    """What the link's planner found a moment ago."""
    return LinkPlan(link, lanes[0].owner, 12, now_ms(), len(lanes), tuple(findings), looked_at_ms=now_ms())


def record(
    link: str, source: str, target: str, ids: tuple[str, str], *, paused: bool = False, rate_limit: int | None = None
) -> LinkRecord:
    """A link as it is stored."""
    spec = LinkSpec(
        link,
        ClusterRef(source, ids[0]),
        ClusterRef(target, ids[1]),
        filter=PluginSpec("regex", {"include": ["[a-z.]+\\.[0-9]+", "payments.*"], "exclude": [".*\\.test"]}),
        rate_limit=rate_limit,
    )
    return LinkRecord(WantedState(spec, paused, 3), (ids[0],), now_ms() - 86_400_000)


FINDINGS = (
    Reason.found(
        Severity.WARNING,
        "topic returns.003 has cleanup.policy compact on the source and delete on the target",
        "allow cleanup.policy in the link's configs, or change the target topic",
    ),
)


def commit_groups(both: Lab) -> None:
    """Groups that would move, that is in sync, that is refused."""
    both.commit(both.source, "shop", {A: Commit(12), B: Commit(27)})
    both.commit(both.source, "billing", {A: Commit(15)})
    both.commit(both.source, "reports", {A: Commit(30), TopicPartition("private", 0): Commit(3)})
    both.commit(both.source, "search-index", {B: Commit(19)})


async def compared(cluster: Cluster, lanes: Sequence[LaneProgress]) -> None:
    """A comparison that found three records."""
    now = now_ms()
    run = VerifyRun(
        LINK, "verify-5a6b7c", RunState.DONE, now - 95_000, now - 30_000, 44, 44, 60, 18_400, 3, {}, {}, ""
    )  # fmt: skip
    counts = dict.fromkeys(
        (
            *("missing", "duplicate", "reordered", "modified", "unexpected", "hidden", "displaced", "unnamed"),
            *("gone_source_retention", "gone_target_retention", "gone_source_compaction", "gone_target_compaction"),
        ),
        0,
    )

    def side(at: TopicPartition, end: int) -> dict[str, object]:
        told: dict[str, object] = {"topic": at.topic, "partition": at.partition, "from": 0, "since": 0}
        return {**told, "verified_to": end, "to": end, "compacts": False, "records": 15, "digest": "6d1f09ab"}

    def lane(one: LaneProgress, verdict: str, **found: int) -> dict[str, object]:
        target = {**side(one.target, 15), "uncommitted_digest": None}
        told: dict[str, object] = {"lane": str(one.source), "verdict": verdict, "source": side(one.source, 30)}
        return {**told, "target": target, "bytes": 9_200, "chunks_not_named": 0, "counts": {**counts, **found}}

    def sample(kind: str, source: int | None, target: int | None, *fields: str) -> dict[str, object]:
        sides = {"source": "key 1 B, value 1 B: 76", "target": "key 1 B, value 1 B: 77"}
        told: dict[str, object] = {"lane": "orders-1", "kind": kind, "source_offset": source, "target_offset": target}
        return {**told, "fields": list(fields), "contents": sides if fields else None}

    report = {
        "v": 1,
        "verdict": "different",
        "link": LINK,
        "run": run.run,
        "started_at_ms": run.started_at_ms,
        "finished_at_ms": run.updated_at_ms,
        "source": {"context": "old", "cluster_id": "old-id"},
        "target": {"context": "new", "cluster_id": "new-id"},
        "reader": "records",
        "levels": "both",
        "records_read": 60,
        "bytes_read": 18_400,
        "records_per_s": 1_240.0,
        "versions": {"anabranch": "0.1.0", "spark": "4.1.3"},
        "counts": {**counts, "modified": 1, "missing": 2},
        "lanes": [lane(lanes[0], "equal"), lane(lanes[1], "different", modified=1, missing=2)],
        "not_compared": [],
        "samples": [
            sample("modified", 12, 2, "value"),
            sample("missing", 17, None),
            sample("missing", 26, None),
        ],
    }
    topic = VerifiedTopic(cluster)
    await topic.ensure()
    verified = [
        LaneVerified(str(one.lane), run.run, (10, 30), (0, 15), ((12, 12),) if at else (), now - 30_000)
        for at, one in enumerate(lanes)
    ]
    await topic.persist(run, verified, report)


async def _kept(cluster: Cluster, topic: str, entries: Sequence[tuple[bytes, bytes]]) -> None:
    await create_topic(cluster, topic, 1, 1, {"cleanup.policy": "compact"})
    await until_led(cluster, [topic])
    await write(KeyedLog(cluster, topic), entries)


async def mirrored_source(cluster: Cluster) -> None:
    """The offset syncs of a MirrorMaker 2 that copies beside the link."""
    syncs = [encode_sync(A, OffsetSync(10, 0)), encode_sync(A, OffsetSync(25, 10)), encode_sync(B, OffsetSync(25, 10))]
    await _kept(cluster, offset_syncs_topic("new"), syncs)


async def mirrored_target(cluster: Cluster) -> None:
    """Its checkpoints, one of which is far off, and its last sign of life."""
    answers = [
        MirrorCheckpoint("shop", TO_A, 12, 1),
        MirrorCheckpoint("shop", TO_B, 27, 12),
        MirrorCheckpoint("search-index", TO_B, 19, 1),
    ]
    await _kept(cluster, checkpoints_topic("old"), [encode_checkpoint(one) for one in answers])
    await _kept(cluster, HEARTBEATS, [encode_heartbeat(Heartbeat("old", "new", now_ms() - 3_000))])


def maps(both: Lab, file: Path, link: str) -> Path:
    """What `offsets rebuild` would have made of the copies, for a link that adopts them."""

    async def ids(cluster: Cluster) -> TopicId:
        return TopicId((await cluster.metadata([TO_A.topic])).topics[TO_A.topic].id)

    copy = both.on(both.target, ids)
    made = [
        StoredMap(
            LaneKey(link, lane.lane.topic_id, lane.source.partition), lane.source, lane.target, OffsetMap.of(RUNS), copy
        )
        for lane in both.lanes
    ]
    maps_file.save_rebuilt(file, link, "old", "new", made, now_ms())
    return file


def checkpoint(root: Path) -> Path:
    """A query of both partitions that was stopped long ago."""
    for path, text in (
        ("metadata", '{"id":"9c622e09-a5ca-440c-aa7c-9397f25e9a38"}'),
        ("offsets/0", f'v1\n{CONF}\n{{"orders":{{"0":12,"1":14}}}}'),
        ("offsets/1", f'v1\n{CONF}\n{{"orders":{{"0":20,"1":27}}}}'),
        ("commits/0", 'v1\n{"nextBatchWatermarkMs":0}'),
        ("commits/1", 'v1\n{"nextBatchWatermarkMs":0}'),
    ):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    settle(root)
    return root


def past(chance: random.Random, base: float) -> deque[Sample]:
    """An hour of a link that caught up with a backlog."""
    now, lag, found = now_ms(), 440.0 * base, deque[Sample](maxlen=360)
    for at in range(360):
        behind = lag > 7 * base
        rate = base * (1.9 if behind else 1.0) * chance.uniform(0.85, 1.15)
        lag = lag - rate * 0.47 * 10 if behind else chance.uniform(3, 7) * base
        away = 200 <= at < 209
        found.append(
            Sample(
                now - (360 - at) * 10_000,
                0.0 if away else rate,
                0.0 if away else rate * 310,
                None if away else round(lag),
                None if away else round(lag * 310),
                None if away else lag / base,
                None if away else round(1000 * lag / base if behind else chance.uniform(6, 40)),
                0,
            )
        )
    return found


def contexts_of(*pairs: tuple[str, object]) -> dict[str, object]:
    """The contexts file's entries; ``lost`` is one that nothing answers for."""
    return {**json.loads(json.dumps(dict(pairs))), "lost": {"bootstrap": ["127.0.0.1:9"]}}
