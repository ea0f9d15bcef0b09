"""What the service knows of every cluster's links: read again and again, one task a cluster, so that none waits.

A cluster that cannot be read keeps what was last known of it, with when that was and why nothing newer is known.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

import structlog

from anabranch.errors import AnabranchError, ConfigError
from anabranch.model.clock import now_ms
from anabranch.model.cluster_health import ClusterHealth
from anabranch.model.lane import LaneState
from anabranch.model.link import UnknownLinkError
from anabranch.model.reports import LinkStatus
from anabranch.model.totals import Totals, totals
from anabranch.operations.contexts.health import health as look
from anabranch.operations.links.status import LinkStatusReader
from anabranch.service.clusters import ClusterPool
from anabranch.service.errors import NotReadYetError
from anabranch.service.problems import Problem, problem_of, unexpected

PERIOD_S = 2.0
"""Workers persist what changed every two seconds at most."""
HEALTH_S = 30.0
"""How often a cluster's metadata is asked for: of many topics it is large."""
SAMPLE_MS = 10_000
SAMPLES = 360
"""An hour of a link's past."""
HOUR_MS, STEP_MS = 3_600_000, 60_000

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Sample:
    """A link at one moment; what is None was not known then."""

    at_ms: int
    records_per_s: float
    bytes_per_s: float
    lag_records: int | None
    lag_bytes: int | None
    lag_seconds: float | None
    latency_ms: int | None
    stopped: int


@dataclass(frozen=True, slots=True)
class Trend:
    """A link's records a second in the last hour, a mean every ``step_ms`` from ``begin_ms`` on; None was not known."""

    begin_ms: int
    step_ms: int
    records_per_s: tuple[float | None, ...]


