"""The source is killed while a wave is led back there: the wave is ended without it, and what was written is there."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace

import pytest

from anabranch.migration.lost import LostState
from anabranch.migration.options import TailChoice, WaveOptions
from anabranch.migration.run import WaveRun, WaveRunState
from anabranch.migration.spec import WaveOrder
from anabranch.migration.standing import WaveState, WaveVerb
from anabranch.migration.steps import StepKind
from anabranch.migration.wave_steps import WaveStateError, steps_for
from qa import links as engine
from tests.integration.kafka.security import context_of
from tests.integration.links.groups import commit, committed
from tests.integration.links.test_migration_switch import until_same, values
from tests.integration.links.topics import newest_offset, numbered, produce
from tests.integration.migrations.conftest import Clusters
from tests.integration.migrations.test_source_lost import LOST, LostStand, stand

pytestmark = [pytest.mark.test, pytest.mark.usefixtures("quick")]
_first = itertools.count(1000, 100)


def at(number: int, is_begun: bool) -> Callable[[WaveRun], bool]:
    """An engine dies before a step is written down to be begun, or once it is done, before that is written down."""
    return lambda one: one.is_begun is is_begun and one.at == (number if is_begun else number + 1)


def written(made: LostStand) -> None:
    """Applications write ten records on the target, and read five of them."""
    (topic,), (group,) = made.wave.topics, made.wave.groups
    produce(made.new, topic, numbered(10, first=next(_first)), batch=3)
    commit(made.new, group, {(topic, 0): (newest_offset(made.new, topic) - 5, "read"), (topic, 1): (8, "")})


def assert_keeps_up(made: LostStand) -> None:
    """What was and is written on the target comes to the source that is back, each record once, in order."""
    (topic,) = made.wave.topics
    until_same(made.old, made.new, topic)
    assert len(set(values(made.old, topic))) == len(values(made.old, topic))


def assert_home(made: LostStand, run: WaveRun) -> None:
    """It was taken back: the group is where it was, nobody's record is lost, and once the source is back it goes on."""
    (topic,), (group,) = made.wave.topics, made.wave.groups
    assert (run.state, run.why) == (WaveRunState.CANCELLED, "mei: old is gone")
    assert (made.stands.leg.number, made.stands.is_gone, made.stands.lost) == (1, True, None)
    assert committed(made.new, group, [(topic, 0)])[topic, 0] == (newest_offset(made.new, topic) - 5, "read")
    written(made)
    made.back()
    found = made.ended(WaveVerb.RECONCILE)
    assert (found.state, found.why, made.stands.is_gone) == (WaveRunState.DONE, "", False)
    assert not engine.show(context_of(made.old, "admin"), made.leg(1).link).wanted.paused
    assert_keeps_up(made)


def assert_led_again(made: LostStand, run: WaveRun) -> None:
    """Somebody may have gone on there: the wave is switched without the source, and reconciled once it is back."""
    (topic,), (group,) = made.wave.topics, made.wave.groups
    assert (run.state, made.stands.state, made.stands.leg.number) == (WaveRunState.DONE, WaveState.COPYING, 2)
    assert made.leg(1).link in made.runs
    end = newest_offset(made.new, topic)
    found = made.ended(WaveVerb.SWITCH, LOST)
    assert (found.state, found.why) == (WaveRunState.DONE, "")
    stands = made.stands
    assert stands.leg.number == 3 and stands.lost is not None and stands.lost.state is LostState.GONE
    assert any(doubt.startswith(f"{topic}-0 was copied up to ") for doubt in stands.lost.doubts), stands.lost.doubts
    assert committed(made.new, group, [(topic, 0)])[topic, 0] == (end - 5, "read")
    written(made)
    made.back()
    found = made.ended(WaveVerb.RECONCILE)
    assert (found.why, found.state, made.stands.lost) == ("", WaveRunState.DONE, None)
    assert set(made.runs) == {made.leg(3).link}, "what copied there before has ended, before ends were pinned"
    assert_keeps_up(made)


def test_a_source_that_dies_on_the_way_back_is_left_there(clusters: Clusters, store: str) -> None:
    """Right behind the point of no return, and when all but the way there again is done."""
    with stand(clusters, store) as made:
        (topic,) = made.wave.topics
        assert made.ended(WaveVerb.SWITCH).state is WaveRunState.DONE
        written(made)
        kinds = [step.kind for step in steps_for(made.stands, WaveVerb.REVERSE).steps]
        assert_home(made, made.left_alone(WaveVerb.REVERSE, at(kinds.index(StepKind.JOURNAL), False)))
        assert_led_again(
            made, made.left_alone(WaveVerb.REVERSE, at(kinds.index(StepKind.RUN_REVERSE), True), within=True)
        )
        assert made.ended(WaveVerb.REVERSE).state is WaveRunState.DONE
        assert values(made.old, topic) == values(made.new, topic)


