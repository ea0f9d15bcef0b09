"""What the journal of gap records tells of every batch that was sent, whatever was compacted or forgotten of it."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.offsets.offset_map import MappedRange, OffsetMap
from anabranch.protocol import GapRecord, GapRecordKey, GapRecordLog, OffsetSpan, TailBatch
from anabranch.protocol.gap_records import breaks, cut
from anabranch.protocol.tail import tell
from anabranch.records.sequence import MODULUS, advance, sequence_of

pytestmark = pytest.mark.unit

LANE = "flights-0"
P = 7
STARTS = st.one_of(st.integers(0, 100), st.integers(MODULUS - 60, MODULUS + 5), st.integers(5 * MODULUS - 60, 1 << 40))


@dataclass(frozen=True)
class Sent:
    """A batch as it was sent: the source offsets of its records, its sequence, and where it lies in the target."""

    offsets: tuple[int, ...]
    sequence: int
    base: int

    @property
    def header(self) -> TailBatch:
        return TailBatch(self.base, self.base + len(self.offsets) - 1, P, self.sequence, False, 0)


@dataclass(frozen=True)
class Ownership:
    """What one producer id sent, and the gap records it wrote ahead."""

    start: int
    sent: tuple[Sent, ...]
    gap_records: tuple[GapRecord, ...]

    @property
    def log(self) -> GapRecordLog:
        return GapRecordLog((at, gap_record.key, gap_record) for at, gap_record in enumerate(self.gap_records))


def spans(offsets: tuple[int, ...]) -> tuple[OffsetSpan, ...]:
    """Rising offsets as spans."""
    found: list[OffsetSpan] = []
    for offset in offsets:
        if found and found[-1].end == offset:
            found[-1] = OffsetSpan(found[-1].source, found[-1].length + 1)
        else:
            found.append(OffsetSpan(offset, 1))
    return tuple(found)


@st.composite
def ownerships(draw: st.DrawFn) -> Ownership:
    """Some fetch rounds of batches with gaps between and inside them; a gap record for each round that needs one."""
    start = draw(STARTS)
    following, sequence, base = start, sequence_of(start), 0
    sent: list[Sent] = []
    gap_records: list[GapRecord] = []
    for rounds in draw(st.lists(st.lists(st.lists(st.sampled_from([0, 0, 0, 1, 5]), min_size=1, max_size=4)))):
        first: int | None = None
        ahead: tuple[int, ...] = ()
        begins = sequence
        for gaps in rounds:
            offsets = []
            behind = following
            for gap in gaps:
                offsets.append(following + gap)
                following += gap + 1
            if first is None and (offsets[0] != behind or len(spans(tuple(offsets))) > 1):
                first, begins = offsets[0], sequence
            if first is not None:
                ahead += tuple(offsets)
            sent.append(Sent(tuple(offsets), sequence, base))
            sequence, base = advance(sequence, len(offsets)), base + len(offsets)
        if first is not None:
            gap_records.append(GapRecord(LANE, P, begins, len(gap_records), spans(ahead)))
    return Ownership(start, tuple(sent), tuple(gap_records))


@given(ownerships())
def test_every_batch_is_told_as_it_was_sent(ownership: Ownership) -> None:
    """Gaps, many gap records and a wrap of the sequence change nothing."""
    for batch in ownership.sent:
        told = ownership.log.tell(LANE, P, batch.sequence, len(batch.offsets), ownership.start)
        assert told == spans(batch.offsets)


@given(ownerships(), st.data())
def test_compaction_of_the_journal_changes_no_answer(ownership: Ownership, data: st.DataObject) -> None:
    """The last record of each key tells what all records do, before and after tombstones are gone."""
    superfluous = ownership.log.passed(LANE, P)
    forgotten = data.draw(st.integers(0, len(superfluous)), label="forgotten")
    records: list[tuple[GapRecordKey, GapRecord | None]] = [
        (gap_record.key, gap_record) for gap_record in ownership.gap_records
    ]
    records += [(gap_record.key, None) for gap_record in superfluous[:forgotten]]
    whole = GapRecordLog((at, key, gap_record) for at, (key, gap_record) in enumerate(records))
    last = {key: (at, gap_record) for at, (key, gap_record) in enumerate(records)}
    compacted = GapRecordLog(
        sorted(((at, key, gap_record) for key, (at, gap_record) in last.items()), key=lambda one: one[0])
    )
    cleaned = GapRecordLog((at, key, gap_record) for key, (at, gap_record) in last.items() if gap_record is not None)
    for log in (compacted, cleaned):
        assert log.count(LANE, P) == whole.count(LANE, P) == len(ownership.gap_records)
        for batch in ownership.sent:
            asked = (LANE, P, batch.sequence, len(batch.offsets), ownership.start)
            assert log.tell(*asked) == whole.tell(*asked)


@given(ownerships(), st.data())
def test_a_forgotten_gap_record_is_made_good_by_the_persisted_runs_and_never_guessed(
    ownership: Ownership, data: st.DataObject
) -> None:
    """Once all below a sequence is persisted, every batch is told by the gap records that are left, or else by the
    runs.
    """
    if not ownership.sent:
        return
    persisted = data.draw(st.integers(0, len(ownership.sent) - 1), label="batches persisted")
    ranges = OffsetMap()
    for batch in ownership.sent[:persisted]:
        base = batch.base
        for source, length in spans(batch.offsets):
            ranges = ranges.append(MappedRange(source, base, length))
            base += length
    log = ownership.log
    for at, gap_record in enumerate(log.passed(LANE, P, ownership.sent[persisted].sequence)):
        log.apply(100_000 + at, gap_record.key, None)
    for at, batch in enumerate(ownership.sent):
        told = tell(LANE, log, ranges, batch.header, ownership.start)
        assert told is not None, f"batch {at} of {persisted} persisted"
        assert [o for source, length in told for o in range(source, source + length)] == list(batch.offsets)
    alone = [log.tell(LANE, P, b.sequence, len(b.offsets), ownership.start) for b in ownership.sent]
    assert all(told is None or told == spans(b.offsets) for told, b in zip(alone, ownership.sent, strict=True))


@given(ownerships(), st.data())
def test_the_gap_record_that_tells_the_last_acknowledged_batch_is_never_superfluous(
    ownership: Ownership, data: st.DataObject
) -> None:
    """A gap record at the acknowledged sequence may be void, so the one before it is needed still."""
    if not ownership.sent:
        return
    last = ownership.sent[data.draw(st.integers(0, len(ownership.sent) - 1), label="last acknowledged")]
    log = ownership.log
    for at, gap_record in enumerate(log.passed(LANE, P, advance(last.sequence, len(last.offsets)))):
        log.apply(100_000 + at, gap_record.key, None)
    assert log.tell(LANE, P, last.sequence, len(last.offsets), ownership.start) == spans(last.offsets)


@given(ownerships(), st.permutations(range(3)))
def test_producer_ids_and_lanes_do_not_mix(ownership: Ownership, order: list[int]) -> None:
    """The gap records of one producer id of one lane tell nothing of another's."""
    log = GapRecordLog()
    offset = 0
    for who in order:
        for gap_record in ownership.gap_records:
            lane, producer_id = (LANE, P) if who == 0 else (LANE, 100) if who == 1 else ("other-0", P)
            moved = (
                gap_record
                if who == 0
                else GapRecord(lane, producer_id, gap_record.sequence, gap_record.ordinal, (OffsetSpan(3, 1),))
            )
            log.apply(offset, moved.key, moved)
            offset += 1
    for batch in ownership.sent:
        asked = (LANE, P, batch.sequence, len(batch.offsets), ownership.start)
        assert log.tell(*asked) == ownership.log.tell(*asked)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 4)), min_size=1, max_size=5), st.integers(0, 12), st.data())
