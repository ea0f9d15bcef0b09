"""What a restart would read: which stored offsets count, for what, and what speaks against any rewrite at all.

L is the newest of offsets/, C of commits/. With C = L the next batch begins where offsets/L ends. With C < L batch L is
run again from the end of the file before it, or from sources/<i>/0, to its own end.
Source: ``MicroBatchExecution.scala``, ``AsyncProgressTrackingMicroBatchExecution.scala`` of sql/core.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from anabranch.checkpoints.position import OffsetRole, Position
from anabranch.checkpoints.spark.contents import Contents, initial_path
from anabranch.checkpoints.spark.kafka_offset import KafkaOffset
from anabranch.model.reasons import Reason, ReasonKind

REQUIRED = frozenset({OffsetRole.NEXT, OffsetRole.BATCH_START, OffsetRole.BATCH_END})
"""Roles that a restart depends on. The others are kept in order, and nothing hangs on them."""

STARTS = frozenset({OffsetRole.NEXT, OffsetRole.BATCH_START})
"""Roles of where the next start begins to read."""


@dataclass(frozen=True, slots=True)
class StoredSource:
    """The offset of one source in one file."""

    source: str
    path: str
    role: OffsetRole
    offset: KafkaOffset

    @property
    def location(self) -> str:
        """Where it is, for people."""
        return f"{self.path}, source {self.source}" if self.path.startswith("offsets") else self.path

    def positions(self) -> Iterator[Position]:
        """Each partition's."""
        for partition, offset in self.offset.positions.items():
            yield Position(self.source, partition, offset, self.role, self.location)


def stored(contents: Contents) -> tuple[StoredSource, ...]:
    """Every Kafka offset in the files that were read, required ones first in the order of the plan."""
    last = contents.last
    if last is None:
        return ()
    found: list[StoredSource] = []
    previous = contents.previous.file.by_id if contents.previous is not None else {}
    for source in last.file.sources:
        here = source.kafka
        before = previous.get(source.source)
        earlier = before.kafka if before is not None else None
        directory = contents.directories.get(source.source)
        initial = contents.initials.get(directory) if directory is not None else None
        again = contents.uncommitted is not None
        begun = earlier if again else here
        if here is not None:
            found.append(
                StoredSource(source.source, last.path, OffsetRole.BATCH_END if again else OffsetRole.NEXT, here)
            )
        if earlier is not None and contents.previous is not None:
            role = OffsetRole.BATCH_START if again else OffsetRole.PREVIOUS
            found.append(StoredSource(source.source, contents.previous.path, role, earlier))
        if initial is not None and directory is not None:
            role = OffsetRole.INITIAL
            if begun is None:
                role = OffsetRole.BATCH_START if again and here is not None else OffsetRole.NEXT
            found.append(StoredSource(source.source, initial_path(directory), role, initial.kafka))
    return tuple(found)


def required_positions(contents: Contents) -> tuple[Position, ...]:
    """The positions that a restart reads."""
    return tuple(position for each in stored(contents) if each.role in REQUIRED for position in each.positions())


def order_refusals(contents: Contents) -> Iterator[Reason]:
    """Reasons against a rewrite that lie in the files themselves, whatever the route."""
    layout, last = contents.layout, contents.layout.last
    if not layout.has_metadata:
        yield Reason(
            ReasonKind.LOG_ORDER,
            "there is no file metadata, so the query would get a new id and sinks that know batches by it would take "
            "all of them again",
            "bring the file back from a backup of the checkpoint",
            "metadata",
        )
    if last is None or contents.last is None:
        what = "commits/ has batches and offsets/ has none" if layout.commits else "no batch was begun yet"
        fix = "bring offsets/ back from a backup" if layout.commits else "start the query on the new cluster"
        yield Reason(ReasonKind.LOG_ORDER, f"{what}: there is no position to move", fix, "offsets")
        return
    if layout.committed is not None and layout.committed > last:
        yield Reason(
            ReasonKind.LOG_ORDER,
            f"batch {layout.committed} is committed and the newest of offsets/ is {last}: Spark would run batch {last} "
            "again in silence",
            "bring the missing files of offsets/ back from a backup",
            f"commits/{layout.committed}",
        )
    if last > 0 and layout.previous is None:
        yield Reason(
            ReasonKind.LOG_ORDER,
            f"offsets/{last} is the only one; a restart needs the file before it too",
            f"bring offsets/{last - 1} back from a backup",
            f"offsets/{last}",
        )
    if layout.previous is not None and (layout.committed is None or layout.committed < layout.previous):
        newest = "none is committed" if layout.committed is None else f"batch {layout.committed} is the last committed"
        yield Reason(
            ReasonKind.LOG_ORDER,
            f"batches {layout.previous} and {last} have begun and {newest}: where a restart begins depends on the "
            "query's mode (real-time mode goes back to the committed one)",
            "start the query once on the old cluster until a batch is committed",
            f"offsets/{last}",
        )
    metadata = contents.last.file.metadata
    if metadata is None:
        yield Reason(
            ReasonKind.UNSUPPORTED,
            "the second line is empty, as continuous processing leaves it, where the newest epoch may have run",
            "start the query once with a trigger of micro-batches on the old cluster, and stop it",
            contents.last.path,
        )
    elif metadata.control and contents.uncommitted is not None:
        yield Reason(
            ReasonKind.UNSUPPORTED,
            f"batch {last} is one of Spark's own, which changes the checkpoint, and was not finished",
            "let Spark finish it on the old cluster",
            contents.last.path,
        )
    for path in contents.stale:
        yield Reason(
            ReasonKind.UNFINISHED,
            "the checksum beside it is of other bytes: it was changed by hand, or a rewrite broke off",
            "undo the rewrite; after a change of your own that is right, delete the file's .crc",
            path,
        )
    yield from _start_refusals(contents)


def _start_refusals(contents: Contents) -> Iterator[Reason]:
    """An uncommitted batch whose beginning is not known."""
    last, previous = contents.last, contents.previous
    if last is None or contents.uncommitted is None:
        return
    if previous is not None and [each.source for each in previous.file.sources] != [
        each.source for each in last.file.sources
    ]:
        yield Reason(
            ReasonKind.AMBIGUOUS,
            f"batch {last.number} was not committed and has other sources than the file before it",
            "finish the batch on the old cluster",
            last.path,
        )
        return
    begun = {each.source for each in stored(contents) if each.role is OffsetRole.BATCH_START}
    for source in last.file.sources:
        if source.kafka is not None and source.source not in begun and (previous is not None or last.number == 0):
            yield Reason(
                ReasonKind.LOG_ORDER,
                f"batch {last.number} was not committed, and where source {source.source} begins in it is not known: "
                "neither the file before it nor sources/ has it",
                "finish the batch on the old cluster",
                last.path,
            )