def test_a_source_that_comes_back_by_itself_is_led_from_all_the_same(clusters: Clusters, store: str) -> None:
    """Nobody published positions there: those that are there are old.  What it has more is named."""
    with stand(clusters, store) as made:
        (topic,), (group,) = made.wave.topics, made.wave.groups
        assert made.ended(WaveVerb.SWITCH).state is WaveRunState.DONE
        written(made)
        kinds = [step.kind for step in steps_for(made.stands, WaveVerb.REVERSE).steps]
        run = made.left_alone(WaveVerb.REVERSE, at(kinds.index(StepKind.RUN_REVERSE), True), within=True)
        assert run.state is WaveRunState.DONE and made.stands.is_halfway
        made.back()
        produce(made.old, topic, numbered(3, first=next(_first)))
        for verb in (WaveVerb.RECONCILE, WaveVerb.SWITCH, WaveVerb.CANCEL):
            with pytest.raises(WaveStateError, match="old was lost while it was being led there"):
                steps_for(made.stands, verb)
        end = newest_offset(made.new, topic)
        led = made.ended(WaveVerb.SWITCH, LOST)
        assert (led.why, led.state) == ("", WaveRunState.DONE)
        assert committed(made.new, group, [(topic, 0)])[topic, 0] == (end - 5, "read")
        written(made)
        refused = made.ended(WaveVerb.RECONCILE)
        assert f"3 records (offsets {end} to {end + 2}) of {topic}-0" in refused.why
        appended = made.ended(WaveVerb.RECONCILE, WaveOptions(tail=TailChoice.APPEND))
        assert (appended.why, appended.state) == ("", WaveRunState.DONE)
        assert values(made.new, topic)[-3:] == values(made.old, topic)[-3:]


@pytest.mark.full
def test_a_source_dies_at_each_point_of_the_way_back(clusters: Clusters, store: str) -> None:
    """One after the other; where nobody was let go there the wave stands as before, and can be led back."""
    with stand(clusters, store) as made:
        assert made.ended(WaveVerb.SWITCH).state is WaveRunState.DONE
        written(made)
        kinds = [step.kind for step in steps_for(made.stands, WaveVerb.REVERSE).steps]
        let_go = kinds.index(StepKind.RUN_REVERSE)
        points = [at(number, is_begun) for number in range(let_go) for is_begun in (True, False)]
        for point in [*points, at(let_go, True)]:
            assert_home(made, made.left_alone(WaveVerb.REVERSE, point))
        assert made.ended(WaveVerb.REVERSE).state is WaveRunState.DONE


@pytest.mark.full
@pytest.mark.parametrize("order", [WaveOrder.CONSUMERS_FIRST, WaveOrder.PRODUCERS_FIRST])
def test_the_part_that_went_back_is_led_again(clusters: Clusters, store: str, order: WaveOrder) -> None:
    """Consumers read again what they had read there, and nothing is lost; of producers the tail is named."""
    with stand(clusters, store) as stood:
        wave = replace(stood.wave, order=order)
        made = replace(stood, migration=replace(stood.migration, waves=(wave,)))
        (topic,), (group,) = wave.topics, wave.groups
        for _ in range(2):
            assert made.ended(WaveVerb.SWITCH).state is WaveRunState.DONE
        written(made)
        read = newest_offset(made.new, topic) - 5
        until_same(made.old, made.new, topic)
        assert made.ended(WaveVerb.REVERSE).state is WaveRunState.DONE
        if order is WaveOrder.CONSUMERS_FIRST:
            commit(made.old, group, {(topic, 0): (newest_offset(made.old, topic), "read on")})
            produce(made.new, topic, numbered(10, first=next(_first)))
        else:
            produce(made.old, topic, numbered(10, first=next(_first)))
        until_same(made.old, made.new, topic)
        made.away()
        found = made.ended(WaveVerb.SWITCH, LOST)
        assert (found.state, found.why, found.leg) == (WaveRunState.DONE, "", 2)
        assert committed(made.new, group, [(topic, 0)])[topic, 0] == (read, "read")
        stands = made.stands
        assert stands.state is WaveState.SWITCHED and stands.is_gone
        assert (stands.leg.number, stands.lost is None) == (
            (1, True) if order is WaveOrder.CONSUMERS_FIRST else (3, False)
        )
        produce(made.new, topic, numbered(10, first=next(_first)))
        made.back()
        back = made.ended(WaveVerb.RECONCILE)
        assert (back.state, back.why, made.stands.lost) == (WaveRunState.DONE, "", None)
        assert_keeps_up(made)
