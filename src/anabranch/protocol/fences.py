"""Fencing the owners of earlier claims."""

from __future__ import annotations

from collections.abc import Sequence

from anabranch.protocol import age
from anabranch.protocol.claims import Claim
from anabranch.protocol.effects import FORGOTTEN, Fence, Fences, Steps
from anabranch.protocol.endings import LaneStopped, Stop, refusal

_HOUR_MS = 3_600_000


def fence(lane: str, start: int, claims: Sequence[Claim], now_ms: int) -> Steps[set[int]]:
    """Shut the owners of these claims out; returns the producer ids whose markers were acknowledged.

    An id that its coordinator has forgotten cannot be fenced, and need not be where nothing was sent under it for a
    day (A4).  Raises what the first refusal means: OwnershipEnded or LaneStopped.
    """
    if not claims:
        return set()
    codes: tuple[int, ...] = yield Fences(tuple(Fence(claim.producer_id, claim.transactional_id) for claim in claims))
    fenced = set()
    for claim, code in zip(claims, codes, strict=True):
        if code == 0:
            fenced.add(claim.producer_id)
        elif code != FORGOTTEN:
            raise refusal(lane, code, start, f"fencing producer id {claim.producer_id}")
        elif left_ms := age.silent_in_ms(claim.claimed_at_ms, now_ms):
            raise LaneStopped(
                lane,
                Stop.OWNER_FORGOTTEN,
                start,
                detail=f"the coordinator has forgotten transactional id {claim.transactional_id}; "
                f"in {-(-left_ms // _HOUR_MS)} h nobody writes under it any more",
                fix="resume the link then; raise the brokers' transactional.id.expiration.ms above three days",
            )
    return fenced
