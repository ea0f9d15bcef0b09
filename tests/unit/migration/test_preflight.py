"""What stands in the way of a migration is told with names and numbers, wave by wave."""

from __future__ import annotations

from dataclasses import replace

import pytest

from anabranch.migration.estimate import USUAL_RATE, Estimate, estimates
from anabranch.migration.inventory import BatchSample, GroupInventory, Inventory, TopicInventory, WriterInventory
from anabranch.migration.preflight import preflight
from anabranch.migration.spec import CopyRules, FenceKind, Limits, Migration, Wave
from anabranch.model.clock import DAY_MS
from anabranch.model.groups import GroupKind, GroupState, Member
from anabranch.model.reasons import Reason, Severity
from anabranch.model.skew import ClockSkew
from anabranch.model.topics import TopicPartition

pytestmark = pytest.mark.unit

NOW = 1_700_000_000_000
SAMPLE = BatchSample(batches=10, idempotent=10, records=100, size=10_000, oldest_ms=NOW - DAY_MS, newest_ms=NOW)
ORDERS = TopicInventory("orders", 3, 3, 1_000, 100_000, 10.0, {}, SAMPLE)
SHOP = GroupInventory("shop", GroupKind.CLASSIC, GroupState.STABLE, (Member("m", "c", "h"),), ("orders",), 5)
WAVE = Wave("orders", ("orders",), ("shop",))
MOVE = Migration("move", "old", "new", (WAVE,))
SOURCE = Inventory("old", "OLD", "3.9", 3, NOW, {"orders": ORDERS}, {"shop": SHOP}, ())
TARGET = Inventory("new", "NEW", "4.3", 3, NOW, {}, {}, ())


def found(migration: Migration = MOVE, source: Inventory = SOURCE, target: Inventory = TARGET) -> list[Reason]:
    """All reasons, those of the whole first."""
    topics = {
        wave.name: [source.topics[topic] for topic in wave.topics if topic in source.topics] for wave in migration.waves
    }
    expected = estimates(topics, migration.limits.source_rate)
    return [reason for reasons in preflight(migration, source, target, expected).values() for reason in reasons]


def of(severity: Severity, reasons: list[Reason]) -> list[str]:
    """Those of a severity, in words."""
    return [reason.what for reason in reasons if reason.severity is severity]


def holding(**changes: object) -> Inventory:
    """The source, with another topic of orders."""
    return replace(SOURCE, topics={"orders": replace(ORDERS, **changes)})  # type: ignore[arg-type]


def reading(*groups: GroupInventory) -> Inventory:
    """The source, with other groups."""
    return replace(SOURCE, groups={group.name: group for group in groups})


def test_where_all_is_well_nothing_is_said() -> None:
    """Not even for the record."""
    assert found() == []


def test_other_clusters_than_those_of_the_file_are_refused() -> None:
    """By their ids, and also where both contexts lead to one."""
    asked = replace(MOVE, source_id="OTHER", target_id="NEW")
    assert of(Severity.ERROR, found(asked)) == ["source: context old leads to cluster OLD, not to OTHER"]
    assert of(Severity.ERROR, found(target=replace(TARGET, cluster_id="OLD"))) == [
        "contexts old and new lead to one cluster, OLD"
    ]


def test_what_is_not_on_the_source_is_refused() -> None:
    """Topics and groups, each by its name."""
    asked = replace(MOVE, waves=(replace(WAVE, topics=("orders", "gone"), groups=("shop", "nobody")),))
    assert of(Severity.ERROR, found(asked)) == ["there is no topic gone on old", "there is no group nobody on old"]


def test_a_group_that_would_be_on_two_clusters_is_refused() -> None:
    """Its application reads what is not moved with it."""
    told = of(Severity.ERROR, found(source=reading(replace(SHOP, topics=("orders", "clicks", "taps")))))
    assert told == ["group shop also reads topics clicks, taps, not in this wave: it would be on two clusters"]