def trend(samples: Sequence[Sample]) -> Trend:
    """The trend that samples show, the oldest first; it begins and ends with them."""
    if not samples:
        return Trend(0, STEP_MS, ())
    first, last = (one.at_ms // STEP_MS for one in (samples[0], samples[-1]))
    steps: list[list[float]] = [[] for _ in range(last - first + 1)]
    for one in samples:
        steps[one.at_ms // STEP_MS - first].append(one.records_per_s)
    means = tuple(round(sum(one) / len(one), 1) if one else None for one in steps)
    kept = means[-HOUR_MS // STEP_MS :]
    return Trend((last - len(kept) + 1) * STEP_MS, STEP_MS, kept)


@dataclass(frozen=True, slots=True)
class SeenLink:
    """A link as it was last read."""

    target: str
    status: LinkStatus
    totals: Totals


@dataclass(frozen=True, slots=True)
class SeenCluster:
    """The links that a cluster stores; ``problem`` is why nothing newer is known, None where it was just read.

    ``read_at_ms`` is when that was read, None where it never was; ``health`` is of a moment of its own.
    """

    name: str
    links: Mapping[str, SeenLink] = field(default_factory=dict)
    read_at_ms: int | None = None
    problem: Problem | None = None
    health: ClusterHealth | None = None


class Board:
    """The clusters of the contexts file, and their links; one event loop."""

    def __init__(self, clusters: ClusterPool, tell: Callable[[SeenCluster], None]) -> None:
        self._clusters = clusters
        self._tell = tell
        self._seen: dict[str, SeenCluster] = {}
        self._past: dict[tuple[str, str], deque[Sample]] = {}
        self.contexts_problem: Problem | None = None
        self.version = 0
        """Another one each time that something was read, or could not be."""

    @property
    def seen(self) -> Sequence[SeenCluster]:
        """Every cluster, by name."""
        return [self._seen[name] for name in sorted(self._seen)]

    def cluster(self, name: str) -> SeenCluster:
        """A cluster; raises UnknownContextError, ConfigError, NotReadYetError."""
        self._clusters.context(name)
        found = self._seen.get(name)
        if found is None:
            raise NotReadYetError(name)
        return found

    def link(self, target: str, link: str) -> tuple[SeenCluster, SeenLink]:
        """A link on its target, with what is known of that; raises UnknownLinkError and what ``cluster`` raises."""
        cluster = self.cluster(target)
        if link in cluster.links:
            return cluster, cluster.links[link]
        if cluster.read_at_ms is None:
            raise NotReadYetError(target, "" if cluster.problem is None else cluster.problem.detail)
        raise UnknownLinkError(link, target)

    def past(self, target: str, link: str) -> Sequence[Sample]:
        """A link's last hour, the oldest first."""
        return tuple(self._past.get((target, link), ()))

    async def watch(self) -> None:
        """Watch every cluster of the contexts file, also of one that changes, until this is cancelled."""
        tasks: dict[str, asyncio.Task[None]] = {}
        try:
            while True:
                names = self._names(tuple(tasks))
                for name in set(tasks) - set(names):
                    tasks.pop(name).cancel()
                    self._forget(name)
                for name in set(names) - set(tasks):
                    tasks[name] = asyncio.create_task(self._watch(name))
                await asyncio.sleep(PERIOD_S)
        finally:
            for task in tasks.values():
                task.cancel()
            with suppress(asyncio.CancelledError):
                await asyncio.gather(*tasks.values(), return_exceptions=True)

    def _names(self, known: Sequence[str]) -> Sequence[str]:
        """The contexts; a file that cannot be read takes none away."""
        try:
            found = tuple(self._clusters.contexts().contexts)
        except ConfigError as error:
            self.contexts_problem = problem_of(error)
            return known
        self.contexts_problem = None
        return found

    def _forget(self, name: str) -> None:
        self.version += 1
        self._seen.pop(name, None)
        for key in [key for key in self._past if key[0] == name]:
            del self._past[key]

    async def _watch(self, name: str) -> None:
        """Read one cluster's links for ever."""
        reader: LinkStatusReader | None = None
        cluster = None
        health: ClusterHealth | None = None
        while True:
            begun = time.monotonic()
            try:
                now = self._clusters.cluster(name)
                if reader is None or now is not cluster:
                    reader, cluster = LinkStatusReader(now), now
                statuses = await reader.read()
                if health is None or now_ms() - health.seen_at_ms >= HEALTH_S * 1000:
                    health = await look(now)
            except AnabranchError as error:
                reader = None
                self._note(replace(self._seen.get(name, SeenCluster(name)), problem=problem_of(error)))
            except Exception:
                log.exception("a cluster's links could not be read", cluster=name)
                reader = None
                self._note(replace(self._seen.get(name, SeenCluster(name)), problem=unexpected()))
            else:
                links = {}
                for status in statuses:
                    links[status.spec.id] = SeenLink(name, status, totals(status))
                    await asyncio.sleep(0)  # of fifty links with some hundred lanes each it would be felt
                self._note(SeenCluster(name, links, now_ms(), health=health))
            await asyncio.sleep(max(PERIOD_S / 4, PERIOD_S - (time.monotonic() - begun)))

    def _note(self, cluster: SeenCluster) -> None:
        self.version += 1
        self._seen[cluster.name] = cluster
        if cluster.problem is None and cluster.read_at_ms is not None:
            for link, seen in cluster.links.items():
                past = self._past.setdefault((cluster.name, link), deque(maxlen=SAMPLES))
                if not past or cluster.read_at_ms - past[-1].at_ms >= SAMPLE_MS:
                    past.append(_sample(cluster.read_at_ms, seen.totals))
            for key in [key for key in self._past if key[0] == cluster.name and key[1] not in cluster.links]:
                del self._past[key]
        self._tell(cluster)


def _sample(at_ms: int, found: Totals) -> Sample:
    return Sample(
        at_ms,
        found.records_per_s,
        found.bytes_per_s,
        found.lag_records,
        found.lag_bytes,
        found.lag_seconds,
        found.latency_ms,
        found.of(LaneState.STOPPED),
    )
