"""MirrorMaker 2 in dedicated mode, tuned for throughput; exactly-once where a row asks for it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from benchmarks.logs import TopicLog
from benchmarks.systems import Stage, delete_topics
from qa.mm2 import MirrorMaker, MirrorSpec

NAME = "mirrormaker2"
EXACTLY_ONCE = "mirrormaker2-eos"
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
# Connect refuses to promise it for a source that is read uncommitted.  A single dedicated worker leads its own group
# and fences by itself; the internal REST server is there for several.
EXACTLY_ONCE_CONSUMER = {"isolation.level": "read_committed"}
EXACTLY_ONCE_WORKER = {"exactly.once.source.support": "enabled"}


@dataclass(frozen=True, slots=True)
class RunningMirror:
    """Connect's JVM at work."""

    mirror: MirrorMaker

    @property
    def pid(self) -> int:
        """Of the JVM, which does all the copying."""
        return self.mirror.pid

    @property
    def worker(self) -> str:
        """The JVM."""
        return "java"

    def check(self) -> None:
        """Raise ``SandboxProcessError`` with the end of its log if it has ended."""
        self.mirror.check()


@dataclass(frozen=True, slots=True)
class MirrorMakerSystem:
    """One Connect worker; offset syncs, checkpoints and heartbeats are on, as by default.

    ``tuned`` False leaves Kafka's defaults, which are meant for latency.
    """

    tasks: int = 2
    heap_mb: int = 2048
    exactly_once: bool = False
    tuned: bool = True

    @property
    def name(self) -> str:
        """As in the table."""
        return EXACTLY_ONCE if self.exactly_once else NAME

    @property
    def settings(self) -> dict[str, str]:
        """What the properties file says beyond names and addresses."""
        consumer = {f"consumer.{key}": value for key, value in self._consumer.items()}
        own = {"tasks.max": str(self.tasks), "heap": f"{self.heap_mb} MB", "JVM": " ".join(JVM)}
        return own | consumer | self._worker

    def place(self, stage: Stage, number: int) -> TopicLog:
        """``bench<number>.<topic>`` on the target."""
        spec = self._spec(stage, number)
        return TopicLog(stage.target.brokers[0].data_path, spec.target_topic(stage.loaded.topic))

    @contextmanager
    def copy(self, stage: Stage, number: int) -> Iterator[RunningMirror]:
        """A new source alias for each copy, so that MirrorMaker finds no offsets of an earlier one."""
        spec = self._spec(stage, number)
        try:
            with MirrorMaker.start(spec, stage.directory / NAME) as mirror:
                yield RunningMirror(mirror)
        finally:
            delete_topics(stage.target, rf"{spec.source_alias}\..*|mm2-.*\.{spec.source_alias}\.internal")

    @property
    def _consumer(self) -> dict[str, str]:
        return (CONSUMER if self.tuned else {}) | (EXACTLY_ONCE_CONSUMER if self.exactly_once else {})

    @property
    def _worker(self) -> dict[str, str]:
        producer = {f"producer.{key}": value for key, value in PRODUCER.items()} if self.tuned else {}
        return producer | (EXACTLY_ONCE_WORKER if self.exactly_once else {})

    def _spec(self, stage: Stage, number: int) -> MirrorSpec:
        alias = f"bench{number}"
        settings = {f"{alias}.consumer.{key}": value for key, value in self._consumer.items()}
        settings |= {f"copy.{key}": value for key, value in self._worker.items()}
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
