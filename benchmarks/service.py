"""What the service costs and how fast it answers: ``python -m benchmarks.service``.

One real target cluster stores 50 links of 200 lanes, all of which persist their progress every two seconds as workers
do; `anabranch serve` runs as a process of its own.  Twenty browsers listen to events and ask again for what each event
names; meanwhile one more client asks in turn for who it is, all links, and a page of a hundred lanes sorted by lag.
Beside it the smallest answer of the same server, which asks neither store nor clusters, as the measure of the machine.
Prints memory, CPU and latencies, and writes the section ``service`` of ``build/bench.json``.  Takes two minutes.
"""

from __future__ import annotations

import argparse
import asyncio
import http.client
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import psutil
import yaml

from anabranch.kafka.cluster import Cluster
from anabranch.kafka.security import open_cluster
from anabranch.model.accounts import Role
from anabranch.model.clock import now_ms
from anabranch.model.cluster import ClusterContext
from anabranch.model.lane import LaneKey, LaneMode, LaneProgress, LaneState
from anabranch.model.link import ClusterRef, LinkRecord, LinkSpec, WantedState
from anabranch.model.reports import LinkPlan
from anabranch.model.topics import TopicId, TopicPartition
from anabranch.sandbox import ClusterSpec, start_clusters
from anabranch.sandbox.ports import lease_ports
from anabranch.state.topics.control import Links, Progress, ensure_topics
from anabranch.store.accounts import Accounts
from anabranch.store.database import open_database
from benchmarks import report
from benchmarks.memory import peak_bytes
from benchmarks.run import OUTPUT

LINKS, LANES, BROWSERS = 50, 200, 20
PERSIST_S = 2.0
WARM_S = 15.0
PATHS = {
    "smallest": "/healthz",
    "who am I": "/api/v1/me",
    "all links": "/api/v1/links",
    "a page of lanes": "/api/v1/clusters/new/links/link-07/lanes?limit=100&sort=lag_records&descending=true",
}


@dataclass(frozen=True, slots=True)
class Latency:
    """Milliseconds of so many answers."""

    answers: int
    p50: float
    p99: float
    most: float


@dataclass(frozen=True, slots=True)
class ServiceCost:
    """Of the service's process; ``cpu`` is the share of one core."""

    links: int
    lanes: int
    browsers: int
    seconds: float
    idle_mb: float
    loaded_mb: float
    peak_mb: float
    cpu: float
    browser_answers: int
    latencies: Mapping[str, Latency]


