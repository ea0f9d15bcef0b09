"""From a fetch's answer to batches that wait to be sent.

Where offsets without a record lie between, a gap record is made to be written ahead, one for each lane and answer.
"""

from __future__ import annotations

from typing import NamedTuple

from anabranch.copier.lane.active import ActiveOwnership
from anabranch.copier.lane.epochs import EpochTrail
from anabranch.copier.lane.fetched import FetchedBatch, PendingGapRecord
from anabranch.copier.lane.lane import Lane
from anabranch.copier.source.joining import joined, read_joining
from anabranch.kafka import fetch
from anabranch.kafka.frames import Frame
from anabranch.protocol.endings import Stop
from anabranch.protocol.gap_records import GapRecord, OffsetSpan
from anabranch.protocol.reading import Reading, read
from anabranch.records.errors import OldFormatError


class QueuedAnswer(NamedTuple):
    """Whether an answer brought something to send, and the gap record that some of it waits for, if any."""

    has_batches: bool
    gap: tuple[GapRecord, PendingGapRecord] | None


def enqueue(lane: Lane, active: ActiveOwnership, answer: fetch.Fetched, frame: Frame) -> QueuedAnswer:
    """Queue what an answer brought; its gap record is to be written by the caller, before anything else is done."""
    fetched = lane.fetched
    across = fetched.is_mapped  # what identity has joined, it could not fill
    if fetched.joins:
        found = read_joining(answer.records, fetched.fetch_offset, answer.aborted, across_gaps=across)
    else:
        found = read(answer.records, fetched.fetch_offset, answer.aborted)
    note_epochs(fetched.epochs, fetched.fetch_offset, found)
    pending: PendingGapRecord | None = None
    spans: list[OffsetSpan] = []
    sequence = fetched.next_sequence
    for batch in joined(found.batches, across_gaps=across) if fetched.joins else found.batches:
        if pending is None and fetched.needs_gap_record(batch.spans):
            pending, sequence = PendingGapRecord(), fetched.next_sequence
        if pending is not None:
            spans += batch.spans
        kept = None if batch.owned else frame
        fetched.has_joined = fetched.has_joined or (fetched.joins and batch.owned)
        fetched.put(FetchedBatch(batch.view, batch.at, batch.header, kept, batch.spans, pending))
    fetched.passed(found.fetch_offset, found.epoch)
    gap = None if pending is None else (fetched.gap_record(active.ownership, sequence, spans), pending)
    if found.fault is not None and lane.drained:
        # Else what is queued is sent first; then the same bytes are met again with nothing before them.
        fault = found.fault
        if isinstance(fault, OldFormatError):
            lane.stop_at(Stop.OLD_FORMAT, max(fault.offset, fetched.fetch_offset), fault.message, fault.hint)
        else:
            lane.stop_at(Stop.CORRUPT, fetched.fetch_offset, fault.message, fault.hint)
    return QueuedAnswer(bool(found.batches), gap)


def note_epochs(trail: EpochTrail, fetch_offset: int, found: Reading) -> None:
    """Remember under which epochs an answer was written; epochs only rise, so mostly its two ends tell it all."""
    if found.fetch_offset == fetch_offset:
        return
    if not found.batches or found.batches[0].header.leader_epoch == found.epoch:
        trail.note(found.epoch, fetch_offset, found.fetch_offset)
        return
    for batch in found.batches:
        trail.note(batch.header.leader_epoch, fetch_offset, batch.end)
        fetch_offset = batch.end
    if fetch_offset < found.fetch_offset:
        trail.note(found.epoch, fetch_offset, found.fetch_offset)
