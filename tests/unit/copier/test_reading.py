"""What a read-committed consumer sees is what is sent, at its offsets, whatever the log went through."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from functools import partial
from struct import Struct
from typing import NamedTuple

import cramjam
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.protocol import reading as module
from anabranch.protocol.reading import Reading, _encoded, read
from anabranch.records.decode import decode
from anabranch.records.encode import body_of, encode_as_logged, seal, seal_packed
from anabranch.records.errors import CorruptBatchError, OldFormatError
from anabranch.records.header import (
    CONTROL,
    DELETE_HORIZON,
    HEADER,
    LOG_APPEND_TIME,
    TRANSACTIONAL,
    Codec,
    read_header,
)
from anabranch.records.join import join
from anabranch.records.patch import check_and_patch, check_crc
from anabranch.records.record import Record, TimestampType
from tests.chance import examples

pytestmark = pytest.mark.unit
ABORT, COMMIT, OTHER = 0, 1, 5
CREATE, APPEND = TimestampType.CREATE_TIME, TimestampType.LOG_APPEND_TIME
MARKER_KEY = Struct(">hh")


def logged(
    base: int,
    records: list[Record],
    *,
    last: int | None = None,
    attributes: int = 0,
    producer: int = -1,
    clock: int = 0,
    epoch: int = 0,
) -> bytes:
    """A batch as it lies in a log: ``records`` are what is left of ``base`` to ``last``, perhaps nothing."""
    end = records[-1].offset if last is None else last
    if not records:
        head = (base, 49, epoch, 2, 0, attributes, end - base, -1, -1, producer, 0, 0, 0)
        return with_crc(bytearray(HEADER.pack(*head)))
    times = [record.timestamp for record in records]
    found = bytearray(
        seal(
            body_of(records, [record.offset - base for record in records]),
            count=len(records),
            last_offset_delta=end - base,
            timestamps=(times[0], clock if attributes & LOG_APPEND_TIME else max(times)),
            attributes=attributes,
            base_offset=base,
            producer=(producer, 0, 0),
        )
    )
    found[12:16] = epoch.to_bytes(4, "big", signed=True)
    return bytes(found)


def with_crc(batch: bytearray) -> bytes:
    """The batch with the CRC that its bytes have."""
    header = read_header(batch)
    try:
        check_crc(memoryview(batch), 0, header)
    except CorruptBatchError as error:
        batch[17:21] = int(error.reason.split()[3].rstrip(","), 16).to_bytes(4, "big")
    return bytes(batch)


def marker(offset: int, producer: int, kind: int) -> bytes:
    """A control batch."""
    record = Record(offset, 7, CREATE, MARKER_KEY.pack(0, kind), b"\0" * 6)
    transactional = TRANSACTIONAL if kind != OTHER else 0
    return logged(offset, [record], attributes=CONTROL | transactional, producer=producer)


def seen(reading: Reading) -> list[Record]:
    """The records to be sent, at the offsets that the spans say, as a target's consumer decodes them."""
    found: list[Record] = []
    for one in reading.batches:
        header = one.header
        assert header.is_copyable
        assert header.base_offset == one.spans[0].source
        assert one.end > one.spans[-1].end - 1
        view = memoryview(bytearray(one.view[one.at : one.at + header.size]))
        check_and_patch(view, 0, header, 5, 0, 77)
        records = decode(view, 0, read_header(view))
        offsets = [offset for source, length in one.spans for offset in range(source, source + length)]
        found += [record._replace(offset=offset) for record, offset in zip(records, offsets, strict=True)]
    return found


# -- the model -----------------------------------------------------------------------------------------


class Step(NamedTuple):
    """One thing that happens to a log: a batch of a producer (0: none), or the end of what a producer has open."""

    producer: int
    ends: int | None
    values: list[bytes | None]
    codec: Codec
    append_time: bool
    plain: bool


STEPS = st.builds(
    Step,
    st.integers(0, 3),
    st.sampled_from([None, None, None, ABORT, COMMIT]),
    st.lists(st.none() | st.binary(max_size=30), min_size=1, max_size=5),
    st.sampled_from(Codec),
    st.integers(0, 5).map(lambda n: n == 0),
    st.integers(0, 4).map(lambda n: n == 0),
)


@dataclass
class Transaction:
    """A producer's transaction; ``outcome`` is None while it is open."""

    producer: int
    first: int
    outcome: int | None = None
    end: int = -1


@dataclass
class Batch:
    """A batch of the log, with the transaction it belongs to, and its records before compaction."""

    base: int
    records: list[Record]
    attributes: int
    producer: int
    clock: int
    transaction: Transaction | None = None
    kind: int | None = None

    @property
    def last(self) -> int:
        return self.records[-1].offset


