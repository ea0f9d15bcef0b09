"""A link on YARN whose nodes have nothing but Python, by the documented commands.

The source asks for a password and has a certificate of its own authority: both are files that are sent along.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest
import yaml

import anabranch
from anabranch.kafka.cluster import Cluster
from anabranch.operations.jobs import environment
from anabranch.sandbox import ClusterSpec, SandboxCluster, start_clusters
from anabranch.state.topics.journal import Journal
from qa.brokers import STEADY
from qa.timeouts import LONG_TIMEOUT_S, TIMEOUT_S
from tests.integration.links.lab import Link, link
from tests.integration.links.topics import create, ends, fresh, numbered, produce
from tests.integration.spark.standalone import SPARK_HOME
from tests.integration.spark.yarn import Yarn, yarn

pytestmark = pytest.mark.full
PASSWORD = "yarn-secret"
CONF = {
    "spark.executor.instances": "1",
    "spark.executor.memory": "512m",
    "spark.driver.memory": "512m",
    "spark.ui.enabled": "false",
    "spark.yarn.jars": f"local:{SPARK_HOME}/jars/*",  # else some hundred megabytes are copied each time
    "spark.yarn.am.clientModeExitOnError": "true",
}


@pytest.fixture(scope="module")
def pair() -> Iterator[tuple[SandboxCluster, SandboxCluster]]:
    """The source has passwords over TLS, the target nothing."""
    users = {"admin": PASSWORD}
    old, new = start_clusters(
        [
            ClusterSpec("yarn-old", security="PLAIN", users=users, overrides=STEADY),
            ClusterSpec("yarn-new", overrides=STEADY),
        ]
    )
    with old, new:
        yield old, new


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `anabranch link package` writes."""
    path = tmp_path_factory.mktemp("archive") / "anabranch-env.tar.gz"
    environment.build(path, os.path.realpath(sys.executable))  # nodes may have no more on their path than the system
    return path


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Yarn]:
    """YARN."""
    with yarn(tmp_path_factory.mktemp("yarn"), {}) as made:
        yield made


