"""Write the Flink fixtures anew: ``python -m tests.flink.generate [VERSION ...]`` (all versions without an argument).

Each is a savepoint or checkpoint of a real job on a real Kafka cluster, written by Flink alone, with ``expected.json``
beside it: the next offset of every partition as the job's own operators told it at that very snapshot.
Flink writes absolute paths into some of them, so they are written under ``/srv/flink`` and stored from there.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from anabranch.sandbox import ClusterSpec, SandboxCluster
from qa.flink.jobs import VERSIONS, Flink, Job, Version
from qa.timeouts import TIMEOUT_S

GOLDEN = Path(__file__).parents[1] / "golden" / "flink"
ROOT = Path("/srv/flink")
LONG = "orders." + "long-name." * 10 + "end"
BEGIN_MS = 1_700_000_000_000
# Next offsets by topic and partition: how many records there are.
TOPICS: Mapping[str, tuple[int, ...]] = {
    "orders": (40, 45, 50, 0),
    "payments": (12, 7),
    "t": (5, 6),
    LONG: (9, 3),
    "flood": (3000, 3000),
    "uneven": (4, 400),
}
# Their records are of years ago, which the default retention would delete after half a minute.
_KEPT = {"retention.ms": "-1"}
_STATES = (b"SourceReaderState", b"topic-partition-offset-states", b"streaming_committer_raw_states")


@dataclass(frozen=True, slots=True)
class Fixture:
    """A job, how it ends, and which versions can write it; ``form`` is of a savepoint, None leaves a checkpoint."""

    name: str
    sources: Sequence[Mapping[str, Any]]
    records: int
    form: str | None = "CANONICAL"
    conf: Mapping[str, str] = field(default_factory=dict)
    parallelism: int = 1
    slow_ms: int = 0
    sink: bool = False
    needs: Callable[[Version], bool] = lambda version: True


def source(uid: str, *topics: str, **more: Any) -> dict[str, Any]:
    """A KafkaSource's specification, without its servers."""
    return {"uid": uid, "topics": list(topics), **more}


def _recent(version: Version) -> bool:
    return version.number >= "1.20"


def _rocks(version: Version) -> bool:
    return version.number in ("1.20.3", "2.2.0")


ORDERS = source("orders-source", "orders")
PAYMENTS = source("payments-source", "payments")
OLD = source("orders-source", "orders", "t", LONG, kind="legacy")
ALL_ORDERS = sum(TOPICS["orders"])
_AT_END = "at-end"
_COMPRESSED = {"execution.checkpointing.snapshot-compression": "true"}
_MERGED = {"execution.checkpointing.file-merging.enabled": "true"}
_UNALIGNED = {
    "execution.checkpointing.unaligned": "true",
    "execution.checkpointing.unaligned.enabled": "true",
    "execution.checkpointing.aligned-checkpoint-timeout": "0ms",
    "taskmanager.memory.segment-size": "4kb",
    "taskmanager.network.memory.buffers-per-channel": "2",
    "taskmanager.network.memory.floating-buffers-per-gate": "2",
}
_FILES = {"execution.checkpointing.data-inline-threshold": "0b", "state.storage.fs.memory-threshold": "0b"}
_ROCKS = {"state.backend.type": "rocksdb", "execution.checkpointing.incremental": "true"}

