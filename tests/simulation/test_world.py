"""What a simulated world leaves behind in the process that it ran in: nothing."""

from __future__ import annotations

import asyncio
import threading
import time
import uuid

import pytest

from anabranch.testing.simulation.plans import PLANS
from anabranch.testing.simulation.seed import simulate

pytestmark = pytest.mark.unit


def test_no_thread_and_no_clock_of_it_stays() -> None:
    """Also of processes that were killed while they waited."""
    before = (time.monotonic, time.time, time.time_ns, time.sleep, uuid.uuid4, asyncio.get_event_loop_policy())
    assert simulate(sorted(PLANS)[0], 2, 2.0).records
    assert not [thread.name for thread in threading.enumerate() if thread.name.startswith("simulated")]
    after = (time.monotonic, time.time, time.time_ns, time.sleep, uuid.uuid4, asyncio.get_event_loop_policy())
    assert after == before
