"""The page of a savepoint or checkpoint: all that can be read of it without Flink, and without any keyed state."""

from __future__ import annotations

import re
from collections.abc import Sequence

from anabranch.checkpoints.flink import old_consumer, properties, versions
from anabranch.checkpoints.flink.committables import TransactionalSink
from anabranch.checkpoints.flink.keyed import NO_CHANNELS, NO_KEYED
from anabranch.checkpoints.flink.metadata import Operator, SavepointMetadata
from anabranch.checkpoints.flink.source import Source, SourceKind, label
from anabranch.checkpoints.job import BatchPage, CheckpointFormat, OperatorPage, Page, SourcePage
from anabranch.checkpoints.ports import FileEntry
from anabranch.checkpoints.position import OffsetRole, SymbolicOffset

CHECKPOINT = re.compile(r"chk-(\d{1,18})")
STOPPED = (
    "`flink stop` ends the old consumer before it stores where it is: a savepoint so taken has no positions, or those "
    f"of an earlier checkpoint; {old_consumer.INSTEAD}"
)
_JOB = re.compile(r"(?:^|/)(?:([0-9a-f]{32})/chk-\d+|savepoint-([0-9a-f]{6})-[0-9a-f]+)/*$")


def make(
    root: str,
    metadata: SavepointMetadata,
    sources: tuple[Source, ...],
    sinks: tuple[TransactionalSink, ...],
    written_at_ms: int,
    checkpoints: Sequence[tuple[int, FileEntry]],
) -> Page:
    """Put the page together; ``checkpoints`` are the directories of the job's others, by number."""
    kind = properties.kind(metadata.properties)
    reading = {source.id: source for source in sources}
    found = _JOB.search(root)
    return Page(
        format=CheckpointFormat.FLINK,
        engine=versions.engine(metadata, sources),
        versions=versions.formats(metadata, sources),
        job=next((group for group in found.groups() if group), "") if found else "",
        number=metadata.checkpoint_id,
        written_at_ms=written_at_ms,
        watermark_ms=None,
        timeline=_timeline(metadata, written_at_ms, checkpoints),
        sources=tuple(_source(one) for one in sources),
        operators=tuple(_operator(one, reading.get(one.hex)) for one in metadata.operators),
        uncommitted=None,
        sinks=tuple(sink.text for sink in sinks),
        notes=(*([f"a {kind}"] if kind else []), *_notes(metadata, sources, kind)),
    )


def _source(source: Source) -> SourcePage:
    problems = source.problems if source.stale is None else (*source.problems, source.stale)
    return SourcePage(source.id, source.label, source.kind.value, source.positions(), problems)


def _timeline(
    metadata: SavepointMetadata, written_at_ms: int, checkpoints: Sequence[tuple[int, FileEntry]]
) -> tuple[BatchPage, ...]:
    # A checkpoint under way has a directory before it has a _metadata; only ours is known to be complete.
    own = metadata.checkpoint_id
    others = [
        BatchPage(number, entry.modified_ms or None, number < own) for number, entry in checkpoints if number != own
    ]
    return tuple(sorted((*others, BatchPage(own, written_at_ms, True)), key=lambda one: one.number))


def _operator(operator: Operator, source: Source | None) -> OperatorPage:
    subtasks = operator.subtasks or ()
    kinds = [] if source is None else [f"source: {source.kind.value}"]
    if operator.subtasks is None or (subtasks and all(subtask.finished for subtask in subtasks)):
        kinds.append("finished")
    if any(subtask.keyed != (NO_KEYED, NO_KEYED) for subtask in subtasks):
        kinds.append("keyed state")
    if any(subtask.managed is not None and subtask.managed.states for subtask in subtasks):
        kinds.append("operator state")
    if any(subtask.channels != (NO_CHANNELS, NO_CHANNELS) for subtask in subtasks):
        kinds.append("in-flight records")
    kind = ", ".join(kinds) or "no state"
    return OperatorPage(operator.hex, label(operator), kind, operator.parallelism, operator.size)


def _notes(metadata: SavepointMetadata, sources: tuple[Source, ...], kind: str) -> tuple[str, ...]:
    notes = [f"{source.label}: {problem.what}" for source in sources for problem in _source(source).problems]
    for source in sources:
        positions = source.positions()
        markers = sum(isinstance(one.offset, SymbolicOffset) for one in positions)
        if markers:
            what = "1 offset is a marker" if markers == 1 else f"{markers:,} offsets are markers"
            notes.append(f"{source.label}: {what}, which a restart would look up again")
        waiting = sum(one.role is OffsetRole.UNASSIGNED for one in positions)
        if waiting:
            what = "1 partition was" if waiting == 1 else f"{waiting:,} partitions were"
            notes.append(
                f"{source.label}: {what} found and not handed out yet; the program chooses where such a one begins"
            )
        if any(one.role is OffsetRole.STOP for one in positions):
            notes.append(f"{source.label}: bounded; Flink does not end such a source after a restart (FLINK-31006)")
        if source.kind is SourceKind.OLD:
            notes.append(f"{source.label}: Flink 2.0 has no FlinkKafkaConsumer; Flink 1.20 is the last to restore it")
            notes.append(f"{source.label}: {STOPPED}")
    if metadata.version < 4:
        notes.append("this version of the format does not say whether it is a savepoint")
    if kind == "checkpoint":
        notes.append("a checkpoint belongs to its job, which may delete it; a savepoint is safer to move")
    return tuple(notes)