@dataclass
class SourceLog:
    """A log as brokers write it, from the steps of its writers."""

    batches: list[Batch] = field(default_factory=list)
    transactions: list[Transaction] = field(default_factory=list)
    end: int = 0

    def run(self, step: Step) -> None:
        """Append what a step says."""
        running = next((t for t in self.transactions if t.producer == step.producer and t.outcome is None), None)
        if step.ends is not None:
            kind = OTHER if running is None else step.ends
            record = Record(self.end, 7, CREATE, MARKER_KEY.pack(0, kind), b"\0" * 6)
            bits = CONTROL if running is None else CONTROL | TRANSACTIONAL
            self.batches.append(Batch(self.end, [record], bits, step.producer if running else -1, 0, running, kind))
            if running is not None:
                running.outcome, running.end = kind, self.end
            self.end += 1
            return
        transactional = bool(step.producer) and not step.plain
        if transactional and running is None:
            running = Transaction(step.producer, self.end)
            self.transactions.append(running)
        kind_of_time = APPEND if step.append_time else CREATE
        records = [
            Record(self.end + n, 1000 + 7 * (n % 3), kind_of_time, b"k%d" % n, value, ((f"h{n}", value),))
            for n, value in enumerate(step.values)
        ]
        bits = step.codec | (LOG_APPEND_TIME if step.append_time else 0) | (TRANSACTIONAL if transactional else 0)
        clock = 5000 + self.end
        owner = running if transactional else None
        self.batches.append(Batch(self.end, records, bits, step.producer or -1, clock, owner))
        self.end += len(records)

    @property
    def stable(self) -> int:
        """The last stable offset."""
        return min([t.first for t in self.transactions if t.outcome is None], default=self.end)

    def visible(self, gone: set[int]) -> list[Record]:
        """What a read-committed consumer sees, by definition: no walk over batches, no list of aborted ones."""
        return [
            record._replace(
                timestamp=batch.clock if batch.attributes & LOG_APPEND_TIME else record.timestamp,
                timestamp_type=CREATE,
            )
            for batch in self.batches
            for record in batch.records
            if batch.kind is None
            and record.offset < self.stable
            and record.offset not in gone
            and (batch.transaction is None or batch.transaction.outcome == COMMIT)
        ]

    def stored(self, gone: set[int], keep_empty: bool) -> list[tuple[int, bytes]]:
        """(last offset, bytes) of the batches below the last stable offset, after the cleaner took ``gone``."""
        found = []
        for batch in self.batches:
            if batch.base >= self.stable:
                break
            left = [record for record in batch.records if record.offset not in gone]
            if left or keep_empty:
                horizon = DELETE_HORIZON if len(left) != len(batch.records) else 0
                data = logged(
                    batch.base,
                    left,
                    last=batch.last,
                    attributes=batch.attributes | horizon,
                    producer=batch.producer,
                    clock=batch.clock,
                )
                found.append((batch.last, data))
        return found

    def aborted(self, position: int, end: int, gone: set[int]) -> list[tuple[int, int]]:
        """What a broker names for a fetch of [position, end); the cleaner forgets those whose marker it takes."""
        return [
            (t.producer, t.first)
            for t in self.transactions
            if t.outcome == ABORT and t.end >= position and t.first < end and t.end not in gone
        ]


@examples(400)
@given(st.integers(0, 30).flatmap(lambda n: st.lists(STEPS, min_size=n, max_size=n)), st.data())
def test_every_log_is_read_as_a_read_committed_consumer_does(steps: list[Step], data: st.DataObject) -> None:
    """Transactions, control batches, compaction, broker's clocks, any first position and any cut of the answers."""
    log = SourceLog()
    for step in steps:
        log.run(step)
    data_offsets = [record.offset for batch in log.batches if batch.kind is None for record in batch.records]
    gone = data.draw(st.sets(st.sampled_from(data_offsets)) if data_offsets else st.just(set()), label="gone")
    # A commit marker goes when it likes; an abort marker only after the data that it is about.
    for batch in log.batches:
        owner = batch.transaction
        own = {r.offset for b in log.batches if b.transaction is owner and b.kind is None for r in b.records}
        if batch.kind == COMMIT or (owner is not None and batch.kind == ABORT and own <= gone):
            gone |= {batch.base} if data.draw(st.booleans(), label="marker gone") else set()
    stored = log.stored(gone, data.draw(st.booleans(), label="empty batches stay"))
    first = position = data.draw(st.integers(0, log.stable), label="position")

    found: list[Record] = []
    dropped = 0
    while True:
        waiting = [(last, batch) for last, batch in stored if last >= position]
        if not waiting:
            break
        size = data.draw(st.integers(len(waiting[0][1]), sum(len(batch) for _, batch in waiting)), label="size")
        answer = memoryview(bytearray(b"".join(batch for _, batch in waiting)[:size]))
        aborted = log.aborted(position, log.stable, gone)
        reading = read(answer, position, data.draw(st.permutations(aborted), label="aborted"))
        assert reading.fault is None
        assert reading.fetch_offset > position
        position = reading.fetch_offset
        found += seen(reading)
        dropped += reading.aborted + reading.compacted + reading.control
        for one in reading.batches:
            assert one.end <= position
            largest = max(len(batch) for _, batch in stored)
            assert not one.owned or one.header.size <= largest or one.header.count == 1

    assert found == [record for record in log.visible(gone) if record.offset >= first]
    assert position - first == len(found) + dropped


