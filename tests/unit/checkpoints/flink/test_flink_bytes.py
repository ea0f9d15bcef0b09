"""The encodings below a savepoint: texts, ids, Kryo's numbers, enumerators, compressed streams, handles."""

from __future__ import annotations

import cramjam
import google_crc32c
import pytest
from flink_samples import Arithmetic, MemoryFiles, kafka_operator, metadata, moved_stream, opened, split
from hypothesis import given
from hypothesis import strategies as st

from anabranch.checkpoints.errors import DamagedCheckpointError, UnknownVersionError
from anabranch.checkpoints.flink import properties, snappy, text
from anabranch.checkpoints.flink.enumerator import Assignment, EnumeratorState, read_enumerator
from anabranch.checkpoints.flink.handles import Inline
from anabranch.checkpoints.flink.keyed import read_channels, read_keyed
from anabranch.checkpoints.flink.old_consumer import OldElement, read_old_element
from anabranch.checkpoints.flink.operator_state import MAX_SIZE
from anabranch.checkpoints.flink.reader import ByteReader
from anabranch.checkpoints.flink.split import KafkaSplit
from anabranch.checkpoints.flink.uid import murmur3_128, operator_id
from anabranch.checkpoints.plan import RewriteSpec
from anabranch.checkpoints.ports import FileEntry
from anabranch.model.reasons import ReasonKind
from anabranch.model.topics import TopicPartition

pytestmark = pytest.mark.unit

TOPICS = st.text("abcXYZ019._-", min_size=1, max_size=249).filter(lambda name: name not in (".", ".."))
OFFSETS = st.one_of(st.integers(0, (1 << 63) - 1), st.sampled_from([-1, -2, -3, -(1 << 63)]))


@pytest.mark.parametrize(
    ("uid", "expected"),
    [
        ("my-kafka-source", "f014eda4bed2c36350d80c2fc33a5df3"),
        ("counter", "0da08f51eaa85fc298e176a139b3649a"),
        ("sink", "2e588ce1c86a9d46e2e85186773ce4fd"),
        ("legacy-kafka-source", "a2074ca31a4ceace4d6fa8509991cd7d"),
        ("Sink Committer: my-sink", "96465a86aadc5c493ecbeef9a1b46144"),
    ],
)
def test_an_operator_id_is_the_hash_of_its_uid(uid: str, expected: str) -> None:
    """Ids as real Flink gave them."""
    assert operator_id(uid).hex() == expected


def test_a_hash_depends_on_every_byte_of_a_block_and_of_the_rest() -> None:
    """All lengths around the block size give different ids of 16 bytes."""
    found = {murmur3_128(b"\x00" * size) for size in range(50)}
    assert len(found) == 50 and {len(one) for one in found} == {16}


@given(st.text())
def test_a_text_is_read_as_it_was_written(value: str) -> None:
    """Every text, with NUL and characters beyond U+FFFF; the bytes are Java's."""
    raw = text.encode(value)
    assert text.decode(raw) == value
    assert b"\x00" not in raw and not any(byte >= 0xF0 for byte in raw)


@pytest.mark.parametrize("raw", [b"\x00", b"\xc1\x81", b"\xf0\x9f\x98\x80", b"\xff", b"\xe0\x80\x80", b"\xc3"])
def test_bytes_that_java_does_not_write_are_no_text(raw: bytes) -> None:
    """NUL, overlong forms, four bytes, and torn characters."""
    with pytest.raises(ValueError, match=r"decode|UTF-8"):
        text.decode(raw)


@given(TOPICS, st.integers(0, (1 << 31) - 1), st.integers(0, (1 << 63) - 1), st.integers(2, 1 << 20))
def test_an_old_consumer_s_element_is_read_as_it_was_written(topic: str, number: int, start: int, kryo: int) -> None:
    """Short names, names of one character, long ones; every partition, offset and class id."""
    element = OldElement(kryo, KafkaSplit(TopicPartition(topic, number), start))
    assert read_old_element(ByteReader(element.emit(), "", "")) == element


def test_an_old_consumer_s_element_of_real_flink_is_read() -> None:
    """orders-0, last processed 99."""
    raw = bytes.fromhex("5701899998ff0800016f72646572f30000000000000063")
    assert read_old_element(ByteReader(raw, "", "")) == OldElement(0x57, KafkaSplit(TopicPartition("orders", 0), 100))
    wrong_hash = raw.replace(b"\x89\x99", b"\x8b\x99")
    for bad in (wrong_hash, raw[:-1], raw + b"\x00", b"\x01" + raw[1:], raw.replace(b"\x00\x63", b"\xff\x63", 1)[:-9]):
        with pytest.raises(DamagedCheckpointError):
            read_old_element(ByteReader(bad, "", ""))


