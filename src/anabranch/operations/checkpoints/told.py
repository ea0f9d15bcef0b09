"""What advice is asked with: the words of a person beside the route."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Told:
    """What only a person can tell; None where nobody did.

    ``flags`` is the route with the sources as it was typed, ``group`` the job's consumer group, ``measure_s`` the time
    between two looks at the clusters.
    """

    flags: tuple[str, ...] = ()
    group: str | None = None
    uids: bool | None = None
    sql: bool | None = None
    downtime_s: float | None = None
    measure_s: float = 5.0
