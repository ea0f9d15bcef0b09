"""How old a mapped claim may grow: who copies under it, who comes after and who checks the protocol all ask here.

Invariants
    A1  nothing is sent under a claim from ``limit_ms`` on, by its owner's clock: the lane is given back and claimed
        again from ``renew_ms`` on, while it copies.
    A2  a claim that is over by ``is_over`` carries nobody: its owner ended a day before by A1, and no request is on
        its way for a day.  So a later owner need not shut it out, as long as clocks differ by less than
        ``OVER_MS + expiration - limit``, which is a day and half the expiration by default.
    A3  a marker proves a kill only while every broker remembers it, which is for the expiration; what is left of that
        must be longer than a request may be on its way.
"""

from __future__ import annotations

from anabranch.lanes.guard import MARGIN_MS

OVER_MS = 86_400_000
COORDINATED_MS = 86_400_000
"""A producer id of a coordinator is given up after a day: ``transactional.id.expiration.ms`` is a week by default."""
_LEAST_RENEW_MS = 3_600_000


def renew_ms(expiration_ms: int) -> int:
    """The age from which a claim is renewed, in ms: a quarter of the expiration, but an hour at least."""
    return max(expiration_ms // 4, _LEAST_RENEW_MS)


def limit_ms(expiration_ms: int) -> int:
    """The age from which nothing is sent under a claim, in ms: half the expiration, but two hours at least."""
    return 2 * renew_ms(expiration_ms)


def is_over(claimed_at_ms: int, expiration_ms: int, now_ms: int) -> bool:
    """Whether a claim of that time is so old that nothing can be sent under it any more (A2)."""
    return claimed_at_ms <= now_ms - expiration_ms - OVER_MS


def is_silent(claimed_at_ms: int, expiration_ms: int, now_ms: int) -> bool:
    """Whether nothing was sent under a claim of that time for a day: by A1, whatever the target remembers."""
    return claimed_at_ms <= now_ms - limit_ms(expiration_ms) - OVER_MS


def proves(marker_at_ms: int, expiration_ms: int, now_ms: int) -> bool:
    """Whether a kill's marker of that time is still remembered for long enough (A3).

    An hour of it must be left; half of it where the expiration is two hours or less.
    """
    return marker_at_ms > now_ms - expiration_ms + min(MARGIN_MS, expiration_ms // 2)
