"""The commands of docs/how-to/run-on-yarn.md, taken from that page, on a YARN with Hadoop's own client."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
import yaml

from anabranch.sandbox import SandboxCluster
from qa.timeouts import LONG_TIMEOUT_S
from tests.integration.links.lab import Link
from tests.integration.spark.yarn import Yarn
from tests.integration.spark.yarn_desk import PASSWORD, Desk, copied, drivers, launch_scripts, linked, options, owner
from tests.integration.spark.yarn_page import documented

pytestmark = pytest.mark.full
AT_ONCE = documented("--conf spark.yarn.submit", {})
"""What has the command return at once."""


def link_run(desk: Desk, made: Link, archive: Path, **conf: str) -> list[str]:
    """The page's command with a driver on YARN, and what a small machine needs beside it."""
    secret, authority = desk.files
    names = {
        "old-new": made.id,
        "new": "yarn-new",
        "anabranch-env.tar.gz": str(archive),
        "old.password": str(secret),
        "ca.pem": str(authority),
    }
    _, *words = documented("anabranch link run", names, has="--deploy-mode cluster")
    settings = {**desk.settings, **{key.replace("_", "."): value for key, value in conf.items()}}
    return desk.command(*words, *[word for key, value in settings.items() for word in ("--conf", f"{key}={value}")])


def ran(desk: Desk, command: Sequence[str]) -> int:
    """Run a command to its end, which leaves what it says in the desk's log; returns its exit code."""
    with desk.running([*command]) as process:
        return process.wait(LONG_TIMEOUT_S)


def application(cluster: Yarn, before: set[str]) -> str:
    """The only one that there was not before."""
    (name,) = set(cluster.applications()) - before
    return name


def status(cluster: Yarn, name: str) -> dict[str, str]:
    """What ``yarn application -status`` says, by the names of its lines."""
    told = cluster.ran(documented("yarn application -status", {"ID": name}))
    return {key.strip(): value.strip() for key, _, value in (line.partition(" : ") for line in told.splitlines())}


def await_state(cluster: Yarn, name: str, state: str) -> dict[str, str]:
    """Wait until an application is in a state; returns all that is said of it."""
    deadline = time.monotonic() + LONG_TIMEOUT_S
    while (told := status(cluster, name))["State"] != state:
        assert time.monotonic() < deadline, told
        time.sleep(0.5)
    return told


def driver_said(cluster: Yarn, name: str, words: str) -> str:
    """What ``yarn logs`` prints of an application that has ended, once its node has handed all of it over.

    Until then it ends badly.
    """
    command = documented("yarn logs -applicationId", {"ID": name})
    deadline = time.monotonic() + LONG_TIMEOUT_S
    while words not in (done := cluster.run(command)).stdout or done.returncode:
        assert time.monotonic() < deadline, done.stdout + done.stderr
        time.sleep(0.5)
    return done.stdout


def test_a_driver_that_waits_for_resources_is_seen_and_killed(
    yarn_pair: tuple[SandboxCluster, SandboxCluster], desk: Desk, archive: Path
) -> None:
    """Its executors need more than the node has left; the command has returned at once."""
    with linked(yarn_pair) as (made, _, write):
        before = set(desk.yarn.applications())
        write(0)
        assert ran(desk, [*link_run(desk, made, archive, spark_executor_memory="3g"), *AT_ONCE]) == 0, desk.log
        name = application(desk.yarn, before)
        assert name in desk.log
        assert "spark-submit has ended, the driver may run on" in desk.log
        assert await_state(desk.yarn, name, "RUNNING")["Final-State"] == "UNDEFINED"
        desk.yarn.ran(documented("yarn application -kill", {"ID": name}))
        await_state(desk.yarn, name, "KILLED")
        assert desk.yarn.applications()[name] == ("KILLED", "KILLED")
        assert not made.status().lanes
    driver_said(desk.yarn, name, "LogType:stdout")


def test_a_driver_is_started_again_as_often_as_the_page_and_yarn_allow(
    yarn_pair: tuple[SandboxCluster, SandboxCluster], desk: Desk, archive: Path
) -> None:
    """More often than unless told; each attempt is a run of its own, and goes on exactly; after the last it failed."""
    with linked(yarn_pair) as (made, topic, write):
        before = set(desk.yarn.applications())
        assert ran(desk, [*link_run(desk, made, archive), *AT_ONCE]) == 0, desk.log
        name, owners = application(desk.yarn, before), {""}
        for attempt in range(3):
            write(10 * attempt)
            copied(made, topic, 10 * (attempt + 1))
            assert owner(made) not in owners
            owners.add(owner(made))
            for process in drivers(desk.yarn):
                process.kill()
        await_state(desk.yarn, name, "FAILED")
        assert desk.yarn.applications()[name] == ("FAILED", "FAILED")
        assert made.assert_copied(topic) == 30
    assert len(owners) == 4
    assert PASSWORD not in launch_scripts(desk.yarn)


def test_the_drivers_last_words_are_in_what_yarn_logs_prints(
    yarn_pair: tuple[SandboxCluster, SandboxCluster], desk: Desk, archive: Path
) -> None:
    """A variable of this shell is not on the node: its error, and its hint, are the last lines of their kind."""
    entry = yarn_pair[0].context("admin")
    variable = entry["security"]["sasl"]["password_env"]
    known = yaml.safe_load(desk.contexts.read_text())
    known["contexts"]["yarn-old"] = entry
    desk.contexts.write_text(yaml.safe_dump(known))
    assert variable in os.environ
    with linked(yarn_pair) as (made, _, _):
        before = set(desk.yarn.applications())
        words = ("link", "run", made.id, "--target", "yarn-new", "--deploy-mode", "cluster", *options(desk, archive))
        assert ran(desk, desk.command(*words)) == 5, desk.log
        assert " ".join(documented("yarn logs -applicationId", {})) in desk.log
        name = application(desk.yarn, before)
        assert desk.yarn.applications()[name] == ("FAILED", "FAILED")
        assert not made.status().lanes
    said = driver_said(desk.yarn, name, "hint: ").splitlines()
    error, hint = [line for line in said if line.startswith(("error: ", "hint: "))][-2:]
    assert error.startswith(f"error: secret env:{variable}: the environment variable is not set"), said
    assert hint.startswith("hint: ") and "password_file" in hint
    assert "Traceback" not in desk.log
