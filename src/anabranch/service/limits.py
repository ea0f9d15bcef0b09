"""How often somebody may ask: a bucket each, which fills at an even rate."""

from __future__ import annotations

import math
from collections import OrderedDict
from dataclasses import dataclass

from anabranch.service.errors import TooManyRequestsError

_MOST_KNOWN = 10_000


@dataclass(slots=True)
class _Bucket:
    left: float
    at: float


class RateLimit:
    """``burst`` requests at once, then ``per_second``; whoever has not asked for longest is forgotten first."""

    def __init__(self, per_second: float, burst: int) -> None:
        self._rate, self._burst = per_second, burst
        self._known: OrderedDict[str, _Bucket] = OrderedDict()

    def take(self, who: str, now: float) -> None:
        """Count a request; raises TooManyRequestsError.  ``now`` is of a clock that never goes back, in seconds."""
        self.check(who, now).left -= 1

    def check(self, who: str, now: float) -> _Bucket:
        """Somebody's bucket, with nothing counted; raises TooManyRequestsError where a request would be too many."""
        bucket = self._filled(who, now)
        if bucket.left < 1:
            raise TooManyRequestsError(who, math.ceil((1 - bucket.left) / self._rate))
        return bucket

    def _filled(self, who: str, now: float) -> _Bucket:
        bucket = self._known.setdefault(who, _Bucket(float(self._burst), now))
        self._known.move_to_end(who)
        bucket.left = min(float(self._burst), bucket.left + (now - bucket.at) * self._rate)
        bucket.at = now
        if len(self._known) > _MOST_KNOWN:
            self._known.popitem(last=False)
        return bucket
