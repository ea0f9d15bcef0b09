"""Brokers tell the clock of the active controller, to whoever may DESCRIBE the cluster."""

from __future__ import annotations

import pytest

from anabranch.kafka.controller_clock import clock_skew
from anabranch.kafka.errors import PermissionDeniedError
from anabranch.kafka.security import open_cluster
from anabranch.sandbox import SandboxCluster
from tests.contract.lab import connect
from tests.integration.kafka.security import context_of

pytestmark = pytest.mark.test


async def test_a_controller_on_this_machine_has_its_clock(cluster: SandboxCluster) -> None:
    """What is told is the moment of the question, and not the last one at which somebody read."""
    async with connect(cluster) as client:
        found = await clock_skew(client)
        assert found is not None and found.least_ms < 0 < found.most_ms, found


async def test_who_may_not_describe_the_cluster_is_told_so(guarded: SandboxCluster) -> None:
    """And hears nothing of its clock."""
    async with open_cluster(context_of(guarded, "alice")) as alice:
        with pytest.raises(PermissionDeniedError, match="User:alice may not Describe on cluster"):
            await clock_skew(alice)
