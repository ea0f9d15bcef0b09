"""Lanes whose copy is there, while something that tells of it is lost: they stop, and have a way out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from anabranch.config.maps_file import StoredMap
from anabranch.errors import InvalidFieldError
from anabranch.kafka.cluster import Cluster as Client
from anabranch.kafka.log import LogChangedError
from anabranch.kafka.simulated import SimulatedCluster
from anabranch.model.decisions import Cause
from anabranch.model.lane import LaneState
from anabranch.model.link import ModePolicy
from anabranch.model.reasons import Severity
from anabranch.model.topics import TopicPartition
from anabranch.operations.links.pending_decisions import HistoryLostError
from anabranch.sandbox import ClusterSpec, SandboxCluster
from anabranch.state.codecs import topics as control
from anabranch.state.maps.reading import read_maps
from anabranch.state.topics.control import Progress
from anabranch.state.topics.recreated import ControlTopicsRecreatedError
from anabranch.state.topics.upkeep import ControlTopicsError, look_after
from qa import links as engine
from tests.integration.links.lab import Link, Running, link
from tests.integration.links.test_decisions import refuses, values, values_of
from tests.integration.links.topics import configure, create, delete_records, drop, ends, fresh, numbered, produce
from tests.simulated import Simulated

pytestmark = pytest.mark.test


@pytest.fixture
def pair() -> Iterator[tuple[Simulated, Simulated]]:
    """Clusters of a test's own: what it does to the control topics would be done to all links."""
    with Simulated(ClusterSpec("old")) as old, Simulated(ClusterSpec("new")) as new:
        yield old, new


def shorten(new: Simulated, *names: str) -> None:
    """All that is in these control topics is deleted by age, as under a policy that deletes."""

    def retain(one: SimulatedCluster) -> None:
        for name in names:
            log = one.partition(name, 0).led.log
            log.delete_before(log.end)

    new.served.do(retain)


def test_control_topics_of_which_some_were_made_are_made_up(pair: tuple[Simulated, Simulated]) -> None:
    """Whoever made them was killed: nothing was written to any, so none was deleted."""
    old, new = pair
    topic = create(old, fresh("begun"))
    produce(old, topic, numbered(5))
    for name in (control.LINKS, control.CLAIMS):
        create(new, name, 1, dict(control.configs(1)))
    with link(old, new, topic) as made, made.running():
        made.await_position(topic, 5)


def forget_progress(made: Link) -> None:
    """Nothing is known any more of how far the lanes came, but their runs."""

    async def forget(client: Client) -> None:
        progress = Progress(client)
        await progress.sync()
        await progress.forget(made.id)

    made.on_target(forget)


@contextmanager
def copied(old: SandboxCluster, new: SandboxCluster, records: int = 10) -> Iterator[tuple[Link, str]]:
    """A link whose one mapped lane has copied everything, and does not run."""
    topic = create(old, fresh("kept"))
    produce(old, topic, numbered(records))
    with link(old, new, topic, mode=ModePolicy.MAPPED) as made:
        with made.running():
            made.await_position(topic, records)
        yield made, topic


def await_owner(made: Link, run: Running) -> None:
    """Wait until this run has the lane."""
    made.await_(
        lambda status: all(
            lane.state is LaneState.FOLLOWING and lane.owner.startswith(f"{run.id}/") for lane in status.lanes
        )
    )


def run_to_its_end(made: Link) -> None:
    """Run a link that ends by itself; raises why."""
    with made.running() as run:
        run.await_end()


def lose_while_running(made: Link, new: Simulated) -> None:
    """Have the claims deleted under a link that runs; raises what ends it."""
    with made.running() as run:
        await_owner(made, run)
        shorten(new, control.CLAIMS)
        run.await_end()


def goes_on(made: Link, old: SandboxCluster, new: SandboxCluster, topic: str, first: int, kept: list[str]) -> None:
    """What is produced now is copied behind what the target is to hold then."""
    produce(old, topic, numbered(5, first=first))
    with made.running():
        made.await_position(topic, first + 5)
    assert values(new, topic) == [*kept, *values_of(range(first, first + 5))]
    refuses(made)