@given(
    st.sampled_from([0, 1, 2, 3]),
    st.lists(
        st.tuples(TOPICS, st.integers(0, 1000), OFFSETS, st.integers(0, 1)), max_size=6, unique_by=lambda x: x[:2]
    ),
    st.booleans(),
)
def test_an_enumerator_is_emitted_as_it_was_read(
    version: int, found: list[tuple[str, int, int, int]], over: bool
) -> None:
    """Every version, with and without partitions."""
    splits = [(KafkaSplit(TopicPartition(topic, number), start), status) for topic, number, start, status in found]
    state = EnumeratorState(
        version,
        tuple(
            Assignment(one.partition, status if version > 1 else 0, one if version in (0, 3) else None)
            for one, status in splits
        ),
        over if version > 1 else None,
        ((0, len(splits)), (1, 0)) if version == 0 else (),
    )
    assert read_enumerator(ByteReader(state.emit(), "", ""), version) == state
    with pytest.raises((DamagedCheckpointError, UnknownVersionError)):
        read_enumerator(ByteReader(state.emit() + b"\x00", "", ""), version)


@pytest.mark.parametrize("version", [4, -1, 1 << 30])
def test_a_later_enumerator_is_not_read(version: int) -> None:
    """Topic ids in it would mean other topics on another cluster."""
    with pytest.raises(UnknownVersionError, match="enumerator version"):
        read_enumerator(ByteReader(bytes(20), "", ""), version)


def test_later_splits_are_not_read() -> None:
    """Neither in an enumerator's state nor in that of Flink 1.12: their bytes may mean something else."""
    for version in (0, 3):
        kept = EnumeratorState(version, (), None if version == 0 else True).emit()
        assert read_enumerator(ByteReader(kept, "", ""), version).assignments == ()
        later = kept[:4] + b"\x00\x00\x00\x01" + kept[8:]
        with pytest.raises(UnknownVersionError, match="split version 1"):
            read_enumerator(ByteReader(later, "", ""), version)


@pytest.mark.parametrize("version", [4, 7])
def test_operator_state_of_another_version_is_not_read(version: int) -> None:
    """The source is seen, and refused: its elements may stand elsewhere."""
    plain = kafka_operator("src", [[split("a", 0, 5)]])
    handle = (plain.subtasks or ())[0].managed
    assert handle is not None and isinstance(handle.delegate, Inline)
    data = version.to_bytes(4, "big") + handle.delegate.data[4:]
    result = opened(moved_stream(plain, Inline("9f-1", data))).rewrite(RewriteSpec(), Arithmetic())
    assert [(one.why, f"version {version}" in one.what) for one in result.refusals] == [(ReasonKind.UNKNOWN, True)]


def test_an_enumerator_of_flink_1_12_is_shown_and_not_moved() -> None:
    """Nobody has restored such a state that was altered."""
    state = EnumeratorState(0, (Assignment(TopicPartition("a", 0), 0, split("a", 0, 5)),), None, ((0, 1),))
    checkpoint = opened(kafka_operator("src", [[split("a", 0, 5)]], enumerator=state), version=3)
    result = checkpoint.rewrite(RewriteSpec(), Arithmetic(by=1))
    assert [refusal.why for refusal in result.refusals] == [ReasonKind.UNSUPPORTED]
    assert len(checkpoint.positions()) == 1


def chunk(data: bytes, stored: bool = False, crc: int | None = None) -> bytes:
    """One chunk of a framed stream."""
    value = google_crc32c.value(data) if crc is None else crc
    masked = ((value >> 15 | value << 17) + 0xA282EAD8) & 0xFFFFFFFF
    body = masked.to_bytes(4, "little") + (data if stored else bytes(cramjam.snappy.compress_raw(data)))
    return bytes([stored]) + len(body).to_bytes(3, "little") + body


@given(st.lists(st.tuples(st.binary(min_size=1, max_size=500), st.booleans()), max_size=5))
def test_a_framed_stream_gives_its_bytes(pieces: list[tuple[bytes, bool]]) -> None:
    """Compressed and stored chunks in any order, with padding and the stream's beginning between them."""
    data = b"".join(chunk(*piece) + b"\xfe\x01\x00\x00p" + snappy.STREAM_ID for piece in pieces)
    assert snappy.decompress(ByteReader(data, "", ""), 1 << 20) == b"".join(piece for piece, _ in pieces)


