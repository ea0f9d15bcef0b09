"""Every codec round-trips, reads what other libraries wrote, and stays inside its memory."""

from __future__ import annotations

import gzip
import struct
import zlib

import cramjam
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from anabranch.records.compression import compress, expand
from anabranch.records.header import Codec

pytestmark = pytest.mark.unit
XERIAL = b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1)
PACKED = [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD]
ARROW = {Codec.GZIP: "gzip", Codec.SNAPPY: "snappy", Codec.LZ4: "lz4", Codec.ZSTD: "zstd"}
DATA = st.binary(max_size=3000) | st.builds(lambda part, n: part * n, st.binary(max_size=9), st.integers(0, 20000))


def arrow_expand(codec: Codec, data: bytes, size: int) -> bytes:
    """Expand with Arrow's own libraries; its snappy knows no stream, so blocks are taken out here."""
    if codec is not Codec.SNAPPY:
        return bytes(pa.decompress(data, size, codec=ARROW[codec], asbytes=True)) if size else b""
    assert data.startswith(XERIAL)
    out, position = b"", len(XERIAL)
    while position < len(data):
        (length,) = struct.unpack_from(">i", data, position)
        block = data[position + 4 : position + 4 + length]
        out += bytes(pa.decompress(block, min(32768, size - len(out)), codec="snappy", asbytes=True))
        position += 4 + length
    return out


@pytest.mark.parametrize("codec", list(Codec))
@given(data=DATA)
def test_what_is_compressed_expands_to_itself(codec: Codec, data: bytes) -> None:
    """Expand undoes compress for every codec."""
    assert expand(codec, compress(codec, data)) == data


@pytest.mark.parametrize("codec", PACKED)
@given(data=DATA)
def test_another_library_reads_what_is_written(codec: Codec, data: bytes) -> None:
    """Arrow's codecs expand it to the same bytes."""
    assert arrow_expand(codec, compress(codec, data), len(data)) == data


@pytest.mark.parametrize("codec", PACKED)
@given(data=DATA.filter(len))
def test_what_another_library_wrote_is_read(codec: Codec, data: bytes) -> None:
    """Arrow's gzip, raw snappy, LZ4 frame and zstd expand here."""
    assert expand(codec, pa.compress(data, codec=ARROW[codec], asbytes=True)) == data


def test_lz4_blocks_are_independent() -> None:
    """Java's reader refuses a frame without the independence bit (0x20) in its flags."""
    packed = compress(Codec.LZ4, b"abc" * 100_000)
    assert packed[:4] == b"\x04\x22\x4d\x18"
    assert packed[4] & 0x20


def test_snappy_is_written_as_java_reads_it() -> None:
    """Blocks of 32 kB behind the xerial header; versions written little-endian are read as well."""
    data = bytes(range(256)) * 400
    packed = compress(Codec.SNAPPY, data)
    assert packed.startswith(XERIAL)
    little = b"\x82SNAPPY\x00" + struct.pack("<ii", 1, 1) + packed[16:]
    assert expand(Codec.SNAPPY, little) == data


def test_gzip_of_several_members_is_read_whole() -> None:
    """Java's stream reads on over the end of a member, so this does too."""
    assert expand(Codec.GZIP, gzip.compress(b"one") + gzip.compress(b"two")) == b"onetwo"


def test_gzip_is_the_same_bytes_at_any_time() -> None:
    """No clock goes into a compressed batch: encoding twice gives the same CRC."""
    assert compress(Codec.GZIP, b"x")[4:8] == bytes(4)


@pytest.mark.parametrize("codec", PACKED)
def test_more_than_the_limit_is_refused(codec: Codec) -> None:
    """Ten million zeros compress to little and are refused at a limit below, taken at one that fits."""
    data = bytes(10_000_000)
    packed = compress(codec, data)
    with pytest.raises(ValueError, match=r"expand|claims|within"):
        expand(codec, packed, len(data) - 1)
    assert expand(codec, packed, len(data)) == data


@pytest.mark.parametrize("codec", PACKED)
@given(noise=st.binary(max_size=100), at=st.floats(0, 1), cut=st.floats(0, 1))
@example(noise=b"", at=0.0, cut=1.0)
def test_damage_is_refused_or_expands_to_something(codec: Codec, noise: bytes, at: float, cut: float) -> None:
    """Bytes overwritten or cut off anywhere give some bytes or a ValueError, never another error."""
    text = b"some text that repeats, some text that repeats, " * 40
    packed = bytearray(compress(codec, text))
    start = int(at * len(packed))
    packed[start : start + len(noise)] = noise
    damaged = bytes(packed[: int(cut * len(packed)) + 1])
    try:
        found = expand(codec, damaged, 1 << 20)
    except ValueError as error:
        said = str(error)
    else:
        assert isinstance(found, bytes) and len(found) <= 1 << 20
        assert found == text or damaged != compress(codec, text)
        return
    assert said and damaged != compress(codec, text)


@pytest.mark.parametrize("block", [b"\xff\xff\xff\xff\x0f", b"\xff\xff\xff\xff\x0f" + bytes(20)])
def test_a_snappy_block_that_claims_4_gib_is_not_believed(block: bytes) -> None:
    """The claim is held against the most that snappy can make of so few bytes."""
    with pytest.raises(ValueError, match="claims to expand to 4,294,967,295"):
        expand(Codec.SNAPPY, block, 1 << 40)


@pytest.mark.parametrize("tail", [b"\x00", b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff", struct.pack(">i", 9) + b"x"])
def test_a_snappy_stream_with_a_false_length_is_refused(tail: bytes) -> None:
    """Lengths that are cut off, negative or past the end."""
    with pytest.raises(ValueError, match="snappy"):
        expand(Codec.SNAPPY, compress(Codec.SNAPPY, b"abc") + tail)


@pytest.mark.parametrize(("codec", "good"), [(c, compress(c, b"hello " * 50)) for c in PACKED])
def test_cut_off_data_is_refused(codec: Codec, good: bytes) -> None:
    """The last byte matters."""
    with pytest.raises(ValueError, match=codec.name.lower()):
        expand(codec, good[:-1])


def test_the_errors_of_the_libraries_stay_inside() -> None:
    """Callers see ValueError, not what a library raises."""
    assert not issubclass(cramjam.DecompressionError, ValueError)
    assert not issubclass(zlib.error, ValueError)
    for codec in PACKED:
        with pytest.raises(ValueError, match=codec.name.lower()):
            expand(codec, b"not this at all")