# -- what each kind is -----------------------------------------------------------------------------------


def plain(base: int, count: int = 3, **more: int) -> bytes:
    """A dense batch."""
    return logged(base, [Record(base + n, 1000 + n, CREATE, b"k", b"v") for n in range(count)], **more)


def reading_of(*batches: bytes, position: int = 0, aborted: tuple[tuple[int, int], ...] = ()) -> Reading:
    """What one answer reads as."""
    return read(memoryview(bytearray(b"".join(batches))), position, aborted)


def test_a_dense_committed_batch_is_passed_on_where_it_lies() -> None:
    """No copy and no look at its records: the view is the answer's, even of a transactional batch."""
    batches = plain(0), plain(3, attributes=TRANSACTIONAL, producer=9), marker(6, 9, COMMIT)
    answer = memoryview(bytearray(b"".join(batches)))
    reading = read(answer, 0, ())
    assert [(one.view is answer, one.at, one.owned) for one in reading.batches] == [
        (True, 0, False),
        (True, len(batches[0]), False),
    ]
    assert [one.header.crc for one in reading.batches] == [read_header(batch).crc for batch in batches[:2]]
    assert (reading.fetch_offset, reading.control) == (7, 1)


def test_each_reason_to_drop_is_counted_by_offsets() -> None:
    """Aborted data, gaps between batches and inside them, emptied batches, control batches."""
    reading = reading_of(
        plain(0, attributes=TRANSACTIONAL, producer=9),
        marker(3, 9, ABORT),
        marker(4, -1, OTHER),
        plain(10),
        logged(13, [], last=15),
        logged(16, [Record(17, 1, CREATE, b"k", None), Record(19, 1, CREATE, b"k", b"v")], last=20),
        aborted=((9, 0),),
    )
    assert (reading.aborted, reading.control, reading.compacted) == (3, 2, 5 + 3 + 3)
    assert (reading.fetch_offset, reading.fault) == (21, None)
    assert [one.spans for one in reading.batches] == [((10, 3),), ((17, 1), (19, 1))]
    assert [one.end for one in reading.batches] == [13, 21]
    assert [(record.offset, record.value) for record in seen(reading)[3:]] == [(17, None), (19, b"v")]


def test_a_producer_that_commits_after_an_abort_is_seen_again() -> None:
    """The abort marker ends the one transaction; what the same producer wrote outside of any is never dropped."""
    reading = reading_of(
        plain(0, attributes=TRANSACTIONAL, producer=9),
        plain(3, producer=9),
        marker(6, 9, ABORT),
        plain(7, attributes=TRANSACTIONAL, producer=9),
        marker(10, 9, COMMIT),
        aborted=((9, 0),),
    )
    assert [record.offset for record in seen(reading)] == [3, 4, 5, 7, 8, 9]


def test_aborted_transactions_may_be_told_in_any_order() -> None:
    """A broker gathers them segment by segment; each begins to count at its own first offset."""
    batches = (
        *(plain(0, attributes=TRANSACTIONAL, producer=8), plain(3, attributes=TRANSACTIONAL, producer=9)),
        *(marker(6, 8, ABORT), plain(7, attributes=TRANSACTIONAL, producer=8), marker(10, 9, ABORT)),
        *(plain(11, attributes=TRANSACTIONAL, producer=9), marker(14, 8, COMMIT), marker(15, 9, COMMIT)),
    )
    for aborted in (((8, 0), (9, 3)), ((9, 3), (8, 0))):
        reading = reading_of(*batches, aborted=aborted)
        assert [record.offset for record in seen(reading)] == [7, 8, 9, 11, 12, 13]
        assert (reading.aborted, reading.control) == (6, 4)


