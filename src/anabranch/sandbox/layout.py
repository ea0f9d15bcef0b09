"""Where a cluster lives: its nodes with their ports and directories.  Data only, so that it can be written down."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from anabranch.sandbox.spec import ClusterSpec

LOOPBACK = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class NodeLayout:
    """A broker's ports: ``client`` for clients, ``internal`` for the other brokers and tools; the rest may be None.

    ``controller`` is its KRaft controller's, ``proxy`` the one that is advertised instead of ``client``.
    """

    node_id: int
    directory: Path
    client: int
    internal: int
    controller: int | None = None
    proxy: int | None = None

    @property
    def data(self) -> Path:
        """The log directory."""
        return self.directory / "data"

    @property
    def properties(self) -> Path:
        """The server's properties file."""
        return self.directory / "server.properties"

    @property
    def log(self) -> Path:
        """What the server prints."""
        return self.directory / "broker.log"

    @property
    def advertised(self) -> int:
        """The port that clients are told."""
        return self.client if self.proxy is None else self.proxy


@dataclass(frozen=True, slots=True)
class ClusterLayout:
    """A cluster's root, id and nodes; ``zookeeper`` is ZooKeeper's port, ``control`` that of the proxies' controls."""

    spec: ClusterSpec
    root: Path
    cluster_id: str
    nodes: tuple[NodeLayout, ...]
    zookeeper: int | None = None
    control: int | None = None

    @property
    def bootstrap(self) -> str:
        """The addresses that clients use, through the proxies where there are any."""
        return ",".join(f"{LOOPBACK}:{node.advertised}" for node in self.nodes)

    @property
    def internal_bootstrap(self) -> str:
        """The addresses of the plain inter-broker listener, never proxied; its user is a super user."""
        return ",".join(f"{LOOPBACK}:{node.internal}" for node in self.nodes)


def controller_ids(spec: ClusterSpec) -> tuple[int, ...]:
    """The nodes that vote for the controller.

    All three of three brokers, so that the quorum outlives any one of them; only the first of two, because a quorum of
    two outlives none; none where ZooKeeper elects.
    """
    if not spec.kafka.kraft:
        return ()
    return (1, 2, 3) if spec.brokers == 3 else (1,)


def ports_needed(spec: ClusterSpec) -> int:
    """How many ports a cluster of that spec takes."""
    proxies = spec.brokers + 1 if spec.proxied else 0
    return 2 * spec.brokers + len(controller_ids(spec)) + proxies + (0 if spec.kafka.kraft else 1)


def plan_layout(spec: ClusterSpec, root: Path, cluster_id: str, ports: list[int]) -> ClusterLayout:
    """Deal ``ports_needed(spec)`` ports out to the cluster's nodes."""
    supply = iter(ports)
    controllers = controller_ids(spec)
    nodes = tuple(
        NodeLayout(
            node_id,
            root / f"broker-{node_id}",
            client=next(supply),
            internal=next(supply),
            controller=next(supply) if node_id in controllers else None,
            proxy=next(supply) if spec.proxied else None,
        )
        for node_id in range(1, spec.brokers + 1)
    )
    zookeeper = None if spec.kafka.kraft else next(supply)
    control = next(supply) if spec.proxied else None
    return ClusterLayout(spec, root, cluster_id, nodes, zookeeper, control)
