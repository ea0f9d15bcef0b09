"""Feeds the flights of 2013 to a sandbox cluster, at a chosen rate or as fast as it goes.

It goes through the cluster's plain inner listener, so that one way serves clusters of every security, and a stalled
proxy does not stop the producers.  The producer is idempotent and waits for all replicas: every record that is counted
is in the log once.

Run as a process of its own (``python -m anabranch.sandbox.replay JSON``) it prints its counts every second and, ended
by SIGTERM, flushes what it has sent and prints the last ones.
"""

from __future__ import annotations

import json
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial

import google_crc32c
import kafka.codec
from cramjam import lz4
from kafka import KafkaAdminClient, KafkaProducer
from kafka.admin import NewTopic
from kafka.errors import InvalidConfigurationError, KafkaError, TopicAlreadyExistsError
from kafka.partitioner.default import murmur2
from kafka.record import default_records

from anabranch.errors import ClusterError
from anabranch.sandbox.flights import FlightRecord, data_directory, records
from anabranch.sandbox.replay_plan import ReplayPlan, ReplayReport

# Old timestamps would fall to retention at once, and are refused where the distance to now is limited.
KEEP = {"retention.ms": "-1", "retention.bytes": "-1"}
ANY_TIME = {"message.timestamp.before.max.ms": str(2**63 - 1), "message.timestamp.after.max.ms": str(2**63 - 1)}
# Before 3.6 (KIP-937) both limits were one.
ANY_TIME_BEFORE_3_6 = {"message.timestamp.difference.max.ms": str(2**63 - 1)}

_OUTSTANDING = 50_000
# Without a rate, the clock and the bound are looked at once in so many records.
_UNPACED = 64
_PACE_SECONDS = 0.02
_TOPIC_SECONDS = 120.0
_BATCH_BYTES = 128 * 1024


@dataclass(eq=False)
class ReplayError(ClusterError):
    """A cluster refused the replay's topics or records."""

    bootstrap: str
    problem: str

    _message = "replay into {bootstrap} failed: {problem}"
    _hint = "run: anabranch sandbox status"


def replay(
    bootstrap: str,
    plan: ReplayPlan | None = None,
    *,
    stopped: Callable[[], bool] = lambda: False,
    progress: Callable[[ReplayReport], None] | None = None,
) -> ReplayReport:
    """Feed a cluster through its inner bootstrap addresses until the plan is done or ``stopped`` says so.

    Returns when all that was sent is acknowledged.  ``progress`` is called about once a second.  Raises
    ``ReplayError``, ``MissingProgramError``, ``InvalidFieldError``.
    """
    plan = plan or ReplayPlan()
    directory = data_directory()
    records(directory, plan.topics)
    _use_native_codecs()
    try:
        counts = _make_topics(bootstrap, plan)
        with _Feed(bootstrap, plan, counts, progress) as feed:
            while True:
                for record in records(directory, plan.topics):
                    if stopped() or (plan.limit is not None and feed.sent >= plan.limit):
                        return feed.finish()
                    feed.send(record, stopped)
                if not plan.loop:
                    return feed.finish()
    except KafkaError as error:
        raise ReplayError(bootstrap, str(error)) from error


def _use_native_codecs() -> None:
    """Give kafka-python the CRC and LZ4 that Anabranch depends on anyway.

    Without a C library that it knows, kafka-python computes CRC-32C in Python (10,000 records/s instead of 50,000) and
    has no LZ4.  The results are the same bytes on the wire; nothing else in a process depends on these names.
    """

    def compress(payload: bytes) -> bytes:
        packer = lz4.Compressor(content_checksum=False, block_linked=False)
        packer.compress(payload)
        return bytes(packer.finish())

    default_records.calc_crc32c = lambda view: google_crc32c.value(bytes(view))
    if not kafka.codec.has_lz4():
        kafka.codec.lz4framed = lz4
        default_records.lz4_encode = compress


def _make_topics(bootstrap: str, plan: ReplayPlan) -> dict[str, int]:
    """Create the topics that are missing; returns the partition count of each."""
    admin = KafkaAdminClient(bootstrap_servers=bootstrap)
    try:
        for topic in plan.topics:
            _make_topic(admin, topic, plan.partitions)
        deadline = time.monotonic() + _TOPIC_SECONDS
        while True:
            described = admin.describe_topics(list(plan.topics))
            counts = {topic["name"]: len(topic["partitions"]) for topic in described}
            # A topic that has just been made is described without partitions until its broker has heard of it.
            if all(counts.get(topic) for topic in plan.topics):
                return counts
            if time.monotonic() > deadline:
                raise ReplayError(bootstrap, f"its new topics have no partitions after {_TOPIC_SECONDS:g} s")
            time.sleep(_PACE_SECONDS)
    finally:
        admin.close()


