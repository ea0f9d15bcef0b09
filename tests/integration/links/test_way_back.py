"""The way back of a link, and there again: no record is copied twice, and each position is exact in both directions."""

from __future__ import annotations

import itertools

import pytest

from anabranch.groups.plan import GroupStep
from anabranch.groups.select import GroupSelection
from anabranch.model.link import ModePolicy, UnknownLinkError
from anabranch.model.plugins import PluginSpec
from anabranch.model.topics import TopicPartition
from anabranch.operations.links.create import LinkRefusedError
from anabranch.sandbox import SandboxCluster
from qa import groups as group_engine
from qa import links as engine
from qa import offsets as offset_engine
from qa.logcompare import read_log
from tests.integration.links.groups import commit, committed
from tests.integration.links.lab import Link, link
from tests.integration.links.topics import configs_of, create, fresh, newest_offset, numbered, produce, transaction

pytestmark = pytest.mark.test

_numbers = itertools.count(1)


def values(cluster: SandboxCluster, topic: str) -> list[bytes]:
    """Every committed record of a topic's first partition, in order."""
    config = {"bootstrap.servers": cluster.internal_bootstrap, "fetch.wait.max.ms": 20}
    return [entry.digest for entry in read_log(config, topic, 0, committed=True)]


def turned(here: SandboxCluster, there: SandboxCluster, of: Link) -> Link:
    """The way back of a link, between the same clusters."""
    with link(here, there, ".*", back_of=of.id, create=False) as made:
        engine.pause(of.target, of.id)
        made.create()
        return made


def moved(made: Link, group: str, topic: str) -> int:
    """Move a group to a link's target; returns what it has committed there of the one partition."""
    done = group_engine.sync(made.source, made.target, made.id, GroupSelection((group,)))
    assert done.groups[0].step is GroupStep.MOVED, done.groups[0].reasons
    stands = committed(made.new, group, [(topic, 0)])[topic, 0]
    assert stands is not None
    return stands[0]


@pytest.mark.parametrize("mode", [ModePolicy.AUTO, ModePolicy.MAPPED])
def test_there_and_back_and_there_again_each_record_is_once_on_both_sides(
    old: SandboxCluster, new: SandboxCluster, mode: ModePolicy
) -> None:
    """Two turns, with records written where the applications are; groups from before and after each turn are exact."""
    topic = create(old, fresh("turn"))
    produce(old, topic, numbered(30), batch=7)
    transaction(old, topic, [b"paid 1", b"paid 2"])
    early, late = f"early-{next(_numbers)}", f"late-{next(_numbers)}"
    with link(old, new, topic, mode=mode) as there:
        with there.running():
            there.await_position(topic, newest_offset(old, topic))
        # The applications go on on the target: one group has read 10, one will have read what is new.
        back = turned(new, old, there)
        produce(new, topic, numbered(20, first=100), batch=5)
        transaction(new, topic, [b"paid 3"])
        with back.running():
            back.await_position(topic, newest_offset(new, topic))
            assert values(old, topic) == values(new, topic)
        all_of_them = values(new, topic)
        assert len(all_of_them) == len(set(all_of_them)) == 53
        places = {digest: at for at, digest in positions(old, topic).items()}
        for group, read in ((early, 10), (late, 45)):
            commit(new, group, {(topic, 0): (nth(new, topic, read), "")})
            assert moved(back, group, topic) == places[all_of_them[read]], group
        # And there again: what was written on the old cluster since is copied, nothing else.
        again = turned(old, new, back)
        produce(old, topic, numbered(15, first=200))
        with again.running():
            again.await_position(topic, newest_offset(old, topic))
            assert values(old, topic) == values(new, topic)
        assert len(values(new, topic)) == 68
        lies_there = positions(new, topic)
        asked = [(TopicPartition(topic, 0), offset) for offset in positions(old, topic)]
        answers = offset_engine.translate(again.target, again.id, asked).answers
        assert [lies_there.get(answer.answer or 0) for answer in answers] == list(positions(old, topic).values())
        for made in (back, again):
            made.close()


def positions(cluster: SandboxCluster, topic: str) -> dict[int, bytes]:
    """What lies at each offset."""
    config = {"bootstrap.servers": cluster.internal_bootstrap, "fetch.wait.max.ms": 20}
    return {entry.offset: entry.digest for entry in read_log(config, topic, 0, committed=True)}


def nth(cluster: SandboxCluster, topic: str, number: int) -> int:
    """The offset of a record, counted from 0."""
    return sorted(positions(cluster, topic))[number]


def test_names_are_led_back_too(old: SandboxCluster, new: SandboxCluster) -> None:
    """A link with prefixes has a way back that takes them away, and that one has a way back that puts them there."""
    topic = create(old, fresh("named"))
    produce(old, topic, numbered(10))
    with link(old, new, topic, naming=PluginSpec("prefix")) as there:
        with there.running():
            there.await_position(topic, 10)
        renamed = f"{old.spec.name}.{topic}"
        back = turned(new, old, there)
        produce(new, renamed, numbered(5, first=100))
        with back.running():
            back.await_position(renamed, newest_offset(new, renamed))
        assert values(old, topic) == values(new, renamed)
        again = turned(old, new, back)
        produce(old, topic, numbered(5, first=200))
        with again.running():
            again.await_position(topic, newest_offset(old, topic))
        assert values(old, topic) == values(new, renamed)
        assert len(values(old, topic)) == 20
        for made in (back, again):
            made.close()


def test_each_cluster_has_its_own_settings_again_once_both_links_are_deleted(
    old: SandboxCluster, new: SandboxCluster
) -> None:
    """What the first link holds open on the target is not taken for what the topic should have."""
    topic = create(old, fresh("kept"), configs={"retention.ms": "604800000", "max.message.bytes": "500000"})
    produce(old, topic, numbered(10))
    with link(old, new, topic) as there:
        with there.running():
            there.await_position(topic, 10)
        back = turned(new, old, there)
        produce(new, topic, numbered(5, first=100))
        with back.running():
            back.await_position(topic, newest_offset(new, topic))
            assert configs_of(old, topic)["retention.ms"] == "-1"
        engine.delete(back.target, back.id)
        engine.delete(there.target, there.id)
        back.close()
    for cluster in (old, new):
        found = configs_of(cluster, topic)
        assert (found["retention.ms"], found["max.message.bytes"]) == ("604800000", "500000"), cluster.spec.name


def test_a_way_back_is_refused_until_it_would_lose_and_repeat_nothing(old: SandboxCluster, new: SandboxCluster) -> None:
    """While the first link runs on, where it has left something, and for a link that leads elsewhere."""
    topic = create(old, fresh("refused"))
    produce(old, topic, numbered(10))
    with link(old, new, topic) as there, link(new, old, ".*", back_of=there.id, create=False) as back:
        with there.running():
            there.await_position(topic, 10)
        report = engine.probe(back.source, back.target, back.spec)
        assert f"link {there.id} is not paused" in str([one.what for one in report.findings])
        engine.pause(there.target, there.id)
        produce(old, topic, numbered(3, first=50))
        report = engine.probe(back.source, back.target, back.spec)
        assert f"link {there.id} has copied {topic}-0 up to 10, and it ends at 13" in str(
            [one.what for one in report.findings]
        )
        with pytest.raises(LinkRefusedError):
            back.create()
        with link(old, new, topic, back_of=there.id, create=False) as wrong, pytest.raises(UnknownLinkError):
            wrong.create()
