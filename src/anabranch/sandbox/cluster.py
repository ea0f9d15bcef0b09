"""A running cluster, for tests, the demo, benchmarks and the command line."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from anabranch.errors import AnabranchError, InvalidFieldError
from anabranch.sandbox import proxy_server
from anabranch.sandbox.access import UserCredentials
from anabranch.sandbox.broker import BrokerProcess, jvm_command
from anabranch.sandbox.certs import write_certificates
from anabranch.sandbox.errors import NotProxiedError, NotReadyError, SandboxProcessError
from anabranch.sandbox.jars import runtime_jars
from anabranch.sandbox.layout import ClusterLayout, plan_layout, ports_needed
from anabranch.sandbox.ports import lease_ports
from anabranch.sandbox.probe import MalformedAnswerError, ask_cluster
from anabranch.sandbox.process import SupervisedProcess, telling_lines
from anabranch.sandbox.proxy import Proxy, proxies_of, wait_for_proxies
from anabranch.sandbox.spec import ADMIN, ClusterSpec
from anabranch.sandbox.storage import new_cluster_id, scram_credential, write_storage

READY_SECONDS = 180.0
"""Enough for a slow machine that starts several clusters; a process that ends meanwhile is told at once."""

_TOOL_SECONDS = 120.0
_PROXY_SECONDS = 60.0
_POLL_SECONDS = 0.05


class SandboxCluster:
    """Brokers, and ZooKeeper or proxies where wanted, that live as long as this process at most.

    Leaving the ``with`` block (or ``stop``) kills all of them; so does the end of this process, even by SIGKILL.
    Brokers are killed and not shut down: their logs are in the page cache, and a test has no time.  With SASL,
    ``start`` puts the users' passwords into this process's environment, under the names that ``context`` gives.
    """

    def __init__(self, layout: ClusterLayout, resources: ExitStack) -> None:
        self._layout = layout
        self._resources = resources
        self._access = UserCredentials(layout)
        self._proxies = proxies_of(layout)
        self._helpers: list[SupervisedProcess] = []
        self.brokers = tuple(BrokerProcess(layout, node) for node in layout.nodes)

    @classmethod
    def start(cls, spec: ClusterSpec, root: Path | None = None, *, ready_seconds: float = READY_SECONDS) -> Self:
        """Start a new cluster and return when all its brokers serve.

        ``root`` must be empty or not exist, and is kept; without one a temporary directory is used and removed.
        Raises ``NotReadyError``, ``SandboxProcessError``, ``JarsNotResolvedError``, ``MissingProgramError``; nothing
        is left running then.
        """
        runtime_jars(spec.kafka.runtime)
        with ExitStack() as resources:
            if root is None:
                name = resources.enter_context(tempfile.TemporaryDirectory(prefix=f"anabranch-{spec.name}-"))
                root = Path(name)
            elif root.exists() and any(root.iterdir()):
                fix = "give a new or an empty directory"
                raise InvalidFieldError(f"sandbox cluster {spec.name!r}", "root", f"{root} is not empty", fix)
            leases = [resources.enter_context(lease) for lease in lease_ports(ports_needed(spec))]
            ports = [lease.port for lease in leases]
            layout = plan_layout(spec, root.resolve(), new_cluster_id(), ports)
            cluster = cls(layout, ExitStack())
            resources.callback(cluster._end_processes)
            cluster._launch(ready_seconds)
            cluster._resources = resources.pop_all()
        return cluster

    @property
    def spec(self) -> ClusterSpec:
        """What was asked for."""
        return self._layout.spec

    @property
    def layout(self) -> ClusterLayout:
        """Its ports and directories."""
        return self._layout

    @property
    def cluster_id(self) -> str:
        """The cluster's id, as its brokers tell it."""
        return self._layout.cluster_id

    @property
    def bootstrap(self) -> str:
        """The addresses for clients, through the proxies where there are any."""
        return self._layout.bootstrap

    @property
    def internal_bootstrap(self) -> str:
        """The addresses of the plain inner listener, which no proxy and no access rule touches."""
        return self._layout.internal_bootstrap

    def client_config(self, user: str = ADMIN) -> dict[str, Any]:
        """The settings of a confluent-kafka client that logs in as ``user``."""
        return self._access.client_config(user)

    def context(self, user: str = ADMIN, *, secret_files: bool = False) -> dict[str, Any]:
        """An entry of a contexts file; see ``Access.context``."""
        return self._access.context(user, secret_files=secret_files)

    def environment(self) -> dict[str, str]:
        """The environment variables with the secrets that ``context`` names."""
        return self._access.environment()

    def broker(self, node_id: int) -> BrokerProcess:
        """The broker of that id; raises ``KeyError``."""
        for broker in self.brokers:
            if broker.node_id == node_id:
                return broker
        raise KeyError(node_id)

    def proxy(self, node_id: int) -> Proxy:
        """The proxy before a broker; raises ``NotProxiedError``."""
        try:
            return self._proxies[node_id]
        except KeyError:
            raise NotProxiedError(self.spec.name, node_id) from None

    @property
    def helpers(self) -> tuple[SupervisedProcess, ...]:
        """ZooKeeper and the proxies' process, where there are any."""
        return tuple(self._helpers)

    def wait_ready(self, seconds: float = READY_SECONDS) -> None:
        """Wait until every broker that runs answers and knows a controller and all the others that run.

        Raises ``SandboxProcessError`` when one ends meanwhile, and ``NotReadyError``.
        """
        deadline = time.monotonic() + seconds
        wanted = {broker.node_id: broker for broker in self.brokers if broker.alive}
        missing = dict.fromkeys(wanted, "not asked yet")
        while True:
            for node_id in tuple(missing):
                reason = self._unready(wanted[node_id], frozenset(wanted))
                if reason:
                    missing[node_id] = reason
                else:
                    del missing[node_id]
            if not missing:
                return
            if time.monotonic() > deadline:
                node_id, reason = next(iter(missing.items()))
                log = str(wanted[node_id].log_path)
                raise NotReadyError(self.spec.name, seconds, f"broker {node_id}: {reason}", log)
            time.sleep(_POLL_SECONDS)

    def run_tool(
        self, main_class: str, arguments: Sequence[str] = (), *, bootstrap: bool = True, timeout: float = _TOOL_SECONDS
    ) -> str:
        """Run a JVM tool of the cluster's version and return what it printed.

        It comes over the inner listener, as a super user; ``--bootstrap-server`` is added unless it is there already or
        ``bootstrap`` is False.  Raises ``SandboxProcessError`` when the tool fails and ``subprocess.TimeoutExpired``.
        """
        given = list(arguments)
        if bootstrap and "--bootstrap-server" not in given:
            given = ["--bootstrap-server", self.internal_bootstrap, *given]
        command = jvm_command(self.spec, main_class, *given)
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=timeout
        )
        if done.returncode:
            tail = telling_lines(done.stdout + done.stderr)
            raise SandboxProcessError(main_class, f"exited with {done.returncode}", "its output", tail)
        return done.stdout

    def stop(self) -> None:
        """Kill every process, give the ports back and remove a temporary root; twice is once."""
        self._resources.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.stop()

    def _launch(self, ready_seconds: float) -> None:
        pem = None
        if self.spec.listener.encrypted:
            pem = self._access.directory
            write_certificates(pem, self.spec.users)
        self._access.write_secrets()
        write_storage(self._layout, pem)
        os.environ.update(self.environment())
        if self._layout.zookeeper is not None:
            self._launch_zookeeper()
        if self._layout.control is not None:
            self._launch_proxies()
        for broker in self.brokers:
            broker.start()
        self.wait_ready(ready_seconds)
        if self.spec.listener.scram and not self.spec.kafka.kraft:
            self._add_scram_users()

    def _launch_zookeeper(self) -> None:
        home = self._layout.root / "zookeeper"
        main_class = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
        command = jvm_command(self.spec, main_class, str(home / "zookeeper.properties"))
        name = f"ZooKeeper of cluster {self.spec.name}"
        self._helpers.append(SupervisedProcess.spawn(name, command, home / "zookeeper.log"))

    def _launch_proxies(self) -> None:
        routes = [f"{node.node_id}:{node.proxy}:{node.client}" for node in self._layout.nodes]
        script = [sys.executable, "-I", "-S", proxy_server.__file__, str(self._layout.control), *routes]
        name = f"the proxies of cluster {self.spec.name}"
        process = SupervisedProcess.spawn(name, script, self._layout.root / "proxy.log")
        self._helpers.append(process)
        if not wait_for_proxies(self._proxies, _PROXY_SECONDS):
            raise process.failure(f"did not answer within {_PROXY_SECONDS:g} s")

    def _add_scram_users(self) -> None:
        """Old clusters keep SCRAM credentials in ZooKeeper: set them through a broker once it serves."""
        for user in self.spec.users:
            credential = scram_credential(self.spec, user).replace(f"name={user},", "")
            change = ["--alter", "--entity-type", "users", "--entity-name", user, "--add-config", credential]
            self.run_tool("kafka.admin.ConfigCommand", change)

    def _unready(self, broker: BrokerProcess, wanted: frozenset[int]) -> str:
        """Why the broker is not ready, or an empty string."""
        if not broker.alive:
            raise broker.process.failure("ended")
        for helper in self._helpers:
            if not helper.alive:
                raise helper.failure("ended")
        try:
            answer = ask_cluster(broker.internal_port)
        except (OSError, MalformedAnswerError) as error:
            return str(error)
        if not wanted <= answer.brokers:
            return f"it knows the brokers {sorted(answer.brokers)} of {sorted(wanted)}"
        return "" if answer.controller >= 0 else "it knows no controller"

    def _end_processes(self) -> None:
        for broker in self.brokers:
            broker.kill()
        for helper in reversed(self._helpers):
            helper.kill()


def start_clusters(specs: Sequence[ClusterSpec], root: Path | None = None) -> tuple[SandboxCluster, ...]:
    """Start several clusters at once, each under ``root / name``; if one fails, the others are stopped.

    Raises what ``Cluster.start`` raises, for the first that failed.
    """

    def start(spec: ClusterSpec) -> SandboxCluster | AnabranchError:
        try:
            return SandboxCluster.start(spec, None if root is None else root / spec.name)
        except AnabranchError as error:
            return error

    with ThreadPoolExecutor(len(specs) or 1) as pool:
        outcomes = list(pool.map(start, specs))
    clusters = tuple(outcome for outcome in outcomes if isinstance(outcome, SandboxCluster))
    for outcome in outcomes:
        if isinstance(outcome, AnabranchError):
            for cluster in clusters:
                cluster.stop()
            raise outcome
    return clusters
