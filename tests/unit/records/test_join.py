"""A joined batch holds the records of its parts, byte for byte and in order, and broken parts are never joined."""

from __future__ import annotations

import pickle
from collections.abc import Callable

import pytest
from google_crc32c import value as crc32c
from hypothesis import example, given
from hypothesis import strategies as st

from anabranch.records.compression import compress
from anabranch.records.decode import decode
from anabranch.records.encode import body_of, encode, seal
from anabranch.records.errors import CorruptBatchError
from anabranch.records.header import (
    CRC_START,
    DELETE_HORIZON,
    HEADER,
    HEADER_SIZE,
    LOG_APPEND_TIME,
    TRANSACTIONAL,
    BatchHeader,
    Codec,
    read_header,
)
from anabranch.records.join import UnjoinableError, join
from anabranch.records.record import Record, TimestampType
from anabranch.records.split import split

from .strategies import HEADERS, NULLABLE, oracle_read

pytestmark = pytest.mark.unit
CREATE = TimestampType.CREATE_TIME
Part = tuple[memoryview, int, BatchHeader]

TIMES = st.integers(-1, 2**50) | st.integers(1_700_000_000_000, 1_700_000_000_300)
RECORDS = st.lists(st.tuples(TIMES, NULLABLE, NULLABLE, HEADERS), min_size=1, max_size=4)


def part(batch: bytes) -> Part:
    """A batch in the middle of a buffer, as a fetch answer holds it."""
    view = memoryview(bytearray(b"before" + batch + b"after"))
    return view, 6, read_header(view, 6)


def one(timestamp: int = 1000, value: bytes | None = b"v", codec: Codec = Codec.NONE, **more: int) -> bytes:
    """A batch of one record."""
    record = Record(0, timestamp, CREATE, b"k", value)
    return encode([record], codec=codec, **more)


def read(batch: bytes | bytearray) -> list[Record]:
    """The records of the one batch that the bytes are; its CRC is right."""
    ((at, header),) = split(memoryview(batch))
    assert header.size == len(batch)
    assert crc32c(bytes(batch[CRC_START:])) == header.crc
    return decode(memoryview(batch), at, header)


@st.composite
def batches(draw: st.DrawFn, codecs: st.SearchStrategy[Codec]) -> bytes:
    """A batch as brokers keep them: gaps, any codec, the cleaner's horizon or the broker's clock in the header."""
    base = draw(st.integers(0, 2**40))
    records, delta = [], 0
    for timestamp, key, value, headers in draw(RECORDS):
        delta += draw(st.sampled_from([0, 0, 0, 1, 5, 300]))
        records.append(Record(base + delta, timestamp, CREATE, key, value, headers))
        delta += 1
    times = [record.timestamp for record in records]
    attributes = draw(codecs) | draw(st.sampled_from([0, 0, LOG_APPEND_TIME, TRANSACTIONAL, DELETE_HORIZON]))
    horizon = draw(TIMES) if attributes & DELETE_HORIZON else times[0]
    # Deltas are relative to the horizon, so that the times stay.
    anchor = Record(0, horizon, CREATE, None, None)
    spelled = body_of([anchor, *records], [0, *(record.offset - base for record in records)])
    body = spelled[len(body_of([anchor], [0])) :]
    return seal(
        body,
        count=len(records),
        last_offset_delta=records[-1].offset - base,
        timestamps=(horizon, draw(TIMES) if attributes & LOG_APPEND_TIME else max(times)),
        attributes=attributes,
        base_offset=base,
        producer=(draw(st.integers(-1, 2**40)), 0, 5),
    )


def contents(records: list[Record]) -> list[Record]:
    """The records as a batch of the target has them: numbered from 0, times their own."""
    return [record._replace(offset=n, timestamp_type=CREATE) for n, record in enumerate(records)]


@given(st.lists(batches(st.sampled_from(Codec)), min_size=1, max_size=6))
def test_the_records_stay_and_are_numbered_anew(parts: list[bytes]) -> None:
    """Decoding the whole gives what decoding each gives, under every codec, kind of time and mixture."""
    joined = join([part(batch) for batch in parts])
    assert read(joined) == contents([record for batch in parts for record in read(batch)])


@given(st.sampled_from(Codec).flatmap(lambda codec: st.lists(batches(st.just(codec)), min_size=1, max_size=4)))
def test_one_codec_stays_and_the_header_is_a_producers(parts: list[bytes]) -> None:
    """Dense, CreateTime, no transaction, no horizon, nobody's, and nothing claimed that a part did not claim."""
    header = read_header(join([part(batch) for batch in parts]))
    heads = [read_header(batch) for batch in parts]
    assert header.is_copyable
    assert (header.codec, header.attributes & ~7) == (heads[0].codec, 0)
    assert header.count == sum(head.count for head in heads)
    assert (header.base_offset, header.producer_id, header.base_sequence) == (0, -1, -1)
    assert header.max_timestamp == max(head.max_timestamp for head in heads)


