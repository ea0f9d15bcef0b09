"""Lanes that pass from one worker of a run to another: politeness between the two, for a takeover by force costs more.

A worker copies on between two leases, and Spark may give its lanes to another.  That one **asks** for them, by
persisting progress of them in its own name and as waiting; the holder, which reads progress anyway, lets what is in
flight be answered, persists a last time, gives the claim back and persists the lane as waiting.  Nothing rests on it:
who waits longer than ``TIMEOUT_S`` takes over as from one that is dead, and a holder that gives way to a worker that
does not come loses time, nothing else.  Claims alone decide.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterable
from dataclasses import replace

from anabranch.copier.lane.lane import Lane
from anabranch.model.clock import now_ms
from anabranch.model.lane import LaneAssignment, LaneMode, LaneState
from anabranch.protocol.claims import ClaimState
from anabranch.state.topics.control import Progress
from anabranch.state.topics.journal import Journal

TIMEOUT_S = 3.0
"""How long after its last sign of life a holder is waited for."""


class Handover:
    """What one worker, ``owner``, asks of others of its run, and is asked by them."""

    def __init__(self, owner: str, journal: Journal, progress: Progress) -> None:
        self._owner = owner
        self._run = owner.partition("/")[0]
        self._journal = journal
        self._progress = progress
        self._asked_of: dict[str, str] = {}
        self._since: dict[str, tuple[int, int]] = {}

    def deadline(self, wanted: LaneAssignment) -> float:
        """Until when, on this process' monotonic clock, the lane's holder shall be waited for; 0 where not at all."""
        heard = self._progress.liveness.get(wanted.lane)
        if heard is None or heard[0] != self.holder(wanted):
            return 0.0
        return heard[1] + TIMEOUT_S

    def holder(self, wanted: LaneAssignment) -> str | None:
        """The other worker of this run that holds a lane and has not let it go; None where the lane may be taken."""
        claims = self._journal.claims.claims(str(wanted.lane))
        if not claims:
            return None
        last = claims[-1].claim
        if last.mode is LaneMode.IDENTITY:
            owner = self._filer(wanted)  # its claim stays the first owner's, and is never released
        else:
            owner = last.owner if last.state is ClaimState.CLAIMED else None
        if owner is None or owner == self._owner or not self._is_sibling(owner) or is_dead(owner):
            return None
        return owner

    def _filer(self, wanted: LaneAssignment) -> str | None:
        """Who persisted a lane last, but for this worker's own questions; None where it was let go."""
        persisted = self._progress.lanes.get(wanted.lane)
        if persisted is None:
            return None
        if persisted.owner == self._owner:
            return self._asked_of.get(str(wanted.lane))
        return None if persisted.state is LaneState.WAITING else persisted.owner

    async def ask(self, wanted: Iterable[LaneAssignment]) -> None:
        """Ask the holders for lanes; raises ControlLostError."""
        wanted = [one for one in wanted if one.lane in self._progress.lanes]
        self._asked_of.update((str(one.lane), holder) for one in wanted if (holder := self.holder(one)))
        persisted = [self._progress.lanes[one.lane] for one in wanted]
        asking = [
            replace(one, owner=self._owner, state=LaneState.WAITING, stop_reason=None, updated_at_ms=now_ms())
            for one in persisted
        ]
        await self._progress.persist(asking)

    def taken(self, wanted: LaneAssignment) -> None:
        """The lane is this worker's: what it asked before is answered."""
        self._asked_of.pop(str(wanted.lane), None)

    def asked(self, lanes: Iterable[Lane]) -> list[Lane]:
        """Those lanes, of the ones that this worker holds, for which another asked since they were won."""
        found = []
        for lane in lanes:
            persisted = self._progress.lanes.get(lane.assignment.lane)
            if persisted is None or lane.active is None:
                continue
            if persisted.owner == self._owner or not self._is_sibling(persisted.owner):
                continue
            won_at_ms = self._won_at_ms(lane, lane.active.ownership.producer_id)
            if persisted.state is LaneState.WAITING and persisted.updated_at_ms > won_at_ms:
                found.append(lane)
        return found

    def _won_at_ms(self, lane: Lane, producer_id: int) -> int:
        """When this worker's ownership was first seen here; what was persisted before is no question to it."""
        seen = self._since.get(lane.key)
        if seen is None or seen[0] != producer_id:
            seen = self._since[lane.key] = (producer_id, now_ms())
        return seen[1]

    def _is_sibling(self, owner: str) -> bool:
        return owner.partition("/")[0] == self._run


def owner_name(run: str, tag: str) -> str:
    """The owner's name of a worker in this process; ``tag`` tells workers of one process apart."""
    return f"{run}/{socket.gethostname()}-{os.getpid()}-{tag}"


def is_dead(owner: str) -> bool:
    """Whether an owner was a process of this machine that is gone.

    Wrong where two containers share a host name but not their processes: then its lanes are taken without waiting.
    """
    host, _, rest = owner.partition("/")[2].rpartition("-")[0].rpartition("-")
    if host != socket.gethostname() or not rest.isdecimal():
        return False
    try:
        os.kill(int(rest), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False
