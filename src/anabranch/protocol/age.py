"""How old a mapped claim may grow: who copies under it, who comes after and who checks the protocol all ask here.

Invariants
    A1  nothing is sent under a claim from ``limit_ms`` on, by its owner's clock: the lane is given back and claimed
        again from ``renew_ms`` on, while it copies.
    A2  a claim that is over by ``is_over`` carries nobody: its owner ended a day before by A1, and no request is on
        its way for a day.  So a later owner need not fence it, as long as clocks differ by less than
        ``OVER_MS + expiration - limit``, which is a day and half the expiration by default.
    A3  a marker proves a fence only while every broker remembers it, which is for the expiration; what is left of that
        must be longer than a request may be on its way.
    A4  under a claim of a coordinator's producer id nothing is sent from ``COORDINATED_MS`` on, whatever the target's
        expiration is, was or is taken for.  So a claim whose id the coordinator has forgotten, which it does after
        ``transactional.id.expiration.ms`` (a week by default), carries nobody: its id was a day old at most when it
        was claimed (again), nothing is sent a day later, and a day after that no request is on its way.
"""

from __future__ import annotations

from anabranch.protocol.guard import MARGIN_MS

OVER_MS = 86_400_000
COORDINATED_MS = 86_400_000
"""For a day a producer id of a coordinator may be claimed again, and for a day be written under (A4)."""
_LEAST_RENEW_MS = 3_600_000


def renew_ms(expiration_ms: int, *, by_coordinator: bool) -> int:
    """The age from which a claim is renewed, in ms: a quarter of the expiration, but an hour at least.

    ``by_coordinator``: half a day at most where the claim's producer id is a coordinator's.
    """
    renewed = max(expiration_ms // 4, _LEAST_RENEW_MS)
    return min(renewed, COORDINATED_MS // 2) if by_coordinator else renewed


def limit_ms(expiration_ms: int, *, by_coordinator: bool) -> int:
    """The age from which nothing is sent under a claim, in ms: half the expiration, but two hours at least.

    ``by_coordinator``: a day at most where the claim's producer id is a coordinator's (A4).
    """
    return 2 * renew_ms(expiration_ms, by_coordinator=by_coordinator)


def is_over(claimed_at_ms: int, expiration_ms: int, now_ms: int) -> bool:
    """Whether a claim of that time is so old that nothing can be sent under it any more (A2)."""
    return claimed_at_ms <= now_ms - expiration_ms - OVER_MS


def silent_in_ms(claimed_at_ms: int, now_ms: int) -> int:
    """In how many ms nothing will have been sent for a day under a coordinator's claim of that time (A4); 0: not now.

    It does not hang on any expiration: an owner may have gone by another one.
    """
    return max(claimed_at_ms + COORDINATED_MS + OVER_MS - now_ms, 0)


def proves(marker_at_ms: int, expiration_ms: int, now_ms: int) -> bool:
    """Whether a fence's marker of that time is still remembered for long enough (A3).

    An hour of it must be left; half of it where the expiration is two hours or less.
    """
    return marker_at_ms > now_ms - expiration_ms + min(MARGIN_MS, expiration_ms // 2)