def test_a_transaction_that_is_aborted_later_does_not_hide_what_is_before_it() -> None:
    """A producer becomes an aborted one at the first offset of that transaction."""
    reading = reading_of(
        plain(0, attributes=TRANSACTIONAL, producer=9),
        marker(3, 9, COMMIT),
        plain(4, attributes=TRANSACTIONAL, producer=9),
        marker(7, 9, ABORT),
        aborted=((9, 4),),
    )
    assert [record.offset for record in seen(reading)] == [0, 1, 2]


def test_the_brokers_clock_becomes_the_records_own() -> None:
    """A LogAppendTime batch is written again with its maximum at every record, and its codec."""
    records = [Record(n, 5 + n, APPEND, b"k", b"v" * 100) for n in range(3)]
    reading = reading_of(logged(0, records, attributes=LOG_APPEND_TIME | Codec.ZSTD, clock=777))
    (one,) = reading.batches
    assert (one.owned, one.header.codec) == (True, Codec.ZSTD)
    assert [(r.timestamp, r.timestamp_type) for r in seen(reading)] == [(777, CREATE)] * 3


def test_a_batch_with_the_brokers_clock_that_grows_when_it_is_written_again_is_split() -> None:
    """Its source packed it better than is done here; each piece fits, and none is lost."""
    chance = random.Random(5)
    words = [chance.randbytes(3) for _ in range(60)]
    made = [Record(n, 5, CREATE, None, b"".join(chance.choices(words, k=40))) for n in range(400)]
    body = bytes(body_of(made, range(len(made))))
    packed = bytes(cramjam.zstd.compress(body, level=19))
    batch = seal_packed(
        packed,
        count=len(made),
        last_offset_delta=len(made) - 1,
        timestamps=(5, 777),
        attributes=LOG_APPEND_TIME | Codec.ZSTD,
    )
    reading = reading_of(batch, plain(400))
    pieces = [one for one in reading.batches if one.owned]
    assert len(pieces) > 1 and all(one.header.size <= len(batch) for one in pieces)
    assert seen(reading)[:400] == [record._replace(timestamp=777) for record in made]
    assert (reading.fetch_offset, reading.compacted, pieces[-1].end, reading.fault) == (403, 0, 400, None)


def test_a_batch_with_the_brokers_clock_that_is_not_joined_is_taken_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its records are larger than what is joined; a consumer is given the same."""
    monkeypatch.setattr(module, "join", partial(join, limit=100))
    records = [Record(n, 5 + n, APPEND, b"k", b"v" * 100) for n in range(3)]
    reading = reading_of(logged(0, records, attributes=LOG_APPEND_TIME | Codec.ZSTD, clock=777))
    assert [(r.offset, r.timestamp, r.value) for r in seen(reading)] == [(n, 777, b"v" * 100) for n in range(3)]
    assert (reading.fetch_offset, reading.fault) == (3, None)


def test_a_position_inside_a_batch_cuts_it() -> None:
    """The rest is dense; what lies before the position is neither sent nor counted."""
    reading = reading_of(plain(5, 10), position=8)
    assert [one.spans for one in reading.batches] == [((8, 7),)]
    assert (reading.fetch_offset, reading.compacted) == (15, 0)


def test_batches_before_the_position_are_passed_over() -> None:
    """They are read for the ends of transactions only, and what is broken in their records is nobody's business."""
    reading = reading_of(
        broken(plain(0)),
        plain(3, attributes=TRANSACTIONAL, producer=9),
        marker(6, 9, ABORT),
        plain(7, attributes=TRANSACTIONAL, producer=9),
        position=8,
        aborted=((9, 3),),
    )
    assert [record.offset for record in seen(reading)] == [8, 9]
    assert (reading.aborted, reading.control, reading.compacted) == (0, 0, 0)


def grown() -> tuple[bytes, list[Record]]:
    """A batch with gaps that is larger when written again, its base time being near all records but the first."""
    horizon = 1 << 40
    records = [Record(2 * n, horizon if n else 0, CREATE, None, b"v") for n in range(100)]
    anchor = Record(0, horizon, CREATE, None, None)
    spelled = body_of([anchor, *records], [0, *(record.offset for record in records)])
    batch = seal(
        spelled[len(body_of([anchor], [0])) :],
        count=100,
        last_offset_delta=300,
        timestamps=(horizon, horizon),
        attributes=DELETE_HORIZON,
    )
    return batch, records


