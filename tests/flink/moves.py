"""A job that is moved: run on the old cluster, its checkpoint rewritten, and restored by real Flink on the new one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from anabranch.checkpoints.flink import open_checkpoint
from anabranch.checkpoints.flink.metadata import SavepointMetadata, Subtask, read_metadata
from anabranch.checkpoints.plan import RewriteSpec
from anabranch.model.reasons import Reason
from anabranch.model.topics import TopicPartition
from anabranch.sandbox import SandboxCluster
from anabranch.storage.opening import open_files
from qa.flink.jobs import Flink, Job
from tests.flink.copying import Copies, Given

METADATA = "_metadata"
WINDOW_MS = 2000
ORDERS = Given("orders", 4, 120, "moved.orders")
PAYMENTS = Given("payments", 2, 90, "p")
GIVEN = [ORDERS, PAYMENTS]
ALL = sum(one.partitions * one.records for one in GIVEN)
# Small fetches, so that all partitions of a source are in the middle when it is stopped.
IN_TURNS = {"max.partition.fetch.bytes": "256"}
ORDERS_UID, PAYMENTS_UID = "orders-source", "payments-source"

Seen = tuple[str, str, int]


@dataclass(frozen=True, slots=True)
class Output:
    """What a job tells: every record with its key's count, and every window that closed; sorted, nothing merged."""

    records: tuple[Seen, ...]
    windows: tuple[tuple[int, str, int, tuple[str, ...]], ...]

    @classmethod
    def of(cls, *jobs: Job) -> Output:
        """The outputs of jobs that went on from each other."""
        records = sorted((line["key"], line["text"], line["n"]) for job in jobs for line in job.records)
        windows = sorted(
            (line["start"], line["key"], line["n"], tuple(line["texts"])) for job in jobs for line in job.of("window")
        )
        return cls(tuple(records), tuple(windows))

    @property
    def duplicates(self) -> int:
        """Records that were seen before."""
        return sum(count - 1 for count in Counter((key, text) for key, text, _ in self.records).values())

    def up_to(self, later: Output) -> Output:
        """What a checkpoint holds of this: a job goes on after its last checkpoint, and what it did then is undone.

        ``later`` begins at the checkpoint, and its first count of each key tells how many records were before.
        """
        first: dict[str, int] = {}
        for key, _, n in later.records:
            first[key] = min(n, first.get(key, n))
        kept = tuple(one for one in self.records if one[2] < first.get(one[0], one[2] + 1))
        return replace(self, records=kept)

    def __add__(self, other: Output) -> Output:
        return Output(tuple(sorted(self.records + other.records)), tuple(sorted(self.windows + other.windows)))


def expected() -> tuple[Seen, ...]:
    """Every record with its count, from the data alone."""
    return tuple(sorted(_expected()))


def _expected() -> Iterator[Seen]:
    for one in GIVEN:
        for partition in range(one.partitions):
            for n in range(one.records):
                is_last = n == one.records - 1
                yield _key(one, partition, n), f"{partition}/{n}", 1 if is_last else n // 3 + 1


def left(place: Path) -> set[tuple[str, str]]:
    """Keys and texts of the records that are to be read from a checkpoint's positions on, from the data alone."""
    return {
        (_key(one, at.partition, n), f"{at.partition}/{n}")
        for one in GIVEN
        for at, begin in next_offsets(place, one.topic).items()
        for n in range(begin, one.records)
    }


def _key(one: Given, partition: int, n: int) -> str:
    return f"{one.topic}-{partition}-{'last' if n == one.records - 1 else n % 3}"


def sources(cluster: SandboxCluster, names: Mapping[str, str] | None = None, **more: Any) -> list[dict[str, Any]]:
    """Both sources on a cluster, under the copies' names where they are given; partitions are read in turns."""
    named = names or {}
    more = {"properties": IN_TURNS} | more
    return [
        {"uid": uid, "bootstrap": cluster.bootstrap, "topics": [named.get(one.topic, one.topic)], **more}
        for uid, one in ((ORDERS_UID, ORDERS), (PAYMENTS_UID, PAYMENTS))
    ]


def complete(job: Job, before: Job | None = None) -> bool:
    """Whether all records are seen, and every window closed but the last ones, which nothing follows."""
    lines = [*job.lines.values(), *(before.lines.values() if before else ())]
    counted = Counter(kind for kinds in lines for kind in (line["kind"] for line in kinds))
    in_windows = sum(line["n"] for kinds in lines for line in kinds if line["kind"] == "window")
    return counted["record"] >= ALL and in_windows >= ALL - sum(one.partitions for one in GIVEN)


def lasts(job: Job) -> int:
    """How many partitions were read to their last record; one that is read again counts again."""
    return sum(line["key"].endswith("-last") for line in job.records)


