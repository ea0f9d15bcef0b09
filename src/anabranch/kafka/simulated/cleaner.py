"""Compaction of one log: what the cleaner keeps, and what it leaves of a batch.

Source: ``Cleaner.java`` and ``CleanedTransactionMetadata.java`` in Apache Kafka, KIP-534 for the delete horizon.
"""

from __future__ import annotations

from google_crc32c import value as crc32c

from anabranch.kafka.simulated.log import SimulatedBatch, SimulatedLog
from anabranch.kafka.simulated.producers import ProducerStateManager
from anabranch.records.compression import compress
from anabranch.records.header import CODEC_MASK, CRC_START, DELETE_HORIZON, HEADER, HEADER_SIZE, LOG_OVERHEAD
from anabranch.records.record import Record
from anabranch.records.varint import write


def cleanable_end(log: SimulatedLog, now_ms: int, high_watermark: int) -> int:
    """Where the cleaner has to stop: at the newest segment, at an open transaction, at what is too young."""
    ends = [high_watermark, log.segments[-1].base if log.segments else 0]
    unstable = log.unstable(high_watermark)
    if unstable is not None:
        ends.append(unstable)
    lag = log.settings.number("min.compaction.lag.ms")
    if lag > 0:
        young = (
            segment.base
            for segment in log.segments
            if segment.base >= log.cleaned_to and segment.max_timestamp > now_ms - lag
        )
        ends += [next(young, log.end)]
    return min(ends)


def is_due(log: SimulatedLog, now_ms: int, end: int) -> bool:
    """Whether enough of the log is dirty, or some of it for too long."""
    if end <= max(log.cleaned_to, log.start):
        return False
    dirty = sum(len(one.data) for one in log.batches if log.cleaned_to <= one.header.base_offset < end)
    clean = sum(len(batch.data) for batch in log.batches if batch.header.base_offset < log.cleaned_to)
    if dirty and dirty / (dirty + clean) > float(log.settings.value("min.cleanable.dirty.ratio")):
        return True
    longest = log.settings.number("max.compaction.lag.ms")
    oldest = [segment for segment in log.segments if segment.base >= log.cleaned_to and segment.base < end]
    return bool(oldest) and now_ms - oldest[0].max_timestamp > longest


def clean(log: SimulatedLog, now_ms: int, high_watermark: int) -> bool:
    """Go over the log once, if there is something to do; returns whether it did."""
    if "compact" not in log.settings.policy:
        return False
    end = cleanable_end(log, now_ms, high_watermark)
    if not is_due(log, now_ms, end):
        return False
    latest = _latest(log, end)
    kept: list[SimulatedBatch] = []
    aborted = {(one.producer_id, one.first, one.last) for one in log.aborted}
    with_data: set[tuple[int, int]] = set()  # transactions of which data is left, by producer and marker
    for stored in log.batches:
        header = stored.header
        if header.base_offset >= end or stored.last < log.start:
            kept.append(stored)
        elif header.is_control:
            left = _marker(log, stored, now_ms, with_data)
            if left is not None:
                kept.append(left)
        else:
            marker = _marker_of(log, stored)
            if marker is not None and any(
                one[0] == header.producer_id and one[2] == marker and one[1] <= header.base_offset for one in aborted
            ):
                left = _emptied(stored, log.producers)
            else:
                left = _survivors(log, stored, latest, now_ms)
                if marker is not None and left is not None and left.header.count:
                    with_data.add((header.producer_id, marker))
            if left is not None:
                kept.append(left)
    log.replace(kept)
    log.cleaned_to = end
    return True


def _latest(log: SimulatedLog, end: int) -> dict[bytes, int]:
    """The newest offset of each key below ``end``, of what was not aborted."""
    latest: dict[bytes, int] = {}
    for stored in log.batches:
        header = stored.header
        if header.base_offset >= end:
            break
        if header.is_control or _is_aborted(log, stored):
            continue
        for record in stored.records():
            if record.key is not None:
                latest[record.key] = record.offset
    return latest


