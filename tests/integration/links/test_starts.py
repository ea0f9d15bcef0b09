"""Start positions on real clusters: the same five for whoever asks, and groups that are moved by their commits."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from anabranch.config import maps_file, offsets_file
from anabranch.kafka.security import open_cluster
from anabranch.kafka.start import NothingCommittedError, OutsideLogError, Resolved, look_up, resolve
from anabranch.model import topics as model
from anabranch.model.link import ModePolicy
from anabranch.model.positions import AnswerKind
from anabranch.model.start import StartKind, StartPosition
from anabranch.offsets.translate import Exact, to_target
from anabranch.operations.links.create import LinkRefusedError
from anabranch.operations.offsets.translate import GroupUnknownError, TopicNotInLinkError
from anabranch.sandbox import SandboxCluster
from qa import links, offsets
from tests.integration.kafka.security import context_of
from tests.integration.links import groups
from tests.integration.links.lab import TIMEOUT_S, Link, link
from tests.integration.links.test_gaps import interleave
from tests.integration.links.test_maps import first_from, map_of
from tests.integration.links.topics import create, delete_records, end_transactions, ends, fresh, numbered, produce

pytestmark = pytest.mark.test


def commit(cluster: SandboxCluster, group: str, offsets: dict[tuple[str, int], int]) -> None:
    """What a consumer of the group commits."""
    groups.commit(cluster, group, {at: (offset, "") for at, offset in offsets.items()})


def looked_up(cluster: SandboxCluster, start: StartPosition, *partitions: model.TopicPartition) -> Resolved:
    """What a start position means on a cluster now."""

    async def ask() -> Resolved:
        async with open_cluster(context_of(cluster, "admin")) as client:
            found = await look_up(client, start, partitions)
            assert await resolve(client, start, partitions) == found.offsets
            return found

    return asyncio.run(ask())


def test_each_kind_of_start_is_resolved(old: SandboxCluster) -> None:
    """Over a log that begins above zero: its ends, the first record of a time, commits, given offsets."""
    topic = create(old, fresh("starts"), partitions=2)
    produce(old, topic, numbered(20, timestamp=1_600_000_000_000), batch=5)
    delete_records(old, topic, 4)
    first, second = model.TopicPartition(topic, 0), model.TopicPartition(topic, 1)

    def at(start: StartPosition) -> dict[model.TopicPartition, int]:
        return dict(looked_up(old, start, first, second).offsets)

    assert at(StartPosition()) == {first: 4, second: 0}
    assert at(StartPosition(StartKind.LATEST)) == {first: 20, second: 0}
    assert at(StartPosition(StartKind.TIMESTAMP, 1_600_000_000_013)) == {first: 13, second: 0}
    assert at(StartPosition(StartKind.TIMESTAMP, 1_700_000_000_000)) == {first: 20, second: 0}
    given = StartPosition(StartKind.OFFSETS, offsets={first: 7})
    assert at(given) == {first: 7, second: 0}
    assert looked_up(old, given, first, second).missing == {second}
    with pytest.raises(OutsideLogError, match=f"offset 3 of {topic}-0 is outside of the log of .*, 4 to 20"):
        at(StartPosition(StartKind.OFFSETS, offsets={first: 3}))
    group = fresh("starting")
    commit(old, group, {(topic, 0): 9})
    found = looked_up(old, StartPosition(StartKind.GROUP, group=group), first, second)
    assert (found.offsets, found.missing) == ({first: 9, second: 0}, {second})
    assert found.notes == (f"group {group!r} has no commit for {topic}-1: the earliest record is taken there",)
    commit(old, group, {(topic, 0): 2})
    found = looked_up(old, StartPosition(StartKind.GROUP, group=group), first)
    assert found.offsets == {first: 4}
    assert found.notes == (f"group {group!r} committed 2 of {topic}-0, whose log is 4 to 20: 4 is taken",)
    with pytest.raises(NothingCommittedError):
        at(StartPosition(StartKind.GROUP, group="nobody"))


def test_latest_is_before_an_open_transaction(old: SandboxCluster) -> None:
    """Who starts there reads the transaction's records once it is committed, as a reader of committed records does."""
    from confluent_kafka import Producer

    topic = create(old, fresh("open"))
    produce(old, topic, numbered(3))
    settings = {"transactional.id": topic, "transaction.timeout.ms": 600_000}
    producer = Producer({"bootstrap.servers": old.internal_bootstrap, **settings})
    producer.init_transactions(TIMEOUT_S)
    producer.begin_transaction()
    producer.produce(topic, b"open", partition=0)
    assert producer.flush(TIMEOUT_S) == 0
    where = model.TopicPartition(topic, 0)
    assert looked_up(old, StartPosition(StartKind.LATEST), where).offsets == {where: 3}
    producer.commit_transaction(TIMEOUT_S)
    end_transactions(old, topic)
    assert looked_up(old, StartPosition(StartKind.LATEST), where).offsets == {where: 5}