def test_an_idle_lane_whose_records_are_deleted_goes_on_through_takeovers(
    old: SandboxCluster, new: SandboxCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All was persisted as copied: another process finds the place, also behind the markers of takeovers."""
    monkeypatch.setattr("anabranch.copier.ownership.other_owners.SILENCE_S", 0.2)
    with copied(old, new) as (made, topic):
        for _ in range(2):
            delete_records(new, topic, ends(new, topic)[1])
            with made.running() as run:
                await_owner(made, run)
                run.kill()  # its claim stays, so that the next owner fences it
        delete_records(new, topic, ends(new, topic)[1])
        goes_on(made, old, new, topic, 10, [])


@pytest.mark.parametrize("way", ["shortened", pytest.param("made again", marks=pytest.mark.full), "deleted"])
def test_a_lane_whose_claims_are_lost_does_not_start_over(old: SandboxCluster, new: Simulated, way: str) -> None:
    """It stops, says so, and goes on where it stood when that was accepted; nothing is copied twice."""
    with copied(old, new) as (made, topic):
        if way == "shortened":
            shorten(new, control.CLAIMS)
        else:
            drop(new, control.CLAIMS)
            if way == "made again":
                create(new, control.CLAIMS, configs={"cleanup.policy": "compact"})
        if way == "deleted":
            with pytest.raises(ControlTopicsError) as refused:
                run_to_its_end(made)
            assert "is missing" in refused.value.message and "link accept" in refused.value.hint
        elif way == "made again":
            with pytest.raises(ControlTopicsRecreatedError) as others:
                run_to_its_end(made)
            assert others.value.topics == (control.CLAIMS,) and "link accept" in others.value.hint
        else:
            with made.running():
                lane = made.await_stopped(topic)
                assert "claims are gone" in str(lane.stop_reason) and lane.stop_offset == 10
        assert values(new, topic) == values_of(range(10))
        plan = made.accept()
        (choice,) = plan.pending
        assert (choice.cause, choice.decision.start, choice.twice) == (Cause.CLAIMS_LOST, 10, None)
        assert plan.remake == ((control.CLAIMS,) if way == "deleted" else ())
        assert plan.recreated == ((control.CLAIMS,) if way == "made again" else ())
        goes_on(made, old, new, topic, 10, values_of(range(10)))
        runs = made.ranges(choice.lane)
        assert (runs[0].source, runs[0].target, sum(run.length for run in runs)) == (0, 0, 15)
        maps = made.on_target(lambda client: read_maps(client, made.id))
        assert [list(one.ranges) for one in maps] == [runs] and not maps.doubts, (
            "positions from before are told as well"
        )


@pytest.mark.full
def test_a_running_link_ends_when_its_claims_are_deleted(
    old: SandboxCluster, new: Simulated, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker that goes on would not see who succeeds it."""
    monkeypatch.setattr("anabranch.kafka.log.CHECK_S", 0.2)
    with copied(old, new) as (made, topic):
        with pytest.raises(LogChangedError):
            lose_while_running(made, new)
        with made.running():
            made.await_stopped(topic)
        assert values(new, topic) == values_of(range(10))


@pytest.mark.full
def test_a_lane_of_which_nothing_is_known_is_not_begun_where_claims_were_deleted(
    old: SandboxCluster, new: Simulated
) -> None:
    """All was deleted by age but the link itself: the target has records, and somebody wrote them."""
    with copied(old, new) as (made, topic):
        shorten(new, control.CLAIMS, control.PROGRESS, control.RUNS)
        with made.running():
            lane = made.await_stopped(topic)
        assert "claims are gone" in str(lane.stop_reason) and "begins at offset" in made.findings()
        assert values(new, topic) == values_of(range(10))
        assert engine.plan_accept(made.source, made.target, made.id).pending[0].twice == (0, 10)
        done = engine.accept(made.source, made.target, made.id, f"{topic}:0", at=10)
        assert done.pending[0].given_up == (0, 10)
        goes_on(made, old, new, topic, 10, values_of(range(10)))


def test_a_position_that_is_lost_is_given_by_a_person_or_by_what_was_persisted(
    old: SandboxCluster, new: SandboxCluster
) -> None:
    """The runs tell what surely is there; nobody knows in which epoch, so the lane stops; then it goes on."""
    with copied(old, new) as (made, topic):
        forget_progress(made)
        delete_records(new, topic, ends(new, topic)[1])
        with made.running():
            lane = made.await_stopped(topic)
            assert "can no longer be told exactly" in str(lane.stop_reason) and lane.stop_offset == 10
            engine.resume(made.target, made.id)
            made.await_rounds(topic)  # by then its owner has read of it
            lane = made.await_stopped(topic)
        with pytest.raises(InvalidFieldError):
            engine.accept(made.source, made.target, made.id, f"{topic}:0", at=99)
        assert made.accept().pending[0].decision.start == 10
        goes_on(made, old, new, topic, 10, [])


@pytest.mark.full
def test_a_corrupt_batch_is_given_up_by_a_persons_word(old: Simulated, new: Simulated) -> None:
    """Nothing else mends it; what lies behind it is copied."""
    topic = create(old, fresh("broken"))
    produce(old, topic, numbered(30), batch=10)

    def damage(one: SimulatedCluster) -> None:
        log = one.partition(topic, 0).led.log
        at = next(at for at, stored in enumerate(log.batches) if stored.header.base_offset >= 10)
        data = bytearray(log.batches[at].data)
        data[-1] ^= 0xFF
        log.batches[at] = log.batches[at]._replace(data=bytes(data))

    old.served.do(damage)
    with link(old, new, topic, mode=ModePolicy.MAPPED) as made, made.running():
        lane = made.await_stopped(topic)
        assert lane.stop_offset == 10 and "is corrupt" in str(lane.stop_reason)
        refuses(made)
        done = engine.accept(made.source, made.target, made.id, f"{topic}:0", at=20)
        assert (done.pending[0].cause, done.pending[0].given_up) == (Cause.GIVEN_UP, (10, 20))
        made.await_position(topic, 30)
        assert values(new, topic) == [*values_of(range(10)), *values_of(range(20, 30))]


@pytest.mark.full
def test_jumps_that_are_lost_stop_no_lane_silently(old: SandboxCluster, new: Simulated) -> None:
    """The topic is missing: a run does not begin; each lane goes on where its persisted map ends once that was
    accepted.
    """
    with copied(old, new) as (made, topic):
        drop(new, control.GAP_RECORDS)
        with pytest.raises(ControlTopicsError):
            run_to_its_end(made)
        plan = made.accept()
        assert (plan.remake, plan.pending[0].cause) == ((control.GAP_RECORDS,), Cause.GAP_RECORDS_LOST)
        goes_on(made, old, new, topic, 10, values_of(range(10)))


@pytest.mark.full
def test_where_all_is_forgotten_the_records_tell(old: SandboxCluster, new: SandboxCluster) -> None:
    """Nothing is offered that would copy everything again."""
    with copied(old, new) as (made, _):
        for name in (control.CLAIMS, control.PROGRESS, control.RUNS):
            drop(new, name)
        with pytest.raises(HistoryLostError) as lost:
            made.accept()
        assert "offsets rebuild" in lost.value.hint


def test_a_log_is_not_copied_again_where_all_was_deleted_and_made_again_at_rest(
    old: SandboxCluster, new: Simulated
) -> None:
    """Claims, runs and progress are there and empty, as before a first run: none begins; a link that adopts goes on."""
    with copied(old, new) as (made, topic):
        copy = made.on_target(lambda client: read_maps(client, made.id)).of_source(TopicPartition(topic, 0))
        assert copy is not None
        made.close()
        for name in (control.CLAIMS, control.RUNS, control.PROGRESS):
            drop(new, name)
            create(new, name, configs={"cleanup.policy": "compact"})
        with pytest.raises(ControlTopicsRecreatedError):
            run_to_its_end(made)
        assert values(new, topic) == values_of(range(10))
        assert "made again since link" in made.status().findings[0].what
        with pytest.raises(HistoryLostError):
            made.accept()
        engine.delete(made.target, made.id)
        known = StoredMap(copy.lane, copy.source, copy.target, copy.ranges)
        engine.create(made.source, made.target, made.spec, [known])
        goes_on(made, old, new, topic, 10, values_of(range(10)))


def test_control_topics_that_would_lose_records_forbid_a_link_and_a_run(
    old: SandboxCluster, new: SandboxCluster
) -> None:
    """At plan and at run, with the command that mends it; a run that is under way says so and goes on."""

    async def check(client: Client) -> list[tuple[Severity, str]]:
        return [(one.severity, one.fix) for one in await look_after(client)]

    with copied(old, new) as (made, topic):
        assert made.on_target(check) == []
        with made.running(lease_seconds=1.5) as run:
            await_owner(made, run)
            configure(new, control.CLAIMS, {"cleanup.policy": "delete", "delete.retention.ms": "1000"})
            made.await_finding("__anabranch_claims has cleanup.policy=delete", "delete.retention.ms=1000")
            produce(old, topic, numbered(5, first=10))
            made.await_position(topic, 15)
        with pytest.raises(ControlTopicsError) as refused:
            run_to_its_end(made)
        fix = "kafka-configs --alter --topic __anabranch_claims --add-config cleanup.policy=compact"
        assert refused.value.hint == fix
        found = engine.probe(made.source, made.target, replace(made.spec, id="another")).findings
        assert fix in [one.fix for one in found if one.severity is Severity.ERROR]
        configure(new, control.CLAIMS, {"cleanup.policy": "compact"})
        with made.running():
            made.await_(lambda status: status.lanes[0].state is LaneState.FOLLOWING)
