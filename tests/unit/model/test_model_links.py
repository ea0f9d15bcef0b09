"""Links, lanes, starts, configs, provenance."""

from __future__ import annotations

import pickle
from dataclasses import replace
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.errors import InvalidFieldError
from anabranch.model import provenance
from anabranch.model.configs import (
    LONG_MAX,
    ConfigRules,
    drift,
    held_configs,
    restored_configs,
    wanted_configs,
)
from anabranch.model.lane import LaneKey
from anabranch.model.link import ClusterRef, LinkRecord, LinkSpec, MirroredTopic, WantedState
from anabranch.model.plugins import PluginSpec
from anabranch.model.provenance import RingError, gives_way
from anabranch.model.reports import ApiSupport
from anabranch.model.start import LaneStart, StartKind, StartPosition
from anabranch.model.topics import TopicId, TopicPartition

pytestmark = pytest.mark.unit


def spec(source: str = "A", target: str = "B", **changes: object) -> LinkSpec:
    """A link between clusters whose ids are their names."""
    fields = {
        "id": f"{source}-{target}".lower(),
        "source": ClusterRef(source.lower(), source),
        "target": ClusterRef(target.lower(), target),
    }
    return LinkSpec(**{**fields, **changes})  # type: ignore[arg-type]


def stored(source: str, target: str, *origins: str) -> LinkRecord:
    """A link as its target stores it."""
    return LinkRecord(WantedState(spec(source, target)), (source, *origins), 0)


@given(st.from_regex(r"[a-z0-9][a-z0-9_-]{0,62}", fullmatch=True), st.uuids(), st.integers(0), st.integers(0))
def test_a_lane_key_reads_as_it_is_written(link: str, uuid: UUID, partition: int, generation: int) -> None:
    """The text of a key holds all of it."""
    key = LaneKey(link, TopicId(uuid), partition, generation)
    assert LaneKey.parse(str(key)) == key


@pytest.mark.parametrize("text", ["", "a/b/c", "l/D4-tW9nLRp-hZXCGdyiVDg/-1/0", "l/D4-tW9nLRp-hZXCGdyiVDg/1/0/2"])
def test_what_is_no_lane_key_is_refused(text: str) -> None:
    """A key has four parts, the last two numbers."""
    with pytest.raises(InvalidFieldError):
        LaneKey.parse(text)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("id", "Old New"),
        ("replication_factor", 0),
        ("rate_limit", 0),
        ("lease_seconds", 0),
        ("lease_seconds", 3601),
    ],
)
def test_a_spec_out_of_range_is_refused_by_field(field: str, value: object) -> None:
    """What no link can have is named."""
    with pytest.raises(InvalidFieldError) as caught:
        spec(**{field: value})
    assert caught.value.field == field


def test_a_spec_pickles() -> None:
    """A spec goes to Spark's driver whole."""
    assert pickle.loads(pickle.dumps(spec())) == spec()


@pytest.mark.parametrize(
    ("text", "kind", "ms"),
    [
        ("earliest", StartKind.EARLIEST, None),
        ("latest", StartKind.LATEST, None),
        ("1356998400000", StartKind.TIMESTAMP, 1356998400000),
        ("2013-01-01T00:00:00Z", StartKind.TIMESTAMP, 1356998400000),
        ("2013-01-01 01:00+01:00", StartKind.TIMESTAMP, 1356998400000),
    ],
)
def test_starts_read_as_people_write_them(text: str, kind: StartKind, ms: int | None) -> None:
    """Words, milliseconds and times with a zone."""
    assert StartPosition.parse(text) == StartPosition(kind, ms)


@pytest.mark.parametrize("text", ["", "now", "2013-01-01T00:00:00", "2013-01-01", "-5"])
def test_a_start_that_could_be_read_twice_is_refused(text: str) -> None:
    """A time without its zone is ambiguous, and so refused."""
    with pytest.raises(InvalidFieldError) as caught:
        StartPosition.parse(text)
    assert "2013-01-01T00:00:00Z" in caught.value.fix


