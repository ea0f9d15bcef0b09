"""A migration's links slow down for what is observed, one round after the other: observe, decide, apply.

``migration.throttle`` decides.  A cluster that does not answer is a factor, and no error.
"""

from __future__ import annotations

import asyncio
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from anabranch.errors import AnabranchError
from anabranch.kafka.admin import topic_configs
from anabranch.kafka.cluster import Cluster, ClusterMetadata, PartitionMeta
from anabranch.kafka.probe import ClusterRole
from anabranch.kafka.round_trips import RoundTrips, round_trips
from anabranch.migration import factors
from anabranch.migration.factors import BrokerLatency, Factor
from anabranch.migration.shares import LinkLoad
from anabranch.migration.throttle import ThrottleDecision, ThrottleLimits, ThrottleLook, decide
from anabranch.migration.throttle_state import ThrottleState
from anabranch.model.link import UnknownLinkError
from anabranch.model.reports import LinkStatus
from anabranch.operations.links import change
from anabranch.operations.links.status import LinkStatusReader, stored

LOOK_S = 15.0
"""A cluster that does not tell of itself for so long is away."""
_BROKER_S = 6.0
_AT_ONCE = 4  # of more at once each would wait for this process, and not for its broker


@dataclass(frozen=True, slots=True)
class Throttled:
    """What a round came to: the decision, the links whose rate was changed, and why some could not be.

    ``state`` is what the next round begins with.
    """

    state: ThrottleState
    decision: ThrottleDecision
    changed: tuple[str, ...]
    failures: tuple[str, ...]


class MigrationThrottle:
    """Throttles links that read one cluster and are stored on the other; keep it from round to round.

    It only changes rates: whether a link is paused is left to people and to switches.
    """

    def __init__(self, source: Cluster, target: Cluster) -> None:
        self._source = source
        self._target = target
        self._reader = LinkStatusReader(target)
        self._rates: dict[str, int | None] = {}

    async def adjust(
        self, state: ThrottleState, limits: ThrottleLimits, links: Sequence[str], now_ms: int
    ) -> Throttled:
        """One round for these links, which share the budget; call it every few seconds and keep the state it returns.

        A link that is not stored is passed over.  Raises no ClusterError: what cannot be asked is a factor, and what
        cannot be changed is in ``failures`` and tried again in the next round.  Links that somebody changes at the same
        time are left to them until then.
        """
        failures: list[str] = []
        look = await self._observed(links, failures)
        after, decision = decide(state, limits, look, now_ms)
        wanted = {link: rate for link, rate in decision.rates.items() if rate != self._rates[link]}
        changed: list[str] = []
        # Those that lose come first, and nobody gains where one could not: together they never have too much.
        for link in sorted(wanted, key=lambda one: _gains(self._rates[one], wanted[one])):
            if failures and _gains(self._rates[link], wanted[link]):
                break
            try:
                async with asyncio.timeout(LOOK_S):
                    if await apply(self._target, link, wanted[link]):
                        changed.append(link)
            except UnknownLinkError:
                continue
            except AnabranchError as error:
                failures.append(f"link {link}: {error.message}")
            except TimeoutError:
                failures.append(f"link {link}: {self._target.name} did not answer within {LOOK_S:g} s")
        return Throttled(after, decision, tuple(changed), tuple(failures))

    async def observe(self, links: Sequence[str]) -> ThrottleLook:
        """Look at both clusters and the links once; raises nothing that a cluster may be the cause of.

        Where the target does not tell of its links there are no loads.
        """
        return await self._observed(links, [])

    async def _observed(self, links: Sequence[str], failures: list[str]) -> ThrottleLook:
        source, target, loads = await asyncio.gather(
            _cluster(self._source, ClusterRole.SOURCE),
            _cluster(self._target, ClusterRole.TARGET),
            self._loads(links, failures),
        )
        return ThrottleLook((*source.factors, *target.factors), (*source.latencies, *target.latencies), loads)

    async def _loads(self, links: Sequence[str], failures: list[str]) -> tuple[LinkLoad, ...]:
        try:
            async with asyncio.timeout(LOOK_S):
                found = {status.spec.id: status for status in await self._reader.read()}
        except (AnabranchError, TimeoutError) as error:
            self._reader = LinkStatusReader(self._target)
            why = error.message if isinstance(error, AnabranchError) else f"nothing within {LOOK_S:g} s"
            failures.append(f"what links of {self._target.name} have to copy is not known: {why}")
            return ()
        self._rates = {link: status.spec.rate_limit for link, status in found.items()}
        return tuple(_load(found[link]) for link in links if link in found)


