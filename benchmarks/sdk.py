"""What following a route costs an application: ``python -m benchmarks.sdk``.

One real broker and the route service as a process.  The client SDK and plain confluent-kafka take turns at the same
work in one process: writing records of 100 bytes and of 1,000 with a callback for each, polling after each, and reading
them with ``poll`` or ``consume``.  Compared is the processor time of the thread that calls, in which all is that the
SDK adds: what else the machine does meanwhile is not in it.  Each turn of the one is set against the turn of the other
beside it, who is first changes, and the median of these ratios is told with its quartiles.  Records per second are by
the clock.  Writes the section ``sdk`` of ``build/bench.json``.  Takes five minutes.
"""

from __future__ import annotations

import argparse
import gc
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
COUNT = 200_000


@dataclass(frozen=True)
class Compared:
    """Records per second of both, and the processor time of the SDK as a part of the plain client's, turn by turn:
    median and quartiles."""

    work: str
    plain: float
    sdk: float
    ratio: float
    quartiles: tuple[float, float]


def main() -> None:
    """Measure, print, and write down."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=20)
    parser.add_argument("--output", type=Path, default=OUTPUT)
    arguments = parser.parse_args()
    (cluster,) = start_clusters([ClusterSpec("here")])
    with tempfile.TemporaryDirectory() as name, cluster, RouteProcess(Path(name), {"here": cluster.context()}) as route:
        route.publish({"codes": {"orders": {"cluster": "here"}}})
        token = Path(name) / "token"
        token.write_text(route.tokens["client"])
        plain = {"bootstrap.servers": cluster.bootstrap}
        code = {"cluster.code": "orders", "route.service": route.url}
        code |= {"route.token.file": str(token), "route.cache.dir": str(Path(name) / "cache")}
        found = [one for size in SIZES for one in _of_size(cluster, size, arguments.turns, plain, code)]
    for one in found:
        low, high = one.quartiles
        print(
            f"{one.work:<24} plain {one.plain:>9,.0f}/s   SDK {one.sdk:>9,.0f}/s   "
            f"SDK : plain, busy {one.ratio:.3f} ({low:.3f} to {high:.3f})"
        )
    report.write("sdk", [asdict(one) for one in found], arguments.output)


def _of_size(cluster: Any, size: int, turns: int, plain: Mapping[str, Any], code: Mapping[str, Any]) -> list[Compared]:
    count, topic = COUNT, f"records-{size}"
    create_topics(cluster, [NewTopic(topic, 3)])
    writes = _compared(
        f"write {size} bytes",
        turns,
        lambda _: _written(confluent_kafka.Producer(dict(plain)), topic, count, size),
        lambda _: _written(sdk.Producer(dict(code)), topic, count, size),
    )

    def reads(how: str, read: Callable[[Any, str, int], Took]) -> Compared:
        def plainly(turn: int) -> Took:
            return read(confluent_kafka.Consumer({**plain, **_group(f"plain-{turn}")}), topic, count)

        def ours(turn: int) -> Took:
            return read(sdk.Consumer({**code, **_group(f"sdk-{turn}")}), topic, count)

        return _compared(f"{how} {size} bytes", turns, plainly, ours)

    return [writes, reads("poll", _polled), reads("consume", _consumed)]


def _group(name: str) -> dict[str, Any]:
    return {"group.id": name, "auto.offset.reset": "earliest", "enable.auto.commit": False}


@dataclass(frozen=True)
class Took:
    """Seconds by the clock and of the calling thread's processor time."""

    count: int
    wall: float
    busy: float


def _compared(work: str, turns: int, plain: Callable[[int], Took], ours: Callable[[int], Took]) -> Compared:
    plain(-1)  # warms the broker
    ours(-1)
    pairs = []
    for turn in range(turns):
        if turn % 2:
            second = ours(turn)
            pairs.append((plain(turn), second))
        else:
            pairs.append((plain(turn), ours(turn)))
    ratios = [mine.busy / other.busy for other, mine in pairs]
    low, middle, high = statistics.quantiles(ratios, n=4)
    one, other = (statistics.median(took.count / took.wall for took in side) for side in zip(*pairs, strict=True))
    return Compared(work, one, other, middle, (low, high))


def _written(producer: Any, topic: str, count: int, size: int) -> Took:
    """From the first call to the last acknowledgement."""
    refused = []

    def delivered(error: Any, _: Any) -> None:
        if error is not None:
            refused.append(error)

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


def _polled(consumer: Any, topic: str, count: int) -> Took:
    """After the first."""

    def read() -> list[Any]:
        message = consumer.poll(1.0)
        return [] if message is None else [message]

    return _read(consumer, topic, count, read)


def _consumed(consumer: Any, topic: str, count: int) -> Took:
    """After the first."""
    return _read(consumer, topic, count, lambda: list(consumer.consume(500, 1.0)))


def _read(consumer: Any, topic: str, count: int, read: Callable[[], list[Any]]) -> Took:
    consumer.subscribe([topic])
    while not read():
        pass
    seen = size = 0
    with _steady():
        began, busy = time.perf_counter(), time.thread_time()
        while seen < count:
            for message in read():
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