def test_each_lane_gets_its_own_start() -> None:
    """Given offsets go to their partitions, and the others begin at their earliest record."""
    orders = TopicPartition("orders", 1)
    given_offsets = StartPosition(StartKind.OFFSETS, offsets={orders: 42})
    assert given_offsets.for_lane(orders) == LaneStart(StartKind.OFFSETS, 42)
    assert given_offsets.for_lane(TopicPartition("orders", 0)) == LaneStart()
    assert StartPosition.parse("5").for_lane(orders) == LaneStart(StartKind.TIMESTAMP, 5)
    assert str(given_offsets) == "given offsets of 1 partition"
    assert str(StartPosition.parse("1356998400000")) == "2013-01-01T00:00:00.000+00:00"


@pytest.mark.parametrize("start", ["earliest", "latest", "timestamp:0", "offsets:42"])
def test_a_lanes_start_reads_as_it_is_written(start: str) -> None:
    """The text that goes through Spark's rows comes back."""
    assert str(LaneStart.parse(start)) == start


@pytest.mark.parametrize("start", ["", "earliest:1", "offsets", "offsets:-1", "offsets:x", "later:1"])
def test_what_is_no_lanes_start_is_refused(start: str) -> None:
    """A kind with the wrong value, or no kind, is refused."""
    with pytest.raises(InvalidFieldError):
        LaneStart.parse(start)


@pytest.mark.parametrize(
    ("kind", "ms", "offsets"),
    [
        (StartKind.TIMESTAMP, None, {}),
        (StartKind.EARLIEST, 1, {}),
        (StartKind.OFFSETS, None, {}),
        (StartKind.LATEST, None, {TopicPartition("a", 0): 1}),
        (StartKind.OFFSETS, None, {TopicPartition("a", 0): -1}),
    ],
)
def test_a_start_has_what_its_kind_needs(kind: StartKind, ms: int | None, offsets: dict[TopicPartition, int]) -> None:
    """A start that contradicts itself cannot be made."""
    with pytest.raises(InvalidFieldError):
        StartPosition(kind, ms, offsets)


SOURCE_CONFIGS = {
    "cleanup.policy": "compact",
    "retention.ms": "604800000",
    "max.message.bytes": "2000000",
    "message.timestamp.type": "LogAppendTime",
    "compression.type": "zstd",
    "min.insync.replicas": "2",
    "segment.bytes": "1048576",
    "follower.replication.throttled.replicas": "0:1",
    "message.format.version": "2.8",
    "remote.storage.enable": "true",
}


def test_only_what_describes_the_data_is_copied() -> None:
    """Brokers' matters and what Kafka 4 refuses stay behind by default."""
    assert wanted_configs(SOURCE_CONFIGS, ConfigRules()) == {
        "cleanup.policy": "compact",
        "max.message.bytes": "2000000",
        "retention.ms": "604800000",
    }


def test_timestamp_type_and_codec_are_the_targets_whatever_the_lists_say() -> None:
    """An allow list cannot make a target rewrite timestamps or batches."""
    rules = ConfigRules(allow=(r"message\..*", "compression.type", r"segment\.bytes"), deny=())
    assert set(wanted_configs(SOURCE_CONFIGS, rules)) == {"segment.bytes", "message.format.version"}


def test_retention_is_held_open_and_given_back() -> None:
    """While the link runs nothing may vanish or be refused for its age; at completion the wanted values return."""
    wanted = wanted_configs(SOURCE_CONFIGS, ConfigRules())
    held = held_configs(wanted)
    assert held["retention.ms"] == held["retention.bytes"] == "-1"
    assert held["message.timestamp.before.max.ms"] == held["message.timestamp.after.max.ms"] == LONG_MAX
    assert held["cleanup.policy"] == "compact"
    restored = restored_configs(wanted)
    assert restored["retention.ms"] == "604800000"
    assert restored["retention.bytes"] is None


def test_drift_sets_changes_and_deletes_only_what_follows_the_source() -> None:
    """A config that the source dropped is deleted; one that an operator set and the lists leave alone stays."""
    rules = ConfigRules()
    desired = held_configs({"max.message.bytes": "2000000"})
    actual = {**desired, "max.message.bytes": "1", "delete.retention.ms": "5", "min.insync.replicas": "2"}
    assert drift(actual, desired, rules) == {"delete.retention.ms": None, "max.message.bytes": "2000000"}
    assert drift(desired, desired, rules) == {}