def main() -> None:
    """Measure, print and keep."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--links", type=int, default=LINKS)
    parser.add_argument("--lanes", type=int, default=LANES)
    parser.add_argument("--browsers", type=int, default=BROWSERS)
    parser.add_argument("--seconds", type=float, default=45.0)
    parser.add_argument("--output", type=Path, default=OUTPUT)
    arguments = parser.parse_args()
    found = measure(arguments.links, arguments.lanes, arguments.browsers, arguments.seconds)
    print(f"{found.links} links of {found.lanes} lanes, {found.browsers} browsers, {found.seconds:.0f} s")
    memory = f"{found.idle_mb:.0f} MB without a browser, {found.loaded_mb:.0f} MB with, {found.peak_mb:.0f} MB at most"
    print(f"memory: {memory}; {found.cpu:.2f} cores; {found.browser_answers:,} answers to browsers")
    for name, one in found.latencies.items():
        print(f"{name}: p50 {one.p50:.1f} ms, p99 {one.p99:.1f} ms, most {one.most:.1f} ms ({one.answers:,} answers)")
    report.write("service", asdict(found), arguments.output)


def measure(links: int, lanes: int, browsers: int, seconds: float) -> ServiceCost:
    """Everything, once."""
    (cluster,) = start_clusters([ClusterSpec("new")])
    with cluster, tempfile.TemporaryDirectory(prefix="anabranch-bench-") as work:
        directory = Path(work)
        context = cluster.context()
        contexts = directory / "contexts.yaml"
        contexts.write_text(yaml.safe_dump({"contexts": {"new": context}}), encoding="utf-8")
        target = ClusterContext("new", tuple(context["bootstrap"]))
        store = str(directory / "store.db")
        token, *others = _tokens(store, browsers + 1)
        with _persisting(target, links, lanes), _serving(contexts, store, directory) as (process, port):
            _await(port, token, links)
            time.sleep(WARM_S)
            idle = process.memory_info().rss
            with _browsers(port, others, links) as answers:
                time.sleep(WARM_S)
                begun, cpu = time.monotonic(), _cpu(process)
                latencies = _ask(port, token, seconds)
                used = (_cpu(process) - cpu) / (time.monotonic() - begun)
                loaded, seen = process.memory_info().rss, sum(answers)
            peak = peak_bytes(process.pid)
    return ServiceCost(links, lanes, browsers, seconds, idle / 1e6, loaded / 1e6, peak / 1e6, used, seen, latencies)


def _tokens(store: str, number: int) -> list[str]:
    database = open_database(store)
    try:
        accounts, now = Accounts(database), now_ms()
        for one in range(number):  # each account has a limit of requests of its own
            accounts.add(f"browser-{one}", Role.VIEWER, now)
        return [accounts.issue(f"browser-{one}", "bench", now, None)[0] for one in range(number)]
    finally:
        database.close()


@contextmanager
def _persisting(target: ClusterContext, links: int, lanes: int) -> Iterator[None]:
    """Workers that persist the progress of all lanes, in a process of their own."""
    ready = threading.Event()
    ended = threading.Event()
    thread = threading.Thread(
        target=lambda: asyncio.run(_persist(target, links, lanes, ready, ended)), name="workers", daemon=True
    )
    thread.start()
    assert ready.wait(120), "the lanes were not stored"
    try:
        yield
    finally:
        ended.set()
        thread.join(60)


async def _persist(
    target: ClusterContext, links: int, lanes: int, ready: threading.Event, ended: threading.Event
) -> None:
    async with open_cluster(target) as cluster:
        await ensure_topics(cluster)
        await _store(cluster, links)
        standing = [_lanes(f"link-{link:02}", lanes) for link in range(links)]
        progress = Progress(cluster)
        await progress.sync()
        position = 0
        while not ended.is_set():
            begun = time.monotonic()
            for number, one in enumerate(standing):
                position += 1
                await progress.persist([_moved(lane, position) for lane in one])
                plan = LinkPlan(f"link-{number:02}", "run-1", position, now_ms(), lanes)
                await progress.plan(plan)
            ready.set()
            await asyncio.sleep(max(0.0, PERSIST_S - (time.monotonic() - begun)))


async def _store(cluster: Cluster, links: int) -> None:
    cluster_id = (await cluster.metadata([])).cluster_id
    stored = Links(cluster)
    for link in range(links):
        spec = LinkSpec(f"link-{link:02}", ClusterRef("old", "another"), ClusterRef("new", cluster_id))
        await stored.put(LinkRecord(WantedState(spec), ("another",), now_ms()))


def _lanes(link: str, lanes: int) -> list[LaneProgress]:
    topic = TopicId(uuid.uuid4())
    made = []
    for number in range(lanes):
        at = TopicPartition(f"{link}-orders", number)
        key = LaneKey(link, topic, number)
        standing: dict[str, Any] = {"state": LaneState.FOLLOWING, "mode": LaneMode.IDENTITY, "mode_reason": ""}
        numbers = ("position", "log_start", "stable", "high_watermark", "target_end", "records", "bytes", "lag_bytes")
        standing |= {**dict.fromkeys(numbers, 0), "records_per_s": 1500.0, "bytes_per_s": 300_000.0, "lag_seconds": 0.0}
        made.append(LaneProgress(lane=key, source=at, target=at, owner="run-1/1", updated_at_ms=now_ms(), **standing))
    return made


def _moved(lane: LaneProgress, position: int) -> LaneProgress:
    at, now = position * 1000 + lane.lane.partition, now_ms()
    return replace(
        lane,
        position=at,
        stable=at + position % 7,
        high_watermark=at + position % 7,
        target_end=at,
        records=at,
        bytes=at * 200,
        updated_at_ms=now,
        source_seen_ms=now,
    )


@contextmanager
def _serving(contexts: Path, store: str, directory: Path) -> Iterator[tuple[psutil.Process, int]]:
    (held,) = lease_ports(1)
    port = held.port
    command = [sys.executable, "-m", "anabranch", "--contexts", str(contexts), "serve", "--store", store]
    with (directory / "serve.log").open("wb") as log:
        process = subprocess.Popen([*command, "--port", str(port)], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        yield psutil.Process(process.pid), port
    finally:
        process.terminate()
        process.wait(60)
        held.release()


def _await(port: int, token: str, links: int) -> None:
    deadline = time.monotonic() + 120
    while True:
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
            if len(json.loads(_get(connection, "/api/v1/links", token))["links"]) == links:
                return
        except (OSError, KeyError, ValueError):
            pass
        assert time.monotonic() < deadline, "the service does not show the links"
        time.sleep(0.5)


def _get(connection: http.client.HTTPConnection, path: str, token: str) -> bytes:
    connection.request("GET", path, headers={"Authorization": f"Bearer {token}"})
    return connection.getresponse().read()


@contextmanager
def _browsers(port: int, tokens: list[str], links: int) -> Iterator[list[int]]:
    """Each listens, and asks for all links and a page of lanes at each event about the cluster."""
    ended, answers = threading.Event(), [0] * len(tokens)

    def browse(number: int) -> None:
        token = tokens[number]
        stream = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        stream.request("GET", "/api/v1/events", headers={"Authorization": f"Bearer {token}"})
        events = stream.getresponse()
        asking = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        page = f"/api/v1/clusters/new/links/link-{number % links:02}/lanes?limit=100"
        while not ended.is_set():
            if events.readline().startswith(b"event: cluster"):
                for path in ("/api/v1/links", page):
                    _get(asking, path, token)
                    answers[number] += 1

    threads = [threading.Thread(target=browse, args=(number,), daemon=True) for number in range(len(tokens))]
    for thread in threads:
        thread.start()
    try:
        yield answers
    finally:
        ended.set()
        for thread in threads:
            thread.join(30)


def _ask(port: int, token: str, seconds: float) -> dict[str, Latency]:
    found: dict[str, list[float]] = {name: [] for name in PATHS}
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        for name, path in PATHS.items():
            begun = time.perf_counter()
            body = _get(connection, path, token)
            found[name].append((time.perf_counter() - begun) * 1000)
            assert b'"detail"' not in body[:300] or b'"status"' not in body[:300], body
        time.sleep(0.02)
    return {
        name: Latency(len(one), statistics.median(one), sorted(one)[int(len(one) * 0.99)], max(one))
        for name, one in found.items()
    }


def _cpu(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


if __name__ == "__main__":
    os.environ.setdefault("NO_COLOR", "1")
    main()