def _is_aborted(log: SimulatedLog, stored: SimulatedBatch) -> bool:
    header = stored.header
    return header.is_transactional and any(
        one.producer_id == header.producer_id and one.first <= header.base_offset < one.last for one in log.aborted
    )


def _marker_of(log: SimulatedLog, stored: SimulatedBatch) -> int | None:
    """The offset of the marker that ends a batch's transaction; None for a batch outside of any."""
    header = stored.header
    if not header.is_transactional:
        return None
    for other in log.batches:
        if (
            other.header.is_control
            and other.header.producer_id == header.producer_id
            and other.header.base_offset > header.base_offset
        ):
            return other.header.base_offset
    return None


def _marker(
    log: SimulatedLog, stored: SimulatedBatch, now_ms: int, with_data: set[tuple[int, int]]
) -> SimulatedBatch | None:
    """A marker stays while data of its transaction does, then for ``delete.retention.ms``."""
    header = stored.header
    if (header.producer_id, header.base_offset) in with_data:
        return stored
    if not header.has_delete_horizon:
        return _rewritten(stored, stored.records(), now_ms + log.settings.number("delete.retention.ms"))
    if header.base_timestamp > now_ms:
        return stored
    return _emptied(stored, log.producers)


def _survivors(
    log: SimulatedLog, stored: SimulatedBatch, latest: dict[bytes, int], now_ms: int
) -> SimulatedBatch | None:
    header = stored.header
    past = header.has_delete_horizon and header.base_timestamp <= now_ms
    records = stored.records()
    left = [
        record
        for record in records
        if record.key is not None
        and latest.get(record.key, -1) <= record.offset
        and not (record.value is None and past)
    ]
    if not left:
        return _emptied(stored, log.producers)
    needs_horizon = not header.has_delete_horizon and any(one.value is None for one in left)
    if len(left) == len(records) and not needs_horizon:
        return stored
    horizon = now_ms + log.settings.number("delete.retention.ms") if needs_horizon else None
    return _rewritten(stored, left, horizon)


def _emptied(stored: SimulatedBatch, producers: ProducerStateManager) -> SimulatedBatch | None:
    """A batch without records: nothing, unless a producer's newest sequence is known by it only."""
    entry = producers.entries.get(stored.header.producer_id)
    if entry is None or stored.header.is_control:
        return None
    if not entry.batches or entry.batches[-1].base_offset != stored.header.base_offset:
        return None
    return _rewritten(stored, [], None)


def _rewritten(stored: SimulatedBatch, records: list[Record], horizon: int | None) -> SimulatedBatch:
    """The batch with these records only: offsets, producer and maximum time stay."""
    header = stored.header
    base = header.base_timestamp if horizon is None else horizon
    attributes = header.attributes if horizon is None else header.attributes | DELETE_HORIZON
    if not records:
        attributes &= ~CODEC_MASK  # as DefaultRecordBatch.writeEmptyHeader does
    body = bytearray()
    for record in records:
        one = bytearray(1)
        write(one, (record.timestamp if not header.is_log_append_time else base) - base)
        write(one, record.offset - header.base_offset)
        for part in (record.key, record.value):
            _field(one, part)
        write(one, len(record.headers))
        for key, value in record.headers:
            _field(one, key.encode() if isinstance(key, str) else key)
            _field(one, value)
        write(body, len(one))
        body += one
    packed = compress(header.codec, bytes(body)) if records else b""
    made = header._replace(
        batch_length=HEADER_SIZE - LOG_OVERHEAD + len(packed),
        attributes=attributes,
        base_timestamp=base,
        count=len(records),
        crc=0,
    )
    head = HEADER.pack(*made)
    crc = crc32c(head[CRC_START:] + packed)
    made = made._replace(crc=crc)
    return SimulatedBatch(made, HEADER.pack(*made) + packed)


def _field(out: bytearray, data: bytes | None) -> None:
    if data is None:
        out.append(1)
    else:
        write(out, len(data))
        out += data
