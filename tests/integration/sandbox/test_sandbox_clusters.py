"""Clusters of every version come up, serve, and keep their data through the death of a broker."""

from __future__ import annotations

from pathlib import Path

import pytest

from anabranch.errors import InvalidFieldError
from anabranch.sandbox import VERSIONS, ClusterSpec, SandboxCluster, start_clusters
from anabranch.sandbox.errors import SandboxProcessError

from .clients import TIMEOUT_S, create, numbered, produce, read

pytestmark = pytest.mark.test

ENDS = {min(VERSIONS), max(VERSIONS)}


@pytest.mark.parametrize(
    "version", [pytest.param(one, marks=[] if one in ENDS else [pytest.mark.full]) for one in VERSIONS]
)
def test_a_killed_broker_comes_back_with_its_data(version: str) -> None:
    """After SIGKILL and a start on the same port, what was acknowledged is there and more can be written."""
    with SandboxCluster.start(ClusterSpec("old", version)) as cluster:
        config, (broker,) = cluster.client_config(), cluster.brokers
        create(config, "t")
        produce(config, "t", numbered(500))
        port, pid = broker.port, broker.pid
        broker.kill()
        assert not broker.alive
        broker.start()
        cluster.wait_ready()
        assert broker.port == port
        assert broker.pid != pid
        produce(config, "t", numbered(500, first=500))
        found = [message.value() for message in read(config, "t", 1000)]
    assert found == numbered(1000)
    assert not broker.alive


@pytest.mark.full
def test_any_one_of_three_brokers_may_be_lost(trio: SandboxCluster) -> None:
    """With one broker killed, and another one paused after its return, writes to all replicas go on."""
    config = trio.client_config()
    create(config, "t", partitions=3)
    controller = int(
        trio.run_tool("org.apache.kafka.tools.MetadataQuorumCommand", ["describe", "--status"])
        .split("LeaderId:")[1]
        .split()[0]
    )
    victim = trio.broker(controller)
    victim.kill()
    produce(config, "t", numbered(300))
    victim.start()
    trio.wait_ready()
    other = trio.broker(controller % 3 + 1)
    other.pause()
    produce(config, "t", numbered(300, first=300))
    other.resume()
    trio.wait_ready()
    values = sorted(message.value() or b"" for message in read(config, "t", 600, partitions=3))
    assert values == numbered(600)


@pytest.mark.full
def test_a_broker_that_stops_in_order_starts_again(trio: SandboxCluster) -> None:
    """SIGTERM ends it by itself, and its brokers take it back."""
    broker = trio.brokers[0]
    broker.stop(TIMEOUT_S)
    assert not broker.alive
    assert broker.process.exit_code == 143
    broker.start()
    trio.wait_ready()
    assert broker.alive


def test_a_tool_that_fails_says_why(proxied: SandboxCluster) -> None:
    """The error carries what the tool printed."""
    with pytest.raises(SandboxProcessError, match="no-such-topic"):
        proxied.run_tool("org.apache.kafka.tools.TopicCommand", ["--describe", "--topic", "no-such-topic"])


def test_a_broker_that_cannot_start_says_why_and_leaves_nothing(tmp_path: Path) -> None:
    """The others of the same call are stopped; the error has the broker's own words."""
    good, bad = ClusterSpec("good"), ClusterSpec("bad", overrides={"log.segment.bytes": "many"})
    with pytest.raises(SandboxProcessError, match=r"log\.segment\.bytes"):
        start_clusters([good, bad], tmp_path)
    log = (tmp_path / "good" / "broker-1" / "broker.log").read_text()
    assert "Transitioning from STARTING to RECOVERY" in log


def test_a_root_that_is_in_use_is_refused(tmp_path: Path) -> None:
    """Nobody's files are taken for a new cluster's."""
    (tmp_path / "precious").touch()
    with pytest.raises(InvalidFieldError, match="not empty"):
        SandboxCluster.start(ClusterSpec("old"), tmp_path)