def rewrite(place: Path, copies: Copies, wish: RewriteSpec | None = None, to: Path | None = None) -> Path:
    """Rewrite a checkpoint in place, or into a new directory that refers to the files of the old one."""
    checkpoint = open_checkpoint(open_files(str(place)))
    assert checkpoint is not None
    made = checkpoint.rewrite(wish or RewriteSpec(), copies)
    assert made.refusals == (), made.refusals
    new = made.writes[METADATA]
    assert new is not None
    if to is None:
        (place / METADATA).write_bytes(new)
        return place
    to.mkdir(parents=True)
    (to / METADATA).write_bytes(checkpoint.relocated(new, str(place)))
    return to


def readers_only(place: Path, copies: Copies, to: Path) -> Path:
    """The half of a rewrite: the readers' state is new, every coordinator's is as it was."""
    old = parse(place)
    rewrite(place, copies, to=to)
    new, kept = parse(to), {one.id: one.coordinator for one in old.operators}
    halved = replace(new, operators=tuple(replace(one, coordinator=kept[one.id]) for one in new.operators))
    assert halved != new
    (to / METADATA).write_bytes(halved.emit())
    return to


def parse(place: Path) -> SavepointMetadata:
    """The ``_metadata`` of a checkpoint."""
    return read_metadata((place / METADATA).read_bytes(), str(place))


def everything(job: Job) -> bool:
    """Whether each record of the source was seen, also those from before a checkpoint."""
    given = {(key, text) for key, text, _ in expected()}
    return given <= {(line["key"], line["text"]) for line in job.records}


def wrong(flink: Flink, name: str, specs: Sequence[Mapping[str, Any]], place: Path, *, anew: bool = False) -> Output:
    """What a job tells that was restored from a checkpoint that was not rewritten as it must be.

    ``anew``: it takes its topics for new ones, perhaps only after its readers have come to the end of what they hold.
    """
    job = flink.start(name, specs, flink.version.conf(restore=place), window_ms=WINDOW_MS)
    partitions = sum(one.partitions for one in GIVEN)
    flink.wait(job, lambda seen: lasts(seen) >= partitions, "the last records")
    if anew:
        flink.wait(job, everything, "all records from the beginning")
    flink.watch(1.0)
    flink.cancel(job)
    return Output.of(job)


def finish(flink: Flink, job: Job, before: Job) -> None:
    """Wait until both together have told everything, look whether more comes, and end the job."""
    flink.wait(job, lambda seen: complete(seen, before), "all records and windows")
    flink.watch(1.0)
    flink.cancel(job)


def from_a_checkpoint(flink: Flink, begun: Job, job: Job) -> Output:
    """Run a restored job to its end: what the checkpoint holds of the job before it, and what this one tells."""

    def both(seen: Job) -> Output:
        later = Output.of(seen)
        return Output.of(begun).up_to(later) + later

    flink.wait(job, lambda seen: len(both(seen).records) >= ALL, "all records")
    flink.watch(1.0)
    flink.cancel(job)
    assert 0 < len(job.records) < ALL
    return both(job)


def unmoved_and_begun(flink: Flink, source: SandboxCluster, directory: Path) -> tuple[Output, Job, Path]:
    """What a job tells that is never moved, and one that was stopped in the middle, with its savepoint."""
    job = flink.start("unmoved", sources(source), flink.version.conf(), window_ms=WINDOW_MS)
    flink.wait(job, complete, "all records and windows")
    flink.cancel(job)
    begun = flink.start("begun", paced(sources(source)), flink.version.conf(), window_ms=WINDOW_MS)
    flink.wait_records(begun, ALL // 4)
    savepoint = flink.stop(begun, directory)
    assert lasts(begun) == 0, "stopped in the middle of every partition"
    return Output.of(job), begun, savepoint


def paced(specs: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Sources that take their time for each record, so that both would end at the same time, after some 24 seconds.

    A partition that was read to its end before a stop would hold back the windows behind the restore; a quarter of the
    records is there after six seconds, and a stop may take some more.
    """
    return [dict(spec) | {"slow_ms": 130 if spec["uid"] == PAYMENTS_UID else 48} for spec in specs]


def refusals(place: Path, copies: Copies) -> tuple[Reason, ...]:
    """Why a checkpoint is not rewritten as it is."""
    checkpoint = open_checkpoint(open_files(str(place)))
    assert checkpoint is not None
    return checkpoint.rewrite(RewriteSpec(), copies).refusals


def subtasks(place: Path) -> tuple[Subtask, ...]:
    """All subtasks' states of a checkpoint."""
    return tuple(subtask for operator in parse(place).operators for subtask in operator.subtasks or ())


def next_offsets(place: Path, topic: str) -> dict[TopicPartition, int]:
    """Where the partitions of a topic go on, as a savepoint holds it."""
    checkpoint = open_checkpoint(open_files(str(place)))
    assert checkpoint is not None
    found = {at.partition: at.offset for at in checkpoint.positions() if at.partition.topic == topic}
    return {partition: offset for partition, offset in found.items() if isinstance(offset, int)}
