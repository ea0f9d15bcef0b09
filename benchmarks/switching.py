"""How long applications stand still while they are moved to another cluster: ``python -m benchmarks.switching``.

Twenty consumers of a group and five producers run in six processes, as real clients of the SDK, and write and read
2,000 records a second in 40 partitions, which a link copies; then their cluster code is switched to the copy.  The
same is done by hand: plain clients of confluent-kafka in the same processes are closed, ``anabranch groups sync`` is
called until it succeeds, and they are opened on the other cluster; the processes themselves go on, and the commands
follow each other at once.  And a plain group that moves nowhere is started in the same processes on the other cluster,
where records are written already: what its brokers take to share out partitions is the least that a move can.  All
with the classic protocol of groups and with that of KIP-848.  A client's pause is the time between its last record on
the one cluster and its first on the other.  Prints pauses and the parts of a switch, and whether records were lost,
repeated or out of order; writes the section ``switching`` of ``build/bench.json``.
Exits with 1 where a move
has lost or repeated some.  Takes seven minutes.
"""

from __future__ import annotations

import argparse
import asyncio
import http.client
import itertools
import json
import multiprocessing
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import confluent_kafka
from confluent_kafka.admin import NewTopic

from anabranch import sdk
from anabranch.model.cluster import ClusterContext
from anabranch.model.link import ClusterRef, LinkSpec, ModePolicy
from anabranch.model.plugins import PluginSpec
from anabranch.operations.jobs.launcher import start_link
from anabranch.operations.jobs.submission import Submission
from anabranch.sandbox import SandboxCluster
from benchmarks import report
from benchmarks.clusters import KAFKA, clusters
from benchmarks.run import OUTPUT
from qa import links
from qa.brokers import await_coordinators, create_topics
from qa.route_service import RouteProcess

OLD, NEW, LINK = "source", "target", "bench"
PROTOCOLS = ("classic", "consumer")
SWITCH, BY_HAND, START = "switch", "by hand", "start"
CONSUMERS, READING, PRODUCERS = 20, 5, 5
"""``READING`` processes share the consumers, one has all producers: no interpreter's lock is what is measured."""
PARTITIONS, RATE, KEYS = 40, 2_000, 16
"""``KEYS`` of each producer; each partition has some, so that each consumer has records whichever are its."""
TICK_S = 0.005
STEADY_S = 5.0
LIMIT_S = 120.0
START_S = 120.0


@dataclass(frozen=True, slots=True)
class Start:
    """Clients that are to be started: real ones of the SDK, or plain ones on a cluster."""

    routed: bool
    cluster: str
    topic: str
    settings: Mapping[str, Any]


@dataclass(slots=True)
class Noted:
    """What one client wrote or read, in the order in which it did: when, on which cluster, and which record."""

    at: list[float] = field(default_factory=list)
    clusters: list[str] = field(default_factory=list)
    records: list[tuple[str, int]] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)

    def note(self, cluster: str, value: bytes) -> None:
        """A record, now."""
        key, _, number = value.decode().partition(":")
        self.at.append(time.monotonic())
        self.clusters.append(cluster)
        self.records.append((key, int(number)))

    def pause_s(self) -> float:
        """Between the last record on the first cluster and the first one on another."""
        changes = [at for at in range(1, len(self.clusters)) if self.clusters[at] != self.clusters[at - 1]]
        assert len(changes) == 1, f"it went over {len(changes)} times"
        return self.at[changes[0]] - self.at[changes[0] - 1]

    def resumed_at(self) -> float:
        """When its first record on the other cluster was there."""
        return next(at for at, cluster in zip(self.at, self.clusters, strict=True) if cluster != self.clusters[0])

    def longest_s(self, since: float, until: float) -> float:
        """The longest time without a record, as far as it lies in between."""
        times = [since, *(at for at in self.at if since < at < until), until]
        return max(after - before for before, after in itertools.pairwise(times))


