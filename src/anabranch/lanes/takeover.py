"""The two moments of a tenure that touch the journal: taking a lane over, and giving it back.

Both are generators of effects (:mod:`anabranch.lanes.effects`), so that a worker and a model checker run the
same code.
"""

from __future__ import annotations

from dataclasses import replace

from anabranch.lanes.claims import ClaimState, Mode
from anabranch.lanes.effects import AppendClaim, ReadClaims, ReadEnd, Steps
from anabranch.lanes.identity import take_identity
from anabranch.lanes.mapped import take_mapped, to_held
from anabranch.lanes.pipeline import Pipeline
from anabranch.lanes.tenure import Bid, Held, Tenure


def takeover(bid: Bid) -> Steps[Tenure]:
    """Become the owner of a lane.

    The log's end is read before the journal: a claim's floor must be below whatever an owner wrote whose claim
    was not seen.  Raises TenureEnded (try again with a new connection) or LaneStopped.
    """
    end = yield ReadEnd()
    log = yield ReadClaims(bid.lane)
    if bid.mode is Mode.IDENTITY:
        if log.mode(bid.lane) is Mode.MAPPED:
            return (yield from take_mapped(bid, end, log, "an earlier owner made the lane mapped"))
        outcome = yield from take_identity(bid, end, log)
        if isinstance(outcome, Tenure):
            return outcome
        log = yield ReadClaims(bid.lane)
        return (yield from take_mapped(bid, end, log, outcome))
    return (yield from take_mapped(bid, end, log, bid.why))


def release(tenure: Tenure, pipeline: Pipeline) -> Steps[Held | None]:
    """Give the lane back after a clean tenure, so that the next owner need not kill this one.

    Returns what the process may claim again with later, or None: where a batch is in doubt nothing is released;
    where the journal's answer is unknown the release may land late, after a reclaim, and hide it; where a jump was
    written for what was not sent the sequences behind it are taken.  The producer id is thrown away then.  An
    identity lane's id is shared and never released.
    """
    if tenure.mode is Mode.IDENTITY or not pipeline.clean:
        return None
    used_up = pipeline.jumps_ahead
    offset = yield AppendClaim(replace(tenure.claim, state=ClaimState.RELEASED))
    return None if offset is None or used_up else to_held(tenure)
