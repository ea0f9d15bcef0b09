"""Configs of topics that a wave did not make: as they were, once it is given up or its start is taken back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest

from anabranch.kafka.admin import alter_topic_configs, create_topic, delete_topic, topic_configs
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.settling import until_led
from anabranch.migration.run import WaveRun
from anabranch.migration.standing import WaveVerb
from anabranch.migration.steps import StepKind, cancel_steps, start_steps
from anabranch.operations.migrations import linking, own_configs
from anabranch.operations.migrations.desk import Result, Scene
from anabranch.operations.migrations.dryrun import DrySteps
from anabranch.operations.migrations.steps import ClusterSteps
from qa.blocking import between
from tests.unit.link_lab import TO_A, Lab, lab
from tests.unit.migration_lab import LEG, scene_done

pytestmark = pytest.mark.unit
NAME = TO_A.topic
BEFORE = {"retention.ms": "3600000", "max.message.bytes": "2000000", "segment.bytes": "10485760"}
BY_THE_LINK = {"retention.ms": "-1", "retention.bytes": "-1", "cleanup.policy": "delete", "max.message.bytes": None}
WORDS = (
    f"configs of {NAME}: cleanup.policy to the default, max.message.bytes to 2000000, retention.bytes to the default, "
    "retention.ms to 3600000 would be put back"
)


@pytest.fixture
def both() -> Iterator[Lab]:
    """The clusters, for one test; the topic was there before the wave, with configs of its own."""
    with lab() as made:
        asked = {**dict.fromkeys(own(made)), **BEFORE}
        made.on(made.target, lambda cluster: alter_topic_configs(cluster, NAME, asked))
        yield made


def own(both: Lab) -> dict[str, str | None]:
    """What is set on the topic."""
    found = both.on(both.target, lambda cluster: topic_configs(cluster, [NAME]))[NAME]
    return {key: one.value for key, one in found.items() if one.own}


def looked(both: Lab) -> dict[StepKind, Any]:
    """What a start writes down, after which its link sets what it does."""
    seen = both.on(both.target, lambda cluster: own_configs.seen(cluster, [NAME]))
    both.on(both.target, lambda cluster: alter_topic_configs(cluster, NAME, BY_THE_LINK))
    return {StepKind.LOOK: {"absent": [], "configs": seen}}


def forgotten(both: Lab, noted: Mapping[StepKind, Any], verb: WaveVerb, link: str = LEG.link) -> Result:
    """The step that deletes a link."""

    async def forget(scene: Scene) -> Result:
        return await linking.forget_link(replace(scene, run=replace(scene.run, what=verb.value)))

    return scene_done(both, forget, noted, subject=link)


@pytest.fixture
def ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """The link that is there is the one that was made for the wave."""
    monkeypatch.setattr(linking, "_is_ours", lambda *_: True)


@pytest.mark.usefixtures("ours")
def test_a_cancel_puts_back_what_its_link_has_set(both: Lab) -> None:
    """Also where the step is done again; a config that links never set stays as it is now."""
    noted = looked(both)
    both.on(both.target, lambda cluster: alter_topic_configs(cluster, NAME, {"segment.bytes": "20971520"}))
    assert forgotten(both, noted, WaveVerb.CANCEL) == {"configs": [NAME]}
    assert own(both) == {**BEFORE, "segment.bytes": "20971520"}
    assert forgotten(both, noted, WaveVerb.CANCEL) is None


@pytest.mark.usefixtures("ours")
@pytest.mark.parametrize(("verb", "link"), [(WaveVerb.COMPLETE, LEG.link), (WaveVerb.CANCEL, LEG.next.link)])
def test_only_with_the_first_link_of_a_wave_that_is_given_up(both: Lab, verb: WaveVerb, link: str) -> None:
    """Another one holds the topic, or applications stay there."""
    noted = looked(both)
    assert forgotten(both, noted, verb, link) is None
    assert "max.message.bytes" not in own(both)


@pytest.mark.usefixtures("ours")
def test_a_start_that_is_taken_back_puts_them_back(both: Lab) -> None:
    """By what it has written down itself."""
    scene_done(both, linking.delete_link, looked(both), steps=start_steps(LEG))
    assert own(both) == BEFORE


def test_a_link_of_somebody_else_keeps_what_it_has_set(both: Lab) -> None:
    """It has the name, and was there before the step: what is set is its own."""
    noted = looked(both)
    there = own(both)
    scene_done(both, linking.delete_link, noted, steps=start_steps(LEG))
    assert forgotten(both, noted, WaveVerb.CANCEL) is None
    assert own(both) == there


def test_a_topic_that_was_made_again_is_left_alone(both: Lab) -> None:
    """It is another one; and where an older version wrote nothing down there is nothing to put back."""
    noted = looked(both)

    async def make_again(cluster: Cluster) -> None:
        await delete_topic(cluster, NAME)
        await create_topic(cluster, NAME, 2, 1, {"retention.ms": "5"})
        await until_led(cluster, [NAME])

    both.on(both.target, make_again)
    assert scene_done(both, own_configs.changes, noted) == {}
    assert scene_done(both, own_configs.changes, {StepKind.LOOK: {"absent": []}}) == {}


def test_the_plan_of_a_cancel_tells_it(both: Lab) -> None:
    """Of the first link only, by looking."""
    noted = looked(both)

    async def seen(scene: Scene) -> list[str]:
        run = replace(scene.run, what=WaveVerb.CANCEL.value, steps=cancel_steps(LEG.next.next, purge=False), leg=2)
        desk: Any = None
        steps = DrySteps(ClusterSteps(LEG.migration, scene.here, scene.there, desk))
        for step in run.steps:
            if step.kind is StepKind.DELETE_LINK:
                await steps.do(run, step)
        return [one.what for one in steps.seen]

    assert scene_done(both, seen, noted) == ["", "", WORDS]
    assert own(both)["retention.ms"] == "-1"


def test_a_start_writes_down_what_is_set_before_its_link_comes(both: Lab) -> None:
    """Of topics that are there; of those that it makes there is nothing to put back."""

    async def look(here: Cluster, there: Cluster) -> Any:
        desk: Any = None
        run = WaveRun("r", "old", LEG.wave.name, WaveVerb.START.value, start_steps(LEG), 0)
        return await ClusterSteps(LEG.migration, here, there, desk).do(run, run.steps[0])

    async def made_again(cluster: Cluster) -> None:
        await create_topic(cluster, NAME, 2, 1, BEFORE)
        await until_led(cluster, [NAME])

    both.on(both.target, lambda cluster: delete_topic(cluster, NAME))
    assert between(both.source, both.target, look) == {"absent": [NAME]}
    both.on(both.target, made_again)
    found = between(both.source, both.target, look)
    assert (found["absent"], found["configs"][NAME]["own"]) == ([], BEFORE)
