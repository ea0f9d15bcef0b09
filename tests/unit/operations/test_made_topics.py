"""Topics on a wave's target: it begins in empty ones, and takes away again only those that it made."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from anabranch.kafka.admin import create_topic, delete_topic
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.settling import until_led
from anabranch.migration.lost import DOUBTS
from anabranch.migration.steps import StepKind
from anabranch.model.topics import TopicId
from anabranch.operations.migrations import looking, purging
from anabranch.operations.migrations.looking import HoldsRecordsError
from tests.unit.link_lab import TO_A, Lab, append, lab
from tests.unit.migration_lab import scene_done

pytestmark = pytest.mark.unit
MADE = {StepKind.LOOK: {"absent": [TO_A.topic]}}
STAYS = f"topic {TO_A.topic} of new is not the one that the migration made: it stays"


@pytest.fixture
def both() -> Iterator[Lab]:
    """The clusters, for one test."""
    with lab() as made:
        yield made


def there(both: Lab) -> TopicId | None:
    """The id of the target's topic, None where it is not there."""

    async def ask(cluster: Cluster) -> TopicId | None:
        found = (await cluster.metadata([TO_A.topic])).topics[TO_A.topic]
        return None if found.error else TopicId(found.id)

    return both.on(both.target, ask)


def made_again(both: Lab) -> None:
    """Somebody deletes the topic, and makes one of its name."""

    async def make(cluster: Cluster) -> None:
        await delete_topic(cluster, TO_A.topic)
        await create_topic(cluster, TO_A.topic, 2, 1, {})
        await until_led(cluster, [TO_A.topic])

    both.on(both.target, make)


def test_a_wave_begins_in_topics_that_hold_nothing(both: Lab) -> None:
    """One record is enough for applications to read it twice; what is not there the migration makes."""
    with pytest.raises(HoldsRecordsError, match=rf"on new topic {TO_A.topic} has records"):
        scene_done(both, looking.look)
    made_again(both)
    assert scene_done(both, looking.look) == {"absent": []}
    both.on(both.target, lambda cluster: append(cluster, TO_A, 1))
    with pytest.raises(HoldsRecordsError):
        scene_done(both, looking.look)
    both.on(both.target, lambda cluster: delete_topic(cluster, TO_A.topic))
    assert scene_done(both, looking.look) == MADE[StepKind.LOOK]


@pytest.mark.parametrize("again", [False, True])
def test_a_start_that_is_taken_back_deletes_what_it_made(both: Lab, again: bool) -> None:
    """A topic that somebody has made since is none of it, nor one that was there before."""
    scene_done(both, looking.delete_made, {StepKind.LOOK: {"absent": []}})
    assert there(both) is not None
    if again:
        made_again(both)
    scene_done(both, looking.delete_made, MADE)
    assert (there(both) is not None) is again


@pytest.mark.parametrize("again", [False, True])
def test_a_purge_deletes_what_the_migration_made(both: Lab, again: bool) -> None:
    """What somebody has made since stays, and that is told."""
    noted = {StepKind.LOOK: {**MADE[StepKind.LOOK], "ids": {TO_A.topic: str(there(both))}}}
    if again:
        made_again(both)
    name = TO_A.topic
    told = (
        f"no topic would be deleted; topic {name}, which it did not make, stays"
        if again
        else f"topic {name} would be deleted"
    )
    assert scene_done(both, purging.purged_told, noted) == told
    done = scene_done(both, purging.purge, noted)
    assert done == ({"purged": [], DOUBTS: [STAYS]} if again else {"purged": [TO_A.topic]})
    assert (there(both) is not None) is again
    if not again:
        assert scene_done(both, purging.purge, noted) == done