@pytest.mark.parametrize(
    "data",
    [
        chunk(b"abc", crc=1),
        chunk(b"a" * 65537),
        chunk(b"a" * 65537, stored=True),
        b"\x02\x00\x00\x00",
        b"\x00\x03\x00\x00abc",
        b"\x00\xff\xff\xff",
        b"\xff\x06\x00\x00sNaPpX",
        b"\x00\x09\x00\x00" + bytes(4) + b"\xff\xff\xff\xff\x0f",
        b"\x00\x05\x00\x00" + bytes(4) + b"\xff",
        chunk(b"a" * 60000) * 3,
    ],
)
def test_a_framed_stream_that_lies_is_refused(data: bytes) -> None:
    """Wrong checksums, blocks above 64 KiB, unknown chunks, lengths beyond the end, and more than the limit."""
    with pytest.raises(DamagedCheckpointError):
        snappy.decompress(ByteReader(data, "", ""), 150_000)


def test_compressed_state_is_read_and_put_back_plain() -> None:
    """The flag is cleared, the header stays, and each element stands at its own place."""
    plain = kafka_operator("src", [[split("a", 0, 5), split("a" * 200, 1, 6)]])
    handle = (plain.subtasks or ())[0].managed
    assert handle is not None and isinstance(handle.delegate, Inline)
    data, first = handle.delegate.data, handle.states[0].offsets[1]
    start = handle.states[0].offsets[0]
    header = data[:4] + b"\x01" + data[5:start] + snappy.STREAM_ID
    chunks = chunk(data[start:first]), chunk(data[first:])
    packed = moved_stream(plain, Inline("9f-1", header + b"".join(chunks)))
    raw = metadata(packed).emit()
    old = b"".join(offset.to_bytes(8, "big") for offset in handle.states[0].offsets)
    new = len(header).to_bytes(8, "big") + (len(header) + len(chunks[0])).to_bytes(8, "big")
    checkpoint = _open(raw.replace(old, new))
    assert checkpoint.page().versions[f"operator state of {operator_id('src').hex()}"] == "6, compressed"
    assert checkpoint.rewrite(RewriteSpec(), Arithmetic()).writes["_metadata"] == metadata(plain).emit()
    shared = _open(raw.replace(old, new[:8] * 2))
    assert [one.why for one in shared.rewrite(RewriteSpec(), Arithmetic()).refusals] == [ReasonKind.UNKNOWN]
    flat = _open(raw)
    assert [one.why for one in flat.rewrite(RewriteSpec(), Arithmetic()).refusals] == [ReasonKind.UNKNOWN]


def test_operator_state_of_any_size_is_not_read() -> None:
    """A file beyond the limit is left unread, and the source refused."""
    from anabranch.checkpoints.flink.handles import RelativeFile

    operator = moved_stream(kafka_operator("src", [[split("a", 0, 5)]]), RelativeFile("big", MAX_SIZE + 1))
    checkpoint = opened(operator, contents={"big": bytes(MAX_SIZE + 1)})
    assert "at most" in checkpoint.rewrite(RewriteSpec(), Arithmetic()).refusals[0].what


INLINE = b"\x01\x00\x01k\x00\x00\x00\x03abc"
RELATIVE = b"\x06\x00\x01r\x00\x00\x00\x00\x00\x00\x00\x05"
I64 = bytes(8)


@pytest.mark.parametrize(
    ("data", "size"),
    [
        (b"\x00", 0),
        (b"\x03" + bytes(4) + b"\x00\x00\x00\x01" + I64 + INLINE, 3),
        (b"\x07" + bytes(8) + RELATIVE, 5),
        (b"\x0c" + bytes(8) + RELATIVE + b"\x00\x02id", 5),
        (b"\x05" + I64 + b"\x00\x01b" + bytes(8) + RELATIVE + b"\x00\x00\x00\x01\x00\x01n" + RELATIVE + bytes(4), 10),
        (
            b"\x0b"
            + I64
            + b"\x00\x01b"
            + bytes(16)
            + INLINE
            + bytes(4)
            + b"\x00\x00\x00\x01\x00\x01n"
            + RELATIVE
            + b"\x00\x00",
            8,
        ),
        (b"\x08" + bytes(16) + b"\x00\x00\x00\x01\x07" + bytes(8) + RELATIVE + bytes(4) + I64 + b"\x00\x00", 5),
        (b"\x0e" + bytes(16) + bytes(4) + b"\x00\x00\x00\x01\x00" + bytes(16) + b"\x00\x00", 0),
        (b"\x09" + bytes(24) + b"\x00\x00\x00\x01" + bytes(4) + b"\x00\x00\x00\x02ab" + b"\x00\x00", 2),
        (b"\x0a" + bytes(8) + b"\x00\x00\x00\x01" + I64 + RELATIVE + bytes(16) + b"\x00\x00", 5),
        (b"\x0d" + bytes(8) + b"\x00\x00\x00\x01" + I64 + RELATIVE + bytes(16) + b"\x00\x00\x00\x01s", 5),
    ],
)
def test_keyed_handles_are_spans_in_which_files_can_be_made_absolute(data: bytes, size: int) -> None:
    """Every type ends where it must, knows its size, and its relative files."""
    reader = ByteReader(data + b"more", "", "")
    span = read_keyed(reader)
    assert (span.data, span.size, reader.left) == (data, size, 4)
    assert len(span.relatives) == data.count(RELATIVE)
    absolute = b"\x02\x00\x00\x00\x00\x00\x00\x00\x05\x00\x08file:/d/r".replace(b"\x00\x08", b"\x00\x09")
    assert span.absolute("/d").data == data.replace(RELATIVE, absolute)


