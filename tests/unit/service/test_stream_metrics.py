"""Streams, their connectors and trials as Prometheus reads them; the dashboard and the alert rules ask for no other."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client.metrics_core import Metric

from anabranch.service.stream_live import LiveRun
from anabranch.service.stream_metrics import alert_metrics, stream_metrics, trial_metrics
from anabranch.service.stream_totals import StreamTotals
from anabranch.service.streaming import KnownStream
from anabranch.service.trial_figures import TrialFigures
from anabranch.streams.states import StreamState
from anabranch.streams.trials import TrialKind, TrialState

pytestmark = pytest.mark.unit
DEPLOY = Path(__file__).parents[3] / "deploy"
SOURCE = {"connector": "kafka", "name": "views", "records": 10, "lag": 4}
SINK = {"records": 8, "bytes": 900, "errors": 0, "retries": 2}
LABELS = {"stream": "s", "query": "q", "connector": "postgresql", "table": "seen"}
NAMES = re.compile(r"anabranch_[a-z_]+")


def run_of(tmp_path: Path, name: str, *events: Mapping[str, Any]) -> LiveRun:
    """A run that has told these events."""
    query = {"query": "q", "table": "seen", "connector": "postgresql"}
    told = [{"event": "started", "queries": [query]}, *events]
    (tmp_path / f"{name}.events").write_text("".join(json.dumps(one) + "\n" for one in told))
    live = LiveRun.of(str(tmp_path), name, "s")
    live.read()
    return live


def progress(sink: Mapping[str, int | None], **more: Any) -> dict[str, Any]:
    """An event of a micro-batch."""
    return {"event": "progress", "query": "q", "rows_in": 10, "lag": 4, "sources": [SOURCE], "sink": sink, **more}


def samples(families: Iterable[Metric]) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    """By name and labels."""
    return {(one.name, frozenset(one.labels.items())): one.value for family in families for one in family.samples}


def known(totals: StreamTotals, live: LiveRun | None) -> KnownStream:
    """A stream as the service knows it."""
    return KnownStream("s", StreamState.RUNNING, 3, live, totals.counts("s", live), totals.failures("s"))


def test_counts_go_on_from_run_to_run_and_an_error_that_ended_one_stays(tmp_path: Path) -> None:
    """A counter that goes back at each start would hide what went wrong before it."""
    totals = StreamTotals()
    failing = {"event": "counts", "query": "q", "sink": {**SINK, "errors": 1, "retries": 5}}
    failed = {"event": "failed", "error": "away", "query": "q"}
    first = run_of(tmp_path, "run-1", progress(SINK), failing, failed)
    totals.end("s", first)
    totals.fail("s", first)
    totals.fail("s", None)
    found = samples(stream_metrics([known(totals, run_of(tmp_path, "run-2", progress(SINK)))]))
    sink = frozenset(LABELS.items())
    source = frozenset({"stream": "s", "query": "q", "connector": "kafka", "source": "views"}.items())

    values = {name: found[f"anabranch_stream_sink_{name}_total", sink] for name in SINK}
    assert values == {"records": 16, "bytes": 1800, "errors": 1, "retries": 7}
    assert found["anabranch_stream_source_records_total", source] == 20
    assert found["anabranch_stream_source_lag_records", source] == 4
    failures = {dict(labels)["query"]: value for (name, labels), value in found.items() if "failures" in name}
    assert failures == {"q": 1, "": 1}

    stopped = samples(stream_metrics([known(totals, None)]))
    assert stopped["anabranch_stream_sink_records_total", sink] == 8
    assert not [name for name, _ in stopped if name == "anabranch_stream_source_lag_records"], "nothing runs"
    totals.keep(())
    assert known(totals, None).counts == {} == known(totals, None).failures


def test_what_a_connector_does_not_know_is_left_out(tmp_path: Path) -> None:
    """No sample is better than a 0 that is not true; the same of an event of an earlier version."""
    nothing = dict.fromkeys(SINK)
    found = samples(stream_metrics([known(StreamTotals(), run_of(tmp_path, "run-1", progress(nothing)))]))
    assert not [name for name, _ in found if "_sink_" in name]
    older = {"event": "progress", "query": "q", "rows_in": 1, "sink": None}
    found = samples(stream_metrics([known(StreamTotals(), run_of(tmp_path, "run-2", older))]))
    assert not [name for name, _ in found if "_sink_" in name or "_source_" in name]


def offered(tmp_path: Path) -> dict[str, set[str]]:
    """The labels of each sample of a full scrape."""
    totals = StreamTotals()
    totals.fail("s", None)
    live = run_of(tmp_path, "run-1", progress(SINK, rows_late=0, rows_per_second=1.0, batch_ms=5, state_rows=0))
    figures = TrialFigures(
        dict.fromkeys(TrialKind, 0), dict.fromkeys(TrialKind, 0), {(TrialKind.PREVIEW, TrialState.FINISHED): (1, 2.0)}
    )
    alerts = alert_metrics([("s", "", "lag", "q")], {"mail": 1})
    families = (*stream_metrics([known(totals, live)]), *alerts, *trial_metrics(figures))
    return {sample.name: set(sample.labels) for family in families for sample in family.samples}


def test_the_dashboard_asks_only_for_metrics_and_labels_that_exist(tmp_path: Path) -> None:
    """No panel stays empty, and none has a legend without words, because of a name."""
    there = offered(tmp_path)
    dashboard = json.loads((DEPLOY / "grafana" / "streams.json").read_text(encoding="utf-8"))
    asked: set[str] = set()
    for panel in dashboard["panels"]:
        for target in panel["targets"]:
            names = set(NAMES.findall(target["expr"]))
            asked |= names
            assert names and names <= there.keys(), panel["title"]
            labels = set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]))
            labels |= set(re.findall(r"(\w+)=", target["expr"]))
            grouped = {one for group in re.findall(r"by \(([^)]*)\)", target["expr"]) for one in group.split(", ")}
            for name in names:
                assert labels | grouped <= there[name], (panel["title"], name)
    assert len({panel["id"] for panel in dashboard["panels"]}) == len(dashboard["panels"])
    variables = {one["name"] for one in dashboard["templating"]["list"]}
    assert set(re.findall(r"\$(?:\{)?(\w+)", json.dumps(dashboard["panels"]))) <= variables
    not_shown = {"anabranch_stream_batch_rows_in", "anabranch_stream_lag_records", "anabranch_alerts_not_taken_total"}
    created = {name for name in there if name.endswith("_created")}
    assert asked == there.keys() - not_shown - created


def test_alert_rules_of_streams_ask_only_for_what_exists(tmp_path: Path) -> None:
    """Names and labels, in conditions and in texts."""
    there = offered(tmp_path)
    document = yaml.safe_load((DEPLOY / "prometheus" / "alerts.yaml").read_text(encoding="utf-8"))
    (rules,) = (group["rules"] for group in document["groups"] if group["name"] == "anabranch-streams")
    for rule in rules:
        names = set(NAMES.findall(rule["expr"]))
        assert names and names <= there.keys(), rule["alert"]
        labels = {one for text in rule["annotations"].values() for one in re.findall(r"\$labels\.(\w+)", text)}
        assert labels <= set.intersection(*(there[name] for name in names)), rule["alert"]
        assert {"summary", "description"} <= rule["annotations"].keys()
    assert len({rule["alert"] for rule in rules}) == len(rules) > 4
