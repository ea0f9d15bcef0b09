"""What is not supported stops its lane, with the exact offset and the reason, and no other lane."""

from __future__ import annotations

from dataclasses import replace

import pytest

from anabranch.copier.source import fetcher
from anabranch.model.configs import DEFAULT_DENY, ConfigRules
from anabranch.model.lane import LaneState
from anabranch.model.plugins import PluginSpec
from anabranch.model.reports import LinkStatus
from anabranch.operations.links.create import LinkRefusedError
from anabranch.sandbox import SandboxCluster
from qa import links as engine
from qa.inconclusive import InconclusiveError
from tests import chance
from tests.integration.links.lab import link
from tests.integration.links.topics import (
    configure,
    create,
    delete_records,
    drop,
    ends,
    fresh,
    grow,
    newest_offset,
    numbered,
    produce,
)

pytestmark = pytest.mark.test


@pytest.mark.real
def test_a_batch_that_is_too_large_stops_its_own_lane_until_the_target_takes_it(
    old: SandboxCluster, new: SandboxCluster
) -> None:
    """At the exact offset and with the reason; a plain lane beside it goes on, and a resumed link tries again."""
    name = fresh("odd")
    plain, large = create(old, name + "-plain", 2), create(old, name + "-large")
    produce(old, large, numbered(7), batch=3)
    produce(old, large, [{"value": b"x" * 1_500_000}], settings={"message.max.bytes": 3_000_000})
    produce(old, plain, numbered(10))
    # One lease: a plan between the change of the target's limit and the retry would take that change back.
    with link(old, new, name + ".*") as made, made.running(lease_seconds=600):
        lane = made.await_stopped(large)
        assert (lane.position, lane.stop_offset) == (7, 7)
        assert lane.stop_reason is not None and "larger than the target accepts (error 10)" in lane.stop_reason
        assert made.assert_copied(large) == 7
        made.await_position(plain, 10)
        produce(old, plain, numbered(10, first=10) + numbered(10, partition=1))
        made.await_position(plain, 20)
        made.await_position(plain, 10, 1)
        made.assert_copied(plain)

        # What a person can mend is tried again when the link is resumed.
        configure(new, large, {"max.message.bytes": "3000000"})
        engine.resume(made.target, made.id)
        made.await_position(large, 8)
        made.assert_copied(large)


def test_records_that_retention_took_from_the_source_are_named_and_not_skipped(
    old: SandboxCluster, new: SandboxCluster
) -> None:
    """The lane stops with the range that is lost, and copies nothing behind it."""
    topic = create(old, fresh("expired"))
    produce(old, topic, numbered(10))
    with link(old, new, topic) as made:
        with made.running():
            made.await_position(topic, 10)
        produce(old, topic, numbered(30, first=10), batch=10)
        delete_records(old, topic, 25)
        with made.running():
            lane = made.await_stopped(topic)
        assert (lane.stop_offset, lane.position) == (10, 10)
        assert "offsets 10 to 24 are gone" in str(lane.stop_reason)
        assert newest_offset(new, topic) == 10


