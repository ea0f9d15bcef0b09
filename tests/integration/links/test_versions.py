"""Sources and targets of other versions, message formats of long ago, and links that must not feed each other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from anabranch.model.decisions import Cause
from anabranch.model.lane import LaneMode, LaneState
from anabranch.model.link import ClusterRef, LinkRecord, WantedState
from anabranch.model.plugins import PluginSpec
from anabranch.model.provenance import RingError
from anabranch.sandbox import ClusterSpec, SandboxCluster, start_clusters
from anabranch.state.topics.control import Links
from qa import links as engine
from qa.brokers import STEADY
from tests.chance import is_full
from tests.integration.links.conftest import QUICK
from tests.integration.links.lab import Link, link
from tests.integration.links.test_decisions import values, values_of
from tests.integration.links.topics import (
    OLD_MS,
    configure,
    create,
    delete_records,
    fresh,
    newest_offset,
    numbered,
    produce,
)

pytestmark = [pytest.mark.test, pytest.mark.real]

VERSIONS = ("2.8.2", "3.9.1", "4.0.0")


@pytest.fixture(scope="module")
def others(request: pytest.FixtureRequest) -> Iterator[dict[str, SandboxCluster]]:
    """A cluster of each older version."""
    wanted = VERSIONS if is_full(request.config) else VERSIONS[:2]
    specs = [
        ClusterSpec(
            f"v{version.replace('.', '')}",
            version,
            overrides={**STEADY, **QUICK}
            if version[0] != "2"
            else {name: value for name, value in QUICK.items() if "initial" not in name},
        )
        for version in wanted
    ]
    clusters = start_clusters(specs)
    try:
        yield dict(zip(wanted, clusters, strict=True))
    finally:
        for cluster in clusters:
            cluster.stop()


@pytest.mark.parametrize(
    "version", [pytest.param(one, marks=[] if one == VERSIONS[0] else [pytest.mark.full]) for one in VERSIONS]
)
def test_a_source_of_each_version_is_copied_exactly(
    others: dict[str, SandboxCluster], new: SandboxCluster, version: str
) -> None:
    """Fresh records under their own offsets, old ones mapped, batches as they were; the log may start above 0."""
    source = others[version]
    name = fresh("from")
    young, aged, cut = (create(source, f"{name}-{kind}") for kind in ("young", "aged", "cut"))
    produce(source, young, numbered(40), batch=7, codec="lz4")
    produce(source, aged, numbered(40, timestamp=OLD_MS), batch=7, codec="zstd")
    produce(source, cut, numbered(40), batch=10)
    delete_records(source, cut, 25)
    with link(source, new, name + "-.*") as made:
        assert made.report is not None
        assert made.report.source.version.startswith(version[:3])
        with made.running():
            for topic, mode, count in (
                (young, LaneMode.IDENTITY, 40),
                (aged, LaneMode.MAPPED, 40),
                (cut, LaneMode.IDENTITY, 15),
            ):
                assert made.await_position(topic, 40).mode is mode
                assert made.assert_copied(topic) == count
            made.assert_same_batches(young)
            made.assert_same_batches(aged)
            produce(source, young, numbered(5, first=40))
            made.await_position(young, 45)


def test_a_target_of_3_9_takes_identity_and_mapped_lanes(
    others: dict[str, SandboxCluster], old: SandboxCluster
) -> None:
    """The older broker keeps what the newer source has, batch by batch."""
    name = fresh("back")
    young, aged = create(old, name + "-young"), create(old, name + "-aged")
    produce(old, young, numbered(40), batch=7, codec="snappy")
    produce(old, aged, numbered(40, timestamp=OLD_MS), batch=7, codec="gzip")
    with link(old, others["3.9.1"], name + "-.*") as made, made.running():
        for topic, mode in ((young, LaneMode.IDENTITY), (aged, LaneMode.MAPPED)):
            assert made.await_position(topic, 40).mode is mode
            assert made.assert_copied(topic) == 40
            made.assert_same_batches(topic)


def test_messages_of_format_v1_stop_their_lane_with_the_offset(
    others: dict[str, SandboxCluster], new: SandboxCluster
) -> None:
    """Kafka 0.10's format is named; a lane beside it goes on."""
    source = others["2.8.2"]
    name = fresh("format")
    ancient = create(source, name + "-ancient", configs={"message.format.version": "0.10.2"})
    oldest = create(source, name + "-oldest", configs={"message.format.version": "0.9.0"})
    plain = create(source, name + "-plain")
    for topic in (ancient, oldest):
        produce(source, topic, numbered(5), settings={"enable.idempotence": False})
    produce(source, plain, numbered(5))
    with link(source, new, name + "-.*") as made, made.running():
        for topic in (ancient, oldest):
            lane = made.await_stopped(topic)
            assert (lane.stop_offset, lane.position) == (0, 0)
            assert "format v0 or v1" in str(lane.stop_reason)
            assert newest_offset(new, topic) == 0
        made.await_position(plain, 5)
        made.assert_copied(plain)

        # Given up, and written in the format of today from then on.
        done = engine.accept(made.source, made.target, made.id, f"{ancient}:0", at=5)
        assert (done.pending[0].cause, done.pending[0].given_up) == (Cause.GIVEN_UP, (0, 5))
        configure(source, ancient, {"message.format.version": "2.8"})
        produce(source, ancient, numbered(5, first=5))
        made.await_position(ancient, 10)
        assert values(new, ancient) == values_of(range(5, 10))
        assert made.await_stopped(oldest).stop_offset == 0


