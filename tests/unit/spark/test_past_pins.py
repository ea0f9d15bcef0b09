"""What lies past the pins of a link on a simulated target: the link's records, others', and what cannot be told."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pyarrow as pa
import pytest

from anabranch.config.verifyspec import VerifyOptions
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.ends import ends
from anabranch.kafka.errors import PermissionDeniedError
from anabranch.kafka.simulated.cluster import SimulatedCluster
from anabranch.kafka.simulated.transactions import append_marker
from anabranch.model.link import ClusterRef, LinkRecord, LinkSpec, WantedState
from anabranch.model.topics import TopicPartition
from anabranch.offsets.offset_map import MappedRange
from anabranch.records.encode import body_of, seal
from anabranch.records.header import read_header
from anabranch.records.record import Record, TimestampType
from anabranch.spark.verify import mismatches, past_pins
from anabranch.state.topics.control import Links, ensure_topics
from anabranch.verify.past import PastPin
from anabranch.verify.pins import Pin
from qa import comparing as verify
from qa.blocking import between
from tests.unit.link_lab import LINK, TARGET_END, TO_A, TO_B, Lab, lab

pytestmark = pytest.mark.unit

OWN, OTHER = 7_000, 9_000
"""The producer id of the first lane's claim, and one of somebody else."""


@pytest.fixture
def both() -> Iterator[Lab]:
    """The clusters, for one test."""
    with lab() as made:
        yield made


def appended(both: Lab, at: TopicPartition, producer: int, records: int = 2) -> None:
    """A batch at the end of a target partition; none of 0 records, but a marker."""
    record = Record(0, 1_000, TimestampType.CREATE_TIME, b"k", b"v")

    def write(cluster: SimulatedCluster) -> None:
        partition = cluster.topics[at.topic].partitions[at.partition]
        if not records:
            append_marker(cluster, partition, producer, 0, commit=False, coordinator_epoch=0)
            return
        batch = seal(
            body_of([record] * records, list(range(records))),
            count=records,
            last_offset_delta=records - 1,
            timestamps=(1_000, 1_000),
            attributes=0,
            producer=(producer, 0, 0),
        )
        partition.led.log.append(batch, read_header(batch), partition.leader_epoch, 1_000)
        cluster.appended(partition)

    both.there.served.do(write)


def look(both: Lab, pins: tuple[Pin, ...], link: str = LINK) -> list[PastPin]:
    """What the comparison's end finds."""

    async def ask(source: Cluster, target: Cluster) -> list[PastPin]:
        found = await ends(target, [pin.target for pin in pins])
        return await past_pins.past_pins(source, target, link, pins, {at: end for at, (_, end) in found.items()}, 0.0)

    return between(both.source, both.target, ask)


def test_a_record_behind_the_last_copy_is_foreign(both: Lab) -> None:
    """It lies behind the persisted end of the lane; before, a comparison never looked there."""
    pins = verify.plan(both.source, both.target, LINK, VerifyOptions()).pins
    assert [(one.is_told, one.foreign) for one in look(both, pins)] == [(True, ())] * 2
    appended(both, TO_A, OTHER)
    first, second = look(both, pins)
    assert (first.is_told, first.foreign) == (True, ((TARGET_END, TARGET_END + 2),))
    assert (second.is_told, second.foreign) == (True, ())


def test_what_applications_write_behind_the_copies_is_not_foreign_once_they_were_led_over(both: Lab) -> None:
    """The way back begins where the copies end; another link's is none, nor one of a link of this name elsewhere."""
    pins = verify.plan(both.source, both.target, LINK, VerifyOptions()).pins
    appended(both, TO_A, OTHER)

    def store(name: str, back_of: str, source: str) -> None:
        spec = LinkSpec(name, ClusterRef("new", source), ClusterRef("old", "o"), back_of=back_of)
        both.on(both.source, lambda cluster: put(cluster, LinkRecord(WantedState(spec), (source,), 1)))

    async def put(cluster: Cluster, record: LinkRecord) -> None:
        await ensure_topics(cluster)
        links = Links(cluster)
        await links.sync()
        await links.put(record)

    new = both.on(both.target, lambda cluster: cluster.cluster_id())
    for name, back_of, source in (("another-back", "another", new), ("elsewhere-back", LINK, "elsewhere")):
        store(name, back_of, source)
        assert look(both, pins)[0].foreign == ((TARGET_END, TARGET_END + 2),)
    store("back", LINK, new)
    first, second = look(both, pins)
    assert (first.foreign, first.is_told, first.reason) == ((), False, ""), "its cleaner may follow what they write"
    assert second.is_told, "nobody has written there"


def test_who_may_not_read_of_links_on_the_source_is_told_of_records_behind_the_copies(
    both: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A link's own principal needs no more rights than before."""
    pins = verify.plan(both.source, both.target, LINK, VerifyOptions()).pins
    appended(both, TO_A, OTHER)

    async def refused(*_: object) -> list[str]:
        raise PermissionDeniedError("old", "User:link", "Describe", "topic __anabranch_links")

    monkeypatch.setattr(past_pins, "present", refused)
    assert look(both, pins)[0].foreign == ((TARGET_END, TARGET_END + 2),)


def test_a_marker_is_nobodys_record_and_an_own_batch_is_no_foreign_one(both: Lab) -> None:
    """A running link may have appended what it has not persisted: the producer id tells, and it is a later copy."""
    pins = verify.plan(both.source, both.target, LINK, VerifyOptions()).pins
    appended(both, TO_A, OTHER, records=0)
    appended(both, TO_A, OWN)
    appended(both, TO_B, OWN)
    first, second = look(both, pins)
    assert first.foreign == ()
    assert list(first.ranges)[-1] == MappedRange(pins[0].source_to, TARGET_END + 1, 2)
    assert second.foreign == ((TARGET_END, TARGET_END + 2),), "the other lane's producer id is no copier of this one"


def test_what_cannot_be_told_says_why(both: Lab) -> None:
    """The link was deleted, or the lane is another one now; where the log ends with the pin nothing is asked."""
    pins = verify.plan(both.source, both.target, LINK, VerifyOptions()).pins
    appended(both, TO_A, OTHER)
    first, second = look(both, pins, "another")
    assert not first.is_told and "another" in first.reason
    assert second.is_told
    (first,) = look(both, (replace(pins[0], lane=pins[0].lane[:-1] + "1"),))
    assert (first.is_told, first.reason) == (False, "the lane was begun again while it was compared")


def test_keys_are_placed_by_what_is_known_past_the_pin(both: Lab) -> None:
    """What Python tasks give to the join: foreign records have no place."""
    (pin, _) = verify.plan(both.source, both.target, LINK, VerifyOptions()).pins
    appended(both, TO_A, OTHER)
    appended(both, TO_A, OWN)
    (known,) = look(both, (pin,))
    offsets = [TARGET_END - 1, TARGET_END, TARGET_END + 2]
    batch = pa.table(
        {
            "here": [TO_A.topic, None, None],
            "partition": pa.array([0, 0, 0], pa.int32()),
            "offset": pa.array(offsets, pa.int64()),
            "key": pa.array([1, 1, 1], pa.int64()),
            "deletes": [False, False, False],
        }
    ).to_batches()
    placer = mismatches._past_placer({(TO_A.topic, 0): (4, known)}, True)
    (placed,) = placer(iter(batch))
    assert placed.to_pydict() == {
        "lane": [4, 4, 4],
        "offset": offsets,
        "place": [29, -1, pin.source_to],
        "key": [1, 1, 1],
        "deletes": [False, False, False],
    }
