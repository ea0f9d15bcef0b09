"""Elements of FlinkKafkaConsumer's union state, the source of Flink up to 1.20.

Each is a pair of a ``KafkaTopicPartition`` written by Kryo 2.24 with references, and a long: the last processed offset.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from anabranch.checkpoints.flink import writer
from anabranch.checkpoints.flink.reader import ByteReader
from anabranch.checkpoints.flink.split import NOTHING, KafkaSplit, check_topic
from anabranch.model.topics import TopicPartition

STATE = "topic-partition-offset-states"
INSTEAD = (
    "begin from a retained checkpoint of the job (chk-N), or from a savepoint that is taken while it runs, by "
    "`flink savepoint`, and cancel it then"
)
STALE = (
    "its positions are those of the job's last checkpoint before the stop, not of this savepoint; a restart repeats "
    "what was read between"
)
ANYWAY = f"{INSTEAD}; or take that repeat: --stop-savepoint translate"
_NOT_SET = -915623761776
_SENTINELS = {_NOT_SET: NOTHING, -915623761775: -2, -915623761774: -1, -915623761773: -3}
_STORED = {offset: sentinel for sentinel, offset in _SENTINELS.items()}
_NEW_OBJECT = 1
_FIRST_REGISTERED = 2
"""Smaller class ids are null, and a class that follows by its name."""


@dataclass(frozen=True, slots=True)
class OldElement:
    """``class_id`` is Kryo's, which depends on the job and is kept; the split's start is one more than is stored."""

    class_id: int
    split: KafkaSplit
    cluster: str = ""

    def moved(self, split: KafkaSplit, cluster: str) -> OldElement:
        return replace(self, split=split, cluster=cluster)

    def emit(self) -> bytes:
        topic, partition = self.split.partition.topic, self.split.partition.partition
        start = self.split.start
        return b"".join(
            (
                _varint(self.class_id),
                writer.u8(_NEW_OBJECT),
                _varint(_zigzag(_hash_code(self.split.partition))),
                _varint(_zigzag(partition)),
                writer.u8(_NEW_OBJECT),
                _string(topic),
                writer.i64(_STORED.get(start, start - 1)),
            )
        )


def read_old_element(reader: ByteReader) -> OldElement:
    """A whole element. Raises ``DamagedCheckpointError`` for what no such consumer writes, by the cached hash too."""
    class_id = _read_varint(reader)
    if class_id < _FIRST_REGISTERED or reader.u8() != _NEW_OBJECT:
        reader.fail("there is no partition of a registered class", 0)
    cached, number = _unzigzag(_read_varint(reader)), _unzigzag(_read_varint(reader))
    if number < 0 or reader.u8() != _NEW_OBJECT:
        reader.fail("there is no partition and topic")
    start = reader.at
    partition = TopicPartition(check_topic(reader, _read_string(reader), start), number)
    if cached != _hash_code(partition):
        reader.fail("the partition's hash is another one", start)
    start = reader.at
    stored = reader.i64()
    reader.finish()
    if stored < -1 and stored not in _SENTINELS:
        reader.fail(f"{stored} is no offset", start)
    element = OldElement(class_id, KafkaSplit(partition, _SENTINELS.get(stored, stored + 1)))
    if element.emit() != reader.data:
        reader.fail("these bytes would not be written again as they are", 0)
    return element


def _hash_code(partition: TopicPartition) -> int:
    """Java's ``31 * topic.hashCode() + partition`` in 32 bits."""
    value = 0
    for character in partition.topic:
        value = (31 * value + ord(character)) & 0xFFFFFFFF
    value = (31 * value + partition.partition) & 0xFFFFFFFF
    return value - (1 << 32) if value >> 31 else value


def _zigzag(value: int) -> int:
    return (value << 1 ^ value >> 31) & 0xFFFFFFFF


def _unzigzag(value: int) -> int:
    return value >> 1 ^ -(value & 1)


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _read_varint(reader: ByteReader) -> int:
    value = shift = 0
    while (byte := reader.u8()) > 0x7F:
        value |= (byte & 0x7F) << shift
        shift += 7
        if shift > 28:
            reader.fail("a number has more than 32 bits")
    return (value | byte << shift) & 0xFFFFFFFF


def _string(text: str) -> bytes:
    """Kryo's string: 2 to 63 ASCII characters end with a set high bit, others begin with their length plus one."""
    raw = text.encode("ascii")
    if 1 < len(raw) < 64:
        return raw[:-1] + bytes([raw[-1] | 0x80])
    length = len(raw) + 1
    if length < 64:
        return bytes([length | 0x80]) + raw
    return bytes([length & 0x3F | 0xC0]) + _varint(length >> 6) + raw


def _read_string(reader: ByteReader) -> str:
    first = reader.u8()
    raw = bytearray()
    if first & 0x80:
        length = first & 0x3F
        if first & 0x40:
            length |= _read_varint(reader) << 6
        raw += reader.raw(length - 1)
    else:
        raw.append(first)
        while not raw[-1] & 0x80:
            raw.append(reader.u8())
        raw[-1] &= 0x7F
    try:
        return raw.decode("ascii")
    except UnicodeDecodeError:
        reader.fail("there is no topic's name")