def test_given_offsets_are_held_against_the_log_before_a_link_is_made(old: SandboxCluster, new: SandboxCluster) -> None:
    """Beyond the end, below the start, a partition and topics that are not there: all are said, nothing is stored."""
    topic, other = create(old, fresh("given"), partitions=2), create(old, fresh("not-copied"))
    produce(old, topic, numbered(20), batch=5)
    delete_records(old, topic, 4)
    at = model.TopicPartition
    slips = {at(topic, 0): 3, at(topic, 1): 99999, at(topic, 2): 0, at(other, 0): 0, at("nowhere", 0): 0}
    start = StartPosition(StartKind.OFFSETS, offsets=slips)
    with link(old, new, topic, create=False, start=start) as made, pytest.raises(LinkRefusedError) as refused:
        links.create(made.source, made.target, made.spec)
    errors = [one.what for one in refused.value.errors]
    assert len(errors) == len(slips), errors
    assert any(f"offset 3 of {topic}-0 is outside of the log" in one and "4 to 20" in one for one in errors)
    assert any(f"offset 99,999 of {topic}-1 is outside of the log" in one and "0 to 0" in one for one in errors)
    assert not [one for one in links.list_links(made.target) if one.spec.id == made.id]
    good = StartPosition(StartKind.OFFSETS, offsets={at(topic, 0): 20, at(topic, 1): 0})
    assert links.probe(made.source, made.target, replace(made.spec, start=good)).ok


@pytest.mark.real
def test_a_link_begins_where_a_group_stands(old: SandboxCluster, new: SandboxCluster) -> None:
    """What the group had committed when the link was made, whatever it commits later; the rest from the earliest."""
    topic = create(old, fresh("from-group"), partitions=2)
    produce(old, topic, numbered(10))
    produce(old, topic, numbered(5, partition=1))
    group = fresh("moving")
    commit(old, group, {(topic, 0): 6})
    with link(old, new, topic, start=StartPosition.parse(f"group:{group}"), mode=ModePolicy.MAPPED) as made:
        assert made.report is not None
        assert any("has no commit for" in one.what for one in made.report.findings)
        commit(old, group, {(topic, 0): 8})
        with made.running():
            made.await_position(topic, 10)
            made.await_position(topic, 5, partition=1)
        assert made.assert_copied(topic, first=6) == 4
        assert made.assert_copied(topic, partition=1) == 5
        stored = links.show(made.target, made.id).spec.start
        assert stored.offsets == {model.TopicPartition(topic, 0): 6}
    with pytest.raises(NothingCommittedError), link(old, new, topic, start=StartPosition.parse("group:nobody")):
        pass


def reader_of(made: Link, topic: str, group: str) -> bytes | None:
    """What the group's translated commit shows next on the target."""
    found = offsets.translate_group(made.source, made.target, made.id, group)
    answers = [one for one in found.answers if one.partition.topic == topic]
    assert [one.kind for one in answers] == [AnswerKind.EXACT]
    assert answers[0].answer is not None
    return first_from(made.new, topic, answers[0].answer)


def test_a_groups_commits_are_translated_and_files_read_back(
    old: SandboxCluster, new: SandboxCluster, tmp_path: Path
) -> None:
    """Through a log with gaps, at every fifth offset; topics outside of the link are refused, each by itself."""
    topic, other = create(old, fresh("translated")), create(old, fresh("outside"))
    interleave(old, topic, 4)
    produce(old, other, numbered(3))
    group = fresh("reading")
    with link(old, new, topic, mode=ModePolicy.MAPPED) as made:
        with made.running():
            end = ends(old, topic)[1]
            lane = map_of(made, topic, end)
        for offset in (0, *range(1, end, 5), end):
            commit(old, group, {(topic, 0): offset})
            assert reader_of(made, topic, group) == first_from(old, topic, offset)
        commit(old, group, {(other, 0): 2})
        found = offsets.translate_group(made.source, made.target, made.id, group)
        assert [(one.partition.topic, one.kind) for one in found.answers] == sorted(
            [(topic, AnswerKind.EXACT), (other, AnswerKind.UNKNOWN)]
        )
        with pytest.raises(GroupUnknownError):
            offsets.translate_group(made.source, made.target, made.id, "nobody")
        with pytest.raises(TopicNotInLinkError):
            offsets.translate(made.target, made.id, [(model.TopicPartition(other, 0), 1)])

        exact = offsets.translate(made.target, made.id, [(lane.source, 7)])
        offsets_file.save(tmp_path / "offsets.json", exact.offsets, exact.cluster)
        start = offsets_file.start_of(f"@{tmp_path / 'offsets.json'}")
        answer = to_target(lane.ranges, 7)
        assert isinstance(answer, Exact)
        assert looked_up(new, start, lane.target).offsets == {lane.target: answer.offset}
        back = offsets.translate(made.target, made.id, [(lane.target, answer.offset)], reverse=True)
        assert back.answers[0].answer == 7 or answer.reason is not None

        maps = offsets.export(made.target, made.id)
        maps_file.save(tmp_path / "maps.json", made.id, maps.source, maps.target, maps.stored, maps.lanes)
        assert [one.ranges for one in maps_file.load(tmp_path / "maps.json")] == [lane.ranges]
        assert offsets.ranges(made.target, made.id, f"{topic}-0") == offsets.ranges(made.target, made.id, topic)
        with pytest.raises(TopicNotInLinkError):
            offsets.ranges(made.target, made.id, f"{other}-0")
