"""The input of advice beside the route."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AdviceInput:
    """What only the user knows; None if not given.

    ``flags`` is the route with the sources as it was typed, ``group`` the job's consumer group, ``measure_s`` the time
    between two snapshots of the clusters.
    """

    flags: tuple[str, ...] = ()
    group: str | None = None
    uids: bool | None = None
    sql: bool | None = None
    downtime_s: float | None = None
    measure_s: float = 5.0