def test_what_grew_past_its_size_is_split_in_order() -> None:
    """Pieces fit, and only the last one reaches through the batch, with the gaps at its end."""
    batch, records = grown()
    reading = read(memoryview(bytearray(batch)), 0, ())
    assert seen(reading) == records
    assert [(one.header.base_offset, one.header.count, one.end) for one in reading.batches] == [
        (0, 50, 99),
        (100, 50, 301),
    ]
    assert (reading.fetch_offset, reading.compacted) == (301, 201)


def test_a_record_that_fits_nowhere_is_sent_alone() -> None:
    """Pieces are halved until they fit or hold one record: the target judges what cannot be smaller."""
    records = [Record(2 * n, n, CREATE, None, bytes(size)) for n, size in enumerate((10, 10, 500, 10))]
    pieces = list(_encoded(records, Codec.NONE, 200))
    assert [[record.offset for record in held] for held, _ in pieces] == [[0, 2], [4], [6]]
    assert [len(encoded) <= 200 for _, encoded in pieces] == [True, False, True]


def test_header_keys_that_are_no_text_stay_as_they_are() -> None:
    """A batch that is written again alters no byte of a record."""
    headers = ((b"\xff\xfe", None), ("\N{SNOWMAN}", b""), (b"\xed\xa0\x80", b"x"))
    records = [Record(n, n, CREATE, None, b"", headers) for n in (0, 2)]
    assert seen(reading_of(encode_as_logged(records))) == records


def test_the_epoch_is_that_of_the_last_batch_even_if_it_was_dropped() -> None:
    """An older one would make the source's leader name a truncation that never was."""
    assert reading_of().epoch == -1
    assert reading_of(plain(0, epoch=3), logged(3, [], last=4, epoch=5)).epoch == 5


# -- what cannot be read ---------------------------------------------------------------------------------


def broken(batch: bytes, at: int = 70) -> bytes:
    """The batch with a byte flipped."""
    return batch[:at] + bytes([batch[at] ^ 1]) + batch[at + 1 :]


@pytest.mark.parametrize(
    "bad",
    [
        broken(logged(5, [Record(5, 0, CREATE, None, b"v" * 50)], last=6)),
        broken(marker(5, 9, COMMIT)),
        broken(plain(5, attributes=TRANSACTIONAL, producer=8)),
        broken(plain(5, attributes=LOG_APPEND_TIME)),
        broken(logged(5, [], last=6), at=50),
        plain(2),
        logged(5, [], last=4),
        with_crc(bytearray(plain(5)[:22] + b"\x0d" + plain(5)[23:])),
        plain(5)[:16] + b"\x03" + plain(5)[17:],
        plain(5)[:8] + bytes(4) + plain(5)[12:],
        plain(5)[:8] + (-12).to_bytes(4, "big", signed=True) + plain(5)[12:],
    ],
    ids=[
        *("with gaps", "marker", "aborted", "append time", "emptied", "offsets go back", "negative length"),
        *("codec", "magic", "length", "length that leads nowhere"),
    ],
)
def test_nothing_is_dropped_or_written_again_on_the_word_of_broken_bytes(bad: bytes) -> None:
    """What is before the fault is good, and the position stands before it."""
    reading = reading_of(plain(0), bad, plain(9), aborted=((8, 5),))
    assert isinstance(reading.fault, CorruptBatchError)
    assert [record.offset for record in seen(reading)] == [0, 1, 2]
    assert (reading.fetch_offset, reading.compacted, reading.control, reading.aborted) == (3, 0, 0, 0)


def test_an_old_format_is_a_fault_behind_what_is_good() -> None:
    """The batches before the first old message are still copied."""
    old = (3).to_bytes(8, "big") + (30).to_bytes(4, "big") + bytes(4) + b"\x01" + bytes(25)
    reading = reading_of(plain(0), old)
    assert isinstance(reading.fault, OldFormatError)
    assert (reading.fault.offset, reading.fetch_offset, len(reading.batches)) == (3, 3, 1)


def test_times_that_no_batch_can_hold_are_a_fault() -> None:
    """A maximum so far from the base that no delta reaches it, in a batch that must be written again."""
    batch = bytearray(logged(0, [Record(0, 2**62, CREATE, b"", b""), Record(2, 0, CREATE, b"", b"")]))
    head = read_header(batch)
    batch[:61] = HEADER.pack(*head._replace(base_timestamp=2**63 - 1, max_timestamp=2**63 - 1))
    body = body_of([Record(0, 0, CREATE, b"", b""), Record(0, 9, CREATE, b"", b"")], [0, 2])
    made = HEADER.pack(*head._replace(batch_length=49 + len(body), base_timestamp=2**63 - 1))
    reading = reading_of(with_crc(bytearray(made + body)))
    assert isinstance(reading.fault, CorruptBatchError)
