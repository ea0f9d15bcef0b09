"""The stream of one subtask's operator state: a header that is never looked into, and elements after it.

The header ends where the first element begins, so serializers of any class are carried along unread
(``OperatorBackendSerializationProxy`` version 5 up to Flink 1.17, 6 since 1.18).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from anabranch.checkpoints.errors import UnknownVersionError
from anabranch.checkpoints.flink import snappy
from anabranch.checkpoints.flink.operator_handle import OperatorHandle
from anabranch.checkpoints.flink.reader import ByteReader

MAX_SIZE = 64 << 20
"""Most bytes of one subtask's operator state that are read, and that it may decompress to."""

_PLAIN_PROXY, _PROXY = 5, 6
_FLAG_AT = 4


@dataclass(frozen=True, slots=True)
class OperatorState:
    """``elements`` by their stored offset, in the order of the stream; the header ends at the first of them.

    Invariant: for a stream that was not compressed ``rebuild`` without a change gives the same bytes.
    """

    proxy: int
    header: bytes
    compressed: bool
    elements: Mapping[int, bytes]


def read_operator_state(handle: OperatorHandle, data: bytes, path: str, name: str) -> OperatorState:
    """Cut a stream into its elements. Raises ``DamagedCheckpointError`` and ``UnknownVersionError``.

    The ranges between the sorted offsets of all states together are the elements, whosever they are.
    """
    reader = ByteReader(data, path, name)
    proxy = reader.i32()
    if proxy not in (_PLAIN_PROXY, _PROXY):
        reader.unknown(f"the operator state version {proxy}", "5 (Flink up to 1.17) and 6 (since 1.18)", 0)
    compressed = proxy == _PROXY and reader.boolean()
    offsets = sorted({offset for state in handle.states for offset in state.offsets})
    if not offsets:
        return OperatorState(proxy, data, compressed, {})
    first = offsets[0]
    if first < reader.at + 4 or offsets[-1] > len(data):
        reader.fail(f"elements should be at bytes {first:,} to {offsets[-1]:,}, it has {len(data):,}", 0)
    ends = [*offsets[1:], len(data)]
    if not compressed:
        elements = {start: data[start:end] for start, end in zip(offsets, ends, strict=True)}
        return OperatorState(proxy, data[:first], False, elements)
    header = first - len(snappy.STREAM_ID)
    if header < reader.at + 4 or data[header:first] != snappy.STREAM_ID:
        # Flink 1.18.0 and 1.18.1 wrote one stream a state, with offsets that are not those of chunks (FLINK-34063).
        raise UnknownVersionError(path, name, "this compressed form", "that of Flink 1.19 and later")
    elements = {}
    left = MAX_SIZE
    for start, end in zip(offsets, ends, strict=True):
        chunk = ByteReader(data, path, name)
        chunk.at, chunk.end = start, end
        elements[start] = snappy.decompress(chunk, left)
        left -= len(elements[start])
    return OperatorState(proxy, data[:_FLAG_AT] + b"\x00" + data[_FLAG_AT + 1 : header], True, elements)


def rebuild(
    handle: OperatorHandle,
    state: OperatorState,
    changed: Mapping[int, bytes],
    added: Mapping[str, tuple[bytes, ...]] | None = None,
) -> OperatorHandle:
    """The handle over a new stream: elements by their old offset replaced, others put at the end of a state.

    The result is inline and not compressed. Pure: its name comes from its bytes, where the old one had none.
    """
    pieces = [state.header]
    size = len(state.header)
    locations: dict[int, int] = {}
    for offset, element in state.elements.items():
        locations[offset] = size
        piece = changed.get(offset, element)
        pieces.append(piece)
        size += len(piece)
    offsets = {entry.name: tuple(locations[offset] for offset in entry.offsets) for entry in handle.states}
    for name, elements in (added or {}).items():
        for element in elements:
            offsets[name] = (*offsets[name], size)
            pieces.append(element)
            size += len(element)
    data = b"".join(pieces)
    return handle.inlined(str(UUID(bytes=hashlib.sha256(data).digest()[:16])), offsets, data)
