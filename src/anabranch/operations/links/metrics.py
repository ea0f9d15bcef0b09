"""A target's links as Prometheus metrics, read from its control topics when they are asked for.

Nothing is counted here: every scrape reads what the workers persisted, at most two seconds old.  A scrape that fails
answers ``anabranch_up 0`` and nothing about lanes, so that a cluster that is away is not taken for a link that copies
nothing.  Rates belong to the asker: ``rate(anabranch_lane_copied_bytes_total[1m])``.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from anabranch.errors import AnabranchError, ConfigError
from anabranch.kafka.cluster import Cluster
from anabranch.model.lane import LaneMode, LaneProgress, LaneState
from anabranch.model.reports import LinkStatus
from anabranch.operations.links.status import LinkStatusReader

LOOPBACK = "127.0.0.1"
_LINK = ("link", "source", "target")
_LANE = (*_LINK, "topic", "partition")

Read = Callable[[], Sequence[LinkStatus]]


@dataclass(eq=False)
class PortTakenError(ConfigError):
    """Another process listens where the metrics should be served."""

    address: str
    port: int
    reason: str

    _message = "metrics cannot be served at {address}:{port}: {reason}"
    _hint = "name a free port with --port"


class LinkCollector(Collector):
    """Reads with ``read`` at each scrape; two scrapes at once wait for each other."""

    def __init__(self, read: Read) -> None:
        self._read = read
        self._lock = threading.Lock()

    def describe(self) -> Iterable[Metric]:
        """Nothing: registering must not reach out for a cluster."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """The metrics of now."""
        up = GaugeMetricFamily(
            "anabranch_up", "1 if the control topics could be read; with 0 no other metric is answered"
        )
        try:
            with self._lock:
                statuses = self._read()
        except AnabranchError:
            up.add_metric((), 0)
            yield up
            return
        up.add_metric((), 1)
        yield up
        yield from metrics(statuses)


def metrics(statuses: Sequence[LinkStatus]) -> list[Metric]:
    """All metrics of these links; a lag that is unknown is left out."""
    return [*_of_links(statuses), *_of_lanes(statuses)]


@asynccontextmanager
async def serving(target: Cluster, port: int, address: str = LOOPBACK) -> AsyncIterator[int]:
    """Serve a target's links as metrics while the block runs; gives the port.

    Raises PortTakenError, and ClusterError where the target cannot be read to begin with: what fails later shows as
    ``anabranch_up 0``.
    """
    statuses = LinkStatusReader(target)
    await statuses.read()

    async def look() -> Sequence[LinkStatus]:
        nonlocal statuses
        try:
            return await statuses.read()
        except AnabranchError:
            statuses = LinkStatusReader(target)
            raise

    loop = asyncio.get_running_loop()
    # Scrapes are answered in threads; the connections to the target belong to the loop.
    server = served(lambda: asyncio.run_coroutine_threadsafe(look(), loop).result(), port, address)
    chosen = server.__enter__()
    try:
        yield chosen
    finally:
        await asyncio.to_thread(server.__exit__, None, None, None)


@contextmanager
def served(read: Read, port: int, address: str = LOOPBACK) -> Iterator[int]:
    """Serve the metrics over HTTP while the block runs; gives the port, which is chosen where 0 was asked for.

    Raises ``PortTakenError``.
    """
    registry = CollectorRegistry(auto_describe=False)
    registry.register(LinkCollector(read))
    try:
        server, thread = start_http_server(port, address, registry)
    except OSError as error:
        raise PortTakenError(address, port, error.strerror or str(error)) from error
    try:
        yield int(server.server_port)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _of_links(statuses: Sequence[LinkStatus]) -> list[Metric]:
    running = GaugeMetricFamily(
        "anabranch_link_running",
        "1 if the link was heard of within the last minute (without a lane: two leases, if longer)",
        labels=_LINK,
    )
    paused = GaugeMetricFamily("anabranch_link_paused", "1 if the link is paused by `link pause`", labels=_LINK)
    limit = GaugeMetricFamily(
        "anabranch_link_rate_limit_bytes", "Rate limit in bytes a second; only where there is a limit", labels=_LINK
    )
    lanes = GaugeMetricFamily("anabranch_link_lanes", "Lanes in each state", labels=(*_LINK, "state"))
    for status in statuses:
        labels = _labels(status)
        running.add_metric(labels, status.running)
        paused.add_metric(labels, status.wanted.paused)
        if status.spec.rate_limit is not None:
            limit.add_metric(labels, status.spec.rate_limit)
        for state in LaneState:
            lanes.add_metric((*labels, state.value), sum(lane.state is state for lane in status.lanes))
    return [running, paused, limit, lanes]


def _of_lanes(statuses: Sequence[LinkStatus]) -> list[Metric]:
    gauges = {
        "anabranch_lane_position": ("Next source offset to copy", lambda lane: lane.position),
        "anabranch_lane_target_end": ("Next target offset", lambda lane: lane.target_end),
        "anabranch_lane_lag_records": (
            "Source offsets not copied yet; left out where unknown",
            lambda lane: lane.lag_records,
        ),
        "anabranch_lane_lag_bytes": (
            "Estimated bytes not copied yet; left out where unknown",
            lambda lane: lane.lag_bytes,
        ),
        "anabranch_lane_lag_seconds": (
            "Age of the oldest record not copied yet; left out where unknown",
            lambda lane: lane.lag_seconds,
        ),
        "anabranch_lane_latency_seconds": (
            "Age of the newest record of a batch, by its own timestamp, as the target acknowledged it: the longest of "
            "the last second; left out where nothing was copied lately",
            lambda lane: None if lane.latency_ms is None else lane.latency_ms / 1000,
        ),
        "anabranch_lane_lag_known": (
            "1 if the source's end is known, 0 if the source or the lane's worker has not answered for ten seconds",
            lambda lane: lane.knows_source,
        ),
        "anabranch_lane_source_seen_timestamp_seconds": (
            "When the source last answered with the lane's end",
            lambda lane: None if lane.source_seen_ms is None else lane.source_seen_ms / 1000,
        ),
        "anabranch_lane_identity": (
            "1 if target offset = source offset, 0 if mapped",
            lambda lane: lane.mode is LaneMode.IDENTITY,
        ),
        "anabranch_lane_stopped": (
            "1 if the lane has stopped at an offset that it may not pass",
            lambda lane: lane.state is LaneState.STOPPED,
        ),
        "anabranch_lane_updated_timestamp_seconds": (
            "When the lane's owner last persisted its progress: at most two seconds ago where something changed (eight "
            "with thousands of lanes), else about every twelve seconds",
            lambda lane: lane.updated_at_ms / 1000,
        ),
    }
    counters = {
        "anabranch_lane_copied_records": ("Records copied in this lane", lambda lane: lane.records),
        "anabranch_lane_copied_bytes": ("Bytes copied in this lane, as they are stored", lambda lane: lane.bytes),
    }
    found: list[Metric] = [_family(GaugeMetricFamily, name, *how, statuses) for name, how in gauges.items()]
    found += [_family(CounterMetricFamily, name, *how, statuses) for name, how in counters.items()]
    return found


def _family(
    kind: type[GaugeMetricFamily] | type[CounterMetricFamily],
    name: str,
    text: str,
    value: Callable[[LaneProgress], float | None],
    statuses: Sequence[LinkStatus],
) -> Metric:
    family = kind(name, text, labels=_LANE)
    for status in statuses:
        for lane in status.lanes:
            number = value(lane)
            if number is not None:
                family.add_metric((*_labels(status), lane.source.topic, str(lane.source.partition)), number)
    return family


def _labels(status: LinkStatus) -> tuple[str, str, str]:
    spec = status.spec
    return spec.id, spec.source.context, spec.target.context
