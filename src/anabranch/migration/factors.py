"""What may slow a migration's copying down, as it was observed: each factor with its threshold and a reason in words.

Three kinds of effect: some factors have copying stand still, some slow it down, and lag is only shown.  A factor is
raised above its threshold, and good again only at ``clear`` or below: in between nothing is changed, so that a value
near a threshold does not move rates to and fro.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from anabranch.migration.words import named, verb
from anabranch.model.counted import counted

# Requests that take twice as long as usual are felt by applications; what a busy network adds to a fast one is not.
LATENCY_TIMES, LATENCY_MORE_MS = 2.0, 20.0
# Half of what may be added, so that a latency at the threshold holds rates where they are.
CLEAR_TIMES, CLEAR_MORE_MS = 1.5, 10.0
# One partition that lacks a replica is one whose followers need the disks and the network that copying takes.
MOST_UNDER_REPLICATED = 0.0
# Without a broker the others do its work as well, and what is written under min ISR is refused to applications.
MOST_AWAY = MOST_UNDER_MIN_ISR = 0.0
# A quota that is exceeded holds up everybody who shares it with the links.
MOST_QUOTA_MS = 0.0


class FactorKind(StrEnum):
    """What was looked at."""

    AWAY = "brokers away"
    UNDER_MIN_ISR = "partitions under min ISR"
    UNDER_REPLICATED = "under-replicated partitions"
    LATENCY = "request latency"
    QUOTA = "throttle time of a quota"
    LAG = "lag"

    @property
    def pauses(self) -> bool:
        """Whether copying stands still while it is raised, and is not only slowed down."""
        return self in (FactorKind.AWAY, FactorKind.UNDER_MIN_ISR)


@dataclass(frozen=True, slots=True)
class Factor:
    """One factor; ``where`` is the cluster, its broker, or the link.

    ``threshold`` is None where it is only shown; ``clear`` is the value at which it is good again.  Values are counts,
    of latencies and throttle times milliseconds, of lag bytes.
    """

    kind: FactorKind
    where: str
    value: float
    reason: str
    threshold: float | None = None
    clear: float | None = None

    @property
    def key(self) -> str:
        """What names it from one look to the next."""
        return f"{self.kind}: {self.where}"

    @property
    def is_raised(self) -> bool:
        """Whether it holds copying up."""
        return self.threshold is not None and self.value > self.threshold

    @property
    def is_clear(self) -> bool:
        """Whether nothing is left of it once it was raised."""
        return self.clear is None or self.value <= self.clear


@dataclass(frozen=True, slots=True)
class BrokerLatency:
    """How long small requests to one broker took; ``where`` names the cluster.

    The median decides: a pause of the process that measures is in the p95, which is only shown.
    """

    where: str
    broker: int
    median_ms: float
    p95_ms: float

    @property
    def place(self) -> str:
        """The broker with its cluster."""
        return f"{self.where}, broker {self.broker}"


def of_latency(measured: BrokerLatency, usual_ms: float) -> Factor:
    """A latency, beside the one that is usual for its broker."""
    most = LATENCY_TIMES * usual_ms + LATENCY_MORE_MS
    clear = CLEAR_TIMES * usual_ms + CLEAR_MORE_MS
    took = f"{measured.median_ms:,.1f} ms in the median ({measured.p95_ms:,.1f} at p95)"
    reason = f"{measured.place}: requests take {took}; {usual_ms:,.1f} is usual, {most:,.1f} the most"
    return Factor(FactorKind.LATENCY, measured.place, measured.median_ms, reason, most, clear)


def of_away(where: str, brokers: Sequence[int], known: int) -> Factor:
    """Brokers of a cluster that it lacks, or that do not answer; ``known`` are all of it."""
    names = [str(one) for one in brokers]
    away = f"{named(names, 'broker')} of {known:,} {verb(names, 'is', 'are')} away"
    reason = f"{where}: {away if brokers else 'no broker is away'}"
    return Factor(FactorKind.AWAY, where, len(brokers), reason, MOST_AWAY, MOST_AWAY)


def of_unreachable(where: str, why: str) -> Factor:
    """A cluster of which no broker tells anything."""
    return Factor(FactorKind.AWAY, where, 1, f"{where}: no broker tells how it is: {why}", MOST_AWAY, MOST_AWAY)


def of_under_replicated(where: str, count: int, partitions: int) -> Factor:
    """Partitions of which a replica is not in sync."""
    what = f"{count:,} of {counted(partitions, 'partition')} {'lacks' if count == 1 else 'lack'} a replica in sync"
    most = MOST_UNDER_REPLICATED
    return Factor(FactorKind.UNDER_REPLICATED, where, count, f"{where}: {what}", most, most)


def of_under_min_isr(where: str, partitions: Sequence[str]) -> Factor:
    """Partitions with no leader, or fewer replicas in sync than applications may write to."""
    few = f"{named(partitions, 'partition')} {verb(partitions, 'has', 'have')} no leader or too few replicas in sync"
    reason = f"{where}: {few if partitions else 'each partition may be written to'}"
    most = MOST_UNDER_MIN_ISR
    return Factor(FactorKind.UNDER_MIN_ISR, where, len(partitions), reason, most, most)


def of_quota(where: str, longest_ms: float) -> Factor:
    """For how long its brokers have said that a quota holds us up."""
    exceeded = f"a quota is exceeded: brokers hold us up for {longest_ms:,.0f} ms"
    reason = f"{where}: {exceeded if longest_ms else 'no quota is exceeded'}"
    return Factor(FactorKind.QUOTA, where, longest_ms, reason, MOST_QUOTA_MS, MOST_QUOTA_MS)


def of_lag(link: str, lag_bytes: int | None) -> Factor:
    """What a link has still to copy; never a reason to slow down."""
    lacks = "it is not known what is left to copy" if lag_bytes is None else f"{lag_bytes / 1e6:,.1f} MB left to copy"
    return Factor(FactorKind.LAG, link, float(lag_bytes or 0), f"link {link}: {lacks}")