@dataclass
class Desk:
    """Where an operator sits: a contexts file, the secret's file, and the verbs."""

    directory: Path
    yarn: Yarn
    contexts: Path
    files: tuple[Path, ...]

    def command(self, *arguments: str) -> list[str]:
        """A verb of the program."""
        return [sys.executable, "-m", "anabranch", "--contexts", str(self.contexts), *arguments]

    def verb(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run it to its end."""
        return subprocess.run(
            self.command(*arguments),
            env=self.variables,
            capture_output=True,
            text=True,
            timeout=LONG_TIMEOUT_S,
            check=False,
        )

    @property
    def variables(self) -> dict[str, str]:
        """What a shell there has set."""
        home = str(self.yarn.client)
        return {**os.environ, "HADOOP_CONF_DIR": home, "YARN_CONF_DIR": home, "SPARK_LOCAL_IP": "127.0.0.1"}

    @contextmanager
    def running(self, command: list[str]) -> Iterator[subprocess.Popen[bytes]]:
        """A command while the block lasts."""
        with (self.directory / "run.log").open("wb") as log:
            process = subprocess.Popen(
                command, env=self.variables, cwd=self.directory, stdout=log, stderr=log, start_new_session=True
            )
        try:
            yield process
        except BaseException:
            print(self.log[-6000:], self.yarn.output[-12000:], sep="\n")
            raise
        finally:
            for one in [*psutil.Process(process.pid).children(recursive=True)] if process.poll() is None else []:
                one.kill()
            process.kill()
            process.wait()

    @property
    def log(self) -> str:
        """What the command printed."""
        return (self.directory / "run.log").read_text(errors="replace")


@pytest.fixture
def desk(pair: tuple[SandboxCluster, SandboxCluster], cluster: Yarn, tmp_path: Path) -> Desk:
    """With the password in a file."""
    old, new = pair
    secret = tmp_path / "old.password"
    secret.write_text(PASSWORD)
    secret.chmod(0o600)
    entry = old.context("admin")
    sasl = entry["security"]["sasl"]
    del sasl["password_env"]
    sasl["password_file"] = str(secret)
    contexts = tmp_path / "contexts.yaml"
    contexts.write_text(yaml.safe_dump({"contexts": {"yarn-old": entry, "yarn-new": new.context()}}))
    return Desk(tmp_path, cluster, contexts, (secret, Path(entry["security"]["tls"]["ca_file"])))


def options(desk: Desk, archive: Path) -> list[str]:
    """What a run of a link on YARN is given."""
    conf = [word for key, value in CONF.items() for word in ("--conf", f"{key}={value}")]
    known = desk.contexts.read_text()
    files = [word for file in desk.files if str(file) in known for word in ("--file", str(file))]
    return ["--master", "yarn", "--archive", str(archive), *files, *conf]


@contextmanager
def linked(pair: tuple[SandboxCluster, SandboxCluster]) -> Iterator[tuple[Link, str, Callable[[int], None]]]:
    """A link of one topic, and how to write ten records more."""
    old, new = pair
    topic = create(old, fresh("yarn"))
    with link(old, new, topic) as made:
        yield made, topic, lambda first: produce(old, topic, numbered(10, first=first))


def test_a_driver_here_copies_on_yarn_and_ctrl_c_ends_it(
    pair: tuple[SandboxCluster, SandboxCluster], desk: Desk, archive: Path
) -> None:
    """`link run --master yarn`: the node has no package, no secret and no authority but those that were sent."""
    with linked(pair) as (made, topic, write):
        write(0)
        run = desk.command("link", "run", made.id, "--target", "yarn-new", *options(desk, archive))
        with desk.running(run) as process:
            copied(made, topic, 10)
            os.kill(process.pid, signal.SIGINT)
            assert process.wait(TIMEOUT_S) == 0
        assert "stopped cleanly" in desk.log
        assert made.assert_copied(topic) == 10
    assert PASSWORD not in launch_scripts(desk.yarn)


def test_a_driver_on_yarn_that_is_killed_is_started_again_and_is_another_run(
    pair: tuple[SandboxCluster, SandboxCluster], desk: Desk, archive: Path
) -> None:
    """`--deploy-mode cluster`: YARN starts the application a second time, from the same specification."""
    with linked(pair) as (made, topic, write):
        write(0)
        arguments = ["--deploy-mode", "cluster", *options(desk, archive)]
        with desk.running(desk.command("link", "run", made.id, "--target", "yarn-new", *arguments)):
            copied(made, topic, 10)
            first = owner(made)
            for process in drivers(desk.yarn):
                process.kill()
            write(10)
            copied(made, topic, 20)
            assert owner(made) not in {"", first}
            for process in drivers(desk.yarn):
                process.kill()
        assert made.assert_copied(topic) == 20
    assert PASSWORD not in launch_scripts(desk.yarn)


def test_link_stop_ends_a_driver_on_yarn_from_here_and_a_second_run_goes_on_exactly(
    pair: tuple[SandboxCluster, SandboxCluster], desk: Desk, archive: Path
) -> None:
    """By the control topics alone: the application has succeeded in YARN's eyes, and has given its lanes back."""
    cluster_run = ["--target", "yarn-new", "--deploy-mode", "cluster", *options(desk, archive)]
    with linked(pair) as (made, topic, write):
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
        assert ends(pair[1], topic) == (0, 20)
    said = desk.yarn.output
    assert said.count("stopping (anabranch link stop)") == said.count("stopped cleanly: 10 records copied") == 2


def test_a_driver_on_yarn_outlives_whoever_started_it(
    pair: tuple[SandboxCluster, SandboxCluster], desk: Desk, archive: Path
) -> None:
    """One whose command returns once it has planned, and one whose command is ended: `link stop` ends them."""
    arguments = ["--target", "yarn-new", "--deploy-mode", "cluster", *options(desk, archive)]
    with linked(pair) as (made, topic, write):
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
        assert ends(pair[1], topic) == (0, 40)


def await_succeeded(cluster: Yarn, before: set[str], number: int) -> None:
    """Wait until so many applications that there were not before have succeeded."""
    deadline = time.monotonic() + TIMEOUT_S
    while True:
        ended = [state for name, state in cluster.applications().items() if name not in before]
        if ended == [("FINISHED", "SUCCEEDED")] * number:
            return
        assert time.monotonic() < deadline, ended
        time.sleep(0.5)


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
    pair: tuple[SandboxCluster, SandboxCluster], desk: Desk, archive: Path
) -> None:
    """With the specification that `link run --spec` writes."""
    spec = desk.directory / "run.json"
    job = str(Path(anabranch.__file__).parent / "spark" / "jobs" / "link.py")
    with linked(pair) as (made, topic, write):
        write(0)
        files = [word for file in desk.files for word in ("--file", str(file))]
        done = desk.verb("link", "run", made.id, "--target", "yarn-new", *files, "--spec", str(spec))
        assert done.returncode == 0, done.stderr
        submit = [str(SPARK_HOME / "bin" / "spark-submit"), "--master", "yarn", "--deploy-mode", "cluster"]
        submit += ["--archives", f"{archive}#environment"]
        submit += ["--conf", "spark.pyspark.python=./environment/bin/python"]
        submit += ["--files", ",".join(map(str, (spec, *desk.files)))]
        submit += [word for key, value in CONF.items() for word in ("--conf", f"{key}={value}")]
        with desk.running([*submit, job, "run.json"]):
            copied(made, topic, 10)
            for process in drivers(desk.yarn) * 2:
                process.kill()
        assert made.assert_copied(topic) == 10


