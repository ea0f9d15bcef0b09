"""Batches that were cut otherwise: equal exactly where all records are, whatever else is left to the slower reader."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from anabranch.model.topics import TopicPartition
from anabranch.offsets.offset_map import MappedRange, OffsetMap
from anabranch.records.decode import decode
from anabranch.records.encode import encode
from anabranch.records.errors import CorruptBatchError
from anabranch.records.header import HEADER_SIZE, Codec, read_header
from anabranch.records.record import Record, TimestampType
from anabranch.verify import contents as module
from anabranch.verify.contents import RecordColumns, WholeBatch, contents
from anabranch.verify.lockstep import Reached, StoredBatch, match
from anabranch.verify.pins import LogEnds, Pin, pin
from anabranch.verify.recut import ReadBatch, Recut, recut

pytestmark = pytest.mark.unit

SHIFT = 1_000
WHERE = TopicPartition("t", 0)
TEXTS = st.one_of(st.none(), st.binary(max_size=3), st.just(b"x" * 9_000))
RECORDS = st.lists(
    st.builds(
        Record,
        st.just(0),
        st.sampled_from([-1, 0, 5, 1_760_000_000_000, 2**50]),
        st.just(TimestampType.CREATE_TIME),
        TEXTS,
        TEXTS,
        st.lists(st.tuples(st.text(max_size=2), st.one_of(st.none(), st.binary(max_size=2))), max_size=2).map(tuple),
    ),
    min_size=1,
    max_size=30,
)
CUTS = st.lists(st.integers(1, 9), min_size=30, max_size=30)
CODECS = st.sampled_from(list(Codec))
PLAIN = Record(0, 1, TimestampType.CREATE_TIME, None, b"v")


def read(first: int, records: Sequence[Record], codec: Codec = Codec.NONE, plain: bool = True) -> ReadBatch:
    """A batch as the reader gives it."""
    made = bytearray(encode(records, codec=codec))
    made[:8] = first.to_bytes(8, "big")
    header, section = read_header(made), bytes(made[HEADER_SIZE:])
    last = first + len(records) - 1
    times = header.base_timestamp, header.max_timestamp
    stored = StoredBatch(first, last, plain, header.attributes, times, len(section), b"")
    return ReadBatch(stored, WholeBatch(header, section))


def cut(records: Sequence[Record], sizes: Sequence[int], shift: int = 0, codec: Codec = Codec.NONE) -> list[ReadBatch]:
    """All records in batches of these sizes."""
    found, at = [], 0
    for size in sizes:
        if at < len(records):
            found.append(read(at + shift, records[at : at + size], codec))
            at += size
    return found


def offsets(found: Recut, count: int) -> list[int]:
    """How often each offset is told, as equal or as undecided."""
    told = [0] * count
    for first, last in [*((one.first, one.last + 1) for one in found.equal), *found.undecided]:
        for at in range(first, last):
            told[at] += 1
    return told


@given(RECORDS, CUTS, CUTS, CODECS, CODECS)
def test_the_same_records_are_equal_however_they_are_cut(
    records: list[Record], mine: list[int], theirs: list[int], codec: Codec, other: Codec
) -> None:
    """And however they are compressed; each source batch is told once."""
    source, target = cut(records, mine, codec=codec), cut(records, theirs, SHIFT, other)
    found = recut(source, target, SHIFT, (0, len(records)))
    assert found.undecided == []
    assert found.equal == [one.digested for one in source]


@given(RECORDS, CUTS, CUTS, st.data())
def test_a_record_that_differs_leaves_its_source_batch_undecided(
    records: list[Record], mine: list[int], theirs: list[int], data: st.DataObject
) -> None:
    """In whatever it does; all other source batches are equal."""
    at = data.draw(st.integers(0, len(records) - 1))
    one = records[at]
    changes: list[Record] = [
        one._replace(timestamp=one.timestamp + 1),
        one._replace(key=b"" if one.key is None else None),
        one._replace(value=(one.value or b"") + b"y"),
        one._replace(headers=(*one.headers, ("h", None))),
    ]
    changed = [*records[:at], data.draw(st.sampled_from(changes)), *records[at + 1 :]]
    source = cut(records, mine)
    found = recut(source, cut(changed, theirs, SHIFT), SHIFT, (0, len(records)))
    wrong = [one.stored for one in source if one.stored.first <= at <= one.stored.last]
    assert found.undecided == [(one.first, one.last + 1) for one in wrong]
    assert found.equal == [one.digested for one in source if one.stored not in wrong]


@given(RECORDS, CUTS, CUTS, st.data())
def test_records_that_one_side_lacks_or_hides_are_undecided(
    records: list[Record], mine: list[int], theirs: list[int], data: st.DataObject
) -> None:
    """Missing on the target, in a transaction there, or only there: no offset of them is among the equal ones."""
    source, target = cut(records, mine), cut(records, theirs, SHIFT)
    of_source = data.draw(st.booleans())
    side = source if of_source else target
    at = data.draw(st.integers(0, len(side) - 1))
    gone = side[at].stored
    if data.draw(st.booleans()):
        del side[at]
    else:
        side[at] = side[at]._replace(stored=gone._replace(plain=False))
    found = recut(source, target, SHIFT, (0, len(records)))
    shift = 0 if of_source else SHIFT
    told = {offset for first, last in found.undecided for offset in range(first, last)}
    assert set(range(gone.first - shift, gone.last + 1 - shift)) <= told
    equal = {offset for one in found.equal for offset in range(one.first, one.last + 1)}
    assert not of_source or not equal & set(range(gone.first, gone.last + 1))
    assert 0 not in offsets(found, len(records))


def test_of_a_window_only_its_own_offsets_are_told() -> None:
    """A target batch that reaches out of it is looked at again with the next source batches."""
    records = [Record(0, at, TimestampType.CREATE_TIME, None, b"v") for at in range(9)]
    source, target = cut(records, [3, 3, 3]), cut(records, [9], SHIFT)
    for at, one in enumerate(source):
        found = recut([one], target, SHIFT, (3 * at, 3 * at + 3))
        assert found == Recut([one.digested], [])
    assert recut([], target, SHIFT, (3, 6)) == Recut([], [(3, 6)])


def test_bytes_that_contradict_themselves_are_left_to_the_slower_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    """As is what expands to too much."""
    records = [Record(0, 1, TimestampType.CREATE_TIME, b"k", b"v")] * 4
    source, target = cut(records, [2, 2]), cut(records, [4], SHIFT)
    whole = target[0].whole
    for section in (
        whole.section[:-1],
        whole.section + b"\0",
        b"\x7f" + whole.section[1:],
        b"\x01" + whole.section[1:],
        whole.section[:3] + b"\x02" + whole.section[4:],
        b"\xff" * len(whole.section),
    ):
        broken = [target[0]._replace(whole=whole._replace(section=section))]
        with pytest.raises(CorruptBatchError):
            contents([broken[0].whole])
        assert recut(source, broken, SHIFT, (0, 4)).equal == []
    monkeypatch.setattr(module, "MOST_BYTES", 10)
    assert recut(source, target, SHIFT, (0, 4)).equal == []


@given(RECORDS, st.lists(st.tuples(st.integers(0, 60), st.sampled_from([0, 1, 2, 0x7F, 0x80, 0xFF])), max_size=12))
@example([PLAIN._replace(value=b"v" * 20)], [(at, 0xFF) for at in range(2, 12)])  # a time without an end
@example([PLAIN._replace(timestamp=2**50), PLAIN._replace(timestamp=-(2**62))], [(19, 0x7F)])  # and one of 70 bits
def test_whatever_bytes_say_they_are_equal_only_if_a_consumer_is_given_the_same(
    records: list[Record], changes: list[tuple[int, int]]
) -> None:
    """As the plain decoder reads it; what that refuses is refused, or differs."""
    right = encode(records)
    wrong = bytearray(right)
    for at, byte in changes:
        wrong[HEADER_SIZE + at % (len(right) - HEADER_SIZE)] = byte
    rows = slice(0, len(records))
    try:
        is_same = columns(right).same(rows, columns(wrong), rows)
    except CorruptBatchError:
        return
    assert not is_same or plain(wrong) == plain(right)


def columns(batch: bytes | bytearray) -> RecordColumns:
    """Its records as columns."""
    return contents([WholeBatch(read_header(batch), bytes(batch[HEADER_SIZE:]))])


def plain(batch: bytes | bytearray) -> list[Record]:
    """The records of a batch, one after the other; raises CorruptBatchError."""
    return decode(memoryview(batch), 0, read_header(batch))


def test_one_time_of_the_broker_for_a_batch_is_left_to_the_slower_reader() -> None:
    """The records do not tell it."""
    records = [Record(0, 1, TimestampType.CREATE_TIME, b"k", b"v")] * 2
    source, target = cut(records, [2]), cut(records, [2], SHIFT)
    stamped = target[0].whole.header._replace(attributes=8)
    target = [ReadBatch(target[0].stored._replace(kind=8), target[0].whole._replace(header=stamped))]
    assert recut(source, target, SHIFT, (0, 2)) == Recut([], [(0, 2)])


@given(st.lists(st.integers(1, 9), min_size=1, max_size=20), CUTS, CUTS, st.data())
def test_parts_tell_each_record_once_however_both_sides_are_cut(
    parts: list[int], mine: list[int], theirs: list[int], data: st.DataObject
) -> None:
    """What parts call equal, and what is left of what they have not decided, is everything, once."""
    count = sum(parts)
    whole = pin("lane", WHERE, WHERE, OffsetMap.of([MappedRange(0, 0, count)]), LogEnds(0, count), LogEnds(0, count))
    source, target = ([one.digested for one in cut([PLAIN] * count, [*sizes, count])] for sizes in (mine, theirs))
    if data.draw(st.booleans()):
        target = [one._replace(digest=b"other") if data.draw(st.booleans()) else one for one in target]
    told, reached, begin = [0] * count, Reached(), 0
    for size in parts:
        part = whole.part(begin, begin + size)
        ours, theirs_here = (over(side, part, of) for side, of in ((source, True), (target, False)))
        found = match(whole, part, ours, theirs_here)
        equal = [(one.first, one.last + 1) for one in found.equal]
        for first, last in [*equal, *reached.rest(0, found.undecided, found.reach)]:
            for at in range(first, last):
                told[at] += 1
        begin += size
    assert told == [1] * count


def over(batches: list[StoredBatch], part: Pin, of_source: bool) -> list[StoredBatch]:
    """What is read of one side for a part: also what reaches into it."""
    low, high = (part.source_from, part.source_to) if of_source else (part.target_from, part.target_to)
    return [one for one in batches if one.first < high and one.last >= low]
