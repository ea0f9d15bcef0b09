"""Exit codes of rebuilds and links whose job is killed, whenever it is."""

from __future__ import annotations

import signal

import pytest

from anabranch.config import maps_file
from anabranch.spark.scratch import PREFIX
from qa.runs import Runs
from qa.timeouts import LONG_TIMEOUT_S
from tests.fault.ends.jobs import (
    ALIGNING,
    COPIED,
    EQUAL,
    JOBS,
    JVM_STARTS,
    LOCAL,
    RECORDS,
    STARTED,
    Moment,
    assert_killed,
    error_of,
    reached,
    rebuild,
)

pytestmark = [pytest.mark.full, pytest.mark.timeout(1800)]

DETACHED = ("link", "run", EQUAL, *LOCAL, "--detach")


@pytest.mark.parametrize(
    ("victim", "moment"),
    [("driver", JVM_STARTS), ("driver", ALIGNING), ("JVM", JVM_STARTS), ("JVM", ALIGNING)],
    ids=lambda value: getattr(value, "name", value),
)
def test_a_rebuild_that_is_killed_says_so(runs: Runs, victim: str, moment: Moment) -> None:
    """No file, no process; and the same command makes the maps."""
    assert_killed(runs, rebuild(), victim, moment, of_driver=5)
    assert not (runs.directory / "maps.json").exists()
    if victim == "JVM":
        assert runs.run(*rebuild()) == 0, runs.said
        assert sum(one.ranges.records for one in maps_file.load(runs.directory / "maps.json")) == RECORDS


@pytest.mark.parametrize("victim", ["driver", "JVM"])
@pytest.mark.parametrize("moment", [JVM_STARTS, STARTED, COPIED], ids=lambda moment: moment.name)
def test_a_link_whose_job_is_killed_says_so(runs: Runs, victim: str, moment: Moment) -> None:
    """5, and 2 for a JVM that never listened; run again it removes what a killed driver has left in the temporary
    directory.
    """
    temporary = runs.directory / "tmp"
    temporary.mkdir()
    words, here = ("link", "run", EQUAL, *LOCAL), {"TMPDIR": str(temporary)}
    process = runs.start(*words, environment=here)
    driver, jvm = reached(runs, words, moment)
    (driver if victim == "driver" else jvm).kill()
    is_unstarted = (victim, moment) == ("JVM", JVM_STARTS)
    assert process.wait(LONG_TIMEOUT_S) == (2 if is_unstarted else 5), runs.said
    told = error_of(runs)
    assert ("the job was killed by SIGKILL" if victim == "driver" else "JVM") in told, told
    runs.await_nobody()
    assert bool(list(temporary.glob(f"{PREFIX}*"))) is (victim == "driver")
    runs.log.unlink()
    process = runs.start(*words, environment=here)
    runs.await_said(COPIED.says)
    process.send_signal(signal.SIGINT)
    assert process.wait(LONG_TIMEOUT_S) == 0, runs.said
    assert not list(temporary.glob(f"{PREFIX}*"))


@pytest.mark.parametrize(("victim", "code"), [("driver", 5), ("JVM", 2)])
def test_a_detached_link_that_dies_before_it_planned_says_so(runs: Runs, victim: str, code: int) -> None:
    """Its verb exits as its job did, not with 0; the next one runs."""
    process = runs.start(*DETACHED)
    driver, jvm = reached(runs, DETACHED, JVM_STARTS)
    (driver if victim == "driver" else jvm).kill()
    assert process.wait(LONG_TIMEOUT_S) == code, runs.said
    assert "did not begin: the job" in error_of(runs)
    runs.await_nobody()
    assert runs.run(*DETACHED) == 0, runs.said
    assert runs.run("link", "stop", EQUAL, "--target", "new") == 0, runs.said
    runs.await_nobody()


def test_a_detached_link_that_is_killed_later_counts_as_ended(runs: Runs) -> None:
    """Nobody is there to tell: after a minute without a report ``link stop`` says so, and the link is run again."""
    assert runs.run(*DETACHED) == 0, runs.said
    runs.await_process(JOBS["link"]).kill()
    runs.await_nobody()
    assert runs.run("link", "stop", EQUAL, "--target", "new") == 0, runs.said
    process = runs.start("link", "run", EQUAL, *LOCAL)
    runs.await_said(COPIED.says)
    process.send_signal(signal.SIGINT)
    assert process.wait(LONG_TIMEOUT_S) == 0, runs.said