def _gains(before: int | None, after: int | None) -> bool:
    return before is not None and (after is None or after > before)


async def apply(target: Cluster, link: str, rate: int | None) -> bool:
    """Have a link obey another rate than it has; returns whether that was changed.

    Raises UnknownLinkError, ClusterError, and PlanChangedError where somebody else changes the link.
    """
    _, record = await stored(target, link)
    if record.wanted.spec.rate_limit == rate:
        return False
    await change.apply(target, await change.plan(target, link, change.WantedChanges(rate_limit=rate)))
    return True


def _load(status: LinkStatus) -> LinkLoad:
    lags = [lane.lag_bytes for lane in status.lanes]
    known = [lag for lag in lags if lag is not None]
    is_known = len(known) == len(lags) and not status.missing and status.plan is not None
    copied = sum(lane.bytes_per_s for lane in status.lanes if not lane.is_old)
    is_copying = status.running and not status.ending and not status.wanted.paused
    return LinkLoad(status.spec.id, sum(known) if is_known else None, copied, is_copying)


# -- a cluster ---------------------------------------------------------------------------------------------


async def _cluster(cluster: Cluster, role: ClusterRole) -> ThrottleLook:
    where = f"{role.value} {cluster.name}"
    try:
        async with asyncio.timeout(LOOK_S):
            answer = await cluster.metadata(None)
            few = await _under_min_isr(cluster, answer)
    except AnabranchError as error:
        return ThrottleLook((factors.of_unreachable(where, error.message),))
    except TimeoutError:
        return ThrottleLook((factors.of_unreachable(where, f"nothing within {LOOK_S:g} s"),))
    at_once = asyncio.Semaphore(_AT_ONCE)
    asked = sorted(answer.brokers)
    told = await asyncio.gather(*(_broker(cluster, node, role, at_once) for node in asked))
    partitions = _partitions(answer)
    silent = {node for node, trips in zip(asked, told, strict=True) if trips is None}
    wanted = {node for part in partitions.values() for node in part.replicas}
    there = [trips for trips in told if trips is not None]
    found: list[Factor] = [
        factors.of_away(where, sorted(silent | (wanted - set(asked))), len(wanted | set(asked))),
        factors.of_under_min_isr(where, few),
        factors.of_under_replicated(where, sum(map(_lacks, partitions.values())), len(partitions)),
        factors.of_quota(where, max((trips.throttle_ms for trips in there), default=0.0)),
    ]
    pairs = zip(asked, told, strict=True)
    latencies = [_latency(where, node, trips) for node, trips in pairs if trips is not None and trips.times_ms]
    return ThrottleLook(tuple(found), tuple(latencies))


def _partitions(answer: ClusterMetadata) -> dict[tuple[str, int], PartitionMeta]:
    topics = answer.topics.items()
    return {(name, index): part for name, topic in topics for index, part in topic.partitions.items()}


def _lacks(part: PartitionMeta) -> bool:
    return len(part.isr) < len(part.replicas)


async def _under_min_isr(cluster: Cluster, answer: ClusterMetadata) -> list[str]:
    """Partitions with no leader, or with too few replicas in sync; those that lack none are as they were meant to be.

    Where a topic's settings may not be asked for, only the first is known.
    """
    lacking = {key: part for key, part in _partitions(answer).items() if _lacks(part) or part.leader < 0}
    configs = await topic_configs(cluster, sorted({name for name, _ in lacking})) if lacking else {}
    found = []
    for (name, index), part in sorted(lacking.items()):
        least = configs.get(name, {}).get("min.insync.replicas")
        if part.leader < 0 or (least is not None and least.value and len(part.isr) < int(least.value)):
            found.append(f"{name}-{index}")
    return found


async def _broker(cluster: Cluster, node: int, role: ClusterRole, at_once: asyncio.Semaphore) -> RoundTrips | None:
    """What a broker told, None where it did not answer."""
    async with at_once:
        try:
            async with asyncio.timeout(_BROKER_S):
                return await round_trips(cluster, node, role)
        except (AnabranchError, TimeoutError):
            return None


def _latency(where: str, node: int, trips: RoundTrips) -> BrokerLatency:
    times = sorted(trips.times_ms)
    return BrokerLatency(where, node, statistics.median(times), times[round(0.95 * (len(times) - 1))])
