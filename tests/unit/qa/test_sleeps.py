"""Nothing waits for time and hopes that something has happened meanwhile."""

from __future__ import annotations

import pytest

from qa import patience
from qa.patience import meant

pytestmark = pytest.mark.unit

SIMULATED = (
    *("qa/simulation/", "tests/simulation/"),
    *("tests/unit/copier/test_lease_runner.py", "tests/unit/kafka/test_login_again.py"),
)
"""Where it is a simulated clock that goes on."""
_HELD = "a fault is held for its time"
_CHANCE = "when it comes is the seed's"
_PACE = "the pace of a load"
MEANT = {
    "qa/faults/episode.py": {"_growth": "all writers are gone: what they had sent is taken from their connections"},
    "qa/faults/injector.py": {
        "FaultInjector._move": "the pace of a fault",
        "FaultInjector._network": _HELD,
        "FaultInjector._stop_worker": _HELD,
        "FaultInjector.run_schedule": _CHANCE,
        "_pause": _HELD,
        "_restart": _HELD,
    },
    "qa/faults/testbed.py": {"LinkTestbed.second_run": _HELD},
    "qa/faults/transactions.py": {"Transactor._transaction": _PACE},
    "qa/faults/unclean.py": {"elect_uncleanly": _HELD},
    "qa/killed_mirror.py": {"copy.whole": "a mirror that copies again is told by nothing else"},
    "qa/page_views/episode.py": {"run_episode": "when a kill comes, and for how long something is away, is the seed's"},
    "qa/streamjobs/trials.py": {"cut_off": _CHANCE},
    "tests/contract/test_compacted_reads.py": {"cleaned": "the age from which on a segment is rolled"},
    "tests/contract/test_groups.py": {
        "test_commits_in_an_open_transaction_are_waited_for.pause": "the product's own pause",
    },
    "tests/contract/test_idle_connections.py": {
        "test_a_connection_that_asks_now_and_then_stays": "for how long it is idle",
    },
    "tests/fault/test_killed_identity.py": {"_kill_and_compare": _CHANCE},
    "tests/integration/mm2/test_mm2_offsets_real.py": {"fill": _PACE},
    "tests/integration/sandbox/test_sandbox_proxy.py": {
        "test_kafka_clients_live_through_a_stall_and_a_cut": _HELD,
    },
    "tests/integration/streams/test_two_drivers.py": {
        "test_a_driver_that_was_held_up_writes_no_row_beside_the_next_start": _CHANCE,
    },
    "tests/unit/service/conftest.py": {"_ended_soon.soon": "the server's own pause, made shorter"},
}
"""Where a sleep is no wait: file and function to why."""


@pytest.mark.test
def test_no_sleep_waits_for_what_happens_meanwhile() -> None:
    """A condition is waited for, but where time is what is meant; and no more are excepted than there are."""
    found = patience.places(patience.sleeps, SIMULATED)
    assert [str(one) for place in found.keys() - meant(MEANT) for one in found[place]] == []
    assert meant(MEANT) - found.keys() == set(), "nothing sleeps there any more"


@pytest.mark.parametrize(
    "text",
    [
        "time.sleep(1)",
        "await asyncio.sleep(0.1)",
        "sleep(seconds)",
        "for _ in range(20):\n    time.sleep(0.01)",
        "while time.monotonic() < deadline:\n    time.sleep(0.01)",
        "while True:\n    time.sleep(0.01)",
        "while not done():\n    time.sleep(30)",
        "while not done():\n    time.sleep(pause)",
        "while not done():\n    def look():\n        time.sleep(0.1)",
        "while True:\n    for one in some:\n        break\n    time.sleep(0.1)",
        "while not done():\n    for one in some:\n        time.sleep(0.1)",
        "run('import time\\ntime.sleep(9)\\n')",
    ],
)
def test_a_sleep_that_waits_for_time_is_found(text: str) -> None:
    """Also in a loop, where only the clock ends it, or it is too long for a pause."""
    assert len(patience.sleeps("tests/one.py", text)) == 1


@pytest.mark.parametrize(
    "text",
    [
        "await asyncio.sleep(0)",
        "RUNS = 'import time; time.sleep(600)'",
        "while not done():\n    time.sleep(0.1)",
        "_LOOK_S = 0.2\nwhile not done() and time.monotonic() < deadline:\n    time.sleep(_LOOK_S)",
        "while time.monotonic() < deadline:\n    if done():\n        break\n    time.sleep(0.1)",
        "while True:\n    with suppress(OSError):\n        break\n    time.sleep(0.1)",
        "while True:\n    try:\n        break\n    except E:\n        await asyncio.sleep(0.1)",
    ],
)
def test_a_pause_between_looks_is_none(text: str) -> None:
    """Nor is a turn that is given to others, and a program that hangs."""
    assert patience.sleeps("tests/one.py", text) == []
