"""Two real clusters of Kafka for the tests on real clusters of Spark, and what those on YARN share."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from anabranch.operations.jobs import environment
from anabranch.sandbox import ClusterSpec, SandboxCluster, start_clusters
from qa.brokers import STEADY
from tests.integration.spark.yarn import Yarn, yarn
from tests.integration.spark.yarn_desk import PASSWORD, Desk


@pytest.fixture(scope="package")
def pair() -> Iterator[tuple[SandboxCluster, SandboxCluster]]:
    """Both."""
    old, new = start_clusters([ClusterSpec("old", overrides=STEADY), ClusterSpec("new", overrides=STEADY)])
    with old, new:
        yield old, new


@pytest.fixture
def old(pair: tuple[SandboxCluster, SandboxCluster]) -> SandboxCluster:
    """The source."""
    return pair[0]


@pytest.fixture
def new(pair: tuple[SandboxCluster, SandboxCluster]) -> SandboxCluster:
    """The target."""
    return pair[1]


@pytest.fixture(scope="package")
def yarn_pair() -> Iterator[tuple[SandboxCluster, SandboxCluster]]:
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


@pytest.fixture(scope="package")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `anabranch link package` writes."""
    path = tmp_path_factory.mktemp("archive") / "anabranch-env.tar.gz"
    environment.build(path, os.path.realpath(sys.executable))  # nodes may have no more on their path than the system
    return path


@pytest.fixture(scope="package")
def yarn_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Yarn]:
    """YARN."""
    with yarn(tmp_path_factory.mktemp("yarn"), {}) as made:
        yield made


@pytest.fixture
def desk(yarn_pair: tuple[SandboxCluster, SandboxCluster], yarn_cluster: Yarn, tmp_path: Path) -> Desk:
    """With the password in a file."""
    old, new = yarn_pair
    secret = tmp_path / "old.password"
    secret.write_text(PASSWORD)
    secret.chmod(0o600)
    entry = old.context("admin")
    sasl = entry["security"]["sasl"]
    del sasl["password_env"]
    sasl["password_file"] = str(secret)
    contexts = tmp_path / "contexts.yaml"
    contexts.write_text(yaml.safe_dump({"contexts": {"yarn-old": entry, "yarn-new": new.context()}}))
    return Desk(tmp_path, yarn_cluster, contexts, (secret, Path(entry["security"]["tls"]["ca_file"])))
