"""What a read-committed fetch brought, as batches that another cluster takes: the same for every kind of log.

Most batches are passed on as they lie in the answer.  What no consumer sees is dropped: control batches, records
of aborted transactions, offsets whose records the cleaner took.  What no broker would take, or take as something
else, is written again with the same records: batches with gaps, batches cut by the fetch offset, batches that carry
the source broker's clock.

Invariants
    R1  every offset from the fetch offset to the next one is in exactly one span or in exactly one of the
        counts ``aborted``, ``compacted`` and ``control``.
    R2  nothing is dropped on the word of bytes whose CRC was not checked.  A batch that is passed on as it is, is
        checked where it is sent; a gap between two batches is believed, as by every consumer.
    R3  spans rise, within a batch and from batch to batch.

Source: KIP-98; ``CompletedFetch.java`` in Apache Kafka.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from anabranch.protocol.gap_records import OffsetSpan
from anabranch.records.control import ControlType, marker_of
from anabranch.records.decode import decode
from anabranch.records.encode import MAGIC, encode
from anabranch.records.errors import CorruptBatchError, OldFormatError
from anabranch.records.header import (
    CONTROL,
    HEADER_SIZE,
    LOG_APPEND_TIME,
    TRANSACTIONAL,
    BatchHeader,
    Codec,
    read_header,
)
from anabranch.records.join import UnjoinableError, join
from anabranch.records.patch import check_crc
from anabranch.records.record import Record
from anabranch.records.split import split


class Copyable(NamedTuple):
    """A dense batch of the producer's timestamps, to be patched and sent.

    It lies at ``at`` in the writable ``view``: a buffer of its own if ``owned``, else the answer's.  ``header`` is
    as in the bytes, but for ``base_offset`` and ``leader_epoch``, which are the source's.  ``spans`` say which
    source offsets its records have; ``end`` is the source offset after the batch that they came from, or after
    its last record where that batch had to be split and more of it follows.
    """

    view: memoryview
    at: int
    header: BatchHeader
    spans: tuple[OffsetSpan, ...]
    end: int
    owned: bool


class Reading(NamedTuple):
    """What to send, and where to fetch next: all below ``fetch_offset`` is in ``batches`` or was dropped for good.

    The counts are offsets: of aborted batches whole, with the gaps in them.  ``fault`` is the first thing that
    cannot be read; what is before it is good, and ``fetch_offset`` stands before it.  ``epoch`` is the leader epoch of
    the batch that ends at ``fetch_offset``, dropped or not, -1 where nothing was read: a fetch from there that named an
    older one would be told of a truncation that never was.
    """

    batches: tuple[Copyable, ...]
    fetch_offset: int
    aborted: int
    compacted: int
    control: int
    fault: CorruptBatchError | OldFormatError | None
    epoch: int


def read(
    records: memoryview, fetch_offset: int, aborted: Sequence[tuple[int, int]], *, from_inside: bool = True
) -> Reading:
    """Turn one partition's answer, fetched from ``fetch_offset`` with isolation level 1, into batches to send.

    ``aborted`` are the answer's (producer id, first offset) in any order.  A batch that has to be written again and
    then exceeds its former size is split until it fits or holds one record.  An answer begins with the batch that
    ``fetch_offset`` is inside of; not so ``from_inside`` of an answer, behind batches that were read already.
    """
    batches, fault = _split(records)
    transactions = _Transactions(aborted)
    first_fetch_offset, epoch = fetch_offset if from_inside else -1, -1
    dropped_aborted = dropped_compacted = dropped_control = 0
    copied: list[Copyable] = []
    append, new = copied.append, tuple.__new__
    special = CONTROL | LOG_APPEND_TIME | (TRANSACTIONAL if aborted else 0)
    for at, header in batches:
        base_offset, _, leader_epoch, _, _, attributes, delta, _, _, _, _, _, count = header
        if count == delta + 1 and count > 0 and base_offset >= fetch_offset and not attributes & special:
            # Nearly every batch; the tuples are made as in ``split``, the other loop that each batch passes.
            end = base_offset + count
            spans = (new(OffsetSpan, (base_offset, count)),)
            append(new(Copyable, (records, at, header, spans, end, False)))
            dropped_compacted += base_offset - fetch_offset
            fetch_offset, epoch = end, leader_epoch
            continue
        end = base_offset + delta + 1
        try:
            if delta < 0 or (base_offset < fetch_offset and fetch_offset != first_fetch_offset):
                raise CorruptBatchError(base_offset, f"it ends at {end - 1:,} and follows offset {fetch_offset - 1:,}")
            gap, span = max(0, base_offset - fetch_offset), end - max(base_offset, fetch_offset)
            if attributes & CONTROL:
                check_crc(records, at, header)
                transactions.end(records, at, header)
                dropped_control += max(0, span)
            elif attributes & TRANSACTIONAL and transactions.has_aborted(header):
                check_crc(records, at, header)
                dropped_aborted += max(0, span)
            elif span <= 0:
                continue
            elif count == delta + 1 and base_offset >= fetch_offset and not attributes & LOG_APPEND_TIME:
                append(Copyable(records, at, header, (OffsetSpan(base_offset, count),), end, False))
            else:
                rewritten = _restamped(records, at, header, fetch_offset)
                rewritten = rewritten or list(_written_again(records, at, header, fetch_offset))
                copied += rewritten
                dropped_compacted += span - sum(one.header.count for one in rewritten)
        except CorruptBatchError as error:
            fault = error
            break
        if span > 0:
            dropped_compacted += gap
            fetch_offset, epoch = end, leader_epoch
    return Reading(tuple(copied), fetch_offset, dropped_aborted, dropped_compacted, dropped_control, fault, epoch)


class _Transactions:
    """Which producers are inside a transaction that was aborted, as the log is walked.

    Invariant: whoever is asked about a batch has been shown the control batches before it, in order.
    """

    __slots__ = ("_active", "_waiting")

    def __init__(self, aborted: Sequence[tuple[int, int]]) -> None:
        self._waiting = sorted(aborted, key=lambda one: one[1], reverse=True)
        self._active: set[int] = set()

    def has_aborted(self, header: BatchHeader) -> bool:
        """Whether a transactional batch belongs to an aborted transaction."""
        waiting, last = self._waiting, header.base_offset + header.last_offset_delta
        while waiting and waiting[-1][1] <= last:
            self._active.add(waiting.pop()[0])
        return header.producer_id in self._active

    def end(self, records: memoryview, at: int, header: BatchHeader) -> None:
        """Take notice of a control batch; only an abort of a producer that is waited for is looked into."""
        if self.has_aborted(header) and marker_of(records, at, header) is ControlType.ABORT:
            self._active.discard(header.producer_id)


def _split(
    records: memoryview,
) -> tuple[list[tuple[int, BatchHeader]], CorruptBatchError | OldFormatError | None]:
    """The batches before the first one that cannot be determined by its header, and what is wrong with that one."""
    try:
        return split(records), None
    except (CorruptBatchError, OldFormatError) as error:
        good = 0
        while good + HEADER_SIZE <= len(records):
            header = read_header(records, good)
            if header.magic != MAGIC or header.size < HEADER_SIZE or good + header.size > len(records):
                break
            good += header.size
        return split(records[:good]), error


def _restamped(records: memoryview, at: int, header: BatchHeader, fetch_offset: int) -> list[Copyable]:
    """A whole batch with its broker's time at every record; empty where it is no such batch, or would be too large.

    A third of the time of taking its records apart, for logs in which every batch is such a one.
    """
    if not (header.is_dense and header.is_log_append_time and header.count and header.base_offset >= fetch_offset):
        return []
    try:
        view = memoryview(join([(records, at, header)]))
    except UnjoinableError:
        return []
    if len(view) > header.size:
        return []
    as_read = read_header(view)._replace(base_offset=header.base_offset, leader_epoch=header.leader_epoch)
    spans = (OffsetSpan(header.base_offset, header.count),)
    return [Copyable(view, 0, as_read, spans, header.last_offset + 1, True)]


def _written_again(records: memoryview, at: int, header: BatchHeader, fetch_offset: int) -> Iterator[Copyable]:
    """The records of one batch from ``fetch_offset`` on, dense, with the timestamps that consumers see."""
    check_crc(records, at, header)
    if header.count == 0 and header.size == HEADER_SIZE:
        return  # the cleaner emptied it and kept the header for its producer's sake
    kept = [record for record in decode(records, at, header) if record.offset >= fetch_offset]
    try:
        pieces = list(_encoded(kept, header.codec, header.size)) if kept else []
    except ValueError as error:
        raise CorruptBatchError(header.base_offset, str(error)) from error
    for held, encoded in pieces:
        view = memoryview(encoded)
        as_read = read_header(view)._replace(base_offset=held[0].offset, leader_epoch=header.leader_epoch)
        end = header.last_offset + 1 if held[-1] is kept[-1] else held[-1].offset + 1
        yield Copyable(view, 0, as_read, _spans(held), end, True)


def _encoded(records: list[Record], codec: Codec, limit: int) -> Iterator[tuple[list[Record], bytearray]]:
    encoded = bytearray(encode(records, codec=codec))
    if len(encoded) <= limit or len(records) == 1:
        yield records, encoded
        return
    half = len(records) // 2
    yield from _encoded(records[:half], codec, limit)
    yield from _encoded(records[half:], codec, limit)


def _spans(records: Sequence[Record]) -> tuple[OffsetSpan, ...]:
    found: list[OffsetSpan] = []
    source = end = records[0].offset
    for record in records:
        if record.offset != end:
            found.append(OffsetSpan(source, end - source))
            source = record.offset
        end = record.offset + 1
    found.append(OffsetSpan(source, end - source))
    return tuple(found)
