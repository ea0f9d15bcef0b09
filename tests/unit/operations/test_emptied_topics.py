"""Copies in topics that a wave did not make: they go where it is given up, and nothing of others does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from anabranch.kafka.admin import alter_topic_configs, create_topic, delete_topic
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.ends import ends
from anabranch.kafka.settling import until_led
from anabranch.migration.lost import DOUBTS
from anabranch.migration.standing import WaveVerb
from anabranch.migration.steps import StepKind, start_steps
from anabranch.model.topics import TopicId
from anabranch.operations.migrations import emptying, linking, looking, purging
from anabranch.operations.migrations.desk import Scene
from tests.unit.link_lab import TARGET_END, TO_A, TO_B, Lab, append, lab
from tests.unit.migration_lab import LEG, scene_done

pytestmark = pytest.mark.unit
NAME = TO_A.topic
NOT_KNOWN = "that are not known to be its copies: they stay"
EMPTY = (TARGET_END, TARGET_END)


@pytest.fixture
def both() -> Iterator[Lab]:
    """The clusters, for one test; the topic was there before the wave."""
    with lab() as made:
        yield made


def logs(both: Lab) -> list[tuple[int, int]]:
    """Where the topic's partitions begin and end."""
    found = both.on(both.target, lambda cluster: ends(cluster, [TO_A, TO_B]))
    return [found[TO_A], found[TO_B]]


@pytest.fixture
def ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """The link that is there is the one that was made for the wave."""
    monkeypatch.setattr(linking, "_is_ours", lambda *_: True)


async def noted(scene: Scene) -> Any:
    """What a cancel writes down."""
    return await emptying.copied(scene, looking.kept_topics(scene))


def copied(both: Lab) -> dict[StepKind, Any]:
    """What a purge is told of it."""
    return {StepKind.LOOK: {"absent": [], "copied": scene_done(both, noted)}}


def test_a_purge_takes_its_copies_out_of_a_topic_that_was_there_before(both: Lab) -> None:
    """Then the wave can be started over; the topic itself, with its configs, stays."""
    told = copied(both)
    assert list(told[StepKind.LOOK]["copied"]) == [NAME]
    assert told[StepKind.LOOK]["copied"][NAME]["to"] == {"0": TARGET_END, "1": TARGET_END}
    words = f"no topic would be deleted; so would its copies in topic {NAME}, which it did not make"
    assert scene_done(both, purging.purged_told, told) == words
    assert scene_done(both, purging.purge, told) == {"purged": []}
    assert logs(both) == [EMPTY, EMPTY]
    assert scene_done(both, looking.look) == {"absent": []}
    assert scene_done(both, purging.purge, told) == {"purged": []}


def test_what_others_wrote_behind_the_copies_stays(both: Lab) -> None:
    """It is named by its offset."""
    told = copied(both)
    both.on(both.target, lambda cluster: append(cluster, TO_A, 2))
    why = f"{TO_A} holds records at {TARGET_END} {NOT_KNOWN}"
    assert scene_done(both, purging.purged_told, told).endswith(why)
    assert scene_done(both, purging.purge, told) == {"purged": [], DOUBTS: [why]}
    assert logs(both) == [(TARGET_END, TARGET_END + 2), EMPTY]


def test_a_log_is_cut_no_further_than_the_first_record_of_others(both: Lab) -> None:
    """What is behind it stays, copies too: a log can be cut at its start only."""
    told = copied(both)
    told[StepKind.LOOK]["copied"][NAME]["to"]["1"] = 4
    assert scene_done(both, purging.purge, told)[DOUBTS] == [f"{TO_B} holds records at 4 {NOT_KNOWN}"]
    assert logs(both) == [EMPTY, (4, TARGET_END)]