# -- a process with clients ------------------------------------------------------------------------------


class Clients:
    """Clients of one process, each in a thread of its own."""

    def __init__(self, reads: bool, names: Sequence[str]) -> None:
        self._reads = reads
        self.noted = {name: Noted() for name in names}
        self._numbers: Counter[str] = Counter()
        self._ended = threading.Event()
        self._threads: list[threading.Thread] = []

    def start(self, how: Start) -> None:
        """Start all."""
        self._ended.clear()
        run = self._read if self._reads else self._write
        self._threads = [threading.Thread(target=run, args=(name, how)) for name in self.noted]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Close all, and return when they are closed."""
        self._ended.set()
        for thread in self._threads:
            thread.join()

    def _read(self, name: str, how: Start) -> None:
        made = sdk.Consumer if how.routed else confluent_kafka.Consumer
        consumer: Any = made({**how.settings, "client.id": name})
        noted = self.noted[name]
        consumer.subscribe([how.topic])
        while not self._ended.is_set():
            message = consumer.poll(0.1)
            if message is None:
                continue
            if message.error() is not None:
                noted.refused.append(str(message.error()))
                continue
            noted.note(consumer.route.cluster if how.routed else how.cluster, message.value())
        consumer.close()

    def _write(self, name: str, how: Start) -> None:
        made = sdk.Producer if how.routed else confluent_kafka.Producer
        producer: Any = made({**how.settings, "client.id": name})
        noted = self.noted[name]

        def delivered(error: Any, message: Any) -> None:
            if error is not None:
                noted.refused.append(str(error))
            else:
                noted.note(producer.route.cluster if how.routed else how.cluster, message.value())

        first = int(name.rpartition("-")[2]) * KEYS
        due = time.monotonic()
        for turn in itertools.count():
            if self._ended.is_set():
                break
            due = max(due + PRODUCERS / RATE, time.monotonic() - TICK_S)  # what a pause has kept back is not made good
            key = f"{name}.{turn % KEYS}"
            place = (first + turn % KEYS) % PARTITIONS
            producer.produce(how.topic, f"{key}:{self._numbers[key]}", key, place, on_delivery=delivered)
            self._numbers[key] += 1
            producer.poll(max(0.0, due - time.monotonic()))
        producer.flush()
        if how.routed:
            producer.close()


def run_clients(pipe: Connection, reads: bool, names: Sequence[str]) -> None:
    """What a process does: start and stop clients as it is told, and tell what they noted."""
    made = Clients(reads, names)
    while True:
        asked = pipe.recv()
        if isinstance(asked, Start):
            made.start(asked)
        elif asked == "stop":
            made.stop()
        elif asked == "seen":
            # How many records there are, and since when the slowest of its clients has none.
            pipe.send([(len(one.at), one.at[-1] if one.at else 0.0) for one in made.noted.values()])
            continue
        else:
            pipe.send(made.noted)
            return
        pipe.send(None)


class Application:
    """The processes of an application: a group, and its producers."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipes: list[tuple[bool, Any]] = []
        self._processes = []
        consumers = [f"reader-{number}" for number in range(CONSUMERS)]
        shares = [(True, consumers[first::READING]) for first in range(READING)]
        for reads, names in (*shares, (False, [f"writer-{number}" for number in range(PRODUCERS)])):
            here, there = context.Pipe()
            process = context.Process(target=run_clients, args=(there, reads, names), daemon=True)
            process.start()
            self._processes.append(process)
            self._pipes.append((reads, here))

    def ask(self, what: Any, reads: bool | None = None) -> list[Any]:
        """Ask the processes that read, that write, or all; returns when all have answered."""
        asked = [pipe for kind, pipe in self._pipes if reads in (None, kind)]
        for pipe in asked:
            pipe.send(what)
        return [pipe.recv() for pipe in asked]

    def start(self, read: Start, write: Start) -> None:
        """Start all clients."""
        self.ask(read, True)
        self.ask(write, False)

    def count(self, reads: bool) -> int:
        """How many records its consumers, or its producers, have noted."""
        return sum(count for seen in self.ask("seen", reads) for count, _ in seen)

    def runs_since(self, moment: float) -> bool:
        """Whether each client has had a record since then."""
        return all(last > moment for seen in self.ask("seen") for _, last in seen)

    def end(self) -> tuple[Mapping[str, Noted], Mapping[str, Noted]]:
        """What consumers and producers noted, once the consumers have read all that was written, and all are closed."""
        self.ask("stop", False)
        written = self.count(reads=False)
        deadline = time.monotonic() + LIMIT_S
        while self.count(reads=True) < written and time.monotonic() < deadline:
            time.sleep(0.2)
        time.sleep(1.0)  # what is read twice would come by now
        self.ask("stop", True)
        found: dict[bool, dict[str, Noted]] = {True: {}, False: {}}
        for reads in found:
            for noted in self.ask("noted", reads):
                found[reads] |= noted
        for process in self._processes:
            process.join(30)
        return found[True], found[False]


