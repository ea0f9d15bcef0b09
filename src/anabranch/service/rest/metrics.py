"""Every link's metrics, and the service's own, for Prometheus."""

from __future__ import annotations

from fastapi import APIRouter
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector, CollectorRegistry
from starlette.responses import Response

from anabranch.operations.links.metrics import metrics as of_links
from anabranch.service.answers import answered
from anabranch.service.instance import Instance
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

    def collect(self):  # type: ignore[no-untyped-def]
        """The metrics of now; of a cluster that cannot be read only that."""
        here = self._here
        up = GaugeMetricFamily(
            "anabranch_cluster_up", "1 if the cluster's links were just read, 0 if not", labels=("cluster",)
        )
        for cluster in here.board.seen:
            up.add_metric((cluster.name,), 0 if cluster.problem is not None else 1)
        yield up
        acts = GaugeMetricFamily("anabranch_service_acts", "1 if this instance acts, 0 if it only shows")
        acts.add_metric((), here.acting.acts)
        yield acts
        listeners = GaugeMetricFamily("anabranch_service_listeners", "Open event streams")
        listeners.add_metric((), len(here.hub))
        yield listeners
        asked = CounterMetricFamily("anabranch_service_requests", "Requests answered", labels=("status",))
        for status, number in sorted(here.requests.items()):
            asked.add_metric((str(status),), number)
        yield asked
        known = [
            link.status for cluster in here.board.seen if cluster.problem is None for link in cluster.links.values()
        ]
        yield from of_links(known)
