"""Links as Prometheus metrics: what a scrape answers, and what dashboard and alerts ask for."""

from __future__ import annotations

import asyncio
import json
import re
import socketserver
import urllib.request
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
import yaml
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families
from typer.testing import CliRunner

from anabranch.cli.app import app
from anabranch.errors import ClusterError
from anabranch.model.lane import LaneKey, LaneMode, LaneProgress, LaneState
from anabranch.model.link import ClusterRef, LinkRecord, LinkSpec, WantedState
from anabranch.model.reports import LinkStatus
from anabranch.model.topics import TopicId, TopicPartition
from anabranch.operations.links.metrics import LinkCollector, PortTakenError, Read, metrics, served, serving
from anabranch.operations.links.status import LinkStatusReader
from anabranch.service.client_totals import Sums, client_metrics
from anabranch.service.migration_metrics import access_metrics
from anabranch.service.rest.metrics import own_metrics, route_metrics
from anabranch.service.stream_metrics import alert_metrics, lineage_metrics, stream_metrics, trial_metrics
from anabranch.service.trial_figures import TrialFigures
from qa.timeouts import TIMEOUT_S

pytestmark = pytest.mark.unit

DEPLOY = Path(__file__).parents[3] / "deploy"
LANE = LaneProgress(
    lane=LaneKey("old-new", TopicId.parse("AAAAAAAAAAAAAAAAAAAAAQ"), 3),
    source=TopicPartition("orders", 3),
    target=TopicPartition("eu.orders", 3),
    state=LaneState.COPYING,
    mode=LaneMode.MAPPED,
    mode_reason="asked for",
    position=70,
    log_start=0,
    stable=100,
    high_watermark=100,
    target_end=71,
    records=70,
    bytes=7000,
    records_per_s=10.0,
    bytes_per_s=1000.0,
    lag_bytes=3000,
    lag_seconds=None,
    owner="run/host-1-aaaaaaaa",
    updated_at_ms=1_700_000_000_000,
    source_seen_ms=1_699_999_999_500,
)
SPEC = LinkSpec("old-new", ClusterRef("old", "A"), ClusterRef("new", "B"), rate_limit=5000)
STATUS = LinkStatus(LinkRecord(WantedState(SPEC, paused=True), ("A",), 0), (LANE,), None, LANE.updated_at_ms)
LABELS = {"link": "old-new", "source": "old", "target": "new", "topic": "orders", "partition": "3"}


@pytest.fixture(autouse=True)
def _ended_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server looks each half of a second whether it is to end: here at once."""
    monkeypatch.setattr(socketserver.BaseServer.serve_forever, "__defaults__", (0.01,))


def scrape(read: Read) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    """Every sample by name and labels, as a Prometheus server would parse it."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(LinkCollector(read))
    return parse(generate_latest(registry).decode())


def parse(text: str) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    """Samples of a scrape's text."""
    families = text_string_to_metric_families(text)
    return {(one.name, frozenset(one.labels.items())): one.value for family in families for one in family.samples}


def test_a_lane_tells_its_position_lag_and_what_it_copied() -> None:
    """Each figure that `link show` has is one sample with the lane's labels."""
    found = scrape(lambda: [STATUS])
    labels = frozenset(LABELS.items())
    expected = {
        "anabranch_lane_position": 70,
        "anabranch_lane_target_end": 71,
        "anabranch_lane_lag_records": 30,
        "anabranch_lane_lag_bytes": 3000,
        "anabranch_lane_copied_records_total": 70,
        "anabranch_lane_copied_bytes_total": 7000,
        "anabranch_lane_lag_known": 1,
        "anabranch_lane_source_seen_timestamp_seconds": 1_699_999_999.5,
        "anabranch_lane_identity": 0,
        "anabranch_lane_stopped": 0,
        "anabranch_lane_updated_timestamp_seconds": 1_700_000_000,
    }
    assert {name: found[name, labels] for name in expected} == expected


def test_a_lag_that_is_not_known_is_left_out() -> None:
    """A source or a worker that is silent has no lag of 0, and one sample to raise an alert by."""
    silent = replace(LANE, source_seen_ms=LANE.updated_at_ms - 11_000, lag_bytes=None)
    found = scrape(lambda: [replace(STATUS, lanes=(silent,))])
    labels = frozenset(LABELS.items())
    assert found["anabranch_lane_lag_known", labels] == 0
    assert not {("anabranch_lane_lag_records", labels), ("anabranch_lane_lag_bytes", labels)} & found.keys()


def test_a_link_tells_whether_it_runs_is_paused_and_how_many_lanes_are_in_each_state() -> None:
    """States without a lane are there as 0, so that a graph has no gaps."""
    found = scrape(lambda: [STATUS])
    labels = frozenset({name: LABELS[name] for name in ("link", "source", "target")}.items())
    assert found["anabranch_up", frozenset()] == 1
    assert found["anabranch_link_running", labels] == 1
    assert found["anabranch_link_paused", labels] == 1
    assert found["anabranch_link_rate_limit_bytes", labels] == 5000
    lanes = {state: found["anabranch_link_lanes", labels | {("state", state.value)}] for state in LaneState}
    assert lanes == dict.fromkeys(LaneState, 0) | {LaneState.COPYING: 1}