# -- what is measured ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Pauses:
    """Seconds of so many clients."""

    clients: int
    median: float
    p99: float
    longest: float


@dataclass(frozen=True, slots=True)
class Moved:
    """One move: pauses by role, ``silence`` the longest time without a record around it, and seconds of its parts."""

    how: str
    protocol: str
    consumers: Pauses
    producers: Pauses
    silence: float
    parts: Mapping[str, float]
    records: int
    lost: int
    repeated: int
    disordered: int
    load: float


def pauses(seconds: Iterable[float]) -> Pauses:
    """Of the pauses of some clients; the p99 is the nearest value."""
    found = sorted(seconds)
    nearest = found[min(len(found) - 1, int(len(found) * 0.99))]
    return Pauses(len(found), *(round(one, 3) for one in (statistics.median(found), nearest, found[-1])))


def judged(read: Iterable[Noted], written: Iterable[Noted]) -> tuple[int, int, int]:
    """How many acknowledged records nobody read, how many were read again, and how many of a key out of order."""
    acknowledged = {record for one in written for record in one.records}
    came = sorted((at, record) for one in read for at, record in zip(one.at, one.records, strict=True))
    counts = Counter(record for _, record in came)
    last: dict[str, int] = {}
    disordered = 0
    for _, (key, number) in came:
        disordered += number < last.get(key, -1)
        last[key] = max(number, last.get(key, -1))
    return len(acknowledged - counts.keys()), sum(counts.values()) - len(counts), disordered


def moved(how: str, protocol: str, app: Application, began: float, parts: dict[str, float], until: float) -> Moved:
    """The figures of a move, from what all clients noted."""
    load = os.getloadavg()[0]
    read, written = app.end()
    both = (*read.values(), *written.values())
    refused = [one for noted in both for one in noted.refused]
    assert not refused, refused[0]
    parts["last client goes on"] = max(one.resumed_at() for one in both) - until
    lost, repeated, disordered = judged(read.values(), written.values())
    silence = max(one.longest_s(began, until + STEADY_S) for one in both)
    return Moved(
        how,
        protocol,
        pauses(one.pause_s() for one in read.values()),
        pauses(one.pause_s() for one in written.values()),
        round(silence, 3),
        {name: round(seconds, 3) for name, seconds in parts.items()},
        sum(len(one.records) for one in written.values()),
        lost,
        repeated,
        disordered,
        round(load, 1),
    )


def begun(protocol: str, app: Application, began: float) -> Moved:
    """The figures of a group that started then."""
    load = round(os.getloadavg()[0], 1)
    read, written = app.end()
    first = [one.at[0] - began for one in read.values()]
    longest, records = round(max(first), 3), sum(len(one.records) for one in written.values())
    wrong = judged(read.values(), written.values())
    parts = {"last client has a record": longest}
    return Moved(START, protocol, pauses(first), pauses([0.0]), longest, parts, records, *wrong, load)


