"""What a simulated world leaves behind in the process that it ran in: nothing."""

from __future__ import annotations

import asyncio
import threading
import time
import uuid

import pytest

from qa.simulation.plans import PLANS
from qa.simulation.seed import simulate
from qa.simulation.world import World
from tests.chance import seed

pytestmark = pytest.mark.unit


def test_no_thread_and_no_clock_of_it_stays() -> None:
    """Also of processes that were killed while they waited."""
    before = (time.monotonic, time.time, time.time_ns, time.sleep, uuid.uuid4, asyncio.get_event_loop_policy())
    assert simulate(sorted(PLANS)[0], seed(2), 2.0).records
    assert not [thread.name for thread in threading.enumerate() if thread.name.startswith("simulated")]
    after = (time.monotonic, time.time, time.time_ns, time.sleep, uuid.uuid4, asyncio.get_event_loop_policy())
    assert after == before


def test_a_thread_of_this_process_that_is_not_simulated_sleeps_really() -> None:
    """Spark's client has one: it must neither fail nor take the turn of a simulated thread."""
    world, slept = World(seed(1)), []

    def foreign() -> None:
        time.sleep(0.001)
        slept.append(True)

    with world.entered():
        thread = threading.Thread(target=foreign)
        thread.start()
        thread.join()
    assert slept == [True]
