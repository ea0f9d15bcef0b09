"""The simulation is not blind: what is planted into its logs and maps is found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from anabranch.records.control import ControlType, marker_of
from qa.faults.topics import LoadTopic
from qa.simulation.life import Fault, Life
from qa.simulation.load import entries
from qa.simulation.plans import PLANS
from tests.chance import seed

pytestmark = pytest.mark.unit
QUIET = replace(
    PLANS["history"],
    topics=(LoadTopic("history", 1, old=True),),
    faults=(Fault.RESET,),
    seconds=2.0,
    gap_s=5.0,
    pace=1.0,
    catch_up_s=15.0,
)


def altered(alter: Callable[[Life], bool]) -> list[str]:
    """What is found wrong in a life in which something is altered as soon as it can be."""
    life = Life(QUIET, seed(5))
    done: list[bool] = []

    def attempt() -> None:
        if alter(life):
            done.append(True)
        else:
            life.world.scheduler.call_later(0.2, attempt)

    life.world.scheduler.call_later(1.0, attempt)
    outcome = life.live()
    assert done, "nothing was altered"
    return outcome.wrong


def _copied(life: Life, least: int) -> bool:
    topic = life.target.topics.get("history")
    return topic is not None and len(topic.partitions[0].led.log.batches) >= least


def test_an_untouched_life_holds() -> None:
    """The reason why the others fail is what they alter."""
    assert altered(lambda life: _copied(life, 3)) == []


def test_a_repeated_batch_is_found() -> None:
    """L1: a batch that lies twice in the target's log."""

    def repeat(life: Life) -> bool:
        if not _copied(life, 4):
            return False
        partition = life.target.topics["history"].partitions[0]
        log = partition.led.log
        stored = next(one for one in log.batches if not one.header.is_control)
        log.append(bytearray(stored.data), stored.header, partition.leader_epoch, life.world.scheduler.wall_ms())
        life.target.appended(partition)
        return True

    assert altered(repeat)


def test_a_lost_batch_is_found() -> None:
    """L1: the last batch is gone from the target's log, and nobody was told."""

    def lose(life: Life) -> bool:
        if not _copied(life, 4):
            return False
        log = life.target.topics["history"].partitions[0].led.log
        if log.batches[-1].header.is_control:
            return False
        del log.batches[-2]
        return True

    assert altered(lose)


@pytest.mark.test
def test_the_load_writes_what_its_kinds_are_named_for() -> None:
    """Or what is copied of transactions, cleaned logs and broker's times would be copied of none of them."""
    life = Life(replace(PLANS["holes"], faults=(), seconds=6.0), seed(5))
    assert life.live().wrong == []
    logs = {name: life.source.partition(name, 0).led.log for name in life.plan.names}
    markers = [one for one in logs["payments"].batches if one.header.is_control]
    ends = {marker_of(memoryview(one.data), 0, one.header) for one in markers}
    assert ends == {ControlType.ABORT, ControlType.COMMIT}
    assert all(one.header.is_log_append_time for one in logs["stamped"].batches)
    assert {one.header.count for one in logs["clicks"].batches} == {1}
    offsets = [one.offset for one in entries(life.source.partition("balances", 0), committed=True)]
    assert len(offsets) < logs["balances"].end, "nothing was cleaned away"
