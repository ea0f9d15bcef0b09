"""Consumers in a group, as applications have them: librdkafka of either protocol, and Kafka's own console consumer.

What they read is recorded record by record; what they committed is the broker's to say.
"""

from __future__ import annotations

import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from anabranch.sandbox.jars import class_path, java_program
from qa.faults.ledger import Place
from qa.logcompare import ComparedRecord, entry_of
from qa.moves.readings import Readings, Reads
from qa.timeouts import LONG_TIMEOUT_S, SCALE, TIMEOUT_S

RUNTIME = "kafka-4.3.1"
_MAIN_CLASS = "org.apache.kafka.tools.consumer.ConsoleConsumer"
_ENDS_S = LONG_TIMEOUT_S
_COMMIT_S = 10.0 * SCALE
# As long as a machine may stand still: who is expelled reads again from its last commit.
_SESSION_MS = 45_000
_LEAVES_S = TIMEOUT_S


class GroupReader:
    """A consumer of librdkafka that subscribes and reads in a thread of its own, until it is ``left``.

    ``protocol`` is ``classic`` or ``consumer`` (KIP-848).  It commits what it has read now and then, with a note as
    metadata.
    """

    def __init__(self, config: Mapping[str, Any], group: str, topic: str, protocol: str) -> None:
        settings: dict[str, Any] = {
            **config,
            "group.id": group,
            "group.protocol": protocol,
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "enable.partition.eof": True,
            "isolation.level": "read_committed",
            "reconnect.backoff.max.ms": 500,
            "log_level": 0,
        }
        if protocol == "classic":
            settings["session.timeout.ms"] = _SESSION_MS
        self._settings = settings
        self._topic = topic
        self._leave = threading.Event()
        self._commit_all = True
        self._readings = Readings()
        self._at_end: set[Place] = set()
        self._rounds = 0
        self.failure: Exception | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    @property
    def count(self) -> int:
        """Records read so far."""
        return sum(len(entries) for entries in list(self.reads.values()))

    @property
    def reads(self) -> Reads:
        """What was read; complete once it has left."""
        return self._readings.reads

    @property
    def rounds(self) -> int:
        """How often it has asked for records."""
        return self._rounds

    @property
    def rewinds(self) -> int:
        """How often a partition began again at the group's own last commit."""
        return self._readings.rewinds

    def has_reached(self, ends: Mapping[Place, bytes | None]) -> bool:
        """Whether it stands at the end of each of these partitions, with the record of this digest, if any, read.

        To stand at the end is not enough where a log may still grow; to have read the last record is not enough where
        that was before, on another cluster: what a wrong position has read again would then not be waited for.
        """
        return self._at_end.issuperset(ends) and all(
            digest is None or ends_with(self.reads.get(partition, ()), digest) for partition, digest in ends.items()
        )

    def leave(self, *, committing: bool) -> None:
        """Commit everything read, or nothing since the last commit, and leave the group."""
        self._commit_all = committing
        self._leave.set()
        self._thread.join(_LEAVES_S)
        if self._thread.is_alive():
            raise RuntimeError(f"a consumer did not leave its group within {_LEAVES_S:.0f} s")
        if self.failure is not None:
            raise self.failure

    def _run(self) -> None:
        try:
            self._consume()
        except Exception as error:
            self.failure = error

    def _consume(self) -> None:
        from confluent_kafka import Consumer, KafkaException

        consumer = Consumer(self._settings)
        consumer.subscribe([self._topic], on_assign=self._given)
        committed = time.monotonic()
        try:
            while not self._leave.is_set():
                self._readings.begin()
                for message in consumer.consume(500, 0.2):
                    partition = message.topic(), message.partition()
                    if message.error() is None:
                        self._at_end.discard(partition)
                        self._readings.add(partition, entry_of(message))
                    elif message.error().code() == _AT_END:
                        self._at_end.add(partition)
                    elif not message.error().retriable() and message.error().code() not in _PASSING:
                        raise KafkaException(message.error())
                self._rounds += 1
                if time.monotonic() - committed > 0.7:
                    self._commit(consumer, 0.0)
                    committed = time.monotonic()
            if self._commit_all:
                self._commit(consumer, _COMMIT_S)
        finally:
            consumer.close()

    def _given(self, _: Any, partitions: list[Any]) -> None:
        for one in partitions:
            self._at_end.discard((one.topic, one.partition))
            self._readings.give((one.topic, one.partition))

    def _commit(self, consumer: Any, patience: float) -> None:
        """Commit what was read; without patience it is tried once, and then with what is read later."""
        from confluent_kafka import KafkaException, TopicPartition

        offsets = [
            TopicPartition(topic, partition, entries[-1].offset + 1, metadata=f"read {len(entries)}")
            for (topic, partition), entries in self.reads.items()
            if entries
        ]
        deadline = time.monotonic() + patience
        while offsets:
            try:
                for one in consumer.commit(offsets=offsets, asynchronous=False):
                    if one.error is None:
                        self._readings.acknowledge((one.topic, one.partition), one.offset)
                return
            except KafkaException as error:
                if not patience:
                    return
                if time.monotonic() > deadline:
                    if error.args[0].code() in _EXPELLED:
                        return  # what counts is what the broker holds
                    raise
                time.sleep(0.5)


def ends_with(entries: Sequence[ComparedRecord], digest: bytes) -> bool:
    """Whether a record of this digest is among the last of those that were read."""
    return any(entry.digest == digest for entry in entries[-2000:])


_AT_END = -191

_PASSING = {-195, -187, -185, -192, 3}
"""Transport, all brokers down, timed out, message timed out, and a topic that is not known yet."""

_EXPELLED = {22, 25, 27, 82, 110, 113, -142, -144}
"""An old generation, an unknown member, a group in a rebalance, a fenced instance, a fenced or an old epoch
of a member, an assignment that was lost, and fenced by the client's own word: only who consumes on joins again."""


def read_by_console(
    bootstrap: str, group: str, topic: str, count: int, seconds: float = TIMEOUT_S
) -> set[tuple[int, int]]:
    """Have Java's console consumer read ``count`` records in a group and end, which commits its positions.

    Returns what it read, as (partition, offset).  For clusters without TLS and SASL.  Raises ``RuntimeError`` where
    it does not end.
    """
    with tempfile.TemporaryDirectory(prefix="anabranch-console-") as directory:
        output = Path(directory) / "out"
        with output.open("wb") as out, (Path(directory) / "err").open("wb") as err:
            process = subprocess.Popen(
                [
                    *(java_program(), "-Xmx256m", "-cp", class_path(RUNTIME), _MAIN_CLASS),
                    *("--bootstrap-server", bootstrap, "--topic", topic, "--group", group),
                    *("--max-messages", str(count), "--timeout-ms", str(int(seconds * 1000))),
                    *("--isolation-level", "read_committed"),
                    *("--command-property", "auto.offset.reset=earliest"),
                    *("--formatter-property", "print.partition=true", "--formatter-property", "print.offset=true"),
                    *("--formatter-property", "print.value=false"),
                ],
                stdout=out,
                stderr=err,
                stdin=subprocess.DEVNULL,
            )
            try:
                process.wait(seconds + _ENDS_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                raise RuntimeError(f"the console consumer of {group} did not end") from None
        return {_partition(line) for line in output.read_text(errors="replace").splitlines() if line.startswith("Part")}


def _partition(line: str) -> tuple[int, int]:
    """From ``Partition:0\tOffset:17``."""
    partition, offset = line.split("\t")[:2]
    return int(partition.partition(":")[2]), int(offset.partition(":")[2])
