"""A link on YARN whose nodes have nothing but Python, by the documented commands.

The source asks for a password and has a certificate of its own authority: both are files that are sent along.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

import anabranch
from anabranch.sandbox import SandboxCluster
from qa.timeouts import LONG_TIMEOUT_S, TIMEOUT_S
from tests.integration.links.lab import Link
from tests.integration.links.topics import ends
from tests.integration.spark.standalone import SPARK_HOME
from tests.integration.spark.yarn_desk import (
    PASSWORD,
    Desk,
    await_succeeded,
    copied,
    drivers,
    held,
    launch_scripts,
    linked,
    options,
    owner,
)

pytestmark = pytest.mark.full


def test_a_driver_here_copies_on_yarn_and_ctrl_c_ends_it(
    yarn_pair: tuple[SandboxCluster, SandboxCluster], desk: Desk, archive: Path
) -> None:
    """`link run --master yarn`: the node has no package, no secret and no authority but those that were sent."""
    with linked(yarn_pair) as (made, topic, write):
        write(0)
        run = desk.command("link", "run", made.id, "--target", "yarn-new", *options(desk, archive))
        with desk.running(run) as process:
            copied(made, topic, 10)
            os.kill(process.pid, signal.SIGINT)
            assert process.wait(TIMEOUT_S) == 0
        assert "stopped cleanly" in desk.log
        assert made.assert_copied(topic) == 10
    assert PASSWORD not in launch_scripts(desk.yarn)


def test_link_stop_ends_a_driver_on_yarn_from_here_and_a_second_run_goes_on_exactly(
    yarn_pair: tuple[SandboxCluster, SandboxCluster], desk: Desk, archive: Path
) -> None:
    """By the control topics alone: the application has succeeded in YARN's eyes, and has given its lanes back."""
    cluster_run = ["--target", "yarn-new", "--deploy-mode", "cluster", *options(desk, archive)]
    with linked(yarn_pair) as (made, topic, write):
        before, position = set(desk.yarn.applications()), 0
        for _ in range(2):
            write(position)
            position += 10
            with desk.running(desk.command("link", "run", made.id, *cluster_run)) as process:
                copied(made, topic, position)
                run = owner(made)
                stopped = desk.verb("link", "stop", made.id, "--target", "yarn-new")
                assert stopped.returncode == 0, stopped.stderr
                assert f"{run} has ended; go on with: anabranch link run {made.id}" in stopped.stdout
                assert held(made, run) == 0
                assert process.wait(LONG_TIMEOUT_S) == 0, desk.log
            after = desk.yarn.applications()
            (name,) = set(after) - before
            assert after[name] == ("FINISHED", "SUCCEEDED")
            before.add(name)
            assert made.assert_copied(topic) == position
        assert ends(yarn_pair[1], topic) == (0, 20)
    said = desk.yarn.output
    assert said.count("stopping (anabranch link stop)") == said.count("stopped cleanly: 10 records copied") == 2


def test_a_driver_on_yarn_outlives_whoever_started_it(
    yarn_pair: tuple[SandboxCluster, SandboxCluster], desk: Desk, archive: Path
) -> None:
    """One whose command returns once it has planned, and one whose command is ended: `link stop` ends them."""
    arguments = ["--target", "yarn-new", "--deploy-mode", "cluster", *options(desk, archive)]
    with linked(yarn_pair) as (made, topic, write):
        before = set(desk.yarn.applications())
        write(0)
        begun = desk.verb("link", "run", made.id, *arguments, "--detach")
        assert begun.returncode == 0, begun.stderr
        assert f"it runs; end it with: anabranch link stop {made.id}" in begun.stderr
        copies_on_and_stops(made, topic, write, desk, 10)
        with desk.running(desk.command("link", "run", made.id, *arguments)) as process:
            write(20)
            copied(made, topic, 30)
            process.send_signal(signal.SIGTERM)
            assert process.wait(TIMEOUT_S) == 143, desk.log
            assert "spark-submit has ended, the driver may run on" in desk.log
            copies_on_and_stops(made, topic, write, desk, 30)
        await_succeeded(desk.yarn, before, 2)
        assert made.assert_copied(topic) == 40
        assert ends(yarn_pair[1], topic) == (0, 40)


def copies_on_and_stops(made: Link, topic: str, write: Callable[[int], None], desk: Desk, position: int) -> None:
    """Ten more records are copied; then `link stop` has the run end, which gives its lanes back."""
    copied(made, topic, position)
    run = owner(made)
    write(position)
    copied(made, topic, position + 10)
    stopped = desk.verb("link", "stop", made.id, "--target", "yarn-new")
    assert stopped.returncode == 0, stopped.stderr
    assert held(made, run) == 0


def test_spark_submit_needs_nothing_but_the_documented_line(
    yarn_pair: tuple[SandboxCluster, SandboxCluster], desk: Desk, archive: Path
) -> None:
    """With the specification that `link run --spec` writes."""
    spec = desk.directory / "run.json"
    job = str(Path(anabranch.__file__).parent / "spark" / "jobs" / "link.py")
    with linked(yarn_pair) as (made, topic, write):
        write(0)
        files = [word for file in desk.files for word in ("--file", str(file))]
        done = desk.verb("link", "run", made.id, "--target", "yarn-new", *files, "--spec", str(spec))
        assert done.returncode == 0, done.stderr
        submit = [str(SPARK_HOME / "bin" / "spark-submit"), "--master", "yarn", "--deploy-mode", "cluster"]
        submit += ["--archives", f"{archive}#environment"]
        submit += ["--conf", "spark.pyspark.python=./environment/bin/python"]
        submit += ["--files", ",".join(map(str, (spec, *desk.files)))]
        submit += [word for key, value in desk.settings.items() for word in ("--conf", f"{key}={value}")]
        with desk.running([*submit, job, "run.json"]):
            copied(made, topic, 10)
            for process in drivers(desk.yarn) * 2:
                process.kill()
        assert made.assert_copied(topic) == 10


def test_a_secret_that_is_only_here_is_one_error(
    yarn_pair: tuple[SandboxCluster, SandboxCluster], desk: Desk, archive: Path
) -> None:
    """A variable of this shell is not on the nodes: that is told before anything is copied, in two lines."""
    old, _ = yarn_pair
    entry = old.context("admin")
    variable = entry["security"]["sasl"]["password_env"]
    known = yaml.safe_load(desk.contexts.read_text())
    known["contexts"]["yarn-old"] = entry
    desk.contexts.write_text(yaml.safe_dump(known))
    with linked(yarn_pair) as (made, _, _):
        done = desk.verb("link", "run", made.id, "--target", "yarn-new", *options(desk, archive))
    said = [line for line in done.stderr.splitlines() if line.startswith(("error", "hint"))]
    assert (done.returncode, len(said)) == (2, 2), done.stderr
    assert f"secret env:{variable}" in said[0] and "Traceback" not in done.stderr
    assert "password_file" in said[1]