def test_a_cut_is_what_counting_record_by_record_gives(
    shape: list[tuple[int, int]], skip: int, data: st.DataObject
) -> None:
    """Skipping and taking across spans, the last of which has no end."""
    held: list[OffsetSpan] = []
    at = 10
    for gap, length in shape:
        at += gap + bool(held)
        held.append(OffsetSpan(at, length))
        at += length
    count = data.draw(st.integers(1, 20))
    endless = [o for s in held[:-1] for o in range(s.source, s.end)]
    endless += range(held[-1].source, held[-1].source + skip + count)
    found = cut(held, skip, count)
    assert [o for source, length in found for o in range(source, source + length)] == endless[skip : skip + count]


def test_breaks_name_the_first_record_of_each_span_across_the_wrap() -> None:
    """Sequences wrap at 2^31, source offsets do not."""
    assert breaks(MODULUS - 2, (OffsetSpan(MODULUS, 3), OffsetSpan(MODULUS + 9, 1))) == [
        (MODULUS - 2, MODULUS),
        (1, MODULUS + 9),
    ]


def test_a_repeated_record_and_one_that_comes_late_change_nothing() -> None:
    """Reading on from an earlier offset is harmless, and of two gap records with one ordinal the first counts."""
    first, second = (GapRecord(LANE, P, 5 + at, at, (OffsetSpan(50 + at, 1),)) for at in range(2))
    log = GapRecordLog([(0, first.key, first), (1, second.key, second), (0, first.key, None)])
    late = GapRecord(LANE, P, 90, 1, (OffsetSpan(1000, 1),))
    log.apply(2, late.key, late)
    assert log.count(LANE, P) == 2
    assert log.tell(LANE, P, 5, 1, 0) == (OffsetSpan(50, 1),)
    assert log.tell(LANE, P, 6, 2, 0) == (OffsetSpan(51, 2),)
    assert log.tell(LANE, P, 90, 1, 0) == (OffsetSpan(135, 1),)
    log.apply(3, first.key, first)
    assert log.of(LANE, P) == (first, second)


def test_gap_records_are_told_in_the_order_of_their_ordinals_whichever_came_first() -> None:
    """Another owner of an identity lane may write one of them late."""
    first, second, third = (GapRecord(LANE, P, 5 + at, at, (OffsetSpan(50 + 9 * at, 1),)) for at in range(3))
    log = GapRecordLog([(0, first.key, first), (1, third.key, third), (2, second.key, second)])
    assert log.of(LANE, P) == (first, second, third)
    assert [log.tell(LANE, P, 5 + at, 1, 0) for at in range(3)] == [(OffsetSpan(50 + 9 * at, 1),) for at in range(3)]


def test_an_id_whose_first_gap_record_is_forgotten_does_not_tell_what_lies_before() -> None:
    """Its plain beginning could be meant, or the forgotten gap record: nobody can know (H4)."""
    first, second = (GapRecord(LANE, P, 5 + at, at, (OffsetSpan(50 + 9 * at, 1),)) for at in range(2))
    log = GapRecordLog([(0, first.key, first), (1, second.key, second)])
    assert log.tell(LANE, P, 4, 1, 4) == (OffsetSpan(4, 1),)
    log.apply(2, first.key, None)
    assert log.tell(LANE, P, 4, 1, 4) is None
    assert log.tell(LANE, P, 5, 1, 4) is None
    assert log.tell(LANE, P, 6, 1, 4) == (OffsetSpan(59, 1),)
