"""What ten thousand watching clients cost the service, and how soon they hear: ``python -m benchmarks.watching``.

Two processes hold the connections of 10,000 clients, which do what the SDK does: each registers, holds a stream open,
reports when it is due, and comes again after a drawn wait; `anabranch serve` with a SQLite store is a process of its
own.  All register as fast as they are answered; then they rest; then route tables are published, each of which leads
all of them elsewhere; then the service is killed and started again, and then ended in good order and started again.
Meanwhile its health is asked for every 50 ms.  Prints times, memory and CPU, and writes the section ``watching`` of
``build/bench.json``.  Takes four minutes.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import http.client
import json
import multiprocessing
import os
import random
import resource
import statistics
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import psutil

from anabranch.service.serving import allow_connections
from benchmarks import report
from benchmarks.clusters import KAFKA
from benchmarks.run import OUTPUT
from qa.route_service import RouteProcess

CLIENTS, PROCESSES, AT_ONCE = 10_000, 2, 32
"""``AT_ONCE`` clients of a process register at a time, the first time."""
GROUP = 10
FIRST_WAIT_S, LONGEST_WAIT_S = 0.5, 30.0
"""As the SDK draws its waits (``anabranch.sdk.session``)."""
PROBE_S = 0.05
LIMIT_S = 600.0
CLUSTERS = ("old", "new")


# -- a process with clients ------------------------------------------------------------------------------


class AwayError(Exception):
    """The service does not answer, or ends the stream."""


@dataclass(eq=False, slots=True)
class Client:
    """One client: when it last began to watch, which version it heard last, and when; ``tries`` are registrations."""

    id: str
    body: bytes
    watching_at: float = 0.0
    is_watching: bool = False
    version: int = 0
    heard_at: float = 0.0
    tries: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    kept: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None


class Crowd:
    """The clients of one process."""

    def __init__(self, number: int, count: int, port: int, token: str) -> None:
        self._port = port
        self._from = f"127.0.1.{number + 1}"  # an address has 28,000 ports, and what was closed holds one for a minute
        self._head = f"Host: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n".encode()
        self.clients = [self._client(number * count + at) for at in range(count)]
        self._first = asyncio.Semaphore(AT_ONCE)

    @staticmethod
    def _client(number: int) -> Client:
        reads = number % 2 == 0
        fields = {
            "code": "orders",
            "role": "consumer" if reads else "producer",
            "topics": [f"sales-{number // GROUP % 50}"],
            "group": f"group-{number // GROUP}" if reads else "",
            "client_id": f"client-{number}",
            "parameters": {"application": "bench"},
            "facts": {"application": "bench", "host": f"host-{number % 100}", "pid": number, "sdk": "0.1"},
        }
        return Client(f"{number:032x}", json.dumps(fields).encode())

    async def run(self) -> None:
        """All of them, until this is cancelled."""
        await asyncio.gather(*(self._live(client) for client in self.clients))

    async def _live(self, client: Client) -> None:
        longest = FIRST_WAIT_S
        while True:
            wait = None
            try:
                if client.tries == 0:
                    async with self._first:
                        pace = await self._register(client)
                        reader, writer = await self._opened(client)
                else:
                    pace = await self._register(client)
                    reader, writer = await self._opened(client)
                longest = FIRST_WAIT_S
                try:
                    wait = await self._watch(client, reader, pace / 1000)
                finally:
                    client.is_watching = False
                    writer.close()
            except (OSError, EOFError, AwayError, ValueError, IndexError, TimeoutError) as error:
                client.failures[f"{type(error).__name__} {error}"[:60]] += 1
            if wait is None:
                wait, longest = random.uniform(0, longest), min(2 * longest, LONGEST_WAIT_S)
            await asyncio.sleep(wait)

    async def _register(self, client: Client) -> int:
        """Register; every how many ms it is to report."""
        client.tries += 1
        answer = await self._asked(client, "PUT", "", client.body)
        return int(answer["report_ms"])

    async def _asked(self, client: Client, method: str, rest: str, body: bytes) -> Any:
        """As the SDK asks: by the connection that is kept, or else by a new one."""
        lines = f"{method} /api/v1/clients/{client.id}{rest} HTTP/1.1\r\n".encode() + self._head
        sent = lines + f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body
        kept, client.kept = client.kept, None
        if kept is not None:
            with contextlib.suppress(OSError, EOFError):
                return await self._answered(client, *kept, sent)
            kept[1].close()
        async with asyncio.timeout(10):
            reader, writer = await self._connection()
            try:
                return await self._answered(client, reader, writer, sent)
            except BaseException:
                writer.close()
                raise

    async def _answered(
        self, client: Client, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, sent: bytes
    ) -> Any:
        writer.write(sent)
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        status = int(head.split(b" ", 2)[1])
        length = int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0])
        body = await reader.readexactly(length)
        if b"\r\nconnection: close\r\n" in head:
            writer.close()
        else:
            client.kept = (reader, writer)
        if status != 200:
            raise AwayError(f"status {status}")
        return json.loads(body)

    async def _connection(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection("127.0.0.1", self._port, local_addr=(self._from, 0), limit=16_384)

    async def _opened(self, client: Client) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        async with asyncio.timeout(10):
            reader, writer = await self._connection()
            try:
                writer.write(f"GET /api/v1/clients/{client.id}/watch HTTP/1.1\r\n".encode() + self._head + b"\r\n")
                head = await reader.readuntil(b"\r\n\r\n")
                if b" 200 " not in head[:20]:
                    raise AwayError(f"status {head[9:12].decode()}")
            except BaseException:
                writer.close()
                raise
        return reader, writer

    async def _watch(self, client: Client, reader: asyncio.StreamReader, every_s: float) -> float | None:
        """Hear events and report until the stream ends; the wait that the service asked for."""
        loop = asyncio.get_running_loop()
        report_at = loop.time() + random.uniform(0, every_s)
        while True:
            try:
                async with asyncio.timeout_at(report_at):
                    told = await reader.readuntil(b"\n\n")
            except TimeoutError:
                body = json.dumps({"version": client.version, "records": 1, "bytes": 100, "errors": 0}).encode()
                every_s = (await self._asked(client, "POST", "/report", body))["report_ms"] / 1000
                report_at = loop.time() + every_s
                continue
            _, _, found = told.partition(b"event: ")  # before it stands how long the chunk is
            if found:
                kind, _, data = found.partition(b"\ndata: ")
                fields = json.loads(data)
                if kind == b"ending":
                    return random.uniform(0, fields["retry_within_ms"] / 1000)
                self._heard(client, fields["route"]["version"])

    @staticmethod
    def _heard(client: Client, version: int) -> None:
        now = time.monotonic()
        if not client.is_watching:
            client.is_watching, client.watching_at = True, now
        if version != client.version:
            client.version, client.heard_at = version, now


async def _run(crowd: Crowd, pipe: Connection) -> None:
    loop = asyncio.get_running_loop()
    running = asyncio.create_task(crowd.run())
    while True:
        asked = await loop.run_in_executor(None, pipe.recv)
        if asked == "end":
            running.cancel()
            return
        clients = crowd.clients
        if asked == "standing":
            pipe.send([(one.watching_at, one.heard_at, one.tries) for one in clients])
        elif asked == "failures":
            pipe.send(sum((one.failures for one in clients), Counter()))
        elif isinstance(asked, float):  # who watches since then
            pipe.send(sum(one.is_watching and one.watching_at >= asked for one in clients))
        else:
            pipe.send(sum(one.version >= asked for one in clients))


def run_crowd(pipe: Connection, number: int, count: int, port: int, token: str) -> None:
    """What a process does."""
    allow_connections()
    asyncio.run(_run(Crowd(number, count, port, token), pipe))


class Crowds:
    """The processes that hold the clients."""

    def __init__(self, clients: int, port: int, token: str) -> None:
        context = multiprocessing.get_context("spawn")
        self.count = clients // PROCESSES * PROCESSES
        self._pipes: list[Any] = []
        self._processes: list[psutil.Process] = []
        for number in range(PROCESSES):
            here, there = context.Pipe()
            asked = (there, number, clients // PROCESSES, port, token)
            process = context.Process(target=run_crowd, args=asked, daemon=True)
            process.start()
            self._processes.append(psutil.Process(process.pid))
            self._pipes.append(here)

    def ask(self, what: object) -> list[Any]:
        """Ask all."""
        for pipe in self._pipes:
            pipe.send(what)
        return [pipe.recv() for pipe in self._pipes]

    def cpu(self) -> float:
        """Seconds of CPU that all have used."""
        return sum(times.user + times.system for times in (one.cpu_times() for one in self._processes))

    def standing(self) -> list[tuple[float, float, int]]:
        """Of each client since when it watches, when it heard of its version, and how often it has registered."""
        return [one for part in self.ask("standing") for one in part]

    def end(self) -> None:
        """End all."""
        for pipe in self._pipes:
            pipe.send("end")


# -- what is measured ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Spread:
    """After how many seconds the first, and so many of the clients, had it; ``most_a_s`` is how many in one second."""

    first: float
    half: float
    p99: float
    all: float
    most_a_s: int


@dataclass(frozen=True, slots=True)
class Health:
    """Milliseconds of the answers of `/healthz` while the service listened; ``refused`` is how often it did not."""

    answers: int
    p50: float
    p99: float
    longest: float
    refused: int


@dataclass(frozen=True, slots=True)
class Part:
    """One part of the run; ``tries`` are attempts of clients to register.

    ``cpu_s`` is of the service, ``clients_cpu_s`` of the processes that hold the clients, on the same machine.
    """

    name: str
    spread: Spread | None
    health: Health
    seconds: float
    cpu_s: float | None
    clients_cpu_s: float | None
    memory_mb: float
    tries: int


@dataclass(frozen=True, slots=True)
class Used:
    """Seconds of CPU so far."""

    service: float
    clients: float

    def since(self, before: Used) -> tuple[float, float]:
        """What was used in between."""
        return round(self.service - before.service, 2), round(self.clients - before.clients, 2)


class Probe:
    """Asks for the service's health again and again, by a new connection each time, in a thread."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._seen: list[tuple[float, float | None]] = []
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        while True:
            begun = time.monotonic()
            took: float | None
            try:
                connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
                connection.request("GET", "/healthz")
                took = None if connection.getresponse().status != 200 else time.monotonic() - begun
                connection.close()
            except (OSError, http.client.HTTPException):
                took = None
            self._seen.append((begun, took))
            time.sleep(PROBE_S)

    def since(self, moment: float) -> Health:
        """What was seen since then."""
        seen = [took for at, took in list(self._seen) if at >= moment]
        times = sorted(took * 1000 for took in seen if took is not None) or [0.0]
        p50, p99, longest = (
            round(one, 1) for one in (statistics.median(times), times[int(len(times) * 0.99)], times[-1])
        )
        return Health(len(times), p50, p99, longest, seen.count(None))


