"""Two simulated clusters and a link between them whose runs are persisted, for tests of verbs and rounds."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

from anabranch.kafka import groups as kafka_groups
from anabranch.kafka.admin import create_topic
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.settling import until_led
from anabranch.kafka.simulated import groups as simulated_groups
from anabranch.model.cluster import ClusterContext
from anabranch.model.groups import Commit, Group
from anabranch.model.lane import LaneKey, LaneMode, LaneProgress, LaneState
from anabranch.model.link import ClusterRef, GroupRules, LinkRecord, LinkSpec, MirroredTopic, WantedState
from anabranch.model.plugins import PluginSpec
from anabranch.model.topics import TopicId, TopicPartition
from anabranch.offsets.offset_map import MappedRange
from anabranch.protocol.claims import Claim, ClaimState
from anabranch.records.encode import encode
from anabranch.sandbox import ClusterSpec
from anabranch.state.topics.control import Links, MappedRanges, Progress, ensure_topics
from anabranch.state.topics.journal import Journal
from anabranch.state.topics.positions import Positions
from tests.simulated import Simulated
from tests.unit import asking
from tests.unit.asking import T, on

LINK = "old-new"
A, B, OTHER = TopicPartition("orders", 0), TopicPartition("orders", 1), TopicPartition("private", 0)
BLANK = TopicPartition("orders", 2)
"""A partition of the link of which nothing was copied yet."""
TO_A, TO_B = TopicPartition("old.orders", 0), TopicPartition("old.orders", 1)
RUNS = (MappedRange(10, 0, 10), MappedRange(25, 10, 5))
"""Source 10 to 19 and 25 to 29 of each partition are target 0 to 14; source 20 to 24, 30 and 31 are gaps."""
SOURCE_END, TARGET_END = 32, 15


@dataclass
class Lab:
    """The two clusters; what is asked of them runs in an event loop of its own, as the verbs do."""

    here: Simulated
    there: Simulated
    source: ClusterContext
    target: ClusterContext
    lanes: tuple[LaneProgress, ...] = ()

    def on(self, context: ClusterContext, ask: Callable[[Cluster], Awaitable[T]]) -> T:
        """What comes of asking one of the clusters."""
        return on(context, ask)

    def commit(self, context: ClusterContext, group: str, commits: Mapping[TopicPartition, Commit]) -> None:
        """Have a group commit."""
        self.on(context, lambda cluster: kafka_groups.commit(cluster, group, commits))

    def committed(self, context: ClusterContext, group: str) -> dict[TopicPartition, Commit]:
        """What a group has committed."""
        return self.on(context, lambda cluster: kafka_groups.committed(cluster, [group]))[group]

    def described(self, context: ClusterContext, group: str) -> Group:
        """Who reads in a group."""
        return self.on(context, lambda cluster: kafka_groups.describe(cluster, [group]))[group]

    def stored(self) -> Positions:
        """What the target stores about groups."""

        async def ask(cluster: Cluster) -> Positions:
            store = Positions(cluster)
            await store.sync()
            return store

        return self.on(self.target, ask)

    def follow(self, rules: GroupRules | None) -> None:
        """Have the link follow groups, or none."""

        async def put(cluster: Cluster) -> None:
            links = Links(cluster)
            await links.sync()
            record = links.links[LINK]
            wanted = replace(record.wanted, spec=replace(record.wanted.spec, groups=rules))
            await links.put(replace(record, wanted=wanted))

        self.on(self.target, put)

    @contextmanager
    def reader(self, cluster: Simulated, group: str) -> Iterator[None]:
        """Somebody reads in a group meanwhile."""
        member = simulated_groups.ClassicMember("", None, "till", "/127.0.0.1", 600_000, 600_000, (("range", b""),))
        cluster.served.do(lambda one: one.groups.join(group, member, "consumer", False, lambda joined: None))
        try:
            yield
        finally:
            cluster.served.do(lambda one: one.groups.leave(group, member.id))

    @contextmanager
    def pending(self, cluster: Simulated, group: str, at: TopicPartition, offset: int) -> Iterator[None]:
        """A transaction that will commit for a group is open meanwhile, and aborts."""
        commit = {(at.topic, at.partition): simulated_groups.CommittedOffset(offset, "", -1)}
        cluster.served.do(lambda one: one.groups.commit_later(group, 9_000, commit))
        try:
            yield
        finally:
            cluster.served.do(lambda one: one.groups.end_transaction(group, 9_000, commit=False))


@contextmanager
def lab() -> Iterator[Lab]:
    """Both clusters with their topics, their records and the persisted link."""
    with Simulated(ClusterSpec(name="old"), 1) as here, Simulated(ClusterSpec(name="new"), 2) as there:
        source = ClusterContext("old", tuple(here.bootstrap.split(",")))
        target = ClusterContext("new", tuple(there.bootstrap.split(",")))
        made = Lab(here, there, source, target)
        ids = made.on(source, _fill_source)
        made.lanes = made.on(target, lambda cluster: _fill_target(cluster, *ids))
        yield made


async def append(cluster: Cluster, at: TopicPartition, records: int) -> None:
    """Append some records to a partition."""
    meta, part = await cluster.partition(at.topic, at.partition)
    connection = await cluster.connection(part.leader)
    assert await asking.append(connection, at.topic, meta.id, encode(asking.records(records)), at.partition) == 0


async def _fill_source(cluster: Cluster) -> tuple[str, TopicId]:
    await create_topic(cluster, A.topic, 3, 1, {})
    await create_topic(cluster, OTHER.topic, 1, 1, {})
    await until_led(cluster, [A.topic, OTHER.topic])
    for at in (A, B, BLANK, OTHER):
        await append(cluster, at, SOURCE_END)
    answer = await cluster.metadata([A.topic])
    return answer.cluster_id, TopicId(answer.topics[A.topic].id)


async def _fill_target(cluster: Cluster, source_cluster: str, source_id: TopicId) -> tuple[LaneProgress, ...]:
    await create_topic(cluster, TO_A.topic, 2, 1, {})
    await ensure_topics(cluster)
    await until_led(cluster, [TO_A.topic])
    answer = await cluster.metadata([TO_A.topic])
    links, progress, ranges, journal = Links(cluster), Progress(cluster), MappedRanges(cluster), Journal(cluster)
    spec = LinkSpec(
        LINK,
        ClusterRef("old", source_cluster),
        ClusterRef("new", answer.cluster_id),
        filter=PluginSpec("regex", {"include": [A.topic]}),
        naming=PluginSpec("prefix"),
    )
    await links.put(LinkRecord(WantedState(spec), (source_cluster,), 1))
    await links.put_topic(
        MirroredTopic(LINK, A.topic, source_id, TO_A.topic, TopicId(answer.topics[TO_A.topic].id), {})
    )
    lanes = []
    for at, copied in ((A, TO_A), (B, TO_B)):
        lane = LaneKey(LINK, source_id, at.partition)
        await append(cluster, copied, TARGET_END)
        producer = 7_000 + at.partition
        claim = Claim(str(lane), producer, LaneMode.MAPPED, "run-1", None, 1_000, ClaimState.CLAIMED, 10, 0)
        await journal.append(claim)
        await ranges.persist({(lane, 0): RUNS})
        lanes.append(_progress(lane, at, copied))
    await progress.persist(lanes)
    return tuple(lanes)


def _progress(lane: LaneKey, at: TopicPartition, copied: TopicPartition) -> LaneProgress:
    return LaneProgress(
        lane=lane,
        source=at,
        target=copied,
        state=LaneState.FOLLOWING,
        mode=LaneMode.MAPPED,
        mode_reason="",
        position=SOURCE_END,
        log_start=0,
        stable=SOURCE_END,
        high_watermark=SOURCE_END,
        target_end=TARGET_END,
        records=TARGET_END,
        bytes=1,
        records_per_s=0.0,
        bytes_per_s=0.0,
        lag_bytes=0,
        lag_seconds=0.0,
        owner="run-1",
        updated_at_ms=2_000,
    )