def test_a_group_that_was_forgotten_is_refused_while_somebody_is_in_it() -> None:
    """And worth a look where nobody is."""
    other = replace(SHOP, name="audit")
    assert of(Severity.ERROR, found(source=reading(SHOP, other))) == [
        "group audit reads topic orders with 1 member, and is in no wave"
    ]
    empty = replace(other, state=GroupState.EMPTY, members=())
    told = found(source=reading(SHOP, empty))
    assert of(Severity.ERROR, told) == []
    assert of(Severity.WARNING, told) == [
        "group audit has commits of topic orders, nobody is in it, and it is in no wave"
    ]


def test_a_group_of_another_wave_that_reads_topics_of_this_one_is_told_with_its_wave() -> None:
    """Of a wave that is planned with it, and of one that is not."""
    other = Wave("flow", ("clicks",), ("audit",))
    source = reading(SHOP, replace(SHOP, name="audit"))
    expected = estimates({"orders": [ORDERS], "flow": []}, None)
    planned = replace(MOVE, waves=(WAVE, other))
    for reasons in (preflight(planned, source, TARGET, expected), preflight(MOVE, source, TARGET, expected, [other])):
        (told,) = [one for one in reasons["orders"] if one.severity is Severity.ERROR]
        assert told.what == "group audit reads topic orders with 1 member, and is in wave flow"
        assert told.fix == "have its topics and it in one wave"


def test_a_group_whose_position_is_elsewhere_is_refused() -> None:
    """Kafka Streams keeps more than commits."""
    told = of(Severity.ERROR, found(source=reading(replace(SHOP, kind=GroupKind.STREAMS))))
    assert told == ["group shop is of kind streams, whose position is not in its commits alone"]


def test_groups_without_commits_of_the_wave_are_told_of() -> None:
    """Nothing at all is worth a look, other topics alone belong to another wave."""
    assert of(Severity.WARNING, found(source=reading(replace(SHOP, topics=())))) == [
        "group shop has committed nothing: it would begin where its own settings say"
    ]
    told = of(Severity.ERROR, found(source=reading(replace(SHOP, topics=("clicks",)))))
    assert told[-1] == "group shop has committed nothing of this wave's topics"


def test_open_transactions_and_writers_are_told_of() -> None:
    """An open one holds a switch up; a producer without an id is not seen before it writes."""
    writer = WriterInventory(7, "till", ("orders",), NOW - 60_000, (TopicPartition("orders", 1),))
    told = found(source=replace(SOURCE, writers=(writer,)))
    assert of(Severity.WARNING, told) == [
        "transaction of till is open on orders-1, last written to 60 s ago: a switch waits for its end"
    ]
    assert of(Severity.INFO, told) == [
        "wave orders is written to in transactions by transactional id till",
        "wave orders: nobody is kept from writing; the switch waits until its producers are stopped",
    ]
    plain = holding(sample=replace(SAMPLE, plain=3))
    assert "batches of producers without an id" in of(Severity.WARNING, found(source=plain))[0]
    kept = replace(MOVE, waves=(replace(WAVE, fences=(FenceKind.ACL,)),))
    assert of(Severity.WARNING, found(kept, plain)) == []


def test_routes_alone_hold_only_clients_of_the_sdk() -> None:
    """Whoever wrote within a day may be another one."""
    asked = replace(MOVE, waves=(replace(WAVE, fences=(FenceKind.ROUTES,), codes=("orders",)),))
    writers = (WriterInventory(7, "", ("orders",), NOW - 1_000), WriterInventory(8, "", ("orders",), NOW - 2 * DAY_MS))
    assert of(Severity.WARNING, found(asked, replace(SOURCE, writers=writers))) == [
        "1 producer wrote within a day, and routes hold only those that use the SDK"
    ]


def test_clocks_that_are_far_apart_forbid_a_migration_and_seconds_are_told() -> None:
    """With how far, to which side, and how exactly that is known; what may be the question's own time is nothing."""
    slow = ClockSkew(-20_000, 20_000)
    assert of(Severity.WARNING, found(source=replace(SOURCE, clock=slow))) == []
    (told,) = of(Severity.WARNING, found(target=replace(TARGET, clock=ClockSkew(12_000, 12_040))))
    assert told.startswith("the clock of the machine that plans this is 12.0 s ahead of that of new at the least")
    (told,) = of(Severity.ERROR, found(source=replace(SOURCE, clock=ClockSkew(-301_500, -300_000))))
    assert told == (
        "the clock of the machine that plans this is 300.0 s behind that of old at the least, known within 1.5 s; "
        "5 min are allowed: it is judged by clocks what a broker still remembers"
    )