def spread(times: list[float], since: float) -> Spread:
    """How moments lie behind one."""
    found = sorted(at - since for at in times)
    most = max(Counter(int(at) for at in found).values())
    picked = (found[0], found[len(found) // 2], found[int(len(found) * 0.99)], found[-1])
    first, half, p99, last = (round(one, 2) for one in picked)
    return Spread(first, half, p99, last, most)


class Run:
    """The service and its clients."""

    def __init__(self, service: RouteProcess, clients: int) -> None:
        self._service = service
        port = int(service.url.rpartition(":")[2])
        self._probe = Probe(port)
        self._tries = 0
        self.parts: list[Part] = []
        self.idle_mb = self._process().memory_info().rss / 1e6
        self._crowds = Crowds(clients, port, service.tokens["client"])

    def _process(self) -> psutil.Process:
        (found,) = [one for one in psutil.Process().children() if "serve" in one.cmdline()]
        return found

    def _cpu(self) -> Used:
        times = self._process().cpu_times()
        return Used(float(times.user + times.system), self._crowds.cpu())

    def _part(self, name: str, began: float, before: Used | None, found: Spread | None) -> None:
        seconds, now = time.monotonic() - began, self._cpu()
        service, clients = (None, None) if before is None else now.since(before)
        all_tries = sum(tries for _, _, tries in self._crowds.standing())
        memory = self._process().memory_info().rss / 1e6
        health = self._probe.since(began)
        made = Part(name, found, health, round(seconds, 1), service, clients, round(memory), all_tries - self._tries)
        self._tries = all_tries
        self.parts.append(made)
        print(words(made), flush=True)

    def _await(self, what: object) -> None:
        deadline = time.monotonic() + LIMIT_S
        while sum(self._crowds.ask(what)) < self._crowds.count:
            if time.monotonic() > deadline:
                failures = sum(self._crowds.ask("failures"), Counter[str]()).most_common(5)
                raise TimeoutError(f"{sum(self._crowds.ask(what)):,} of {self._crowds.count:,} clients; {failures}")
            time.sleep(0.2)

    def _watching(self, name: str, began: float, cpu: Used | None) -> None:
        """Wait until all watch since then."""
        self._await(began)
        self._part(name, began, cpu, spread([at for at, _, _ in self._crowds.standing()], began))

    def register(self) -> None:
        """All of them, as fast as they are answered."""
        began = time.monotonic()
        self._watching("register", began, self._cpu())

    def rest(self, seconds: float) -> None:
        """Reports, and nothing else."""
        began, cpu = time.monotonic(), self._cpu()
        time.sleep(seconds)
        self._part("rest", began, cpu, None)

    def publish(self, version: int) -> None:
        """Lead all of them elsewhere; the time begins as a plan is applied, and as its table is published."""
        table = {"version": 1, "codes": {"orders": {"cluster": CLUSTERS[version % 2]}}}
        body = {"table": table, "reason": "bench", "at_once": True}
        plan = self._service.ask("POST", "/routes/apply/plan", body, role="approver").json
        began, cpu = time.monotonic(), self._cpu()
        begun = self._service.ask("POST", f"/plans/{plan['id']}/apply", {"hash": plan["hash"]}, role="approver")
        assert begun.status == 202, begun.body
        self._await(version)
        heard = [at for _, at, _ in self._crowds.standing()]
        self._part("apply", began, cpu, spread(heard, began))
        at_ms = self._service.ask("GET", "/routes", role="viewer").json["at_ms"]
        published = time.monotonic() - (time.time() - at_ms / 1000)
        self._part("publish", published, None, spread(heard, published))

    def again(self, name: str, end: Callable[[], None]) -> None:
        """End the service, and start it again."""
        began = time.monotonic()
        end()
        self._service.start()
        self._watching(name, began, None)

    def end(self) -> None:
        """End all clients."""
        self._crowds.end()


def words(part: Part) -> str:
    """A part in one line."""
    found = f"{part.name}: "
    if part.spread is not None:
        one = part.spread
        times = f"{one.first:.2f}/{one.half:.2f}/{one.p99:.2f}/{one.all:.2f}"
        found += f"the first, 50, 99 and 100 % after {times} s, {one.most_a_s:,} in one second; "
    cpu = f"{part.seconds:.0f} s, "
    if part.cpu_s is not None:
        cpu += f"CPU of the service {part.cpu_s:.1f} s and of the clients {part.clients_cpu_s:.1f} s, "
    health = f"health p50/p99/longest {part.health.p50:.0f}/{part.health.p99:.0f}/{part.health.longest:.0f} ms"
    rest = f"{part.memory_mb:.0f} MB; {health}, refused {part.health.refused} times; "
    return f"{found}{cpu}{rest}{part.tries:,} attempts to register; load {os.getloadavg()[0]:.1f}"


def main() -> int:
    """Measure, print and keep."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=int, default=CLIENTS)
    parser.add_argument("--rest-seconds", type=float, default=60.0)
    parser.add_argument("--publish", type=int, default=3, help="how many tables are published")
    parser.add_argument("--output", type=Path, default=OUTPUT)
    options = parser.parse_args()
    allow_connections()
    print(*report.machine(KAFKA), sep="\n")
    print(f"open files: {resource.getrlimit(resource.RLIMIT_NOFILE)[0]:,} at most", flush=True)
    contexts: Mapping[str, Any] = {name: {"bootstrap": ["127.0.0.1:1"]} for name in CLUSTERS}
    with (
        tempfile.TemporaryDirectory(prefix="anabranch-bench-") as work,
        RouteProcess(Path(work), contexts) as service,
    ):
        service.publish({"codes": {"orders": {"cluster": CLUSTERS[1]}}})
        run = Run(service, options.clients)
        run.register()
        run.rest(options.rest_seconds)
        for version in range(2, 2 + options.publish):
            run.publish(version)
        run.again("killed", service.kill)
        run.again("ended", service.stop)
        run.end()
    document = {"clients": options.clients, "idle_mb": round(run.idle_mb), "parts": [asdict(one) for one in run.parts]}
    report.write("watching", document, options.output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