def test_an_unknown_lag_in_seconds_and_latency_are_left_out_and_known_ones_are_told() -> None:
    """Never guess: no sample is better than a 0 that is not true."""
    known = scrape(lambda: [replace(STATUS, lanes=(replace(LANE, lag_seconds=2.5, latency_ms=12),))])
    unknown = scrape(lambda: [STATUS])
    for name, value in (("anabranch_lane_lag_seconds", 2.5), ("anabranch_lane_latency_seconds", 0.012)):
        key = (name, frozenset(LABELS.items()))
        assert key not in unknown
        assert known[key] == value


def test_a_target_that_cannot_be_read_is_down_and_tells_nothing_about_lanes() -> None:
    """A cluster that is away must not look like lanes that stand still."""

    def fails() -> list[LinkStatus]:
        raise ClusterError

    assert scrape(fails) == {("anabranch_up", frozenset()): 0}


def test_metrics_are_served_on_loopback_and_a_taken_port_is_refused_by_name() -> None:
    """The server answers while the block runs; a second one on its port says what to do."""
    with served(lambda: [STATUS], 0) as chosen:
        with urllib.request.urlopen(f"http://127.0.0.1:{chosen}/metrics", timeout=TIMEOUT_S) as answer:
            found = parse(answer.read().decode())
        with pytest.raises(PortTakenError) as refused, served(list, chosen):
            pass
    assert found["anabranch_lane_lag_records", frozenset(LABELS.items())] == 30
    assert str(chosen) in refused.value.message
    assert "--port" in refused.value.hint


def test_a_target_that_is_away_for_a_scrape_is_read_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """One connection serves all scrapes; after an error nothing that was read before it is believed."""
    looks: list[LinkStatusReader] = []

    async def read(standing: LinkStatusReader) -> list[LinkStatus]:
        looks.append(standing)
        if len(looks) == 2:
            raise ClusterError
        return [STATUS]

    def scraped(chosen: int) -> str:
        with urllib.request.urlopen(f"http://127.0.0.1:{chosen}/metrics", timeout=TIMEOUT_S) as answer:
            return str(answer.read().decode())

    async def serve() -> list[bool]:
        async with serving(cast(Any, None), 0) as chosen:
            return ["\nanabranch_up 1.0" in await asyncio.to_thread(scraped, chosen) for _ in range(3)]

    monkeypatch.setattr(LinkStatusReader, "read", read)
    assert asyncio.run(serve()) == [False, True, True]
    assert looks[0] is looks[1] is not looks[2] and looks[2] is looks[3]


def test_the_verb_asks_the_target_before_it_serves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A target that cannot be read is an error of the verb, not a silent 0 in the first scrape."""

    async def fails(_standing: LinkStatusReader) -> list[LinkStatus]:
        raise ClusterError

    contexts = tmp_path / "contexts.yaml"
    contexts.write_text("version: 1\ncontexts:\n  new: {bootstrap: [127.0.0.1:1]}\n")
    monkeypatch.setattr(LinkStatusReader, "read", fails)
    arguments = ["--contexts", str(contexts), "link", "metrics", "--target", "new", "--port", "0"]
    assert isinstance(CliRunner().invoke(app, arguments).exception, ClusterError)


def offered() -> set[str]:
    """The sample names of a full scrape."""
    status = replace(STATUS, lanes=(replace(LANE, lag_seconds=1.0, latency_ms=5),))
    served = own_metrics({"new": True}, True, 1, {200: 1})
    routes = route_metrics(1, {("live", "new"): 1}, {"new": 0})
    clients = client_metrics({("shop", "consumer"): Sums(1, 2, 3)}, {"shop": 4})
    access = access_metrics({"move": 2.5}, {"move": 1})
    families = (*metrics([status]), *served, *routes, *access, *clients)
    return {sample.name for family in families for sample in family.samples} | {"anabranch_up"}


def test_dashboard_and_alerts_ask_only_for_metrics_that_exist() -> None:
    """No panel stays empty and no alert stays silent because of a name."""
    dashboard = json.loads((DEPLOY / "grafana" / "anabranch.json").read_text())
    alerts = yaml.safe_load((DEPLOY / "prometheus" / "alerts.yaml").read_text())
    asked = [target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", ())]
    groups = [
        group for group in alerts["groups"] if group["name"] != "anabranch-streams"
    ]  # tests/unit/service has those
    rules = [rule for group in groups for rule in group["rules"]]
    asked += [rule["expr"] for rule in rules]
    names = {name for text in asked for name in re.findall(r"anabranch_[a-z_]+", text)}
    assert names
    assert names <= offered()
    assert all({"summary", "description"} <= rule["annotations"].keys() for rule in rules)


def test_the_page_names_every_metric() -> None:
    """With its type and labels: it is written from the program."""
    text = (DEPLOY.parent / "docs" / "reference" / "metrics.md").read_text(encoding="utf-8")
    trials = trial_metrics(TrialFigures({}, {}, {}))
    of_streams = (*stream_metrics(()), *alert_metrics((), {}), *lineage_metrics({}, 0), *trials)
    named = {f"{one.name}_total" if one.type == "counter" else one.name for one in of_streams}
    assert set(re.findall(r"^\| `(anabranch_[a-z_]+)`", text, re.MULTILINE)) == offered() | named