def _make_topic(admin: KafkaAdminClient, topic: str, partitions: int) -> None:
    for any_time in (ANY_TIME, ANY_TIME_BEFORE_3_6):
        try:
            admin.create_topics([NewTopic(topic, partitions, -1, topic_configs=KEEP | any_time)])
            return
        except TopicAlreadyExistsError:
            return
        except InvalidConfigurationError:
            if any_time is ANY_TIME_BEFORE_3_6:
                raise


@cache
def _hash(key: bytes) -> int:
    return int(murmur2(key)) & 0x7FFFFFFF


class _Feed:
    """The producer with its pace, its bound on unacknowledged records and its counts."""

    def __init__(
        self,
        bootstrap: str,
        plan: ReplayPlan,
        partitions: dict[str, int],
        progress: Callable[[ReplayReport], None] | None,
    ) -> None:
        self.sent = 0
        self._plan = plan
        self._partitions = partitions
        self._progress = progress
        self._bootstrap = bootstrap
        self._started = self._reported = time.monotonic()
        # Only the producer's one sender thread writes these two.
        self._acknowledged = dict.fromkeys(plan.topics, 0)
        self._failures: list[BaseException] = []
        self._producer = KafkaProducer(
            bootstrap_servers=bootstrap,
            compression_type=plan.compression,
            batch_size=_BATCH_BYTES,
            linger_ms=50,
            delivery_timeout_ms=600_000,
            metrics_enabled=False,
        )

    def __enter__(self) -> _Feed:
        return self

    def __exit__(self, *_: object) -> None:
        self._producer.close(timeout=5)

    def send(self, record: FlightRecord, stopped: Callable[[], bool]) -> None:
        """Send one record when its time has come; raises ``ReplayError`` once any record has failed."""
        self._hold_back(stopped)
        count = self._partitions[record.topic]
        # Records without a key go round by their number; Kafka's own hash of 4,000 keys is computed once each.
        partition = (self.sent if record.key is None else _hash(record.key)) % count
        future = self._producer.send(
            record.topic,
            record.value,
            record.key,
            list(record.headers),
            partition=partition,
            timestamp_ms=record.timestamp_ms,
        )
        future.add_callback(partial(self._count, record.topic))
        future.add_errback(self._failures.append)
        self.sent += 1

    def finish(self) -> ReplayReport:
        """Wait for every acknowledgement; raises ``ReplayError`` if a record failed."""
        self._producer.flush()
        self._raise_failure()
        report = self._report()
        if self._progress is not None:
            self._progress(report)
        return report

    def _hold_back(self, stopped: Callable[[], bool]) -> None:
        if self._plan.rate is None and self.sent % _UNPACED:
            return
        while not stopped():
            now = time.monotonic()
            if self._progress is not None and now - self._reported >= 1:
                self._reported = now
                self._progress(self._report())
            self._raise_failure()
            allowed = self._plan.rate is None or self.sent < (now - self._started) * self._plan.rate
            if allowed and self.sent - sum(self._acknowledged.values()) < _OUTSTANDING:
                return
            time.sleep(_PACE_SECONDS)

    def _report(self) -> ReplayReport:
        return ReplayReport(dict(self._acknowledged), time.monotonic() - self._started)

    def _count(self, topic: str, _: object) -> None:
        self._acknowledged[topic] += 1

    def _raise_failure(self) -> None:
        if self._failures:
            raise ReplayError(self._bootstrap, str(self._failures[0]))


def main(arguments: Sequence[str]) -> None:
    """Replay as the JSON object says (``bootstrap`` and all fields of ``ReplayPlan``), until done or SIGTERM."""
    options = json.loads(arguments[0])
    bootstrap = options.pop("bootstrap")
    end = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: end.set())

    def show(report: ReplayReport) -> None:
        print(json.dumps({"records": report.records, "seconds": round(report.seconds, 3)}), flush=True)

    options["topics"] = tuple(options["topics"])
    replay(bootstrap, ReplayPlan(**options), stopped=end.is_set, progress=show)


if __name__ == "__main__":
    main(sys.argv[1:])