def test_a_bad_config_pattern_is_named() -> None:
    """The list and the pattern are told."""
    with pytest.raises(InvalidFieldError, match="deny"):
        ConfigRules(deny=("[",))


def test_opposite_links_are_no_ring_and_do_not_loop() -> None:
    """Two links in opposite directions are allowed, and each leaves out the topics that the other fills."""
    forth = stored("A", "B")
    provenance.check_ring("b-a", "B", "A", [forth])
    mirror = MirroredTopic("a-b", "orders", TopicId(UUID(int=1)), "orders", TopicId(UUID(int=2)))
    other = MirroredTopic("c-b", "bills", TopicId(UUID(int=3)), "bills", TopicId(UUID(int=4)))
    links = [forth, stored("C", "B")]
    assert provenance.mirrored_by_opposite("A", links, [mirror, other]) == {TopicId(UUID(int=2))}


def test_what_an_opposite_link_would_fill_is_told_before_it_is_stored() -> None:
    """By its filter and its names, from the topics of the target that are no copies themselves."""
    forth = stored("A", "B")
    renamed = replace(forth.wanted.spec, id="a-b-2", naming=PluginSpec("prefix", {}))
    links = [replace(forth, wanted=WantedState(renamed)), stored("C", "B")]
    claimed = provenance.claimed_by_opposite("A", links, ["orders", "__consumer_offsets", "heartbeats"])
    alias = renamed.source.context
    assert claimed == {f"{alias}.orders": ("a-b-2", "orders")}
    assert provenance.claimed_by_opposite("D", links, ["orders"]) == {}
    strange = replace(forth.wanted.spec, naming=PluginSpec("of-theirs", {}))
    assert provenance.claimed_by_opposite("A", [replace(forth, wanted=WantedState(strange))], ["orders"]) == {}


def test_a_ring_of_three_is_refused_with_its_path() -> None:
    """A -> B -> C -> A would bring A's records back to A."""
    a_b = stored("A", "B")
    assert provenance.origins("B", [a_b]) == ("B", "A")
    b_c = stored("B", "C", "A")
    with pytest.raises(RingError, match="A -> B -> C -> A") as caught:
        provenance.check_ring("c-a", "C", "A", [b_c])
    assert caught.value.exit_code == 3
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_a_ring_shows_whatever_link_comes_last() -> None:
    """Origins that running links pass on let the middle link see the ring too."""
    c_a = stored("C", "A")
    a_b = stored("A", "B", *provenance.origins("A", [c_a])[1:])
    with pytest.raises(RingError):
        provenance.check_ring("b-c", "B", "C", [a_b])


def test_fans_are_no_rings() -> None:
    """Many into one and one into many are allowed."""
    provenance.check_ring("b-d", "B", "D", [stored("A", "B"), stored("C", "B")])
    provenance.check_ring("a-c", "A", "C", [])


@pytest.mark.parametrize(
    ("offered", "ok"), [(None, False), ((0, 3), False), ((0, 4), True), ((9, 12), True), ((13, 17), False)]
)
def test_an_api_is_there_if_the_ranges_overlap(offered: tuple[int, int] | None, ok: bool) -> None:
    """One common version is enough."""
    assert ApiSupport("Fetch", (4, 12), offered).ok is ok


def test_of_two_links_that_store_one_topic_exactly_one_gives_way() -> None:
    """The later in the log, unless it has begun and the other has not: both may be older than the rule."""
    first, second, begun, later = (10, False), (11, False), (10, True), (11, True)
    assert (gives_way(first, second), gives_way(second, first)) == (False, True)
    assert (gives_way(first, later), gives_way(later, first)) == (True, False)
    assert (gives_way(begun, second), gives_way(second, begun)) == (False, True)
    assert not gives_way(begun, later) and not gives_way(later, begun), "what was copied twice is copied on"
