"""One of everything that is stored; the golden files hold their bytes."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

from anabranch.groups.baseline import Baseline, BaselinePartition, Coverage
from anabranch.groups.continuous_sync import SyncState
from anabranch.groups.freshness import GroupSyncStatus, SyncRound
from anabranch.groups.undo import UndoRecord
from anabranch.migration.access.values import QuotaKey
from anabranch.model.acls import Acl, AclOperation, AclPermission, PatternType, ResourceType
from anabranch.model.configs import ConfigRules
from anabranch.model.decisions import LaneDecision, SourcePartition
from anabranch.model.groups import Commit, GroupKind
from anabranch.model.lane import LaneAssignment, LaneKey, LaneMode, LaneProgress, LaneState
from anabranch.model.link import ClusterRef, GroupRules, LinkRecord, LinkSpec, MirroredTopic, ModePolicy, WantedState
from anabranch.model.plugins import PluginSpec
from anabranch.model.quotas import CLIENT_ID, PRODUCER_BYTE_RATE, USER, quota_entity
from anabranch.model.reasons import Reason, Severity
from anabranch.model.reports import LinkPlan, StopRequest
from anabranch.model.start import LaneStart, StartKind, StartPosition
from anabranch.model.topics import TopicId, TopicPartition
from anabranch.offsets.offset_map import MappedRange
from anabranch.protocol.claims import Claim, ClaimState
from anabranch.protocol.gap_records import GapRecord, OffsetSpan

ORDERS = TopicId(UUID("0f8fad5b-d9cb-469f-a165-70867728950e"))
MIRROR = TopicId(UUID("7c9e6679-7425-40de-944b-e07fc1f90ae7"))
LANE = LaneKey("old-new", ORDERS, 3, 0)
RULE = Acl(
    ResourceType.TOPIC,
    "größe.orders",
    PatternType.PREFIXED,
    "User:CN=shop/till,O=a",
    "*",
    AclOperation.READ,
    AclPermission.ALLOW,
)
QUOTA = QuotaKey(quota_entity({USER: "shop", CLIENT_ID: None}), PRODUCER_BYTE_RATE)

LINK = LinkRecord(
    wanted=WantedState(
        spec=LinkSpec(
            id="old-new",
            source=ClusterRef("old", "MkU3OEVBNTcwNTJENDM2Qg"),
            target=ClusterRef("new", "4L6g3nShT-eMCtK--X86sw"),
            filter=PluginSpec("regex", {"include": ["orders", "größe\\..*"], "exclude": []}),
            naming=PluginSpec("prefix", {"separator": "."}),
            replication_factor=3,
            start=StartPosition(StartKind.OFFSETS, None, {TopicPartition("orders", 3): 42}),
            mode=ModePolicy.MAPPED,
            configs=ConfigRules((".*",), ("segment\\..*",)),
            rate_limit=50_000_000,
            lease_seconds=60,
        ),
        paused=True,
        revision=7,
    ),
    origins=("MkU3OEVBNTcwNTJENDM2Qg", "zzz"),
    created_at_ms=1_760_000_000_000,
)
TOPIC = MirroredTopic("old-new", "orders", ORDERS, "old.orders", MIRROR, {"retention.ms": "604800000"})
CLAIM = Claim(
    lane=str(LANE),
    producer_id=4001,
    mode=LaneMode.MAPPED,
    owner="worker-1/4711/1760000000000",
    transactional_id=None,
    claimed_at_ms=1_760_000_000_123,
    state=ClaimState.CLAIMED,
    start=42,
    floor=0,
)
PROGRESS = LaneProgress(
    lane=LANE,
    source=TopicPartition("orders", 3),
    target=TopicPartition("old.orders", 3),
    state=LaneState.STOPPED,
    mode=LaneMode.MAPPED,
    mode_reason="the link's policy",
    position=1000,
    log_start=40,
    stable=1990,
    high_watermark=2000,
    target_end=958,
    records=958,
    bytes=191_600,
    records_per_s=120.5,
    bytes_per_s=24_100.0,
    lag_bytes=200_000,
    lag_seconds=8.25,
    owner="worker-1/4711/1760000000000",
    updated_at_ms=1_760_000_001_000,
    stop_reason="a batch is larger than the target accepts",
    stop_offset=1000,
)
AGREED = replace(PROGRESS, source_epoch=(998, 7))
SEEN = replace(AGREED, source_seen_ms=1_760_000_000_400)
AWAY = replace(SEEN, state=LaneState.UNREACHABLE, lag_bytes=None, lag_seconds=None)
LOOKED = replace(SEEN, target_epoch=(1003, 4))
COPYING = replace(LOOKED, state=LaneState.COPYING, stop_reason=None, stop_offset=None, latency_ms=12)
PLAN = LinkPlan(
    link="old-new",
    owner="driver-1/4700",
    batch=12,
    planned_at_ms=1_760_000_000_900,
    lanes=6,
    findings=(Reason.found(Severity.WARNING, "topic bills: 2 partitions on the target, 4 on the source", "add 2"),),
)
ENDING = replace(PLAN, findings=(), ends=True)
PLANNED = replace(PLAN, digest="9f86d081884c7d65")
LOOKED_AT = replace(PLANNED, looked_at_ms=1_760_000_000_700, left_out=("größe.m", "new.orders"))
OUTLIVED = replace(LOOKED_AT, outlived={str(LANE): 2000, str(replace(LANE, partition=4)): None})
STOP = StopRequest("old-new", ("run-1", "run-2"), 1_700_000_000_000)
JUMP = GapRecord(str(LANE), 4001, 958, 2, (OffsetSpan(1003, 40), OffsetSpan(1050, 1), OffsetSpan(1052, 9)))
RUNS = (MappedRange(42, 0, 900), MappedRange(1000, 901, 57), MappedRange(1057, 960, 1))
ASSIGNMENT = LaneAssignment(
    lane=LANE,
    source=TopicPartition("orders", 3),
    target=TopicPartition("old.orders", 3),
    target_id=MIRROR,
    start=LaneStart(StartKind.OFFSETS, 42),
    mode=ModePolicy.AUTO,
)
SKIPPING = replace(ASSIGNMENT, skip=(1000, 1200))
DECISION = LaneDecision(
    link="old-new",
    place=SourcePartition(ORDERS, 3),
    generation=1,
    start=940,
    skip=(1000, 1200),
    decided_at_ms=1_760_000_002_000,
    why="the source lost records that were copied: offsets 940 to 999",
)

FOLLOWING = replace(
    LINK,
    wanted=replace(
        LINK.wanted, spec=replace(LINK.wanted.spec, groups=GroupRules(("shop.*",), ("shop-test",), 1_000, True))
    ),
)
SHARING = replace(FOLLOWING, wanted=replace(FOLLOWING.wanted, spec=replace(FOLLOWING.wanted.spec, shared_topics=True)))
BEGUN = replace(SHARING, control_topics={"__anabranch_claims": MIRROR, "__anabranch_runs": TopicId(UUID(int=7))})
PLACE = TopicPartition("old.orders", 3)
MARK = Baseline(
    "old-new",
    "shop/é",
    GroupKind.CONSUMER,
    (BaselinePartition(TopicPartition("orders", 3), Commit(12, "noted"), 20, Coverage.BEFORE),),
    1_700_000_000_000,
)
ROUND = SyncRound("old-new", "run-1", 1_700_000_000_500, None, 40, 1_000, 0, {SyncState.WAITING: 2}, "away")
SINCE = GroupSyncStatus("old-new", "shop/é", SyncState.BLOCKED, 1_700_000_000_000, "it would go back")
UNDO = UndoRecord(
    "20261121-100000-cafe",
    "shop/é",
    True,
    {PLACE: None, TopicPartition("old.orders", 4): Commit(3, "before", 7)},
    {PLACE: Commit(7, "noted"), TopicPartition("old.orders", 4): Commit(8)},
    1_700_000_000_000,
    "groups sync old-new",
)
