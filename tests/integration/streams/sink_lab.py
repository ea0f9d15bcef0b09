"""What the tests of the exactly-once sink share: files to read, a job's process, and a reader of committed records."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, TopicPartition

from anabranch.sandbox import SandboxCluster
from qa.timeouts import LONG_TIMEOUT_S, TIMEOUT_S

FILES, LINES = 6, 2000
"""Two files are a batch; a line is its own number."""
BATCH = 2 * LINES
PARTITIONS = 3
_FIRST_S = 1_700_000_000


def make_lines(root: Path) -> None:
    """The files, in the order in which the source takes them."""
    directory = root / "lines"
    directory.mkdir(parents=True)
    for file in range(FILES):
        path = directory / f"{file}.txt"
        path.write_text("".join(f"{number}\n" for number in range(file * LINES, (file + 1) * LINES)))
        os.utime(path, (_FIRST_S + file, _FIRST_S + file))


def run_job(spec: Path, log: Path, timeout_s: float = LONG_TIMEOUT_S) -> int:
    """The exit code of one start of the application."""
    with start_job(spec, log) as job:
        try:
            return job.wait(timeout_s)
        finally:
            job.kill()


def start_job(spec: Path, log: Path) -> subprocess.Popen[bytes]:
    """One start of the application."""
    with log.open("ab") as out:
        return subprocess.Popen(
            [sys.executable, "-m", "tests.integration.streams.sink_job", str(spec)],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,
        )


def committed(cluster: SandboxCluster, topic: str, partitions: int = PARTITIONS) -> dict[int, list[tuple[bytes, int]]]:
    """What a reader of committed records reads of each partition up to its last stable offset: key and number."""
    consumer = Consumer(
        {
            **cluster.client_config(),
            "group.id": "reader",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "log_level": 0,
        }
    )
    found: dict[int, list[tuple[bytes, int]]] = {number: [] for number in range(partitions)}
    left = set(found)
    try:
        consumer.assign([TopicPartition(topic, number, OFFSET_BEGINNING) for number in found])
        while left:
            message = consumer.poll(TIMEOUT_S)
            assert message is not None, f"nothing more from partitions {left} of {topic}"
            error = message.error()
            if error is None:
                key, value = message.key(), message.value()
                assert isinstance(key, bytes) and isinstance(value, bytes)
                found[int(message.partition() or 0)].append((key, int(value)))
            elif error.name() == "_PARTITION_EOF":
                left.discard(int(message.partition() or 0))
            elif not error.retriable() and error.name() not in ("_TRANSPORT", "_ALL_BROKERS_DOWN"):
                raise KafkaException(error)
    finally:
        consumer.close()
    return found


def batches(found: Mapping[int, list[tuple[bytes, int]]]) -> Counter[int]:
    """How many records of each batch are there."""
    return Counter(number // BATCH for records in found.values() for _, number in records)


def is_whole(found: Mapping[int, list[tuple[bytes, int]]]) -> bool:
    """Whether each batch is there whole, or not at all."""
    return all(count == BATCH for count in batches(found).values())


def check_exact(found: Mapping[int, list[tuple[bytes, int]]]) -> None:
    """Each line is one record with its key, keys keep to one partition, and lines of a file keep their order in it."""
    numbers = sorted(number for records in found.values() for _, number in records)
    assert numbers == list(range(FILES * LINES)), _difference(numbers)
    homes: dict[bytes, set[int]] = defaultdict(set)
    for partition, records in found.items():
        last: dict[int, int] = {}
        for key, number in records:
            assert key == str(number % 40).encode()
            homes[key].add(partition)
            assert number > last.get(number // LINES, -1), f"{number} out of order in partition {partition}"
            last[number // LINES] = number
        assert [number // BATCH for _, number in records] == sorted(number // BATCH for _, number in records)
    assert all(len(places) == 1 for places in homes.values())


def _difference(numbers: list[int]) -> str:
    counted = Counter(numbers)
    missing = [number for number in range(FILES * LINES) if not counted[number]]
    repeated = [number for number, count in counted.items() if count > 1]
    return f"{len(missing)} are missing ({missing[:5]}), {len(repeated)} repeated ({repeated[:5]})"


def log_tail(log: Path) -> Iterator[str]:
    """The last lines of a job, for a failed assertion."""
    yield from log.read_text(errors="replace").splitlines()[-40:]