@given(st.lists(st.tuples(TIMES, NULLABLE, NULLABLE, HEADERS), min_size=1, max_size=30))
def test_an_independent_reader_sees_the_same(records: list[tuple[int, bytes | None, bytes | None, tuple[()]]]) -> None:
    """Batches of one record, the common case, joined and read by kafka-python."""
    made = [Record(n, *fields[:1], CREATE, *fields[1:]) for n, fields in enumerate(records)]
    assert oracle_read(join([part(encode([record])) for record in made])) == made


@pytest.mark.parametrize("codec", Codec)
def test_many_batches_of_one_record_join(codec: Codec) -> None:
    """Numbers and lengths of one, two and three bytes, times that rise and fall."""
    sizes = [*range(130), 8180, 8190, 8200, 70_000, *range(20)] * 12
    made = [Record(n, 5000 - n if n % 3 else n, CREATE, None, bytes(size)) for n, size in enumerate(sizes)]
    joined = join([part(encode([record], codec=codec)) for record in made], limit=1 << 28)
    assert read(joined) == made
    assert read_header(joined).codec is codec


def test_batches_of_different_codecs_join_without_one() -> None:
    """No codec is better than another's."""
    assert read_header(join([part(one(codec=Codec.ZSTD)), part(one(codec=Codec.LZ4))])).codec is Codec.NONE


def test_an_emptied_batch_adds_nothing() -> None:
    """What the cleaner left of it has no record to join; of such batches alone none can be made."""
    empty = bytearray(HEADER.pack(40, 49, 3, 2, 0, 0, 9, -1, -1, 5, 0, 7, 0))
    empty[17:21] = crc32c(bytes(empty[CRC_START:])).to_bytes(4, "big")
    assert [record.value for record in read(join([part(bytes(empty)), part(one(value=b"x"))]))] == [b"x"]
    for nothing in ([part(bytes(empty))], []):
        with pytest.raises(ValueError, match=r"join|record"):
            join(nothing)


def test_what_a_record_says_after_its_deltas_is_not_looked_at() -> None:
    """Attributes of a later format and bytes that are no key are carried along: the broker judges them."""
    body = bytes((14, 0x55, 2, 0, 9, 9, 9, 9))
    batch = seal(body, count=1, last_offset_delta=0, timestamps=(1000, 1001), attributes=0)
    joined = join([part(one(1000)), part(batch)])
    assert joined.endswith(bytes((14, 0x55, 2, 2, 9, 9, 9, 9)))


# -- what is refused -------------------------------------------------------------------------------------


