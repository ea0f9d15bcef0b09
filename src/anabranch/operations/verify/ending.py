"""The end of a comparison whose job is gone, told on the target so that nobody waits until it counts as silent."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

from anabranch.kafka.cluster import Cluster
from anabranch.model.clock import now_ms
from anabranch.operations.jobs.runlogs import lock_of, was_released
from anabranch.operations.verify.show import status_of
from anabranch.state.codecs.verified import RunState, VerifyStatus
from anabranch.state.topics.verified import VerifiedTopic

KILLED = "its job was killed"


async def conclude_killed(target: Cluster, link_id: str, directory: Path) -> VerifyStatus | None:
    """Persist that the link's last run has failed, where it was started here and its process is gone.

    ``directory`` is where this machine's comparisons of the link are.  None where it lives, has ended, or was started
    elsewhere: then it counts as running until it is silent.
    """
    verified = VerifiedTopic(target)
    await verified.sync()
    last = verified.runs.get(link_id)
    if last is None or last.state is not RunState.RUNNING:
        return None
    if not await asyncio.to_thread(was_released, lock_of(directory, last.run)):
        return None
    return await conclude(target, link_id, last.run, KILLED)


async def conclude(target: Cluster, link_id: str, run: str, why: str) -> VerifyStatus | None:
    """Persist that a run has failed, and why; call it once the process of its job is gone.  Returns its status.

    What the job has persisted of its end stays, and so does another run's state: None where the run is not the link's
    last, or was killed before it told anything.
    """
    verified = VerifiedTopic(target)
    await verified.sync()
    last = verified.runs.get(link_id)
    if last is None or last.run != run:
        return None
    if last.state is RunState.RUNNING:
        await verified.persist(replace(last, state=RunState.FAILED, why=why, updated_at_ms=now_ms()), [])
        await verified.sync()
    return status_of(verified, link_id)
