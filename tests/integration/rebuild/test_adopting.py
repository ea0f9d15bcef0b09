"""A link takes over what another tool copied: it goes on behind it, and positions translate from the beginning."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from anabranch.config import maps_file
from anabranch.config.maps_file import StoredMap
from anabranch.model.lane import LaneMode
from anabranch.model.plugins import PluginSpec
from anabranch.model.topics import TopicPartition
from anabranch.offsets.translate import Before, Exact, to_target
from anabranch.operations.links.create import LinkRefusedError
from anabranch.sandbox import SandboxCluster
from anabranch.state.maps.reading import LaneMap, read_maps
from qa import links
from qa.logcompare import read_log
from qa.offsets import rebuild_spec
from qa.timeouts import TIMEOUT_S
from qa.verify_lab import Message, context_of, fresh, messages, write
from tests.chance import seed
from tests.integration.links.lab import link
from tests.unit.offsets.alignlab import align

pytestmark = pytest.mark.test

PREFIX = PluginSpec("prefix")


def mirrored(
    pair: tuple[SandboxCluster, SandboxCluster], source: Sequence[Message], target: Sequence[Message]
) -> StoredMap:
    """The map of a new topic and its copy, whose name is that of MirrorMaker 2, made from the contents."""
    old, new = pair
    topic = fresh("taken")
    write(old, topic, source)
    write(new, f"old.{topic}", target)
    (logs,) = rebuild_spec(context_of(old), context_of(new), "any", {topic: f"old.{topic}"}).lanes
    found = align(dict(enumerate(map(repr, source))), dict(enumerate(map(repr, target))), logs.bounds)
    return StoredMap(logs.lane, logs.source, logs.target, found.ranges, logs.target_id, found.unclear)


def values(cluster: SandboxCluster, topic: str) -> list[tuple[int, bytes]]:
    """The records of the first partition, told apart."""
    log = read_log({"bootstrap.servers": cluster.internal_bootstrap}, topic, 0, committed=True)
    return [(entry.offset, entry.digest) for entry in log]


def append(cluster: SandboxCluster, topic: str, records: Sequence[Message]) -> None:
    """More records of a topic that is there."""
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": cluster.internal_bootstrap})
    for one in records:
        producer.produce(topic, one.value, one.key, partition=0, timestamp=one.timestamp, headers=list(one.headers))
    assert producer.flush(TIMEOUT_S) == 0


def refusals(error: LinkRefusedError) -> str:
    """What forbids the link."""
    return " | ".join(one.what for one in error.errors)


def test_a_link_goes_on_where_a_killed_mirror_ended_and_positions_translate_from_its_history(
    pair: tuple[SandboxCluster, SandboxCluster], tmp_path: Path
) -> None:
    """Nothing is copied again: the copy holds the mirror's records, repeats and all, and behind them the rest; from
    each position a reader sees what it has not read, and only that.
    """
    old, new = pair
    source = messages(900, random.Random(seed(1)))
    made = mirrored(pair, source[:700], [*source[:500], *source[400:600]])
    maps_file.save_rebuilt(tmp_path / "maps.json", "any", "old", "new", [made], 0)
    adopt = maps_file.load(tmp_path / "maps.json")
    topic, copy = made.source.topic, made.target.topic
    with link(old, new, topic, naming=PREFIX, create=False) as running:
        links.create(running.source, running.target, running.spec, adopt)
        with running.running():
            running.await_position(topic, 700)
            append(old, topic, source[700:])
            running.await_position(topic, 900)
        with running.running():
            append(old, topic, source[:10])
            lane = running.await_position(topic, 910)
        assert lane.mode is LaneMode.MAPPED
        maps = running.on_target(lambda client: read_maps(client, running.id))
        found: LaneMap | None = maps.of_source(TopicPartition(topic, 0))
        assert found is not None
        here, there = values(old, topic), values(new, copy)
        assert len([one for one in there if one[0] >= 700]) == 310
        assert [(run.source, run.target) for run in found.ranges][:2] == [(0, 0), (400, 500)]
        assert found.ranges.source_start == 0
        for offset in range(911):
            answer = to_target(found.ranges, offset)
            assert isinstance(answer, Exact), (offset, answer)
            unread = [digest for at, digest in here if at >= offset]
            repeats = range(400, 500)
            assert [digest for at, digest in there if at >= answer.offset and at not in repeats] == unread, offset


def test_history_begins_behind_the_last_unclear_stretch(pair: tuple[SandboxCluster, SandboxCluster]) -> None:
    """Positions before it are told as older than the lane; those behind it are exact."""
    old, new = pair
    chance = random.Random(seed(2))
    source = [*messages(100, chance), *[Message(b"k", b"same", (), 1)] * 5, *messages(80, chance)]
    source = [Message(one.key, one.value, one.headers, 1000 + (0 if one.value == b"same" else at))
              for at, one in enumerate(source)]  # fmt: skip
    made = mirrored(pair, source, [*source[:101], *source[102:150]])
    assert made.unclear
    topic = made.source.topic
    with link(old, new, topic, naming=PREFIX, create=False) as running:
        links.create(running.source, running.target, running.spec, [made])
        with running.running():
            running.await_position(topic, len(source))
        maps = running.on_target(lambda client: read_maps(client, running.id))
        found = maps.of_source(TopicPartition(topic, 0))
        assert isinstance(to_target(found.ranges, 50), Before)
        assert to_target(found.ranges, 120) == Exact(119)
        assert to_target(found.ranges, 160) == Exact(159)
        assert values(new, made.target.topic)[149:] == [(at - 1, one) for at, one in values(old, topic)[150:]]


def test_what_cannot_be_taken_over_exactly_is_refused(pair: tuple[SandboxCluster, SandboxCluster]) -> None:
    """A copy that grew, one that is unclear at its end, one that is called something else, one without a map."""
    old, new = pair
    source = messages(50, random.Random(seed(4)))
    same = [Message(b"k", b"same", (), 1)] * 10
    grown = mirrored(pair, source, source[:40])
    append(new, grown.target.topic, source[40:45])
    dull = mirrored(pair, same, same[:7])
    other = mirrored(pair, source, [Message(b"not", b"its", (), 5)])
    for made, naming, maps, said in (
        (grown, PREFIX, [grown], "somebody still writes there"),
        (dull, PREFIX, [dull], "unclear at its end"),
        (other, PREFIX, [other], "no record of"),
        (grown, PluginSpec("identity"), [grown], "is not there"),
        (grown, PREFIX, [dull], "holds 45 records that no map tells of"),
    ):
        with link(old, new, made.source.topic, naming=naming, create=False) as asked:
            with pytest.raises(LinkRefusedError) as refused:
                links.create(asked.source, asked.target, asked.spec, maps)
            assert said in refusals(refused.value)
