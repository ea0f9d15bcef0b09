"""What following a route costs an application: ``python -m benchmarks.sdk``.

One real broker and the route service as a process.  The client SDK and plain confluent-kafka take turns at the same
work in one process: writing records of 100 bytes and of 1,000 with a callback for each, polling after each, and reading
them with ``poll`` or ``consume``; writing as well where failures alone are told, without callbacks.  The same is done
by clients of the SDK that have just gone over from another cluster, which is the same broker by another name.
Compared is the processor time of the thread that calls, in which all is that the SDK adds: what else the machine does
meanwhile is not in it.  Each turn of the one is set against the turn of the other beside it, who is first changes, and
the median of these ratios is told with its quartiles.  Records per second are by the clock.  Writes the section ``sdk``
of ``build/bench.json``.  Takes ten minutes.
"""

from __future__ import annotations

import argparse
import gc
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import confluent_kafka
from confluent_kafka.admin import NewTopic

from anabranch import sdk
from anabranch.sandbox import ClusterSpec, start_clusters
from benchmarks import report
from benchmarks.run import OUTPUT
from qa.brokers import create_topics
from qa.route_service import RouteProcess

SIZES = (100, 1000)
HERE, BEFORE = "here", "before"
COUNT = 200_000


@dataclass(frozen=True)
class Compared:
    """Records per second of both; turn by turn the SDK's speed as a part of the plain client's, and its processor time:
    medians, and quartiles of the latter."""

    work: str
    plain: float
    sdk: float
    clock: float
    ratio: float
    quartiles: tuple[float, float]


class Route:
    """Leads each code that a client of the benchmark names, by the service; ``here`` and ``before`` are one broker."""

    def __init__(self, service: RouteProcess, scratch: Path) -> None:
        self._service, self._cache = service, scratch / "cache"
        self._token = scratch / "token"
        self._token.write_text(service.tokens["client"])

    def lead(self, cluster: str) -> None:
        """Each client goes over as it hears of it."""
        self._service.publish({"codes": {"orders": {"cluster": cluster}}})

    def named(self, cluster: str) -> dict[str, Any]:
        """The configuration of a client that begins on this cluster."""
        self.lead(cluster)
        found = {"cluster.code": "orders", "route.service": self._service.url}
        return {**found, "route.token.file": str(self._token), "route.cache.dir": str(self._cache)}

    def moved(self, client: Any, work: Callable[[], object]) -> None:
        """Have a client that works go over."""
        self.lead(HERE)
        while client.route.cluster != HERE or getattr(client, "is_switching", False):
            work()


def main() -> None:
    """Measure, print, and write down."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=20)
    parser.add_argument("--output", type=Path, default=OUTPUT)
    arguments = parser.parse_args()
    load = os.getloadavg()[0]
    (cluster,) = start_clusters([ClusterSpec(HERE)])
    names = {HERE: cluster.context(), BEFORE: cluster.context()}
    with tempfile.TemporaryDirectory() as name, cluster, RouteProcess(Path(name), names) as service:
        route = Route(service, Path(name))
        found = [one for size in SIZES for one in _of_size(cluster, size, arguments.turns, route)]
    for one in found:
        low, high = one.quartiles
        print(
            f"{one.work:<34} plain {one.plain:>9,.0f}/s   SDK {one.sdk:>9,.0f}/s   "
            f"SDK : plain, by the clock {one.clock:.3f}, busy {one.ratio:.3f} ({low:.3f} to {high:.3f})"
        )
    print(f"load before {load:.1f}, at the end {os.getloadavg()[0]:.1f}")
    report.write("sdk", [asdict(one) for one in found], arguments.output)


def _of_size(cluster: Any, size: int, turns: int, route: Route) -> list[Compared]:
    count, topic, plain = COUNT, f"records-{size}", {"bootstrap.servers": cluster.bootstrap}
    create_topics(cluster, [NewTopic(topic, 3)])

    def writes(more: Mapping[str, Any], calls_back: bool) -> Sides:
        def there(_: int) -> Took:
            return _written(sdk.Producer({**route.named(HERE), **more}), topic, count, size, calls_back)

        def moved(_: int) -> Took:
            producer = sdk.Producer({**route.named(BEFORE), **more})
            producer.produce(topic, bytes(size))
            route.moved(producer, lambda: producer.poll(0.1))
            return _written(producer, topic, count, size, calls_back)

        return {
            "": lambda _: _written(confluent_kafka.Producer({**plain, **more}), topic, count, size, calls_back),
            "there": there,
            "after a switch": moved,
        }

    def reads(how: str, read: Read) -> Sides:
        def named(turn: int, side: str) -> dict[str, Any]:
            return {"group.id": f"{how}-{side}-{turn}", "auto.offset.reset": "earliest", "enable.auto.commit": False}

        def moved(turn: int) -> Took:
            consumer = subscribed(sdk.Consumer({**route.named(BEFORE), **named(turn, "moved")}))
            while consumer.poll(0.1) is None:
                pass
            route.moved(consumer, lambda: consumer.poll(0))
            return _read(consumer, count, read)

        def subscribed(consumer: Any) -> Any:
            consumer.subscribe([topic])
            return consumer

        def plainly(turn: int) -> Took:
            return _read(subscribed(confluent_kafka.Consumer({**plain, **named(turn, "plain")})), count, read)

        def there(turn: int) -> Took:
            return _read(subscribed(sdk.Consumer({**route.named(HERE), **named(turn, "sdk")})), count, read)

        return {"": plainly, "there": there, "after a switch": moved}

    works = {
        "write": writes({}, True),
        "write, failures told": writes({"delivery.report.only.error": True}, False),
        "poll": reads("poll", _polled),
        "consume": reads("consume", _consumed),
    }
    return [one for name, sides in works.items() for one in _compared(f"{name} {size} bytes", turns, sides)]


@dataclass(frozen=True)
class Took:
    """Seconds by the clock and of the calling thread's processor time."""

    count: int
    wall: float
    busy: float


