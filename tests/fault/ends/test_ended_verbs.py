"""Exit codes of verbs that are ended while their job runs, and of those whose cluster goes away."""

from __future__ import annotations

import os
import signal

import pytest

from anabranch.sandbox import SandboxCluster
from qa.faults.processes import PACKAGE_ROOT
from qa.runs import Runs
from qa.timeouts import LONG_TIMEOUT_S
from tests.fault.ends.jobs import (
    ALIGNING,
    COPIED,
    EQUAL,
    JOBS,
    JVM_STARTS,
    LATER_ROUND,
    LOCAL,
    Moment,
    as_in_a_shell,
    assert_resumed,
    error_of,
    reached,
    rebuild,
    show,
    verify,
)

pytestmark = [pytest.mark.full, pytest.mark.timeout(1800)]

SOON = ("--conf", "spark.network.timeout=20s", "--conf", "spark.network.timeoutInterval=20s")
"""How long Spark's Kafka source waits for a broker's records; two minutes unless told."""

IMPATIENT = f"""
import sys
if "{JOBS["link"]}" in sys.orig_argv:
    from anabranch.spark.jobs import link_driver
    link_driver.FIRST_SURVEY_TIMEOUT_S = 5.0
"""
"""What Python imports first in a link's driver: it waits for clusters for seconds, in place of five minutes."""


# -- the verb is ended ---------------------------------------------------------------------------------


@pytest.mark.parametrize("moment", [JVM_STARTS, LATER_ROUND], ids=lambda moment: moment.name)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
def test_a_comparison_ends_with_its_verb(runs: Runs, number: signal.Signals, moment: Moment) -> None:
    """143 and 129; it is no verdict, and can be resumed at once."""
    process = runs.start(*verify())
    reached(runs, verify(), moment)
    process.send_signal(number)
    assert as_in_a_shell(process.wait(LONG_TIMEOUT_S)) == 128 + number
    runs.await_nobody()
    assert show(runs, EQUAL) == 2
    assert "the command that started it is gone" in runs.log.read_text()
    if moment is LATER_ROUND and number == signal.SIGTERM:
        assert_resumed(runs, EQUAL)


@pytest.mark.parametrize("moment", [JVM_STARTS, LATER_ROUND], ids=lambda moment: moment.name)
def test_a_comparison_that_is_left_by_ctrl_c_goes_on_to_its_verdict(runs: Runs, moment: Moment) -> None:
    """130, which is no verdict; whoever attaches again gets it."""
    process = runs.start(*verify())
    reached(runs, verify(), moment)
    process.send_signal(signal.SIGINT)
    assert process.wait(LONG_TIMEOUT_S) == 130
    assert "the comparison goes on" in runs.log.read_text()
    assert runs.run("verify", "show", EQUAL, "--target", "new", "--watch") == 0, runs.said
    runs.await_nobody()


@pytest.mark.parametrize("moment", [JVM_STARTS, ALIGNING], ids=lambda moment: moment.name)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
def test_a_rebuild_ends_with_its_verb(runs: Runs, number: signal.Signals, moment: Moment) -> None:
    """130, 143 and 129, no file and no process."""
    process = runs.start(*rebuild())
    reached(runs, rebuild(), moment)
    process.send_signal(number)
    assert process.wait(LONG_TIMEOUT_S) == 128 + number
    runs.await_nobody()
    assert runs.said[-1] == "interrupted: the maps are not made"
    assert not (runs.directory / "maps.json").exists()


# -- a cluster goes away -------------------------------------------------------------------------------


@pytest.mark.parametrize("side", ["source", "target"])
@pytest.mark.parametrize("words", [verify(), rebuild()], ids=["verify", "rebuild"])
def test_a_cluster_that_goes_away_is_said(
    runs: Runs, pair: tuple[SandboxCluster, SandboxCluster], side: str, words: tuple[str, ...]
) -> None:
    """4; no verdict and no file, and once the cluster is back the same work can be done."""
    cluster = pair[side == "target"]
    (broker,) = cluster.brokers
    process = runs.start(*words, *SOON)
    reached(runs, words, LATER_ROUND if words == verify() else ALIGNING)
    broker.kill()
    try:
        code = process.wait(LONG_TIMEOUT_S)
        runs.await_nobody()
    finally:
        broker.start()
        cluster.wait_ready()
    assert code == 4, runs.said
    assert cluster.spec.name in error_of(runs)
    if words == verify():
        code = show(runs, EQUAL)
        assert code == 2, runs.said
        if side == "source":
            assert_resumed(runs, EQUAL)
    else:
        assert not (runs.directory / "maps.json").exists()
        assert runs.run(*rebuild()) == 0, runs.said


@pytest.mark.parametrize("side", ["source", "target"])
def test_a_cluster_that_is_away_as_a_link_begins_is_waited_for_and_then_said(
    runs: Runs, pair: tuple[SandboxCluster, SandboxCluster], side: str
) -> None:
    """4 once the time is over; a run that still waits goes on as the cluster is back."""
    cluster = pair[side == "target"]
    (broker,) = cluster.brokers
    words = ("link", "run", EQUAL, *LOCAL)
    (runs.directory / "sitecustomize.py").write_text(IMPATIENT)
    process = runs.start(*words, environment={"PYTHONPATH": f"{runs.directory}{os.pathsep}{PACKAGE_ROOT}"})
    runs.await_process(JOBS["link"])
    broker.kill()
    try:
        assert process.wait(LONG_TIMEOUT_S) == 4, runs.said
        assert cluster.spec.name in error_of(runs)
        assert [line for line in runs.said if "waiting: " in line], runs.said
        runs.await_nobody()
        runs.log.unlink()
        if side == "target":  # the verb itself looks there first
            assert runs.run(*words) == 4, runs.said
            assert cluster.spec.name in error_of(runs)
            return
        process = runs.start(*words)
        runs.await_said("waiting: ")
    finally:
        broker.start()
        cluster.wait_ready()
    runs.await_said(COPIED.says)
    process.send_signal(signal.SIGINT)
    assert process.wait(LONG_TIMEOUT_S) == 0, runs.said