# -- by the service --------------------------------------------------------------------------------------


class Watched:
    """The states of switches, with the time at which a listener of the service heard of them."""

    def __init__(self, service: RouteProcess) -> None:
        host = service.url.removeprefix("http://")
        self._connection = http.client.HTTPConnection(host, timeout=None)
        self._connection.request("GET", "/api/v1/events", None, {"Authorization": f"Bearer {service.tokens['viewer']}"})
        self._answer = self._connection.getresponse()
        self.seen: list[tuple[float, Mapping[str, Any]]] = []
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        kind = b""
        while line := self._answer.readline():
            if line.startswith(b"event: "):
                kind = line[7:].strip()
            elif line.startswith(b"data: ") and kind == b"switch":
                self.seen.append((time.monotonic(), json.loads(line[6:])))

    def parts(self, began: float) -> tuple[dict[str, float], float]:
        """Seconds of each part of a switch that began then, and when it was done."""
        named = next(at for at, one in self.seen if one["clients"])
        found, before = {"asking for clients": named - began}, named
        ends = {"draining": "clients pause", "moving": "link copies", "published": "groups move", "done": "publishing"}
        for state, name in ends.items():
            at = next((at for at, one in self.seen if one["state"] == state), before)
            found[name], before = at - before, at
        return found, before


@dataclass(frozen=True)
class Lab:
    """Two clusters, the link between them, and the service."""

    service: RouteProcess
    old: SandboxCluster
    new: SandboxCluster
    scratch: Path

    def by_service(self, protocol: str, turn: int) -> Moved:
        """Clients of the SDK, and a switch."""
        topic, code = f"moved-{protocol}-{turn}", f"{protocol}-{turn}"
        token = self.scratch / "token"
        token.write_text(self.service.tokens["client"])
        given = {"cluster.code": code, "route.service": self.service.url, "route.token.file": str(token)}
        given["route.cache.dir"] = str(self.scratch / "cache")
        table = {"codes": {code: {"cluster": OLD}}}
        self.service.publish(table)
        watched, app = Watched(self.service), Application()
        app.start(
            Start(True, "", topic, {**given, **_group(topic, protocol)}),
            Start(True, "", topic, {**given, "linger.ms": 5}),
        )
        _settle(app)
        body = {"table": {"version": 1, "codes": {code: {"cluster": NEW, "topics": f"{OLD}.{{topic}}"}}}}
        plan = self.service.ask("POST", "/routes/apply/plan", {**body, "reason": "bench"}, role="approver").json
        began = time.monotonic()
        hashed = {"hash": plan["hash"]}
        begun = self.service.ask("POST", f"/plans/{plan['id']}/apply", hashed, role="approver")
        where = begun.headers["location"].removeprefix("/api/v1")
        _until(lambda: self.service.ask("GET", where).json["state"] != "running", 0.5)
        ended = self.service.ask("GET", where).json
        assert ended["state"] == "done", ended
        _settle(app)
        parts, done = watched.parts(began)
        return moved(SWITCH, protocol, app, began, parts, done)

    def by_hand(self, protocol: str, turn: int) -> Moved:
        """Plain clients, closed and opened again."""
        topic = f"byhand-{protocol}-{turn}"
        app = Application()
        plain = {"bootstrap.servers": self.old.bootstrap}
        more = {**_group(topic, protocol)}
        app.start(Start(False, OLD, topic, {**plain, **more}), Start(False, OLD, topic, {**plain, "linger.ms": 5}))
        _settle(app)
        began = time.monotonic()
        app.ask("stop")
        closed = time.monotonic()
        while self._synced(topic) != 0:
            assert time.monotonic() < closed + LIMIT_S, "the group is not moved"
        synced = time.monotonic()
        plain = {"bootstrap.servers": self.new.bootstrap}
        there = f"{OLD}.{topic}"
        app.start(Start(False, NEW, there, {**plain, **more}), Start(False, NEW, there, {**plain, "linger.ms": 5}))
        _settle(app)
        parts = {"clients close": closed - began, "groups sync": synced - closed}
        return moved(BY_HAND, protocol, app, began, parts, synced)

    def started(self, protocol: str, turn: int) -> Moved:
        """Plain consumers that begin where a producer writes already: each one's time to its first record."""
        topic = f"started-{protocol}-{turn}"
        create_topics(self.new, [NewTopic(topic, PARTITIONS, 1)])
        app, plain = Application(), {"bootstrap.servers": self.new.bootstrap}
        app.ask(Start(False, NEW, topic, {**plain, "linger.ms": 5}), False)
        _until(lambda: app.count(reads=False) > RATE, 0.3)
        began = time.monotonic()
        app.ask(Start(False, NEW, topic, {**plain, **_group(topic, protocol)}), True)
        _until(lambda: app.runs_since(began), 0.3)
        _settle(app)
        return begun(protocol, app, began)

    def _synced(self, topic: str) -> int:
        command = [sys.executable, "-m", "anabranch", "--contexts", str(self.scratch / "contexts.yaml")]
        command += ["groups", "sync", LINK, topic, "--target", NEW, "--execute"]
        return subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode


