"""A simulated cluster that tests may take for one of the sandbox: the same questions, the same faults."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, Self, cast

import pytest

from anabranch.kafka.simulated import ClusterPlan
from anabranch.kafka.simulated.broker import BrokerPower, SimulatedBroker
from anabranch.kafka.simulated.server import ServedCluster
from anabranch.model.cluster import SaslMechanism
from anabranch.sandbox import ClusterSpec, SandboxCluster, start_clusters
from anabranch.sandbox.access import secret_variable
from tests.chance import is_full, seed


@dataclass(frozen=True)
class BrokerHandle:
    """One of its brokers, as the sandbox names its processes."""

    node_id: int
    internal_port: int
    _do: Callable[[Callable[[SimulatedBroker], None]], None]

    @property
    def alive(self) -> bool:
        """Whether its process is there."""
        found: list[bool] = []
        self._do(lambda broker: found.append(broker.power is not BrokerPower.OFF))
        return found[0]

    def kill(self) -> None:
        """SIGKILL."""
        self._do(SimulatedBroker.kill)

    def stop(self) -> None:
        """SIGTERM."""
        self._do(SimulatedBroker.stop)

    def start(self) -> None:
        """A new process on the same disk."""
        self._do(SimulatedBroker.start)

    def pause(self) -> None:
        """SIGSTOP."""
        self._do(SimulatedBroker.pause)

    def resume(self) -> None:
        """SIGCONT."""
        self._do(SimulatedBroker.resume)


class Simulated:
    """Begins when it is entered; ``spec`` is what a cluster of the sandbox would have been made of."""

    def __init__(self, spec: ClusterSpec, number: int = 0) -> None:
        self.spec = spec
        self._users = dict(spec.users) if spec.listener.sasl else {}
        plan = ClusterPlan(
            spec.name,
            spec.version,
            overrides=spec.overrides,
            users=self._users,
            scram=(SaslMechanism(spec.listener.value),) if spec.listener.scram else (),
            authorizer=spec.authorizer,
            seed=seed(number),
        )
        self.served = ServedCluster(plan, spec.brokers)
        self.brokers: list[BrokerHandle] = []

    def __enter__(self) -> Self:
        self.served.__enter__()

        def of(number: int) -> BrokerHandle:
            port = self.served.cluster.brokers[number].internal_port
            return BrokerHandle(number, port, lambda what: self.served.do(lambda one: what(one.brokers[number])))

        self.brokers = [of(number) for number in sorted(self.served.cluster.brokers)]
        return self

    def __exit__(self, *reason: Any) -> None:
        self.served.__exit__(*reason)
        assert self.served.cluster.unanswered == []

    @property
    def bootstrap(self) -> str:
        """Where clients find it."""
        return self.served.bootstrap

    @property
    def internal_bootstrap(self) -> str:
        """Where its own tools find it."""
        return self.served.internal_bootstrap

    def broker(self, node: int) -> BrokerHandle:
        """One of them."""
        return next(one for one in self.brokers if one.node_id == node)

    def client_config(self, user: str = "admin") -> dict[str, str]:
        """What librdkafka needs to know."""
        config = {"bootstrap.servers": self.bootstrap}
        if self._users:
            config |= {
                "security.protocol": "SASL_PLAINTEXT",
                "sasl.mechanism": self.spec.listener.value,
                "sasl.username": user,
                "sasl.password": self._users[user],
            }
        return config

    def context(self, user: str = "admin") -> dict[str, Any]:
        """An entry of a contexts file; the password is in the environment."""
        security: dict[str, Any] = {"protocol": "PLAINTEXT"}
        if self._users:  # without TLS, which is none of the brokers' business
            security["protocol"] = "SASL_PLAINTEXT"
            variable = secret_variable(self.spec.name, user, "password")
            os.environ[variable] = self._users[user]
            security["sasl"] = {
                "mechanism": self.spec.listener.value,
                "username": user,
                "password_env": variable,
            }
        return {"bootstrap": self.bootstrap.split(","), "security": security}

    def environment(self) -> dict[str, str]:
        """The variables with the passwords of its users."""
        return {secret_variable(self.spec.name, user, "password"): word for user, word in self._users.items()}

    def wait_ready(self) -> None:
        """It is."""


@contextmanager
def clusters(config: pytest.Config, *specs: ClusterSpec) -> Iterator[tuple[SandboxCluster, ...]]:
    """Brokers' processes where everything is asked for (``make full``), else simulated clusters of the same specs."""
    with ExitStack() as stack:
        if is_full(config):
            yield tuple(stack.enter_context(one) for one in start_clusters(specs))
        else:
            yield tuple(cast(SandboxCluster, stack.enter_context(Simulated(spec))) for spec in specs)
