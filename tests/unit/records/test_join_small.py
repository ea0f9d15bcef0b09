"""A row holds what cutting, checking and joining its batches one by one gives, and nothing of any other batch."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import pytest
from google_crc32c import value as crc32c
from hypothesis import given
from hypothesis import strategies as st

from anabranch.records.compression import compress
from anabranch.records.encode import body_of
from anabranch.records.header import (
    CONTROL,
    CRC_START,
    DELETE_HORIZON,
    HEADER,
    LOG_APPEND_TIME,
    LOG_OVERHEAD,
    TRANSACTIONAL,
    Codec,
    read_header,
)
from anabranch.records.join import join
from anabranch.records.join_small import JoinedBatch, join_small
from anabranch.records.record import Record, TimestampType
from anabranch.records.split import split

from .strategies import HEADERS, NULLABLE, oracle_read

pytestmark = pytest.mark.unit
CREATE = TimestampType.CREATE_TIME
MOST_BYTES, MOST_RECORDS = 700, 4
TIMES = st.integers(1_700_000_000_000, 1_700_000_000_300) | st.integers(-1, 2**50)
CONTENTS = st.tuples(TIMES, NULLABLE, NULLABLE, HEADERS)


@dataclass(frozen=True)
class Batch:
    """A batch of a log, from the offset ``gap`` behind the one before."""

    records: tuple[Record, ...]
    gap: int = 0
    epoch: int = 3
    attributes: int = 0
    gaps: int = 0
    broken: bool = False

    def stored(self, base: int) -> bytes:
        """As it lies in the log."""
        times = [record.timestamp for record in self.records]
        body = compress(Codec(self.attributes & 7), bytes(body_of(self.records, range(len(self.records)))))
        last = len(self.records) - 1 + self.gaps
        fields = (self.attributes, last, times[0], max(times), 9, 1, 7, len(self.records))
        out = bytearray(HEADER.pack(base, 49 + len(body), self.epoch, 2, 0, *fields) + body)
        out[17:21] = (crc32c(bytes(out[CRC_START:])) ^ self.broken).to_bytes(4, "big")
        return bytes(out)


def of(*records: tuple[int, bytes | None, bytes | None, tuple[tuple[str, bytes | None], ...]]) -> Batch:
    """A plain batch."""
    return Batch(tuple(Record(0, time, CREATE, key, value, headers) for time, key, value, headers in records))


PLAIN = st.builds(of, CONTENTS) | st.lists(CONTENTS, min_size=1, max_size=MOST_RECORDS).map(lambda some: of(*some))
KEPT = st.builds(lambda batch, gap: replace(batch, gap=gap), PLAIN, st.sampled_from([0, 0, 0, 0, 1, 70_000]))
OTHER = st.one_of(
    st.builds(
        lambda batch, bits: replace(batch, attributes=bits),
        PLAIN,
        st.sampled_from([*list(Codec)[1:], LOG_APPEND_TIME, TRANSACTIONAL, CONTROL, DELETE_HORIZON]),
    ),
    st.builds(lambda batch: replace(batch, epoch=4), PLAIN),
    st.builds(lambda batch: replace(batch, gaps=1), PLAIN),
    st.builds(lambda batch: replace(batch, broken=True), PLAIN),
    st.builds(lambda batch: replace(batch, gap=-1), PLAIN),
    st.lists(CONTENTS, min_size=MOST_RECORDS + 1, max_size=MOST_RECORDS + 2).map(lambda some: of(*some)),
    st.just(of((5, None, bytes(MOST_BYTES), ()))),
)


def row_of(buffer: bytes, offset: int = 0, *, across_gaps: bool = True) -> JoinedBatch | None:
    """The row with the limits of these tests."""
    return join_small(buffer, offset, most_bytes=MOST_BYTES, most_records=MOST_RECORDS, across_gaps=across_gaps)


@given(st.lists(KEPT, max_size=12), OTHER, st.lists(KEPT, max_size=2), st.booleans(), st.data())
def test_a_row_is_all_up_to_the_first_other_batch(
    plain: list[Batch], other: Batch, behind: list[Batch], across: bool, data: st.DataObject
) -> None:
    """Its records, read by kafka-python, at the offsets that the spans tell; any cut of the answer ends it."""
    at, start = 100, data.draw(st.integers(90, 100))
    stored, wanted = [], []
    for number, batch in enumerate([*plain, other, *behind]):
        at += batch.gap
        kept = number < len(plain) and len(batch.stored(at)) <= MOST_BYTES and len(wanted) == number
        if kept and (across or number == 0 or batch.gap == 0):
            wanted.append([record._replace(offset=at + n) for n, record in enumerate(batch.records)])
        stored.append(batch.stored(at))
        at += len(batch.records) + batch.gaps
    if not plain and (other.epoch == 4 or other.gap < 0):
        return  # neither another epoch nor a lower offset is a reason not to begin with it
    buffer = b"".join(stored)
    cut = data.draw(st.integers(0, len(buffer)) | st.just(len(buffer)))
    whole, end = 0, 0
    while whole < len(wanted) and end + len(stored[whole]) <= cut:
        end += len(stored[whole])
        whole += 1
    row = row_of(buffer[:cut], start, across_gaps=across)
    if not whole:
        assert row is None
        return
    assert row is not None
    records = [record for batch in wanted[:whole] for record in batch]
    offsets = [offset for first, length in row.spans for offset in range(first, first + length)]
    found = [record._replace(offset=n) for record, n in zip(oracle_read(row.joined), offsets, strict=True)]
    assert found == records
    parts = split(memoryview(buffer[:end]))
    assert row.joined == join([(memoryview(buffer), position, header) for position, header in parts])
    assert all(first + length < after for (first, length), (after, _) in pairwise(row.spans))
    assert (row.batches, row.size, row.end, row.leader_epoch) == (whole, end, records[-1].offset + 1, 3)
    header = read_header(row.joined)
    assert header.is_copyable
    assert (header.size, header.attributes, header.producer_id) == (len(row.joined), 0, -1)
    assert header.max_timestamp == max(record.timestamp for record in records)


def test_the_spans_of_a_row_are_where_its_records_lay() -> None:
    """One for all that follow each other, also of batches of several records on both sides of a gap."""
    one, two, three = (of(*((5, None, b"v", ()),) * count) for count in (1, 2, 3))
    stored = {10: two, 12: one, 20: three, 23: two, 30: one, 41: two}
    row = row_of(b"".join(batch.stored(at) for at, batch in stored.items()), 10)
    assert row is not None
    assert row.spans == [(10, 3), (20, 5), (30, 1), (41, 2)]
    assert row.end == 43


@given(st.lists(PLAIN, min_size=1, max_size=5), st.data())
def test_a_flipped_bit_ends_the_row_before_it(batches: list[Batch], data: st.DataObject) -> None:
    """Any bit of a batch under its CRC, or of it: what is before is joined, the batch itself is left for others."""
    batches = [batch for batch in batches if len(batch.stored(0)) <= MOST_BYTES] or [of((1, None, b"v", ()))]
    stored, at = [], 0
    for batch in batches:
        stored.append(batch.stored(at))
        at += len(batch.records)
    which = data.draw(st.integers(0, len(stored) - 1))
    bit = data.draw(st.integers(17 * 8, len(stored[which]) * 8 - 1))
    damaged = bytearray(stored[which])
    damaged[bit // 8] ^= 1 << bit % 8
    row = row_of(b"".join((*stored[:which], bytes(damaged), *stored[which + 1 :])))
    assert (row.batches if row else 0) == which


@given(st.binary(max_size=300), st.integers(0, 60), st.integers(0, 255), st.binary(max_size=80))
def test_no_bytes_make_it_raise_or_hang(noise: bytes, at: int, byte: int, body: bytes) -> None:
    """Noise, damaged headers, and bodies of anything under a right CRC: what is joined is what ``join`` makes of it."""
    good = of((5, b"k", b"v", ())).stored(0)
    damaged = bytearray(of((6, b"k", b"v", ())).stored(1))
    damaged[at] = byte
    odd = bytearray(HEADER.pack(1, 49 + len(body), 3, 2, 0, 0, 0, 5, 5, -1, -1, -1, 1) + body)
    odd[17:21] = crc32c(bytes(odd[CRC_START:])).to_bytes(4, "big")
    for buffer in (noise, good + noise, good + bytes(damaged) + good, good + bytes(odd) + good):
        row = row_of(buffer)
        assert (row is None) == (buffer is noise)
        if row is not None:
            parts = split(memoryview(buffer[: row.size]))
            assert row.joined == join([(memoryview(buffer), position, header) for position, header in parts])


@pytest.mark.parametrize(("length", "count"), [(48, 1), (-1, 1), (-(2**31), 1), (2**31 - 1, 1), (60, 0), (60, -1)])
def test_sizes_that_cannot_be_end_the_row(length: int, count: int) -> None:
    """A length below the header's own, or of more than there is, and a count of nothing."""
    good = of((5, b"k", b"v", ())).stored(0)
    bad = bytearray(of((5, b"k", b"v", ())).stored(1))
    bad[8:12], bad[57:61] = length.to_bytes(4, "big", signed=True), count.to_bytes(4, "big", signed=True)
    bad[23:27] = (count - 1).to_bytes(4, "big", signed=True)
    bad[17:21] = crc32c(bytes(bad[CRC_START : max(0, LOG_OVERHEAD + length)])).to_bytes(4, "big")
    row = row_of(good + bytes(bad))
    assert row is not None
    assert (row.batches, row.size) == (1, len(good))


def test_times_too_far_apart_end_the_row() -> None:
    """No batch can hold both."""
    batches = of((-(2**62) - 1, None, b"v", ())), of((2**62, None, b"v", ()))
    row = row_of(batches[0].stored(0) + batches[1].stored(1))
    assert row is not None
    assert row.batches == 1


def test_rows_of_thousands_number_their_records_on() -> None:
    """Numbers and lengths of one, two and three bytes, with times that rise and fall."""
    made = [
        Record(n, 5000 - n if n % 3 else n, CREATE, None, bytes(size % 190)) for n, size in enumerate(range(20_000))
    ]
    row = row_of(b"".join(Batch((record,)).stored(n) for n, record in enumerate(made)))
    assert row is not None
    assert oracle_read(row.joined) == made
    assert row.spans == [(0, 20_000)]
