"""Which tests are tried a second time."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import again

pytestmark = pytest.mark.unit
ROOT = Path(__file__).parents[3]
LINKS = "tests/integration/links/test_maps.py::test_maps"


@pytest.mark.parametrize(
    "nodeid",
    [
        "tests/unit/qa/test_again.py::test_one",
        "tests/model/test_lane_explorer.py::test_one",
        "tests/simulation/test_rights.py::test_one[4.3.1]",
        "tests/contract/test_groups.py::test_one[4.3.1-simulated]",
        "tests/contract/test_group_rights.py::test_one[simulated]",
        "tests/integration/store/test_works.py::test_one[sqlite]",
        "tests/fault/test_schedule.py::test_one",
    ],
)
def test_what_has_no_process_is_never_tried_again(nodeid: str) -> None:
    """Not even where everything is asked for."""
    assert not again.may_be_tried_again(nodeid, is_real=False)
    assert not again.may_be_tried_again(nodeid, is_real=True)


@pytest.mark.parametrize(
    "nodeid",
    [
        "tests/contract/test_groups.py::test_simulated_words_in_a_name[4.3.1]",
        "tests/contract/test_differential.py::test_one[4.3.1]",
        "tests/integration/store/test_works.py::test_one[postgresql]",
        "tests/integration/kills/test_killed_engine.py::test_one[sqlite]",
        "tests/integration/verify/test_sums.py::test_one",
        "tests/fault/test_faults.py::test_one",
    ],
)
def test_what_waits_for_processes_is_tried_again(nodeid: str) -> None:
    """Brokers, servers, and the JVM of Spark."""
    assert again.may_be_tried_again(nodeid, is_real=False)


def test_a_link_is_tried_again_where_its_clusters_are_processes() -> None:
    """It is simulated unless it is marked, or everything is asked for."""
    assert not again.may_be_tried_again(LINKS, is_real=False)
    assert again.may_be_tried_again(LINKS, is_real=True)


def test_what_is_named_is_there() -> None:
    """A file that was renamed would be tried again without a word."""
    assert [name for name in (*again.ALONE, *again.SIMULATED, again.STORE) if not (ROOT / name).exists()] == []


def test_what_is_named_starts_no_process_by_itself() -> None:
    """Else it belongs to what is tried again."""
    starts = ("subprocess", "Popen", "os.kill", "SandboxCluster.start", "SparkSession", "spark_session")
    files = [name for name in (*again.ALONE, *again.SIMULATED) if name.endswith(".py")]
    assert [(name, word) for name in files for word in starts if word in (ROOT / name).read_text("utf-8")] == []
