"""What one worker runs in a row."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.groups import _TOGETHER, group

pytestmark = pytest.mark.unit
PAGES = "tests/integration/web/test_web.py"
SINK, KILLS = "tests/integration/streams/test_kafka_sink_kills.py", "tests/integration/kills/test_killed_once.py"
MORE = "tests/simulation/test_more_lives.py"
LIVES, LONG = "tests/simulation/test_lives.py", "tests/simulation/test_long_lives.py"


@pytest.mark.parametrize(
    ("nodeid", "of"),
    [
        ("tests/unit/protocol/test_x.py::test_y[4.3.1]", "tests/unit/protocol/test_x.py"),
        ("tests/contract/test_x.py::test_y[4.3.1]", "contract-4.3.1"),
        ("tests/contract/test_x.py::test_y[a-3.9.1-simulated-b]", "contract-3.9.1-simulated"),
        ("tests/contract/test_x.py::test_y", "tests/contract/test_x.py"),
        (f"{LIVES}::test_new_seeds_hold[guarded-days]", "lives-guarded-days"),
        (f"{LIVES}::test_more_seeds_hold[guarded-days]", "lives-guarded-days"),
        (f"{LIVES}::test_new_seeds_hold[guarded]", "lives-guarded"),
        (f"{MORE}::test_new_brief_lives_hold[days:live]", "lives-days:live"),
        (f"{LONG}::test_a_month[0]", f"{LONG}::test_a_month"),
        (f"{LONG}::test_a_million", f"{LONG}::test_a_million"),
        (f"{SINK}::test_a_broker[begun-1]", f"{SINK}::test_a_broker"),
        (f"{KILLS}::test_an_engine_dies_once[sqlite-0]", f"{KILLS}-sqlite"),
        (f"{KILLS}::test_an_engine_dies_once[postgresql-0]", KILLS),
        (f"{PAGES}::test_pages[a.test.mjs]", f"{PAGES}::test_pages[a.test.mjs]"),
        ("tests/integration/sdk/test_killed.py::test_x[a]", "tests/integration/sdk"),
        ("tests/integration/streams/sinks/test_postgresql.py::test_x", "tests/integration/streams"),
        ("tests/integration/links/test_permissions.py::test_x", "tests/integration/links/test_permissions.py"),
        ("tests/integration/sdk/test_cut_off.py::test_x[a]", "tests/integration/sdk/test_cut_off.py"),
    ],
)
def test_a_worker_runs_in_a_row_what_shares_something(nodeid: str, of: str) -> None:
    """A cluster of one version, a file's fixtures; lives share nothing and are spread."""
    assert group(nodeid) == of


def test_files_that_run_in_a_row_are_there() -> None:
    """A file that was renamed would run apart from them, with two clusters of its own."""
    root = Path(__file__).parents[3]
    assert [file for file in _TOGETHER if not (root / file).is_file()] == []
