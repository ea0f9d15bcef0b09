"""Every link's metrics, and the service's own, for Prometheus."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from fastapi import APIRouter
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector, CollectorRegistry
from starlette.responses import Response

from anabranch.model.clock import now_ms
from anabranch.operations.links.metrics import metrics as of_links
from anabranch.service.answers import answered
from anabranch.service.client_totals import client_metrics
from anabranch.service.instance import Instance
from anabranch.service.migration_metrics import access_metrics
from anabranch.service.stream_metrics import alert_metrics, lineage_metrics, stream_metrics, trial_metrics
from anabranch.service.web import AsViewer, Here

router = APIRouter(tags=["metrics"])


@router.get("/metrics", responses=answered(str, description="Prometheus text", media="text/plain"))
async def metrics(here: Here, _: AsViewer) -> Response:
    """What ``link metrics`` tells, of every cluster that was just read; a token of a viewer is needed."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Collector(here))
    return Response(generate_latest(registry), media_type=CONTENT_TYPE_LATEST)


class _Collector(Collector):
    def __init__(self, here: Instance) -> None:
        self._here = here

    def collect(self) -> Iterator[Metric]:
        """The metrics of now; of a cluster that cannot be read only that."""
        here = self._here
        up = {cluster.name: cluster.problem is None for cluster in here.board.seen}
        yield from own_metrics(up, here.acting.acts, len(here.hub), here.requests)
        yield from route_metrics(here.routing.number, *here.registry.counts())
        yield from access_metrics(here.carrying.ages(now_ms()), here.carrying.failures)
        yield from client_metrics(here.registry.totals.sums(), here.registry.lags())
        yield from stream_metrics(here.streaming.known())
        yield from alert_metrics(here.alerting.firing, here.alerting.untold)
        if here.lineage_sending.endpoint is not None:
            yield from lineage_metrics(here.lineage_sending.results, here.lineage_sending.waiting)
        yield from trial_metrics(here.trials.figures())
        yield from of_links([link.status for one in here.board.seen if up[one.name] for link in one.links.values()])


def own_metrics(up: Mapping[str, bool], acts: bool, listeners: int, requests: Mapping[int, int]) -> Iterator[Metric]:
    """The service's own: which clusters were just read, whether it acts, who listens, and answers by their status."""
    clusters = GaugeMetricFamily(
        "anabranch_cluster_up", "1 if the cluster's links were just read, 0 if not", labels=("cluster",)
    )
    for name, is_up in up.items():
        clusters.add_metric((name,), is_up)
    yield clusters
    yield GaugeMetricFamily("anabranch_service_acts", "1 if this instance acts, 0 if it only shows", value=acts)
    yield GaugeMetricFamily("anabranch_service_listeners", "Open event streams", value=listeners)
    answered_ = CounterMetricFamily(
        "anabranch_service_requests", "Requests that were answered, by the status of HTTP", labels=("status",)
    )
    for status, number in sorted(requests.items()):
        answered_.add_metric((str(status),), number)
    yield answered_


def route_metrics(version: int, clients: Mapping[tuple[str, str], int], behind: Mapping[str, int]) -> Iterator[Metric]:
    """Of routes: the version that applies, and this instance's clients by state and cluster."""
    yield GaugeMetricFamily("anabranch_route_version", "Version of the route table; 0 before the first", value=version)
    found = GaugeMetricFamily(
        "anabranch_route_clients",
        "Clients that are registered with this instance: live, or stale until an hour later",
        labels=("state", "cluster"),
    )
    for (state, cluster), number in sorted(clients.items()):
        found.add_metric((state, cluster), number)
    yield found
    lagging = GaugeMetricFamily(
        "anabranch_route_clients_behind",
        "Live clients that have not said yet that they follow a version that leads them otherwise",
        labels=("cluster",),
    )
    for cluster, number in sorted(behind.items()):
        lagging.add_metric((cluster,), number)
    yield lagging