def test_what_is_odd_of_a_topic_is_told() -> None:
    """Compaction, the broker's clock, times that are off, offsets without a record."""
    odd = holding(
        configs={"cleanup.policy": "compact"},
        sample=replace(SAMPLE, append_time=1, oldest_ms=86_400_000, newest_ms=NOW + 2 * DAY_MS + 5),
    )
    told = found(source=odd)
    assert of(Severity.INFO, told) == [
        "topic orders is compacted: its lanes are mapped, and offsets change",
        "topic orders has times of the broker's clock (LogAppendTime): they are kept as they are",
    ]
    assert of(Severity.WARNING, told) == [
        "topic orders has records of 2 d from now",
        "topic orders has records of times before 2000",
    ]
    assert of(Severity.INFO, found(source=holding(sample=replace(SAMPLE, gaps=1)))) == [
        "topic orders has 1 offset without a record in what was looked at"
    ]


def test_a_copy_that_never_catches_up_is_refused() -> None:
    """More is written than may be read."""
    asked = replace(MOVE, limits=Limits(source_rate=1_000_000))
    told = of(Severity.ERROR, found(asked, holding(per_second=50_000.0)))
    assert told == ["wave orders is written to with 5.0 MB/s, and may be read with 1.0 MB/s: the copy never catches up"]


def test_records_that_would_expire_before_they_are_copied_are_refused() -> None:
    """By the retention of the topic against the estimated time."""
    short = holding(size=10_000_000_000, per_second=0.0, configs={"retention.ms": str(3_600_000)})
    asked = replace(MOVE, limits=Limits(source_rate=1_000_000))
    assert of(Severity.ERROR, found(asked, short)) == [
        "topic orders keeps records for 60 min, and copying wave orders takes about 2 h: records would be gone before "
        "they are copied"
    ]
    assert found(source=short) == []
    for_ever = holding(size=10_000_000_000, configs={"retention.ms": "-1"})
    assert found(asked, for_ever) == []


def test_topics_in_no_wave_are_named_for_the_record() -> None:
    """Not those of the cluster's own."""
    more = {name: replace(ORDERS, name=name) for name in ("orders", "taps", "__mine", "heartbeats")}
    told = found(source=replace(SOURCE, topics={**more, "__consumer_offsets": ORDERS}))
    assert [reason.what for reason in told] == ["topics __mine, taps of old are in no wave"]


def test_topics_of_waves_that_are_not_planned_now_are_in_a_wave() -> None:
    """Where only some waves of a file are started."""
    source = replace(SOURCE, topics={name: replace(ORDERS, name=name) for name in ("orders", "taps", "clicks")})
    expected = estimates({"orders": [ORDERS]}, None)
    told = preflight(MOVE, source, TARGET, expected, [Wave("flow", ("clicks",))])[""]
    assert [reason.what for reason in told] == ["topic taps of old is in no wave"]


def estimate(topic: TopicInventory, source_rate: int | None) -> Estimate:
    """That of a wave by itself."""
    return estimates({"orders": [topic]}, source_rate)["orders"]


def test_an_estimate_counts_what_comes_meanwhile() -> None:
    """Bytes over the rate that is left beside the writers."""
    topic = replace(ORDERS, size=90_000_000, per_second=10_000.0)
    found_ = estimate(topic, 10_000_000)
    assert (found_.size, found_.written, found_.seconds) == (90_000_000, 1_000_000.0, 10.0)
    assert (found_.assumed, found_.is_endless) == (False, False)
    usual = estimate(topic, None)
    assert (usual.rate, usual.assumed) == (USUAL_RATE, True)
    assert estimate(replace(topic, size=None), None).seconds is None
    assert estimate(replace(topic, per_second=None), 10_000_000).written == 0