def test_two_links_in_opposite_directions_do_not_loop(others: dict[str, SandboxCluster], old: SandboxCluster) -> None:
    """Each copies what its source's own applications write, never what the other brought, whatever the names."""
    here, there = others["3.9.1"], old
    name = fresh("both")
    mine, theirs = create(here, name + "-mine"), create(there, name + "-theirs")
    produce(here, mine, numbered(10))
    produce(there, theirs, numbered(20))
    with (
        link(here, there, name + "-.*") as forth,
        link(there, here, name + "-.*") as back,
        forth.running(lease_seconds=1.5),
        back.running(lease_seconds=1.5),
    ):
        forth.await_position(mine, 10)
        back.await_position(theirs, 20)
        for made, other in ((forth, theirs), (back, mine)):
            made.await_finding(f"topic {other} is left out: the opposite link fills it")
            made.await_(lambda status: status.plan is not None and len(status.plan.findings) == 1)
        produce(here, mine, numbered(5, first=10))
        forth.await_position(mine, 15)
        assert (newest_offset(here, mine), newest_offset(there, mine)) == (15, 15)
        assert (newest_offset(here, theirs), newest_offset(there, theirs)) == (20, 20)
        assert {lane.source.topic for lane in forth.status().lanes} == {mine}
        assert {lane.source.topic for lane in back.status().lanes} == {theirs}
        for made in (forth, back):
            engine.pause(made.target, made.id)
            made.await_(lambda status: all(lane.state is LaneState.PAUSED for lane in status.lanes))


def test_a_topic_that_both_ways_would_fill_is_copied_as_a_person_says(
    others: dict[str, SandboxCluster], old: SandboxCluster
) -> None:
    """Two topics of one name, of which nothing says whose records they have to hold.

    The opposite link may have made one of them just now, and store that it fills it only then: copying it back would
    bring each record into its own log once more.
    """
    here, there = others["3.9.1"], old
    name = fresh("same")
    for cluster in (here, there):
        create(cluster, name)
    produce(here, name, numbered(10))
    with (
        link(here, there, name + ".*") as forth,
        link(there, here, name + ".*") as back,
        back.running(lease_seconds=1.5),
    ):
        back.await_finding(f"topic {name} is left out: link {forth.id} would fill it from the target's own topic")
        with forth.running(lease_seconds=1.5):
            forth.await_finding(f"link {back.id} would fill it", f"anabranch link set {back.id} --exclude {name}")
            assert (newest_offset(here, name), newest_offset(there, name)) == (10, 0)
            only = PluginSpec("regex", {"include": [name + ".*"], "exclude": [name]})
            engine.set_wanted(back.target, back.id, filter=only)
            forth.await_position(name, 10)
            engine.set_wanted(back.target, back.id, filter=PluginSpec("regex", {"include": [name + ".*"]}))
            back.await_finding(f"topic {name} is left out: the opposite link fills it")
            produce(here, name, numbered(5, first=10))
            forth.await_position(name, 15)
            assert (newest_offset(here, name), newest_offset(there, name)) == (15, 15)


def test_a_ring_of_three_clusters_is_refused_with_its_path(
    others: dict[str, SandboxCluster], old: SandboxCluster, new: SandboxCluster
) -> None:
    """At creation where the origins are known; else by the closing link's plan, once they are."""
    first, second, third = others["3.9.1"], old, new
    name = fresh("ring")
    with (
        link(first, second, name, id="ring-a"),
        link(second, third, name, id="ring-b") as carrying,
        link(third, first, name, id="ring-c", create=False) as closing,
    ):
        with pytest.raises(RingError) as raised:
            closing.create()
        assert raised.value.exit_code == 3
        assert raised.value.path == (first.cluster_id, second.cluster_id, third.cluster_id, first.cluster_id)
        assert "would close a ring of clusters" in raised.value.message
        assert "delete one of its links" in raised.value.hint
        assert closing.id not in {status.spec.id for status in engine.list_links(closing.target)}

        # As if the first link had been made after the other two: nobody could know then.
        record = carrying.status().record
        closing.on_target(lambda client: Links(client).put(unaware(closing, second)))
        assert first.cluster_id in record.origins
        with pytest.raises(RingError), closing.running() as run:
            run.await_failure()


def unaware(closing: Link, second: SandboxCluster) -> LinkRecord:
    """The closing link's record, as stored before the ring existed."""
    source = ClusterRef(closing.source.name, closing.old.cluster_id)
    target = ClusterRef(closing.target.name, closing.new.cluster_id)
    spec = replace(closing.spec, source=source, target=target)
    return LinkRecord(WantedState(spec), (closing.old.cluster_id, second.cluster_id), 1)