Sides = dict[str, Callable[[int], Took]]
"""Who does a work, a turn of it; the plain client is the one without a name."""
Read = Callable[[Any], list[Any]]


def _compared(work: str, turns: int, sides: Sides) -> list[Compared]:
    for side in sides.values():  # warms the broker
        side(-1)
    rounds: list[dict[str, Took]] = []
    for turn in range(turns):
        order = list(sides) if turn % 2 == 0 else list(reversed(sides))
        rounds.append({name: sides[name](turn) for name in order})
    found = []
    for name in sides:
        if name:
            ratios = [one[name].busy / one[""].busy for one in rounds]
            low, middle, high = statistics.quantiles(ratios, n=4)
            clock = statistics.median(one[""].wall / one[name].wall for one in rounds)
            plain, ours = (statistics.median(one[side].count / one[side].wall for one in rounds) for side in ("", name))
            words = work if name == "there" else f"{work}, {name}"
            found.append(Compared(words, plain, ours, clock, middle, (low, high)))
    return found


def _written(producer: Any, topic: str, count: int, size: int, calls_back: bool) -> Took:
    """From the first call to the last acknowledgement."""
    refused = []

    def hears(error: Any, _: Any) -> None:
        if error is not None:
            refused.append(error)

    delivered = hears if calls_back else None
    value, key = bytes(size), b"key"
    producer.produce(topic, value=value, key=key, on_delivery=delivered)
    producer.flush()
    with _steady():
        began, busy = time.perf_counter(), time.thread_time()
        for _ in range(count):
            try:
                producer.produce(topic, value=value, key=key, on_delivery=delivered)
            except BufferError:
                producer.flush()
                producer.produce(topic, value=value, key=key, on_delivery=delivered)
            producer.poll(0)
        producer.flush()
        took = Took(count, time.perf_counter() - began, time.thread_time() - busy)
    assert not refused, refused[0]
    if isinstance(producer, sdk.Producer):
        producer.close()
    return took


def _polled(consumer: Any) -> list[Any]:
    message = consumer.poll(1.0)
    return [] if message is None else [message]


def _consumed(consumer: Any) -> list[Any]:
    return list(consumer.consume(500, 1.0))


def _read(consumer: Any, count: int, read: Read) -> Took:
    """After the first."""
    while not read(consumer):
        pass
    seen = size = 0
    with _steady():
        began, busy = time.perf_counter(), time.thread_time()
        while seen < count:
            for message in read(consumer):
                if message.error() is None:
                    seen += 1
                    size += len(message.value())
        took = Took(seen, time.perf_counter() - began, time.thread_time() - busy)
    consumer.close()
    return took


class _steady:
    """No collection of garbage in the middle of it: it would meet one of both by chance."""

    def __enter__(self) -> None:
        gc.collect()
        gc.disable()

    def __exit__(self, *reason: object) -> None:
        gc.enable()


if __name__ == "__main__":
    main()