FIXTURES = (
    Fixture("canonical", [ORDERS], ALL_ORDERS),
    Fixture("native", [ORDERS], ALL_ORDERS, "NATIVE", parallelism=2),
    Fixture("retained", [ORDERS, PAYMENTS], ALL_ORDERS + 19, None),
    Fixture("names", [source("orders-source", "t", LONG)], 23, parallelism=3),
    Fixture("files", [ORDERS], ALL_ORDERS, None, _FILES, parallelism=2),
    Fixture("exactly-once", [ORDERS], ALL_ORDERS, sink=True, parallelism=2),
    Fixture("old-consumer", [OLD], ALL_ORDERS + 23, None, parallelism=2, needs=lambda version: version.old_consumer),
    # FlinkKafkaConsumer is stopped before its snapshot, which is empty then; before 1.18 the stop fails (FLINK-28758).
    Fixture(
        "old-consumer-stopped",
        [OLD],
        ALL_ORDERS + 23,
        parallelism=2,
        needs=lambda version: version.old_consumer and _recent(version),
    ),
    Fixture("unaligned", [source("flood-source", "flood")], 60, None, _UNALIGNED, parallelism=2, slow_ms=20),
    Fixture("finished", [source("payments-source", "payments", bounded="latest"), ORDERS], ALL_ORDERS + 19, None),
    Fixture(
        "partly-finished", [source("uneven-source", "uneven", bounded="latest", slow_ms=20)], 40, None, parallelism=2
    ),
    Fixture(
        "markers",
        [
            source("from-earliest", "orders"),
            source("from-latest", "payments", **{"from": "latest"}),
            source("from-committed", "t", group=_AT_END, **{"from": "committed"}),
        ],
        ALL_ORDERS,
    ),
    Fixture("numbers", [source("numbers-source", kind="numbers", slow_ms=20), ORDERS], ALL_ORDERS + 50),
    Fixture(
        "hybrid",
        [source("hybrid-source", kind="hybrid", first=source("", "payments", bounded="latest"), then=source("", "t"))],
        30,
    ),
    Fixture("compressed", [source("orders-source", "orders", LONG)], ALL_ORDERS + 12, conf=_COMPRESSED, needs=_recent),
    Fixture("compressed-files", [ORDERS, PAYMENTS], ALL_ORDERS + 19, None, _COMPRESSED | _FILES, needs=_recent),
    Fixture("merged", [ORDERS], ALL_ORDERS, None, _MERGED | _FILES, parallelism=2, needs=_recent),
    Fixture("merged-unaligned", [ORDERS], ALL_ORDERS, None, _MERGED | _UNALIGNED, parallelism=2, needs=_recent),
    Fixture("incremental", [ORDERS], ALL_ORDERS, None, _ROCKS, parallelism=2, needs=_rocks),
    Fixture("native-rocksdb", [ORDERS], ALL_ORDERS, "NATIVE", _ROCKS, needs=_rocks),
    Fixture(
        "changelog",
        [ORDERS],
        ALL_ORDERS,
        None,
        {
            "state.changelog.enabled": "true",
            "state.backend.changelog.enabled": "true",
            "state.changelog.storage": "memory",
            "state.backend.changelog.storage": "memory",
        },
        needs=_rocks,
    ),
    Fixture(
        "dynamic",
        [{"uid": "dynamic-source", "kind": "dynamic", "clusters": {"east": ["orders", "t"], "west": ["payments"]}}],
        ALL_ORDERS + 30,
        parallelism=2,
        needs=lambda version: version.dynamic_source,
    ),
)


def fill(cluster: SandboxCluster) -> None:
    """Every topic, with as many records as it says."""
    admin = AdminClient(cluster.client_config())
    made = admin.create_topics(
        [NewTopic(name, len(counts), 1, config=_KEPT) for name, counts in {**TOPICS, "out": (0,)}.items()]
    )
    for done in made.values():
        done.result()
    producer = Producer(cluster.client_config() | {"enable.idempotence": True})
    for topic, counts in TOPICS.items():
        for partition, count in enumerate(counts):
            for n in range(count):
                key, text = f"{topic[:8]}-{partition}-{n % 2}", f"{partition}/{n}"
                producer.produce(topic, text, key, partition, timestamp=BEGIN_MS + n * 100)
    assert producer.flush(TIMEOUT_S) == 0
    group = Consumer(cluster.client_config() | {"group.id": _AT_END})
    ends = [TopicPartition("t", partition, count) for partition, count in enumerate(TOPICS["t"])]
    group.commit(offsets=ends, asynchronous=False)
    group.close()


def with_servers(spec: Mapping[str, Any], servers: str) -> dict[str, Any]:
    """A source's specification for a cluster."""
    made = dict(spec) | {"bootstrap": servers}
    if "clusters" in spec:
        made["clusters"] = {name: {"bootstrap": servers, "topics": topics} for name, topics in spec["clusters"].items()}
    for part in ("first", "then"):
        if part in spec:
            made[part] = with_servers(spec[part], servers)
    return made


