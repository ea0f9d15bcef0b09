"""A right that is taken away while a link runs."""

from __future__ import annotations

import pytest

from anabranch.kafka.simulated.access import CLUSTER_NAME
from anabranch.model.acls import Acl, AclOperation, AclPermission, PatternType, ResourceType
from anabranch.model.lane import LaneState
from anabranch.protocol import age
from anabranch.state.codecs import claims as codec
from anabranch.state.codecs import topics
from qa.simulation.life import MOVER
from tests.chance import seed
from tests.simulation.watched import Watched, lanes, watched

pytestmark = pytest.mark.test

UNTOLD_MS = 0
"""The target's expiration of producer ids, as a worker takes it that may not read the brokers' settings."""
MAY_MARK = Acl(
    ResourceType.CLUSTER, CLUSTER_NAME, PatternType.LITERAL, f"User:{MOVER}", "*", AclOperation.ALTER,
    AclPermission.ALLOW,
)  # fmt: skip


def fenced_by_coordinator(link: Watched) -> list[bool]:
    """Of each claim whether whoever comes later can fence it without a right on the cluster."""
    found = []
    for one in link.persisted(topics.CLAIMS):
        assert one.value is not None
        found.append(codec.decode(one.key or b"", one.value).transactional_id is not None)
    return found


def test_a_worker_that_may_write_markers_no_more_claims_what_a_coordinator_fences() -> None:
    """It asks again as it claims again: under an id that only markers fence, nobody could follow it."""
    with watched(seed(1), guarded=True) as link:
        rules = link.world.clusters["target"].access.rules
        rules.append(MAY_MARK)
        run = link.run(600.0)
        link.until(lambda: link.end_of("target") > 50)
        assert not any(fenced_by_coordinator(link))
        rules.remove(MAY_MARK)
        # Not past the limit: a claim that is too old to be written under is not given back, and only markers fence it.
        link.world.scheduler.leapt_ms += age.renew_ms(UNTOLD_MS, by_coordinator=False)
        before = link.end_of("target")
        link.pass_(10.0)
        assert link.end_of("target") > before
        assert fenced_by_coordinator(link)[-1]
        for slot in run.workers:
            slot.process.kill()
        link.pass_(30.0)
        assert lanes(link.persisted(topics.PROGRESS))[-1].state is not LaneState.STOPPED
        assert link.judge() == []
        link.end(run)
