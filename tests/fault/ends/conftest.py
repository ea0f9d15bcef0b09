"""What the jobs are run beside: two clusters with links, and a directory of their own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from anabranch.model.link import ModePolicy
from anabranch.sandbox import ClusterSpec, SandboxCluster, start_clusters
from qa.runs import Runs
from tests.chance import is_full
from tests.fault.ends.jobs import DIFFERENT, EQUAL, INTERRUPTED, RECORDS
from tests.integration.links.lab import link
from tests.integration.links.topics import create, numbered, produce

BACK_SOON = {"broker.session.timeout.ms": "20000"}
"""For so long a broker that was killed keeps its successor out."""


@pytest.fixture(scope="module")
def pair(request: pytest.FixtureRequest) -> Iterator[tuple[SandboxCluster, SandboxCluster]]:
    """Two clusters of one broker each, with a link whose copy is equal.

    For the tier ``full`` there is one whose copy has a stranger's records besides, of which one lies in the first round
    of a comparison and one behind all that was copied, and one whose comparison is interrupted.
    """
    old, new = start_clusters([ClusterSpec("old", overrides=BACK_SOON), ClusterSpec("new", overrides=BACK_SOON)])
    with old, new:
        create(old, EQUAL)
        produce(old, EQUAL, numbered(RECORDS), batch=5000)
        with link(old, new, EQUAL, id=EQUAL) as made, made.running():
            made.await_position(EQUAL, RECORDS)
        if not is_full(request.config):
            yield old, new
            return
        create(old, DIFFERENT)
        with link(old, new, DIFFERENT, id=DIFFERENT, mode=ModePolicy.MAPPED) as made:
            for first, end in ((0, 5000), (5000, RECORDS)):
                produce(old, DIFFERENT, numbered(end - first, first=first), batch=5000)
                with made.running():
                    made.await_position(DIFFERENT, end)
                produce(new, DIFFERENT, numbered(1))
        create(old, INTERRUPTED)
        produce(old, INTERRUPTED, numbered(10))
        with link(old, new, INTERRUPTED, id=INTERRUPTED) as made, made.running():
            made.await_position(INTERRUPTED, 10)
        yield old, new


@pytest.fixture
def runs(tmp_path: Path, pair: tuple[SandboxCluster, SandboxCluster]) -> Iterator[Runs]:
    """The verbs, in a directory of their own."""
    made = Runs(tmp_path, *pair)
    yield made
    made.end_all()
