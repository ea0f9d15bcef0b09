"""What Prometheus is told of streams: how they stand, what their connectors count, their alerts, and trials."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, SummaryMetricFamily
from prometheus_client.metrics_core import Metric

from anabranch.service.streaming import KnownStream
from anabranch.service.trial_figures import TrialFigures
from anabranch.streams.connector_counts import ConnectorSide

_QUERY = ("stream", "query")
_CONNECTOR = (*_QUERY, "connector")
_GAUGES = {
    "rows_in": ("anabranch_stream_batch_rows_in", "Rows that the last micro-batch read"),
    "rows_late": (
        "anabranch_stream_batch_rows_late",
        "Rows that the last micro-batch dropped, for they came after the watermark",
    ),
    "rows_per_second": ("anabranch_stream_rows_per_second", "Rows that a query processes in a second"),
    "batch_ms": ("anabranch_stream_batch_milliseconds", "How long the last micro-batch took"),
    "lag": ("anabranch_stream_lag_records", "Records of Kafka behind the last micro-batch"),
    "state_rows": ("anabranch_stream_state_rows", "Rows in the state of a query"),
}
_COUNTERS = {
    (ConnectorSide.SOURCE, "records"): (
        "anabranch_stream_source_records",
        "Records that were read from a source; source is its topics or its path",
    ),
    (ConnectorSide.SINK, "records"): (
        "anabranch_stream_sink_records",
        "Records that a sink has taken; left out where it does not say",
    ),
    (ConnectorSide.SINK, "bytes"): (
        "anabranch_stream_sink_bytes",
        "Bytes that a sink has taken, as they were sent or are in its files; left out where they are not known",
    ),
    (ConnectorSide.SINK, "errors"): (
        "anabranch_stream_sink_errors",
        "Micro-batches that a sink has not taken; left out where Spark alone knows",
    ),
    (ConnectorSide.SINK, "retries"): (
        "anabranch_stream_sink_retries",
        "How often a request to a sink's server was tried again; left out where Spark alone knows",
    ),
}
_LAG = "Records of Kafka that were behind the last micro-batch in a source; left out where unknown, and while none runs"
_NAMES = {ConnectorSide.SOURCE: "source", ConnectorSide.SINK: "table"}


def stream_metrics(streams: Iterable[KnownStream]) -> Iterator[Metric]:
    """Of streams: states, starts, how each query goes, and its connectors since this instance began."""
    states = GaugeMetricFamily("anabranch_stream_state", "1 for the state of the stream", labels=("stream", "state"))
    gauges = {field: GaugeMetricFamily(*named, labels=_QUERY) for field, named in _GAUGES.items()}
    counters = {
        key: CounterMetricFamily(*named, labels=(*_CONNECTOR, _NAMES[key[0]])) for key, named in _COUNTERS.items()
    }
    lags = GaugeMetricFamily("anabranch_stream_source_lag_records", _LAG, labels=(*_CONNECTOR, "source"))
    starts = CounterMetricFamily("anabranch_stream_starts", "Starts of a stream since it was made", labels=("stream",))
    failures = CounterMetricFamily(
        "anabranch_stream_failures",
        "Runs that failed since this instance began; query is empty where none is known to have",
        labels=_QUERY,
    )
    for stream in streams:
        name, live = stream.name, stream.live
        states.add_metric((name, stream.state.value), 1)
        starts.add_metric((name,), stream.fence)
        for query, count in sorted(stream.failures.items()):
            failures.add_metric((name, query), count)
        for query, told in ({} if live is None else live.queries).items():
            for field, family in gauges.items():
                if isinstance(value := told.get(field), int | float):
                    family.add_metric((name, query), value)
        for key, counts in sorted(stream.counts.items()):
            labels = name, key.query, key.connector, key.name
            for (side, field), counter in counters.items():
                if side is key.side and (value := getattr(counts, field)) is not None:
                    counter.add_metric(labels, value)
            if counts.lag is not None:
                lags.add_metric(labels, counts.lag)
    yield from (states, starts, failures, *gauges.values(), lags, *counters.values())


def alert_metrics(firing: Iterable[tuple[str, str, str, str]], untold: Mapping[str, int]) -> Iterator[Metric]:
    """Of alerts: those that fire, and how often a receiver took nothing; told by the instance that acts."""
    alerts = GaugeMetricFamily(
        "anabranch_stream_alert",
        "1 for an alert that fires; with a target it is of the link of that name to it",
        labels=("stream", "target", "alert", "query"),
    )
    for labels in sorted(firing):
        alerts.add_metric(labels, 1)
    yield alerts
    failed = CounterMetricFamily(
        "anabranch_alerts_not_taken", "How often a receiver of alerts took nothing", labels=("receiver",)
    )
    for name, count in sorted(untold.items()):
        failed.add_metric((name,), count)
    yield failed


def lineage_metrics(results: Mapping[str, int], waiting: int) -> Iterator[Metric]:
    """Of events for OpenLineage, where an endpoint is named: how many were taken or not, and how many wait."""
    told = CounterMetricFamily(
        "anabranch_openlineage_events",
        "Events for OpenLineage that its endpoint has taken, or not within a minute",
        labels=("result",),
    )
    for result, count in sorted(results.items()):
        told.add_metric((result,), count)
    yield told
    yield GaugeMetricFamily("anabranch_openlineage_waiting", "Events for OpenLineage that wait", value=waiting)


def trial_metrics(figures: TrialFigures) -> Iterator[Metric]:
    """Of trials on this instance: how many wait and run now, and how long those that are over took."""
    for state, counts, text in (
        ("waiting", figures.waiting, "Trials that wait for their turn"),
        ("running", figures.running, "Trials that have a process"),
    ):
        family = GaugeMetricFamily(f"anabranch_trials_{state}", text, labels=("kind",))
        for kind, count in counts.items():
            family.add_metric((kind.value,), count)
        yield family
    seconds = SummaryMetricFamily(
        "anabranch_trial_seconds",
        "How long trials took from when they were asked for until they were over, by how they ended",
        labels=("kind", "result"),
    )
    for (kind, result), (count, total) in sorted(figures.over.items()):
        seconds.add_metric((kind.value, result.value), count, total)
    yield seconds