def _group(topic: str, protocol: str) -> dict[str, Any]:
    return {"group.id": topic, "auto.offset.reset": "earliest", "group.protocol": protocol}


def _settle(app: Application) -> None:
    """Wait until each client has records again and again, for some seconds."""
    for _ in range(2):
        moment = time.monotonic() + STEADY_S / 2
        time.sleep(STEADY_S / 2)
        _until(partial(app.runs_since, moment), 0.3)


def _until(condition: Callable[[], object], every_s: float) -> None:
    """Wait for a condition; raises TimeoutError.  Looking costs the machine something too."""
    deadline = time.monotonic() + LIMIT_S
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError("clients did not go on")
        time.sleep(every_s)


@contextmanager
def lab(scratch: Path, topics: Sequence[str], overrides: Mapping[str, str]) -> Iterator[Lab]:
    """Clusters with these topics and a link that runs, at their ends."""
    with clusters(scratch, overrides=overrides) as (old, new):
        for cluster in (old, new):
            await_coordinators(cluster)
        source, target = (ClusterContext(one.spec.name, tuple(one.bootstrap.split(","))) for one in (old, new))
        create_topics(old, [NewTopic(topic, PARTITIONS, 1) for topic in topics])
        spec = LinkSpec(
            LINK,
            ClusterRef(OLD, ""),
            ClusterRef(NEW, ""),
            filter=PluginSpec("regex", {"include": ["moved-.*", "byhand-.*"]}),
            naming=PluginSpec("prefix"),
            mode=ModePolicy.MAPPED,
        )
        links.create(source, target, spec)
        job = start_link(target, source, LINK, Submission("local[1]"), 300.0, scratch)
        try:
            wanted = len(topics) * PARTITIONS
            _until(lambda: len(links.show(target, LINK).lanes) == wanted, 1.0)
            with RouteProcess(scratch, {OLD: old.context(), NEW: new.context()}) as service:
                yield Lab(service, old, new, scratch)
        finally:
            asyncio.run(job.stop())