def write(flink: Flink, cluster: SandboxCluster, fixture: Fixture) -> None:
    """Run the job, end it as the fixture wants, and store what Flink wrote."""
    base = ROOT / flink.version.number / fixture.name
    shutil.rmtree(base, ignore_errors=True)
    base.mkdir(parents=True)
    conf = flink.version.conf() | dict(fixture.conf)
    sink = {"bootstrap": cluster.bootstrap, "topic": "out", "uid": "out-sink"}
    if fixture.form is None or fixture.sink:
        conf |= flink.version.retained(base)
    job = flink.start(
        fixture.name,
        [with_servers(spec, cluster.bootstrap) for spec in fixture.sources],
        conf,
        parallelism=fixture.parallelism,
        slow_ms=fixture.slow_ms,
        sink=sink | {"prefix": f"{flink.version.number}-{fixture.name}"} if fixture.sink else None,
    )
    flink.wait_records(job, fixture.records)
    if fixture.form is None:
        place = flink.complete_checkpoint(job, base)
        number = int(place.name.removeprefix("chk-"))
    else:
        place = flink.stop(job, base, fixture.form)
        number = max(line["checkpoint"] for line in job.of("snapshot"))
    store(base, GOLDEN / flink.version.number / fixture.name, place, told(flink.version, fixture, job, number))


def told(version: Version, fixture: Fixture, job: Job, number: int) -> dict[str, Any]:
    """What the job itself knows of the snapshot."""
    return {
        "flink": version.number,
        "connector": version.connector,
        "kind": "checkpoint" if fixture.form is None else f"savepoint {fixture.form.lower()}",
        "checkpoint": number,
        "parallelism": fixture.parallelism,
        "sources": {
            spec["uid"]: {
                "kind": spec.get("kind", "kafka"),
                "topics": spec.get("clusters") or spec["topics"],
                "next": dict(sorted(job.positions(number).get(spec["uid"], {}).items())),
            }
            for spec in fixture.sources
        },
        "partitions": {name: len(counts) for name, counts in TOPICS.items()},
        "sink": "out-sink" if fixture.sink else None,
    }


def store(base: Path, golden: Path, place: Path, expected: Mapping[str, Any]) -> None:
    """``_metadata`` and the files that hold operator state; keyed state is nothing that anyone reads here."""
    shutil.rmtree(golden, ignore_errors=True)
    for path in _wanted(base, place):
        kept = golden / path.relative_to(base)
        kept.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, kept)
    whole = dict(expected) | {"written_under": str(base), "path": str(place.relative_to(base))}
    (golden / "expected.json").write_text(json.dumps(whole, indent=2, sort_keys=True) + "\n")


def _wanted(base: Path, place: Path) -> Iterator[Path]:
    for path in sorted(base.rglob("*")):
        if path.is_file() and (path == place / "_metadata" or _holds_operator_state(path)):
            yield path


def _holds_operator_state(path: Path) -> bool:
    return path.name != "_metadata" and any(name in path.read_bytes() for name in _STATES)


def main(arguments: Sequence[str]) -> None:
    """Every fixture of the named versions; ``VERSION:NAME`` for one."""
    wanted = [part.partition(":") for part in arguments] or [(number, "", "") for number in VERSIONS]
    with SandboxCluster.start(ClusterSpec("flink")) as cluster, tempfile.TemporaryDirectory() as logs:
        fill(cluster)
        for number, _, name in wanted:
            with Flink(VERSIONS[number], Path(logs) / f"{number}.log") as flink:
                for fixture in FIXTURES:
                    if fixture.needs(flink.version) and name in ("", fixture.name):
                        try:
                            write(flink, cluster, fixture)
                            print(number, fixture.name, "ok", flush=True)
                        except AssertionError as error:
                            print(number, fixture.name, "FAILED", str(error)[-1500:], flush=True)
    shutil.rmtree(ROOT, ignore_errors=True)


if __name__ == "__main__":
    main(sys.argv[1:])
