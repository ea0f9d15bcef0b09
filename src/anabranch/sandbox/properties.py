"""A broker's and ZooKeeper's properties, as pure functions of the layout.

Three listeners: CLIENT carries the wanted security and is what clients are told (through the proxy, if any);
INTERNAL is plain and connects the brokers and our own tools, so that a stalled proxy or a denied user never stops
the cluster itself; CONTROLLER carries KRaft's quorum.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from anabranch.sandbox.certs import STORE_PASSWORD
from anabranch.sandbox.layout import LOOPBACK, ClusterLayout, NodeLayout
from anabranch.sandbox.spec import ADMIN, ClusterSpec, ListenerSecurity

ZOOKEEPER_SESSION_MS = 3000

_TICK_MS = 500
_MODULES = {
    ListenerSecurity.PLAIN: "org.apache.kafka.common.security.plain.PlainLoginModule",
    ListenerSecurity.SCRAM_SHA_256: "org.apache.kafka.common.security.scram.ScramLoginModule",
    ListenerSecurity.SCRAM_SHA_512: "org.apache.kafka.common.security.scram.ScramLoginModule",
    ListenerSecurity.OAUTHBEARER: "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule",
}


def broker_properties(layout: ClusterLayout, node: NodeLayout, pem: Path | None) -> dict[str, str]:
    """The server's properties; ``pem`` is the directory of the cluster's certificates, None without TLS."""
    spec = layout.spec
    own = _metadata(layout, node) | _listeners(layout, node) | _small_and_quick(spec)
    if spec.listener.encrypted:
        assert pem is not None
        own |= _tls(spec.listener, pem)
    if spec.listener.sasl:
        own |= _sasl(spec)
    if spec.authorizer:
        own |= _authorizer(spec)
    return own | dict(spec.overrides)


def zookeeper_properties(layout: ClusterLayout) -> dict[str, str]:
    """The properties of the one ZooKeeper node of an old cluster."""
    return {
        "dataDir": str(layout.root / "zookeeper" / "data"),
        "clientPort": str(layout.zookeeper),
        "clientPortAddress": LOOPBACK,
        "maxClientCnxns": "0",
        "admin.enableServer": "false",
        "tickTime": str(_TICK_MS),
    }


def render(properties: Mapping[str, str]) -> str:
    """A Java properties file; backslashes are escaped, as that format wants."""
    return "".join(f"{key}={value}\n".replace("\\", "\\\\") for key, value in properties.items())


def _metadata(layout: ClusterLayout, node: NodeLayout) -> dict[str, str]:
    if layout.zookeeper is not None:
        return {
            "broker.id": str(node.node_id),
            "zookeeper.connect": f"{LOOPBACK}:{layout.zookeeper}",
            "zookeeper.session.timeout.ms": str(ZOOKEEPER_SESSION_MS),
            "log.dirs": str(node.data),
        }
    voters = [f"{n.node_id}@{LOOPBACK}:{n.controller}" for n in layout.nodes if n.controller is not None]
    return {
        "process.roles": "broker,controller" if node.controller is not None else "broker",
        "node.id": str(node.node_id),
        "controller.quorum.voters": ",".join(voters),
        "controller.listener.names": "CONTROLLER",
        # After a kill this must pass before partitions get new leaders and before the same id may register again;
        # less would fence brokers that are only slow.
        "broker.session.timeout.ms": "3000",
        "broker.heartbeat.interval.ms": "500",
        "log.dirs": str(node.data),
    }


def _listeners(layout: ClusterLayout, node: NodeLayout) -> dict[str, str]:
    listeners = {"CLIENT": node.client, "INTERNAL": node.internal}
    advertised = {"CLIENT": node.advertised, "INTERNAL": node.internal}
    protocols = {"CLIENT": layout.spec.listener.protocol, "INTERNAL": "PLAINTEXT"}
    if layout.zookeeper is None:
        protocols["CONTROLLER"] = "PLAINTEXT"
    if node.controller is not None:
        listeners["CONTROLLER"] = node.controller
    return {
        "listeners": ",".join(f"{name}://{LOOPBACK}:{port}" for name, port in listeners.items()),
        "advertised.listeners": ",".join(f"{name}://{LOOPBACK}:{port}" for name, port in advertised.items()),
        "listener.security.protocol.map": ",".join(f"{name}:{kind}" for name, kind in protocols.items()),
        "inter.broker.listener.name": "INTERNAL",
    }


def _small_and_quick(spec: ClusterSpec) -> dict[str, str]:
    copies = str(spec.brokers)
    in_sync = "2" if spec.brokers == 3 else "1"
    properties = {
        "num.partitions": "1",
        "default.replication.factor": copies,
        "min.insync.replicas": in_sync,
        "auto.create.topics.enable": "false",
        "offsets.topic.num.partitions": "4",
        "offsets.topic.replication.factor": copies,
        "transaction.state.log.num.partitions": "4",
        "transaction.state.log.replication.factor": copies,
        "transaction.state.log.min.isr": in_sync,
        "group.initial.rebalance.delay.ms": "0",
        "log.cleaner.dedupe.buffer.size": str(32 << 20),
    }
    if spec.version.startswith("4."):
        properties |= {
            "share.coordinator.state.topic.num.partitions": "4",
            "share.coordinator.state.topic.replication.factor": copies,
            "share.coordinator.state.topic.min.isr": in_sync,
        }
    return properties


def _tls(listener: ListenerSecurity, pem: Path) -> dict[str, str]:
    # For the client listener alone: the other two are plain and read no keys.
    prefix = "listener.name.client."
    return {
        prefix + "ssl.keystore.type": "PKCS12",
        prefix + "ssl.keystore.location": str(pem / "broker.p12"),
        prefix + "ssl.keystore.password": STORE_PASSWORD,
        prefix + "ssl.key.password": STORE_PASSWORD,
        prefix + "ssl.truststore.type": "PEM",
        prefix + "ssl.truststore.location": str(pem / "ca.pem"),
        prefix + "ssl.client.auth": "required" if listener is ListenerSecurity.MTLS else "none",
        # CN=alice,OU=...,O=... becomes User:alice, so that the same access rules serve every kind of login.
        "ssl.principal.mapping.rules": "RULE:^CN=([^,]+).*$/$1/,DEFAULT",
    }


def _sasl(spec: ClusterSpec) -> dict[str, str]:
    mechanism = spec.listener.value
    prefix = f"listener.name.client.{mechanism.lower()}."
    options = ""
    if spec.listener is ListenerSecurity.PLAIN:
        options = "".join(f' user_{name}="{password}"' for name, password in spec.users.items())
    elif spec.listener is ListenerSecurity.OAUTHBEARER:
        options = f' unsecuredLoginStringClaim_sub="{ADMIN}"'
    properties = {
        "sasl.enabled.mechanisms": mechanism,
        prefix + "sasl.jaas.config": f"{_MODULES[spec.listener]} required{options};",
    }
    if spec.listener is ListenerSecurity.OAUTHBEARER:
        # Kafka's own unsecured validator: it believes any unsigned token that has not expired.
        internals = "org.apache.kafka.common.security.oauthbearer.internals.unsecured."
        properties[prefix + "sasl.server.callback.handler.class"] = (
            internals + "OAuthBearerUnsecuredValidatorCallbackHandler"
        )
    return properties


def _authorizer(spec: ClusterSpec) -> dict[str, str]:
    name = (
        "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
        if spec.kafka.kraft
        else "kafka.security.authorizer.AclAuthorizer"
    )
    # The brokers and our tools come over the plain inner listener as ANONYMOUS; nobody else is told its port.
    return {"authorizer.class.name": name, "super.users": f"User:{ADMIN};User:ANONYMOUS"}
