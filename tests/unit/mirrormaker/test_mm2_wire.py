"""The bytes of MirrorMaker 2's records, and the names of its topics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.mirrormaker import names
from anabranch.mirrormaker.store import OffsetSync
from anabranch.mirrormaker.wire import (
    Heartbeat,
    MirrorCheckpoint,
    MirrorRecordError,
    decode_checkpoint,
    decode_heartbeat,
    decode_sync,
    encode_checkpoint,
    encode_heartbeat,
    encode_sync,
)
from anabranch.model.topics import TopicPartition

pytestmark = pytest.mark.unit

OFFSETS = st.integers(-(2**63), 2**63 - 1)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=50)
PARTITIONS = st.builds(TopicPartition, TEXT, st.integers(0, 2**31 - 1))
CHECKPOINT = MirrorCheckpoint("readers", TopicPartition("old.flights", 3), 1000, 7, "noted")


def test_the_bytes_are_those_that_mirror_maker_writes() -> None:
    """Written out once by hand from Kafka's schemas; the integration tests hold them against the real thing."""
    assert encode_sync(TopicPartition("t", 1), OffsetSync(2, 3)) == (
        b"\0\1t" + b"\0\0\0\1",
        b"\0\0\0\0\0\0\0\2" + b"\0\0\0\0\0\0\0\3",
    )
    assert encode_checkpoint(MirrorCheckpoint("g", TopicPartition("t", 1), 2, 3, "m")) == (
        b"\0\1g" + b"\0\1t" + b"\0\0\0\1",
        b"\0\0" + b"\0\0\0\0\0\0\0\2" + b"\0\0\0\0\0\0\0\3" + b"\0\1m",
    )
    assert encode_heartbeat(Heartbeat("a", "b", 5)) == (b"\0\1a\0\1b", b"\0\0" + b"\0\0\0\0\0\0\0\5")


@given(TEXT, PARTITIONS, OFFSETS, OFFSETS, TEXT)
def test_what_is_written_is_read_again(
    group: str, partition: TopicPartition, up: int, down: int, metadata: str
) -> None:
    """Every record survives, whatever its texts and numbers are."""
    checkpoint = MirrorCheckpoint(group, partition, up, down, metadata)
    assert decode_checkpoint(*encode_checkpoint(checkpoint)) == checkpoint
    assert decode_sync(*encode_sync(partition, OffsetSync(up, down))) == (partition, OffsetSync(up, down))
    heartbeat = Heartbeat(group, metadata, up)
    assert decode_heartbeat(*encode_heartbeat(heartbeat)) == heartbeat


SAMPLES: list[tuple[str, Callable[..., Any], Callable[..., tuple[bytes, bytes]], tuple[bytes, bytes], int]] = [
    (
        "offset sync",
        decode_sync,
        lambda found: encode_sync(*found),
        encode_sync(TopicPartition("t", 1), OffsetSync(2, 3)),
        0,
    ),
    (
        "checkpoint",
        decode_checkpoint,
        encode_checkpoint,
        encode_checkpoint(MirrorCheckpoint("g", TopicPartition("t", 1), 2, 3, "m")),
        2,
    ),
    ("heartbeat", decode_heartbeat, encode_heartbeat, encode_heartbeat(Heartbeat("a", "b", 5)), 2),
]


def is_taken(kind: str, decode: Any, encode: Any, key: bytes, value: bytes, version: int) -> bool:
    """Whether bytes are read: then they are those of the record but for a later version's; else the error says what."""
    refused = None
    try:
        found = decode(key, value)
    except MirrorRecordError as error:
        refused = error
    if refused is not None:
        assert refused.kind == kind and refused.problem
        return False
    again = encode(found)
    assert again[0] == key
    assert value[version:].startswith(again[1][version:])
    return True


@pytest.mark.parametrize(("kind", "decode", "encode", "record", "version"), SAMPLES, ids=[one[0] for one in SAMPLES])
@given(key=st.binary(max_size=60), value=st.binary(max_size=60))
def test_other_bytes_are_a_typed_error_or_a_record(
    kind: str, decode: Any, encode: Any, record: tuple[bytes, bytes], version: int, key: bytes, value: bytes
) -> None:
    """Nothing else comes out of a topic that somebody else writes to."""
    assert is_taken(kind, decode, encode, *record, version)
    assert is_taken(kind, decode, encode, record[0], record[1] + value, version)
    for other in ((key, value), (key, record[1]), (record[0], value)):
        is_taken(kind, decode, encode, *other, version)


@pytest.mark.parametrize(("kind", "decode", "encode", "record", "version"), SAMPLES, ids=[one[0] for one in SAMPLES])
def test_every_byte_altered_is_another_record_or_a_typed_error(
    kind: str, decode: Any, encode: Any, record: tuple[bytes, bytes], version: int
) -> None:
    """Letters and numbers may be any, lengths may not; what is cut off is refused."""
    taken = refused = 0
    for part, data in enumerate(record):
        for at in range(len(data)):
            for byte in {0, 1, 0x41, 0x7F, 0x80, 0xFF} - {data[at]}:
                altered = list(record)
                altered[part] = data[:at] + bytes((byte,)) + data[at + 1 :]
                found = is_taken(kind, decode, encode, altered[0], altered[1], version)
                taken, refused = taken + found, refused + (not found)
            cut = list(record)
            cut[part] = data[:at]
            assert not is_taken(kind, decode, encode, cut[0], cut[1], version)
    assert taken > 30
    assert refused > 10


def test_a_later_version_is_read_as_far_as_it_is_known() -> None:
    """Kafka's own reader takes fields that a later version appends, and so do we."""
    key, value = encode_checkpoint(CHECKPOINT)
    assert decode_checkpoint(key, b"\0\1" + value[2:] + b"more") == CHECKPOINT


def test_a_version_below_zero_is_no_record() -> None:
    """Kafka's versions begin at 0: whatever this is, it is not taken for a position or a sign of life."""
    key, value = encode_checkpoint(CHECKPOINT)
    with pytest.raises(MirrorRecordError, match="version -1"):
        decode_checkpoint(key, b"\xff\xff" + value[2:])
    key, value = encode_heartbeat(Heartbeat("a", "b", 5))
    with pytest.raises(MirrorRecordError, match="version -1"):
        decode_heartbeat(key, b"\xff\xff" + value[2:])


def test_a_string_too_long_for_its_length_is_refused() -> None:
    """Two bytes of length hold 32,767."""
    with pytest.raises(ValueError, match="32768 bytes"):
        encode_checkpoint(MirrorCheckpoint("g", TopicPartition("t", 0), 0, 0, "x" * 32768))


def test_names_follow_the_separator_and_are_read_back() -> None:
    """KIP-690: a separator that was set counts for internal topics too."""
    assert names.offset_syncs_topic("new") == "mm2-offset-syncs.new.internal"
    assert names.checkpoints_topic("old") == "old.checkpoints.internal"
    assert names.checkpoints_topic("old", "_") == "old_checkpoints_internal"
    assert names.heartbeats_copy("old") == "old.heartbeats"
    assert names.source_of_checkpoints("eu.west.checkpoints.internal") == "eu.west"
    assert names.source_of_checkpoints("checkpoints") is None
    assert names.alias_of_offset_syncs("mm2-offset-syncs_new_internal", "_") == "new"
    assert names.alias_of_offset_syncs("flights") is None