def test_waves_that_copy_at_once_share_what_may_be_read() -> None:
    """Each by what it has to copy, so that they have caught up together; what is written to all of them counts."""
    small, large = replace(ORDERS, size=30_000_000), replace(ORDERS, name="clicks", size=60_000_000, per_second=9_990.0)
    both = estimates({"orders": [small], "clicks": [large]}, 10_000_000)
    assert {round(one.seconds or 0) for one in both.values()} == {10}
    assert (round(both["orders"].rate), round(both["clicks"].rate)) == (3_001_000, 6_999_000)
    assert sum(one.rate for one in both.values()) == pytest.approx(10_000_000)
    assert {one.waves for one in both.values()} == {2}
    waves = (WAVE, Wave("clicks", ("clicks",), ("taps",)))
    source = replace(
        SOURCE,
        topics={"orders": small, "clicks": replace(large, per_second=100_000.0)},
        groups={"shop": SHOP, "taps": replace(SHOP, name="taps", topics=("clicks",))},
    )
    told = of(Severity.ERROR, found(replace(MOVE, waves=waves, limits=Limits(10_000_000)), source))
    assert told == [
        f"wave {name} is written to with {written} MB/s, and may be read with 5.0 MB/s while 2 waves copy at once: the "
        "copy never catches up"
        for name, written in (("orders", "0.0"), ("clicks", "10.0"))
    ]


def test_a_rate_that_is_guessed_forbids_nothing() -> None:
    """It is told as one, and what may be read can be said."""
    told = found(source=holding(per_second=600_000.0))
    assert of(Severity.ERROR, told) == []
    assert of(Severity.WARNING, told) == [
        "wave orders is written to with 60.0 MB/s, and may be read with 50.0 MB/s: the copy never catches up; "
        "50.0 MB/s are a guess: say what may be read in limits.source_rate"
    ]


def test_the_retention_that_is_in_force_counts_also_by_size() -> None:
    """A broker's default, which the topic does not set itself; and how much comes while it is copied."""
    asked = replace(MOVE, limits=Limits(source_rate=1_000_000))
    by_default = holding(size=10_000_000_000, per_second=0.0, in_force={"retention.ms": str(3_600_000)})
    assert "topic orders keeps records for 60 min" in of(Severity.ERROR, found(asked, by_default))[0]
    kept = {"retention.ms": "-1", "retention.bytes": "100000000", "cleanup.policy": "delete"}
    full = holding(size=9_000_000_000, per_second=1_000.0, in_force=kept)
    assert of(Severity.ERROR, found(asked, full)) == [
        "topic orders keeps 100.0 MB in each partition, and 1.0 GB come meanwhile, and copying wave orders takes about "
        "2 h: records would be gone before they are copied"
    ]
    assert found(asked, holding(size=9_000_000_000, per_second=100.0, in_force=kept)) == []
    compacted = holding(size=9_000_000_000, per_second=1_000.0, in_force={**kept, "cleanup.policy": "compact"})
    assert of(Severity.ERROR, found(asked, compacted)) == []


def test_copies_that_do_not_fit_on_the_disks_of_the_target_are_refused() -> None:
    """With all their replicas; worth a look where they nearly fill them, or one broker has little left."""
    large = holding(size=1_000_000_000)  # three replicas

    def told(*free: int, severity: Severity = Severity.ERROR) -> list[str]:
        return of(severity, found(source=large, target=replace(TARGET, free=dict(enumerate(free)))))

    text = "the copies take about 3.0 GB with all their replicas, and brokers of new have "
    assert told(900_000_000, 900_000_000, 900_000_000) == [f"{text}2.7 GB left"]
    assert told(1_100_000_000, 1_100_000_000, 1_100_000_000, severity=Severity.WARNING) == [f"{text}3.3 GB left"]
    uneven = told(500_000_000, 9_000_000_000, 9_000_000_000, severity=Severity.WARNING)
    assert uneven == [f"{text}18.5 GB left, but one of them 500.0 MB: it has less than its part"]
    assert told(9_000_000_000, 9_000_000_000, 9_000_000_000, severity=Severity.WARNING) == []
    once = replace(MOVE, copy=CopyRules(replication_factor=1))
    assert found(once, large, replace(TARGET, free={0: 2_000_000_000, 1: 2_000_000_000, 2: 2_000_000_000})) == []