@pytest.mark.parametrize("kind", [1, 2, 4, 6, 15, 16, 17, 99])
def test_an_unknown_keyed_handle_is_refused_with_its_place(kind: int) -> None:
    """Types of other handles are none of keyed state."""
    with pytest.raises(UnknownVersionError, match=f"type {kind} of a keyed state handle at byte 0"):
        read_keyed(ByteReader(bytes([kind]) + bytes(40), "", ""))


def test_in_flight_state_is_a_span_in_every_version() -> None:
    """With the kind byte since version 6, and merged ones."""
    plain = bytes(12) + b"\x00\x00\x00\x01" + I64 + I64 + RELATIVE
    merged = bytes(12) + RELATIVE + b"\x00\x00\x00\x02ab"
    old = b"\x00\x00\x00\x02" + plain + plain
    new = b"\x00\x00\x00\x03\x01" + plain + b"\x03" + merged + b"\x02" + plain
    for version, data in ((3, old), (5, old), (6, new)):
        span = read_channels(ByteReader(data, "", ""), version)
        assert (span.data, len(span.relatives)) == (data, data.count(RELATIVE))
    with pytest.raises(UnknownVersionError, match="kind 5"):
        read_channels(ByteReader(b"\x00\x00\x00\x01\x05" + plain, "", ""), 6)


def test_properties_tell_a_kind_only_where_they_are_sure() -> None:
    """Both classes or none: nothing is told."""
    package = "org.apache.flink.runtime.checkpoint."

    def described(name: str) -> bytes:
        return b"\x72" + len(package + name).to_bytes(2, "big") + (package + name).encode()

    savepoint = described("SavepointType")
    assert properties.kind(savepoint) == "savepoint"
    assert properties.kind(savepoint + b"\x74\x00\x06NATIVE") == "native savepoint"
    assert properties.kind(described("CheckpointType")) == "checkpoint"
    assert properties.kind(savepoint + described("CheckpointType")) == properties.kind(b"") == ""


def test_a_stop_is_told_by_the_savepoint_s_own_word() -> None:
    """With a savepoint's class alone: SUSPEND, and TERMINATE where it was drained."""
    savepoint = b"\x72\x00\x31org.apache.flink.runtime.checkpoint.SavepointType"
    assert properties.stopped(savepoint + b"\x74\x00\x07SUSPEND")
    assert properties.stopped(savepoint + b"\x74\x00\x09TERMINATE")
    assert not properties.stopped(savepoint + b"\x74\x00\x04NONE")
    assert not properties.stopped(b"\x74\x00\x07SUSPEND")


def test_the_timeline_has_the_checkpoints_beside_it() -> None:
    """Only for one that is a job's checkpoint itself; the newest of them tells when the job last wrote."""
    beside = [
        FileEntry("chk-8", 0, 61_000, True),
        FileEntry("chk-7", 0, 1_000, True),
        FileEntry("shared", 0, 99_000, True),
    ]
    data = metadata(kafka_operator("src", [])).emit()
    checkpoint = _open(data, root="/x/0123456789abcdef0123456789abcdef/chk-7", neighbours=beside)
    page = checkpoint.page()
    assert [(one.number, one.committed) for one in page.timeline] == [(7, True), (8, False)]
    assert (checkpoint.newest_write_ms(), checkpoint.interval_ms()) == (61_000, 60_000)
    assert page.job == "0123456789abcdef0123456789abcdef"
    savepoint = _open(data, root="/x/savepoint-012345-abc", neighbours=beside)
    assert (savepoint.newest_write_ms(), savepoint.interval_ms(), savepoint.page().job) == (1000, None, "012345")


def _open(data: bytes, **files: object):  # type: ignore[no-untyped-def]
    from anabranch.checkpoints.flink import open_checkpoint

    checkpoint = open_checkpoint(MemoryFiles({"_metadata": data}, **files))  # type: ignore[arg-type]
    assert checkpoint is not None
    return checkpoint
