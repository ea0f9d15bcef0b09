"""No process is left behind, whatever happens to the one that started it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest

from anabranch.sandbox import ClusterSpec, SandboxCluster
from anabranch.sandbox.ports import lease_ports
from anabranch.sandbox.process import SupervisedProcess
from qa.timeouts import LONG_TIMEOUT_S, TIMEOUT_S

pytestmark = pytest.mark.test

OWNER = """
import signal, sys, time
from pathlib import Path
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell starts what it puts behind with it ignored
from anabranch.sandbox import ClusterSpec, SandboxCluster
cluster = SandboxCluster.start(ClusterSpec("owned", proxied=True), Path(sys.argv[1]))
print(cluster.brokers[0].pid, *[helper.pid for helper in cluster.helpers], flush=True)
time.sleep(600)
"""


def environ() -> dict[str, str]:
    """An environment in which the package can be imported."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


def wait_gone(processes: list[psutil.Process]) -> list[psutil.Process]:
    """Those that are still there after a minute."""
    return psutil.wait_procs(processes, timeout=TIMEOUT_S)[1]


@pytest.mark.parametrize("number", [signal.SIGKILL, pytest.param(signal.SIGINT, marks=pytest.mark.full)])
def test_nothing_outlives_its_owner(tmp_path: Path, number: signal.Signals) -> None:
    """Broker, proxies and supervisors end when the Python process that started them is killed or interrupted."""
    command = [sys.executable, "-c", OWNER, str(tmp_path / "root")]
    owner = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environ(), text=True)
    assert owner.stdout is not None
    pids = [int(pid) for pid in owner.stdout.readline().split()]
    assert len(pids) == 2
    children = psutil.Process(owner.pid).children(recursive=True)
    assert {child.pid for child in children} >= set(pids)
    owner.send_signal(number)
    owner.wait(TIMEOUT_S)
    owner.stdout.close()
    assert wait_gone(children) == []


def begun(process: SupervisedProcess) -> psutil.Process:
    """The child, once it is tied to its supervisor: before that it is the supervisor's fork."""
    child = psutil.Process(process.pid)
    deadline = time.monotonic() + TIMEOUT_S
    while child.name() != "sleep":
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return child


def test_a_paused_child_ends_with_its_supervisor(tmp_path: Path) -> None:
    """Even SIGKILL of the supervisor itself takes the child along, and even a stopped one."""
    process = SupervisedProcess.spawn("sleep", ["sleep", "600"], tmp_path / "log")
    child = begun(process)
    process.signal(signal.SIGSTOP)
    psutil.Process(child.ppid()).kill()
    assert wait_gone([child]) == []
    assert process.wait(TIMEOUT_S)


def test_a_child_outlives_the_thread_that_started_it(tmp_path: Path) -> None:
    """The kernel binds a parent's death to a thread; the supervisor does not depend on threads."""
    started: list[SupervisedProcess] = []

    def start() -> None:
        started.append(SupervisedProcess.spawn("sleep", ["sleep", "600"], tmp_path / "log"))

    thread = threading.Thread(target=start)
    thread.start()
    thread.join()
    child = begun(started[0])
    supervisor = psutil.Process(child.ppid())
    # It sleeps between two looks for its owner: it has looked again, and again, since the thread ended.
    before, deadline = supervisor.num_ctx_switches().voluntary, time.monotonic() + TIMEOUT_S
    while started[0].alive and supervisor.num_ctx_switches().voluntary < before + 3:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert started[0].alive and child.is_running()
    started[0].kill()
    assert not started[0].alive


def test_a_command_that_is_not_there_says_so(tmp_path: Path) -> None:
    """The supervisor writes the reason to the log and exits as a shell would."""
    process = SupervisedProcess.spawn("nothing", ["/no/such/program"], tmp_path / "log")
    assert process.wait(TIMEOUT_S)
    assert process.exit_code == 127
    assert "No such file" in (tmp_path / "log").read_text()


def test_a_leased_port_is_nobody_elses() -> None:
    """Two leases never share a port, and one that is released can be had again."""
    first, second = lease_ports(40), lease_ports(40)
    ports = [lease.port for lease in (*first, *second)]
    for lease in (*first, *second):
        lease.release()
        lease.release()
    assert len(set(ports)) == 80


def test_a_temporary_root_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stopping a cluster, twice, leaves neither files nor processes."""
    cluster = SandboxCluster.start(ClusterSpec("brief"))
    root, broker = cluster.layout.root, psutil.Process(cluster.brokers[0].pid)
    cluster.stop()
    cluster.stop()
    assert not root.exists()
    assert wait_gone([broker]) == []


def run_cli(directory: Path, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    """Run a verb of the sandbox in a directory of its own."""
    code = "import sys; from anabranch.cli.sandbox import app; app(sys.argv[1:])"
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(
        command, cwd=directory, env=environ(), capture_output=True, text=True, check=check, timeout=LONG_TIMEOUT_S
    )


def sandbox_processes(directory: Path) -> list[psutil.Process]:
    """Everything that runs with a path of that directory on its command line."""
    found = []
    for process in psutil.process_iter(["cmdline", "name"]):
        if any(str(directory) in word for word in process.info["cmdline"] or []):
            found.append(process)
    return found


def test_a_background_cluster_lives_until_down(tmp_path: Path) -> None:
    """It outlives its command, a dead broker shows, and down leaves no process and no context."""
    run_cli(tmp_path, "up", "--cluster", "bg", "--proxied")
    contexts = tmp_path / ".anabranch" / "contexts.yaml"
    assert "bg:" in contexts.read_text()
    assert "GROUP" not in run_cli(tmp_path, "logs", "bg", "-n", "5").stdout
    assert '"stalled": true' in run_cli(tmp_path, "proxy", "bg", "1", "stall", "-o", "json").stdout
    again = run_cli(tmp_path, "up", "--cluster", "bg", check=False)
    assert "AlreadyUpError" in again.stderr
    processes = sandbox_processes(tmp_path)
    broker = next(process for process in processes if process.info["name"] == "java")
    broker.kill()
    assert wait_gone([broker]) == []
    assert "broker 1 dead" in run_cli(tmp_path, "status").stdout
    assert run_cli(tmp_path, "down").stdout == "bg is down\n"
    assert wait_gone(sandbox_processes(tmp_path)) == []
    assert "bg:" not in contexts.read_text()


@pytest.mark.full
def test_an_up_that_is_killed_half_way_leaves_nothing(tmp_path: Path) -> None:
    """The supervisor notices that nobody waits for it."""
    code = "import sys; from anabranch.cli.sandbox import app; app(sys.argv[1:])"
    command = [sys.executable, "-c", code, "up", "--cluster", "half:4.3.1:3"]
    up = subprocess.Popen(command, cwd=tmp_path, env=environ(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 2 * TIMEOUT_S
    while not any(process.info["name"] == "java" for process in sandbox_processes(tmp_path)):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    children = psutil.Process(up.pid).children(recursive=True)
    up.kill()
    up.wait()
    assert wait_gone(children) == []
    assert wait_gone(sandbox_processes(tmp_path)) == []
