"""What engines die beside: two clusters, and stores of both kinds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from anabranch.sandbox import ClusterSpec, start_clusters
from qa.brokers import STEADY
from qa.postgres import Postgres, postgres
from tests.integration.kills.scene import Pair


@pytest.fixture(scope="module")
def pair() -> Iterator[Pair]:
    """Two clusters with access rules."""
    specs = [ClusterSpec(name, security="SCRAM-SHA-512", authorizer=True, overrides=STEADY) for name in ("old", "new")]
    old, new = start_clusters(specs)
    with old, new:
        yield Pair(old, new, {**old.environment(), **new.environment()})


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    """One PostgreSQL for all."""
    with postgres() as running:
        yield running


@pytest.fixture(params=[pytest.param("sqlite", marks=pytest.mark.full), "postgresql"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where an empty store may be."""
    if request.param == "sqlite":
        return str(tmp_path / "store.db")
    running: Postgres = request.getfixturevalue("server")
    return running.database()