@pytest.mark.parametrize("is_known", [False, True])
def test_nothing_is_deleted_from_a_topic_of_which_nothing_is_known(both: Lab, is_known: bool) -> None:
    """Nor from one that somebody has re-created since."""
    told = copied(both) if is_known else {StepKind.LOOK: {"absent": []}}

    async def make_again(cluster: Cluster) -> None:
        if is_known:
            await delete_topic(cluster, NAME)
            await create_topic(cluster, NAME, 2, 1, {})
            await until_led(cluster, [NAME])
            await append(cluster, TO_A, TARGET_END)

    both.on(both.target, make_again)
    assert scene_done(both, purging.purge, told)[DOUBTS][0] == f"{TO_A} holds records at 0 {NOT_KNOWN}"
    assert logs(both)[0] == (0, TARGET_END)


def test_a_topic_that_is_only_compacted_keeps_its_records_and_that_is_told(both: Lab) -> None:
    """Brokers refuse to delete records there."""
    found = [emptying.Cut(TO_A, 0, TARGET_END)]

    async def refused(*_: object) -> int:
        return 44

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(emptying, "delete_records", refused)
        told = both.on(both.target, lambda cluster: emptying.empty(cluster, found))
    assert told == [f"{TO_A}: its topic is compacted, and keeps its records; delete the topic by hand"]


def test_the_plan_of_a_purge_tells_that_a_compacted_topic_keeps_its_copies(both: Lab) -> None:
    """Before, and not only once its links are gone."""
    told = copied(both)
    both.on(both.target, lambda cluster: alter_topic_configs(cluster, NAME, {"cleanup.policy": "compact"}))
    words = f"topic {NAME} is compacted, and keeps the copies; topic {NAME}, which it did not make, stays"
    assert scene_done(both, purging.purged_told, told) == f"no topic would be deleted; {words}"
    both.on(both.target, lambda cluster: alter_topic_configs(cluster, NAME, {"cleanup.policy": "compact,delete"}))
    assert f"so would its copies in topic {NAME}" in scene_done(both, purging.purged_told, told)


@pytest.mark.usefixtures("ours")
def test_a_start_that_is_taken_back_leaves_no_copies(both: Lab) -> None:
    """Its link goes, with the map that tells them: they go before it."""
    scene_done(both, linking.delete_link, {StepKind.LOOK: {"absent": []}}, steps=start_steps(LEG))
    assert logs(both) == [EMPTY, EMPTY]
    assert scene_done(both, linking.copied) == {}


def test_copies_of_another_link_of_that_name_stay(both: Lab) -> None:
    """A start that found it there is taken back, and has made nothing."""
    scene_done(both, linking.delete_link, {StepKind.LOOK: {"absent": []}}, steps=start_steps(LEG))
    assert logs(both) == [(0, TARGET_END), (0, TARGET_END)]


@pytest.mark.usefixtures("ours")
def test_a_cancel_writes_down_up_to_where_there_are_copies(both: Lab) -> None:
    """Its link has stopped, and its map is there; a complete needs none of it."""

    class Desk:
        """Nothing runs."""

        async def stop_link(self, *_: object) -> None:
            """It has stopped."""

    async def stopped(scene: Scene) -> tuple[Any, Any, Any]:
        of = {verb: replace(scene, run=replace(scene.run, what=verb.value)) for verb in WaveVerb}
        cancel = of[WaveVerb.CANCEL]
        back = replace(cancel, leg=LEG.next.next, subject=LEG.next.link, there=None)  # where these are is lost
        return (
            await linking.stop_link(cancel),
            await linking.stop_link(of[WaveVerb.COMPLETE]),
            await linking.stop_link(back),
        )

    found, *nothing = scene_done(both, stopped, {StepKind.LOOK: {"absent": []}}, subject=LEG.link, desk=Desk())
    id_ = both.on(both.target, lambda cluster: cluster.metadata([NAME])).topics[NAME].id
    assert found == {"copied": {NAME: {"id": str(TopicId(id_)), "to": {"0": TARGET_END, "1": TARGET_END}}}}
    assert nothing == [None, None]