@given(st.lists(batches(st.sampled_from(Codec)), min_size=1, max_size=3), st.data())
def test_a_flipped_bit_is_found(parts: list[bytes], data: st.DataObject) -> None:
    """Any bit under a CRC, or of it: the parts never reach the sender's check, so it is made here."""
    at = data.draw(st.integers(0, len(parts) - 1))
    bit = data.draw(st.integers(17 * 8, len(parts[at]) * 8 - 1))
    damaged = bytearray(parts[at])
    damaged[bit // 8] ^= 1 << bit % 8
    with pytest.raises(CorruptBatchError, match="CRC-32C"):
        join([part(bytes(damaged) if n == at else batch) for n, batch in enumerate(parts)])


@given(st.binary(max_size=60), st.integers(-1, 6), st.sampled_from(Codec))
@example(one()[HEADER_SIZE:], 1, Codec.NONE)
@example(one()[HEADER_SIZE:], 1, Codec.ZSTD)
def test_a_body_of_anything_joins_or_is_a_typed_error(body: bytes, count: int, codec: Codec) -> None:
    """A right CRC vouches for the bytes, not for their sense; what joins has the records that it claims."""
    packed = compress(codec, body)
    batch = bytearray(HEADER.pack(7, 49 + len(packed), 0, 2, 0, codec, 9, 0, 0, -1, -1, -1, count) + packed)
    batch[17:21] = crc32c(bytes(batch[CRC_START:])).to_bytes(4, "big")
    refused = None
    try:
        joined = join([part(one()), part(bytes(batch))])
    except (CorruptBatchError, UnjoinableError) as error:
        refused = error
    if refused is not None:
        assert body != one()[HEADER_SIZE:] or count != 1
        assert isinstance(refused, UnjoinableError) or refused.offset == 7
        return
    assert read_header(joined).count == 1 + count
    assert body != one()[HEADER_SIZE:] or count != 1 or read(joined)[1:] == [Record(1, 0, CREATE, b"k", b"v")]
    try:
        own = read(bytes(batch))
    except CorruptBatchError:
        return  # what is behind a record's deltas is not looked at
    assert read(joined)[1:] == [record._replace(offset=1 + n) for n, record in enumerate(own)]


@given(RECORDS, st.sampled_from(Codec), st.integers(0, 400), st.integers(0, 255))
def test_a_byte_of_a_body_altered_under_a_true_crc_is_read_the_same_joined(
    records: list[tuple[int, bytes | None, bytes | None, tuple[()]]], codec: Codec, at: int, byte: int
) -> None:
    """What decodes after all joins to what it decodes to, unless its times are too far apart."""
    good = encode([Record(n, *fields[:1], CREATE, *fields[1:]) for n, fields in enumerate(records)])
    for altered in (b"", bytes((byte,))):
        body = bytearray(good[HEADER_SIZE:])
        at %= len(body)
        body[at : at + len(altered)] = altered
        head = read_header(good)
        times = head.base_timestamp, head.max_timestamp
        batch = seal(bytes(body), count=head.count, last_offset_delta=head.count - 1, timestamps=times, attributes=0)
        try:
            own = read(batch)
            joined = join([part(one()), part(batch)])
        except (CorruptBatchError, UnjoinableError):
            assert altered
            continue
        assert read(joined)[1:] == [record._replace(offset=1 + n) for n, record in enumerate(own)]


@pytest.mark.parametrize(
    "make",
    [
        lambda body: body[:-1],
        lambda body: body + b"\0",
        lambda body: body * 2,
        lambda body: b"\x0d" + body[1:],
        lambda body: b"\xff" * 11,
        lambda body: b"\x02" + body[1:],
    ],
    ids=["cut off", "a byte more", "a record more", "negative length", "endless length", "shorter than its deltas"],
)
def test_records_that_do_not_fill_their_batch_are_corrupt(make: Callable[[bytes], bytes]) -> None:
    """Lengths must tile the body, as many as the header counts."""
    body = make(one()[HEADER_SIZE:])
    batch = seal(body, count=1, last_offset_delta=0, timestamps=(0, 0), attributes=0, base_offset=33)
    with pytest.raises(CorruptBatchError) as caught:
        join([part(one()), part(batch)])
    assert caught.value.offset == 33


def test_times_too_far_apart_are_unjoinable() -> None:
    """Good batches whose times no one batch can hold go one by one; the error pickles."""
    parts = [part(one(-(2**62) - 1)), part(one(2**62))]
    with pytest.raises(UnjoinableError, match="too far apart") as caught:
        join(parts)
    assert pickle.loads(pickle.dumps(caught.value)).message == caught.value.message


@pytest.mark.parametrize("codec", Codec)
def test_records_over_the_limit_are_unjoinable(codec: Codec) -> None:
    """Small batches may expand to anything: the limit bounds the memory."""
    parts = [part(one(value=bytes(3000), codec=codec)) for _ in range(3)]
    assert len(read(join(parts, limit=9100))) == 3
    with pytest.raises(UnjoinableError, match="bytes"):
        join(parts, limit=9000)


@pytest.mark.parametrize("flags", [0x60, 0x64, 0x70, 0x74])
@pytest.mark.parametrize("stored", [True, False])
def test_lz4_frames_of_every_client_join(flags: int, stored: bool) -> None:
    """Frames of one small block are read by hand: with each checksum or none, stored or compressed."""
    body = one(value=b"abcd" * 100)[HEADER_SIZE:]
    frame = compress(Codec.LZ4, body)
    size = int.from_bytes(frame[7:11], "little")
    block = body if stored else frame[11 : 11 + size]
    made = (
        *(frame[:4], bytes((flags, 0x40, 0)), (len(block) | stored << 31).to_bytes(4, "little"), block),
        *(b"sum1" if flags & 0x10 else b"", bytes(4), b"sum2" if flags & 0x04 else b""),
    )
    head = BatchHeader._make(HEADER.unpack_from(one(value=b"abcd" * 100)))
    packed = b"".join(made)
    head = head._replace(batch_length=49 + len(packed), attributes=Codec.LZ4)
    batch = bytearray(HEADER.pack(*head) + packed)
    batch[17:21] = crc32c(bytes(batch[CRC_START:])).to_bytes(4, "big")
    assert [record.value for record in read(join([part(bytes(batch)), part(one(codec=Codec.LZ4))]))] == [
        b"abcd" * 100,
        b"v",
    ]
