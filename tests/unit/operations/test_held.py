"""Caught up means that the target still has what was persisted as copied."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from anabranch.kafka.admin import create_topic, delete_topic
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.settling import until_led
from anabranch.operations.links.caughtup import CopyGoneError, check_held
from anabranch.operations.links.show import show
from anabranch.state.topics.control import Progress
from anabranch.state.topics.recreated import ControlTopicsRecreatedError, finding
from tests.unit.link_lab import LINK, TARGET_END, TO_A, Lab, lab

pytestmark = pytest.mark.unit


async def held(cluster: Cluster) -> None:
    """As `link wait` looks, once all positions are where they should be."""
    await check_held(cluster, await show(cluster, LINK))


async def gone(cluster: Cluster) -> None:
    """The target topic is deleted."""
    await delete_topic(cluster, TO_A.topic)


async def made_again(cluster: Cluster) -> None:
    """And made again, empty."""
    await delete_topic(cluster, TO_A.topic)
    await create_topic(cluster, TO_A.topic, 2, 1, {})
    await until_led(cluster, [TO_A.topic])


async def shorter(cluster: Cluster) -> None:
    """What was persisted goes on past the log's end, as after an unclean election."""
    (lane, *_) = (await show(cluster, LINK)).lanes
    await Progress(cluster).persist([replace(lane, target_end=TARGET_END + 1)])


@pytest.mark.parametrize(
    ("happen", "why"),
    [(gone, "is not there"), (made_again, "was made again"), (shorter, "ends at 15, not at 16")],
)
def test_a_copy_that_is_gone_is_not_caught_up(happen: Callable[[Cluster], Awaitable[None]], why: str) -> None:
    """While no run notices, the positions stay as they were persisted."""
    both: Lab
    with lab() as both:
        both.on(both.target, held)
        both.on(both.target, happen)
        with pytest.raises(CopyGoneError, match=why):
            both.on(both.target, held)


def test_positions_of_other_control_topics_prove_nothing() -> None:
    """They were deleted and made again: what they tell is not the link's."""

    async def forged(cluster: Cluster) -> None:
        status = await show(cluster, LINK)
        (lane, *_) = status.lanes
        other = replace(status.record, control_topics={"__anabranch_links": lane.lane.topic_id})
        await check_held(cluster, replace(status, record=other, findings=(finding(LINK, ["__anabranch_links"]),)))

    with lab() as both, pytest.raises(ControlTopicsRecreatedError, match="__anabranch_links"):
        both.on(both.target, forged)
