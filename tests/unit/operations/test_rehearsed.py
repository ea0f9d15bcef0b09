"""A rehearsal removes what one has made, and refuses to begin where somebody else has called something so."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator

import pytest

from anabranch.kafka.admin import create_topic
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.log import KeyedLog
from anabranch.kafka.settling import until_led
from anabranch.migration.rehearsal import rehearsal_of
from anabranch.migration.spec import Migration, Wave
from anabranch.model.groups import Commit
from anabranch.model.topics import TopicPartition
from anabranch.operations.migrations.rehearsed import MARK, SAMPLES, ForeignRehearsalError, refuse_foreign
from qa.blocking import between
from tests.unit.link_lab import A, Lab, lab

pytestmark = pytest.mark.unit

WAVE = Wave("orders", ("orders",), ("shop",))
REHEARSAL = rehearsal_of(Migration("move", "old", "new", (WAVE,)), WAVE)
TOPIC, GROUP = "rehearsal.move.orders", "rehearsal.move.shop"


@pytest.fixture
def both() -> Iterator[Lab]:
    """Two clusters."""
    with lab() as made:
        yield made


def refuse(both: Lab) -> None:
    """What is done before anything is removed."""
    between(both.source, both.target, lambda old, new: refuse_foreign(old, new, REHEARSAL))


def holding(*values: bytes) -> Callable[[Cluster], Awaitable[object]]:
    """Make the topic, with these records."""

    async def fill(cluster: Cluster) -> None:
        await create_topic(cluster, TOPIC, 2, 1, {})
        await until_led(cluster, [TOPIC])
        if values:
            await KeyedLog(cluster, TOPIC, 1).append([(b"k", value) for value in values], 1_000)

    return fill


def test_what_a_killed_rehearsal_left_is_no_reason_against_the_next(both: Lab) -> None:
    """Nothing, topics without a record, its own records, and positions of them."""
    refuse(both)
    both.on(both.source, holding(MARK))
    both.on(both.target, holding())
    both.commit(both.source, GROUP, {TopicPartition(TOPIC, 1): Commit(1)})
    refuse(both)


@pytest.mark.parametrize("values", [(MARK, b"an order"), (MARK,) * (4 * SAMPLES + 1)])
def test_a_topic_with_other_records_is_refused_on_either_side(both: Lab, values: tuple[bytes, ...]) -> None:
    """By its records, and by how many there are."""
    both.on(both.target, holding(*values))
    with pytest.raises(ForeignRehearsalError, match=f"topic {TOPIC} of new was not made by a rehearsal"):
        refuse(both)


def test_a_group_that_reads_something_else_is_refused(both: Lab) -> None:
    """Its positions would go with it."""
    both.commit(both.source, GROUP, {A: Commit(3)})
    with pytest.raises(ForeignRehearsalError, match=f"group {GROUP} of old .* offsets of topic orders"):
        refuse(both)
