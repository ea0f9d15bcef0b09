"""What a sandbox cluster may be, and how it is laid out."""

from __future__ import annotations

from pathlib import Path

import pytest

from anabranch.errors import InvalidFieldError
from anabranch.sandbox.layout import ClusterLayout, controller_ids, plan_layout, ports_needed
from anabranch.sandbox.properties import broker_properties, render, zookeeper_properties
from anabranch.sandbox.spec import VERSIONS, ClusterSpec, ListenerSecurity

pytestmark = pytest.mark.unit


def layout_of(spec: ClusterSpec) -> ClusterLayout:
    """A layout with ports from 20000."""
    return plan_layout(spec, Path("/sandbox"), "id", list(range(20000, 20000 + ports_needed(spec))))


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        ({"version": "4.4.0"}, "version"),
        ({"brokers": 4}, "brokers"),
        ({"brokers": 0}, "brokers"),
        ({"security": "KERBEROS"}, "security"),
        ({"authorizer": True}, "authorizer"),
        ({"authorizer": True, "security": "SSL"}, "authorizer"),
        ({"name": "Old Cluster"}, "name"),
    ],
)
def test_a_wrong_spec_is_refused_by_its_field(settings: dict[str, object], field: str) -> None:
    """The error names the field and what may stand there."""
    with pytest.raises(InvalidFieldError) as caught:
        ClusterSpec(**{"name": "old", **settings})  # type: ignore[arg-type]
    assert caught.value.field == field
    assert caught.value.hint


@pytest.mark.parametrize(
    ("text", "member", "protocol"),
    [
        ("plaintext", ListenerSecurity.PLAINTEXT, "PLAINTEXT"),
        ("TLS", ListenerSecurity.SSL, "SSL"),
        ("mTLS", ListenerSecurity.MTLS, "SSL"),
        ("plain", ListenerSecurity.PLAIN, "SASL_SSL"),
        ("SASL_SSL", ListenerSecurity.SCRAM_SHA_512, "SASL_SSL"),
        ("scram-sha-256", ListenerSecurity.SCRAM_SHA_256, "SASL_SSL"),
        ("OAUTHBEARER", ListenerSecurity.OAUTHBEARER, "SASL_SSL"),
    ],
)
def test_security_is_read_in_any_case(text: str, member: ListenerSecurity, protocol: str) -> None:
    """Names of people and of Kafka lead to the same member."""
    assert ClusterSpec("old", security=text).listener is member
    assert member.protocol == protocol


def test_admin_is_always_a_user() -> None:
    """Users that are given do not push the super user out."""
    assert set(ClusterSpec("old", users={"bob": "x"}).users) == {"admin", "bob"}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("brokers", [1, 2, 3])
@pytest.mark.parametrize("proxied", [False, True])
def test_every_port_is_dealt_once(version: str, brokers: int, proxied: bool) -> None:
    """A layout takes exactly the ports that it asks for."""
    spec = ClusterSpec("old", version, brokers, proxied=proxied)
    layout = layout_of(spec)
    dealt = [layout.zookeeper, layout.control]
    for node in layout.nodes:
        dealt += [node.client, node.internal, node.controller, node.proxy]
    ports = [port for port in dealt if port is not None]
    assert sorted(ports) == list(range(20000, 20000 + ports_needed(spec)))


def test_a_quorum_of_three_outlives_any_broker() -> None:
    """Three brokers vote, so that two are a majority; two brokers do not, for two could lose none."""
    assert controller_ids(ClusterSpec("old", brokers=3)) == (1, 2, 3)
    assert controller_ids(ClusterSpec("old", brokers=2)) == (1,)
    assert controller_ids(ClusterSpec("old", version="2.8.2", brokers=3)) == ()


def test_clients_are_told_the_proxy_and_brokers_are_not() -> None:
    """Only the client listener leads through the proxy."""
    layout = layout_of(ClusterSpec("old", proxied=True))
    node = layout.nodes[0]
    properties = broker_properties(layout, node, None)
    advertised = f"CLIENT://127.0.0.1:{node.proxy},INTERNAL://127.0.0.1:{node.internal}"
    assert properties["advertised.listeners"] == advertised
    assert f"CLIENT://127.0.0.1:{node.client}" in properties["listeners"]
    assert layout.bootstrap == f"127.0.0.1:{node.proxy}"


def test_overrides_win() -> None:
    """A property that the caller sets is not the sandbox's any more."""
    layout = layout_of(ClusterSpec("old", overrides={"num.partitions": "7"}))
    assert broker_properties(layout, layout.nodes[0], None)["num.partitions"] == "7"


def test_every_listener_is_on_loopback() -> None:
    """Nothing of a sandbox can be reached from another machine."""
    for version in VERSIONS:
        layout = layout_of(ClusterSpec("old", version))
        listeners = broker_properties(layout, layout.nodes[0], None)["listeners"].split(",")
        assert all(listener.partition("://")[2].startswith("127.0.0.1:") for listener in listeners)
    assert zookeeper_properties(layout_of(ClusterSpec("old", "2.8.2")))["clientPortAddress"] == "127.0.0.1"


def test_a_backslash_survives_the_properties_format() -> None:
    """Java's reader takes a single backslash away."""
    assert render({"a": "b\\c"}) == "a=b\\\\c\n"