def main() -> int:
    """Measure, print, and write down; 1 where records were lost, repeated or out of order."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--protocols", default=",".join(PROTOCOLS))
    parser.add_argument("--how", default=f"{SWITCH},{BY_HAND},{START}")
    parser.add_argument("--rebalance-delay-ms", type=int, default=3000, help="the brokers', which has 3000 by default")
    parser.add_argument("--heartbeat-ms", type=int, default=5000, help="of KIP-848, the brokers', which have 5000")
    parser.add_argument(
        "--assignment-ms", type=int, help="between two assignments of KIP-848, the brokers', which have 1000 since 4.3"
    )
    parser.add_argument("--output", type=Path, default=OUTPUT)
    parser.add_argument("--keep", type=Path, help="keep logs and data in this empty directory")
    options = parser.parse_args()
    turns = list(itertools.product(range(options.rounds), options.protocols.split(","), options.how.split(",")))
    print(*report.machine(KAFKA), sep="\n", flush=True)
    beats = ("group.consumer.heartbeat.interval.ms", "group.consumer.min.heartbeat.interval.ms")
    brokers = {"group.initial.rebalance.delay.ms": str(options.rebalance_delay_ms)}
    brokers |= dict.fromkeys(beats, str(options.heartbeat_ms))
    if options.assignment_ms is not None:
        brokers["group.consumer.assignment.interval.ms"] = str(options.assignment_ms)
    names = {SWITCH: "moved", BY_HAND: "byhand"}
    topics = [f"{names[how]}-{protocol}-{turn}" for turn, protocol, how in turns if how in names]
    found: list[Moved] = []
    with (
        tempfile.TemporaryDirectory(prefix="anabranch-bench-") as temporary,
        lab(options.keep or Path(temporary), topics, brokers) as made,
    ):
        for turn, protocol, how in turns:
            ways = {SWITCH: made.by_service, BY_HAND: made.by_hand, START: made.started}
            found.append(ways[how](protocol, turn))
            print(line(found[-1]), flush=True)
    print(table(found))
    document = {"brokers": brokers, "moves": [asdict(one) for one in found]}
    report.write("switching", document, options.output)
    return int(any(one.lost or one.repeated or one.disordered for one in found if one.how != START))


def line(one: Moved) -> str:
    """One move in words."""
    parts = ", ".join(f"{name} {seconds:.2f}" for name, seconds in one.parts.items())
    wrong = f"{one.lost} lost, {one.repeated} repeated, {one.disordered} out of order of {one.records:,}"
    producers = "" if one.how == START else f", producers {one.producers.median:.2f}"
    medians = f"consumers {one.consumers.median:.2f}{producers}"
    return f"{one.how}, {one.protocol}: {medians}: {parts} s; {wrong}; load {one.load}"


def table(found: Sequence[Moved]) -> str:
    """Medians over the rounds, in seconds, and how many times as long it is by hand."""
    lines: list[tuple[str, ...]] = [
        (
            "protocol",
            "how",
            "consumers: median",
            "p99",
            "longest",
            "producers: median",
            "longest",
            "silence",
            "by hand x",
        )
    ]
    for protocol in dict.fromkeys(one.protocol for one in found):
        for how in dict.fromkeys(one.how for one in found):
            mine = [one for one in found if (one.protocol, one.how) == (protocol, how)]
            hand = [one for one in found if (one.protocol, one.how) == (protocol, BY_HAND)]

            def of(figure: Callable[[Moved], float], mine: Sequence[Moved] = mine) -> float:
                return statistics.median(figure(one) for one in mine)

            figures = (
                of(lambda one: one.consumers.median),
                of(lambda one: one.consumers.p99),
                of(lambda one: one.consumers.longest),
                of(lambda one: one.producers.median),
                of(lambda one: one.producers.longest),
                of(lambda one: one.silence),
            )
            told = [f"{one:.2f}" for one in figures]
            if how == START:  # nobody goes over
                lines.append((protocol, how, *told[:3], "", "", "", ""))
                continue
            ratio = of(lambda one: one.consumers.median, hand) / figures[0] if hand else 0.0
            lines.append((protocol, how, *told, f"{ratio:.1f}"))
    return report.columns(lines, left=2)


if __name__ == "__main__":
    sys.exit(main())
