"""MirrorMaker 2 in dedicated mode, tuned for throughput."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from anabranch.testing.mm2 import MirrorMaker, MirrorSpec
from benchmarks.logs import TopicLog
from benchmarks.systems import Stage, delete_topic

NAME = "mirrormaker2"
CONSUMER = {
    "fetch.max.bytes": str(50 << 20),
    "max.partition.fetch.bytes": str(8 << 20),
    "fetch.min.bytes": str(1 << 20),
    "fetch.max.wait.ms": "100",
    "max.poll.records": "10000",
    "receive.buffer.bytes": str(1 << 20),
}
PRODUCER = {
    "compression.type": "lz4",
    "batch.size": str(256 << 10),
    "linger.ms": "100",
    "buffer.memory": str(128 << 20),
    "max.request.size": str(4 << 20),
    "max.in.flight.requests.per.connection": "5",
    "enable.idempotence": "true",
    "send.buffer.bytes": str(1 << 20),
}
JVM = ("-XX:+UseParallelGC",)


@dataclass(frozen=True, slots=True)
class MirrorMakerSystem:
    """One Connect worker; offset syncs, checkpoints and heartbeats are on, as by default."""

    tasks: int = 2
    heap_mb: int = 2048

    @property
    def name(self) -> str:
        """As in the table."""
        return NAME

    @property
    def settings(self) -> dict[str, str]:
        """What the properties file says beyond names and addresses."""
        consumer = {f"consumer.{key}": value for key, value in CONSUMER.items()}
        producer = {f"producer.{key}": value for key, value in PRODUCER.items()}
        own = {"tasks.max": str(self.tasks), "heap": f"{self.heap_mb} MB", "JVM": " ".join(JVM)}
        return own | consumer | producer

    def place(self, stage: Stage, number: int) -> TopicLog:
        """``bench<number>.<topic>`` on the target."""
        spec = self._spec(stage, number)
        return TopicLog(stage.target.brokers[0].data_path, spec.target_topic(stage.loaded.topic))

    @contextmanager
    def copy(self, stage: Stage, number: int) -> Iterator[MirrorMaker]:
        """A new source alias for each copy, so that MirrorMaker finds no offsets of an earlier one."""
        spec = self._spec(stage, number)
        try:
            with MirrorMaker.start(spec, stage.directory / "mirrormaker2") as mirror:
                yield mirror
        finally:
            delete_topic(stage.target, spec.target_topic(stage.loaded.topic))

    def _spec(self, stage: Stage, number: int) -> MirrorSpec:
        alias = f"bench{number}"
        settings = {f"{alias}.consumer.{key}": value for key, value in CONSUMER.items()}
        settings |= {f"copy.producer.{key}": value for key, value in PRODUCER.items()}
        return MirrorSpec(
            alias,
            stage.source.bootstrap,
            "copy",
            stage.target.bootstrap,
            stage.loaded.topic,
            tasks=self.tasks,
            heap_mb=self.heap_mb,
            jvm_options=JVM,
            settings=settings,
        )