def test_a_secret_that_is_only_here_is_one_error(
    pair: tuple[SandboxCluster, SandboxCluster], desk: Desk, archive: Path
) -> None:
    """A variable of this shell is not on the nodes: that is told before anything is copied, in two lines."""
    old, _ = pair
    entry = old.context("admin")
    variable = entry["security"]["sasl"]["password_env"]
    known = yaml.safe_load(desk.contexts.read_text())
    known["contexts"]["yarn-old"] = entry
    desk.contexts.write_text(yaml.safe_dump(known))
    with linked(pair) as (made, _, _):
        done = desk.verb("link", "run", made.id, "--target", "yarn-new", *options(desk, archive))
    said = [line for line in done.stderr.splitlines() if line.startswith(("error", "hint"))]
    assert (done.returncode, len(said)) == (2, 2), done.stderr
    assert f"secret env:{variable}" in said[0] and "Traceback" not in done.stderr
    assert "password_file" in said[1]


def copied(made: Link, topic: str, position: int) -> None:
    """Wait until the lane is there: for YARN, an archive that is unpacked, a driver and an executor."""
    made.await_(
        lambda status: any(one.source.topic == topic and one.position >= position for one in status.lanes),
        LONG_TIMEOUT_S,
    )


def owner(made: Link) -> str:
    """The run that plans the link."""
    plan = made.status().plan
    return "" if plan is None else plan.owner


def held(made: Link, run: str) -> int:
    """How many lanes a run has not given back."""

    async def read(client: Cluster) -> int:
        return (await Journal(client).read()).held(made.id, run)

    return int(made.on_target(read))


def drivers(cluster: Yarn) -> list[psutil.Process]:
    """The application masters, each a JVM with a Python driver; waits for one."""
    deadline = time.monotonic() + TIMEOUT_S
    while time.monotonic() < deadline:
        found = [one for one in psutil.process_iter(["cmdline"]) if is_driver(one, cluster)]
        if found:
            return found
        time.sleep(0.2)
    raise AssertionError("no driver runs")


def is_driver(process: psutil.Process, cluster: Yarn) -> bool:
    """Whether a process is the JVM of a driver on this YARN."""
    words = process.info["cmdline"] or []
    is_jvm = bool(words) and words[0].endswith("java")
    return (
        is_jvm and any(word.endswith(".ApplicationMaster") for word in words) and str(cluster.work) in " ".join(words)
    )


def launch_scripts(cluster: Yarn) -> str:
    """What YARN starts containers with."""
    return "\n".join(file.read_text() for file in cluster.work.rglob("launch_container.sh"))
