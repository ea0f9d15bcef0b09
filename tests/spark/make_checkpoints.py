"""Make the fixtures of tests/golden/spark again: by real Spark, against a real cluster.

    python -m tests.spark.make_checkpoints OUT [PYTHON VERSION JARS]...

The first set is of the pyspark of this environment; each further one needs the Python of an environment with another
release, the release's number, and a directory with the jars of its Kafka source. Of state, files of more than 2 KiB
and checksums are left out.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pyspark
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from anabranch.sandbox import SandboxCluster
from anabranch.sandbox.jars import runtime_jars
from anabranch.sandbox.spec import ClusterSpec
from qa.verify_lab import CONNECTOR

ALWAYS = ("stateless", "windowed", "uncommitted", "twice")
MORE = {
    "4.1": ("first_batch", "mixed", "pattern", "old_source", "rocksdb", "asynchronous", "continuous"),
    "4.0": ("rocksdb",),
    "4.2": ("rocksdb", "mapped", "named"),
    "4.3": ("rocksdb", "mapped", "named"),
}
TOPICS = {"flights": 3, "weather.reports": 1}
_RECORDS = 8
_BEGIN_MS = 1_760_000_000_000
_LARGEST = 2048


def fill(bootstrap: str) -> None:
    """Make the topics, each partition with a few records."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    config = {"retention.ms": "-1"}
    wanted = [NewTopic(name, count, 1, config=config) for name, count in TOPICS.items()]
    for future in admin.create_topics(wanted).values():
        future.result()
    producer = Producer({"bootstrap.servers": bootstrap})
    for topic, partitions in TOPICS.items():
        for partition in range(partitions):
            for number in range(_RECORDS + partition):
                key = f"{topic}-{number % 3}"
                at = _BEGIN_MS + 30_000 * number
                producer.produce(topic, b"value %d" % number, key, partition, timestamp=at)
    producer.flush()


def keep(made: Path, to: Path) -> None:
    """Copy a checkpoint without large files."""
    for file in sorted(made.rglob("*")):
        in_state = "state" in file.relative_to(made).parts
        if in_state and (file.name.endswith(".crc") or file.stat().st_size > _LARGEST):
            continue
        if file.is_file():
            target = to / file.relative_to(made)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, target)


def make(out: str, sets: Sequence[tuple[str, str, str]]) -> None:
    """Make each set: a Python, its release of Spark, and the directory of its jars."""
    with SandboxCluster.start(ClusterSpec("checkpoints")) as cluster, tempfile.TemporaryDirectory() as scratch:
        bootstrap = cluster.internal_bootstrap
        fill(bootstrap)
        for python, version, directory in sets:
            names = (*ALWAYS, *MORE.get(".".join(version.split(".")[:2]), ()))
            paths = ",".join(str(jar) for jar in sorted(Path(directory).glob("*.jar")))
            place = Path(scratch) / version
            place.mkdir()
            script = Path(__file__).with_name("queries.py")
            for name in names:
                done = subprocess.run(
                    [python, str(script), bootstrap, paths, str(place), name], check=False, cwd=scratch
                )
                if done.returncode:
                    print(version, name, "could not be made", file=sys.stderr)
                    continue
                shutil.rmtree(Path(out) / version / name, ignore_errors=True)
                keep(place / name, Path(out) / version / name)


def main(out: str, *others: str) -> None:
    """Make the set of this environment, and those that are named."""
    here = (sys.executable, pyspark.__version__, str(runtime_jars(CONNECTOR)))
    make(out, [here, *zip(others[::3], others[1::3], others[2::3], strict=True)])


if __name__ == "__main__":
    main(*sys.argv[1:])
