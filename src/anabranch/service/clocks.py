"""An instance does not begin beside another one whose clock differs too much: each compares its own with the other's.

The race: what another instance wrote may lie in the past because it has ended, or because clocks differ.  One that is
there renews its lease within seconds, so what has changed after that was written by one that is there.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from anabranch.errors import RefusedError
from anabranch.store.leases import SKEW_MS, InstanceLeases


@dataclass(eq=False)
class ClockOffError(RefusedError):
    """The clock of this machine differs from that of the instance that acts, so both could act at once."""

    holder: str
    off_s: float

    @property
    def message(self) -> str:
        way = "ahead of" if self.off_s > 0 else "behind"
        return (
            f"this machine's clock is about {abs(self.off_s):,.0f} s {way} that of instance {self.holder}, which acts"
        )

    _hint = "set the clocks of both machines, such as by `chronyc makestep`, then start this instance again"


def check_clock(
    leases: InstanceLeases,
    lease: str,
    instance: str,
    length_ms: int,
    look_s: float,
    now_ms: Callable[[], int],
    sleep: Callable[[float], object] = time.sleep,
) -> None:
    """Raise ClockOffError where another instance that is there has a lease that it could not have by this clock.

    ``look_s``: within it whoever is there renews its lease, for ``length_ms``.  A lease from the future of one that is
    gone is ended, since nobody would take it until then.  Raises StoreError.
    """
    before = leases.get(lease)
    if before is None or before.holder == instance or not before.until:
        return
    if before.until + SKEW_MS >= now_ms() and before.until <= now_ms() + length_ms + SKEW_MS:
        return
    sleep(look_s)
    now, after = now_ms(), leases.get(lease)
    if after == before:
        if before.until > now:
            leases.give_back(lease, before.holder)
        return
    off_ms = now + length_ms - (0 if after is None else after.until)
    if after is not None and after.until and after.holder != instance and abs(off_ms) > SKEW_MS + look_s * 1000:
        raise ClockOffError(after.holder, off_ms / 1000)