def test_what_a_paused_lane_had_read_before_retention_took_it_is_copied_and_only_the_rest_is_named(
    old: SandboxCluster, new: SandboxCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pause comes in the middle of a fetch that waits at the source's end, and that the first new batch answers."""
    monkeypatch.setattr(fetcher, "POLL_MS", 10_000)

    def attempt(_: int) -> None:
        topic = create(old, fresh("expired"))
        produce(old, topic, numbered(10))
        with link(old, new, topic) as made, made.running():
            made.await_position(topic, 10)
            engine.pause(made.target, made.id)
            made.await_(lambda status: status.lanes[0].state is LaneState.PAUSED)
            produce(old, topic, numbered(30, first=10), batch=10)
            delete_records(old, topic, 25)
            engine.resume(made.target, made.id)
            ended = made.await_(lambda status: status.lanes[0].state is LaneState.STOPPED or copied_all(status))
            if copied_all(ended):
                raise InconclusiveError("that fetch was answered late, with all batches")
            lane = made.lane(topic)
            assert lane.position == lane.stop_offset
            assert lane.position in {10, 20}  # 20 unless that fetch came to its end
            assert f"offsets {lane.position} to 24 are gone" in str(lane.stop_reason)
            assert newest_offset(new, topic) == lane.position

    def copied_all(status: LinkStatus) -> bool:
        return status.lanes[0].position == 40

    chance.conclusive(attempt)


def test_a_source_topic_made_again_is_not_taken_for_the_old_one(old: SandboxCluster, new: SandboxCluster) -> None:
    """Its lane stops, the plan names the topic, and none of the new topic's records are mixed in."""
    topic, other = create(old, fresh("again")), create(old, fresh("again"))
    produce(old, topic, numbered(10))
    with link(old, new, [topic, other]) as made:
        with made.running():
            made.await_position(topic, 10)
            drop(old, topic)
            create(old, topic)
            produce(old, topic, numbered(30, first=500))
            lane = made.await_stopped(topic)
            assert lane.stop_offset == 10
            assert "made again" in str(lane.stop_reason) or "does not exist" in str(lane.stop_reason)
            produce(old, other, numbered(5))
            made.await_position(other, 5)
        with made.running():
            made.await_finding(f"topic {topic} was deleted and made again on the source")
        assert newest_offset(new, topic) == 10


def test_a_target_topic_made_again_is_not_written_to(old: SandboxCluster, new: SandboxCluster) -> None:
    """The lane stops at the exact offset, and the plan says what to do."""
    topic = create(old, fresh("remade"))
    produce(old, topic, numbered(10))
    with link(old, new, topic) as made:
        with made.running():
            made.await_position(topic, 10)
            drop(new, topic)
            create(new, topic)
            produce(old, topic, numbered(5, first=10))
            lane = made.await_stopped(topic)
            assert lane.stop_offset == 10
            assert "made again" in str(lane.stop_reason)
            assert ends(new, topic) == (0, 0)
        with made.running():
            made.await_finding(
                f"topic {topic} was deleted and made again on the target", f"anabranch link accept {made.id} {topic}"
            )
        assert ends(new, topic) == (0, 0)


def test_a_target_topic_with_fewer_partitions_is_refused_and_others_are_copied(
    old: SandboxCluster, new: SandboxCluster
) -> None:
    """At creation it is an error; once the link exists, the finding names the command and the rest goes on."""
    name = fresh("narrow")
    good = create(old, name + "-good")
    produce(old, good, numbered(5))
    with link(old, new, name + "-.*") as made, made.running(lease_seconds=1.5):
        made.await_position(good, 5)
        create(new, name + "-bad", 1)
        bad = create(old, name + "-bad", 3)
        made.await_finding(
            f"topic {bad} has 1 partitions on the target, {bad} has 3 on the source",
            f"kafka-topics --alter --topic {bad} --partitions 3",
        )
        produce(old, good, numbered(5, first=5))
        made.await_position(good, 10)
        grow(new, bad, 3)
        produce(old, bad, numbered(5, partition=2))
        made.await_position(bad, 5, 2)
        made.await_(lambda _: made.findings() == "")


def test_a_setting_that_the_rules_leave_alone_stays_and_its_effect_is_told(
    old: SandboxCluster, new: SandboxCluster
) -> None:
    """A small max.message.bytes of the target's own is warned of at creation and stops the lane that meets it."""
    topic = create(old, fresh("small"))
    create(new, topic, configs={"max.message.bytes": "2000"})
    produce(old, topic, numbered(5))
    produce(old, topic, [{"value": b"y" * 5000}])
    rules = ConfigRules(deny=(*DEFAULT_DENY, r"max\.message\.bytes"))
    with link(old, new, topic, configs=rules) as made:
        assert made.report is not None
        assert any("takes batches of 2,000 bytes" in finding.what for finding in made.report.findings)
        with made.running():
            lane = made.await_stopped(topic)
            assert lane.stop_offset == 5
            assert "max.message.bytes" in str(lane.stop_reason) or "larger than the target accepts" in str(
                lane.stop_reason
            )
            made.assert_copied(topic)


def test_a_filter_that_matches_nothing_is_told_and_waits_for_topics(old: SandboxCluster, new: SandboxCluster) -> None:
    """The link is made with a warning; a topic that comes later and matches is copied."""
    name = fresh("nothing")
    with link(old, new, name) as made:
        assert made.report is not None
        assert "matches none of the source's" in made.report.findings[0].what
        with made.running(lease_seconds=1.5):
            made.await_finding(f"anabranch link set {made.id} --include REGEX")
            create(old, name)
            produce(old, name, numbered(3))
            made.await_position(name, 3)
            assert made.assert_copied(name) == 3


def test_two_topics_of_one_target_name_are_told_and_one_is_copied(
    old: SandboxCluster, new: SandboxCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A naming policy of another package that folds names is found out before anything is mixed."""
    from tests.integration.links.policies import register

    register(monkeypatch)
    name = fresh("folded")
    upper = create(old, name + "-A")
    produce(old, upper, numbered(4))
    chosen = PluginSpec("length", {"longest": len(name) + 2, "prefix": name})
    with link(old, new, "", filter=chosen, naming=PluginSpec("lower")) as made, made.running(lease_seconds=1.5):
        lane = made.await_position(upper, 4)
        assert lane.target.topic == upper.lower()
        lower = create(old, name + "-a")
        produce(old, lower, numbered(4, first=10))
        made.await_finding(f"topics {upper} and {lower} would both be called {lower}")
        made.assert_copied(upper, lower)
        assert newest_offset(new, lower) == 4
        with pytest.raises(LinkRefusedError) as again:
            engine.create(made.source, made.target, replace(made.spec, id="folding"))
        assert any("would all be called" in finding.what for finding in again.value.errors)
