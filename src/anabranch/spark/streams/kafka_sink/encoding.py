"""Arrow columns as the records of batches, all records of a chunk at once.

Each number of a record is a column of variable-length integers; Arrow then joins the columns record by record, and what
it has joined lies in memory as the records do behind a batch's header.  Measured beside a loop in Python: 15 times as
fast.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BATCH_BYTES = 500_000
"""Uncompressed bytes of a batch, unless a single record has more; brokers take a million where they are not told."""
OVERHEAD = 32
"""The most that the numbers of one record take."""
_NO_HEADERS = b"\0"


def cuts(sizes: NDArray[np.int64], starts: NDArray[np.int64], limit: int = BATCH_BYTES) -> list[int]:
    """Where batches begin, and the end: at each of ``starts``, and before a record that would pass the limit."""
    import numpy as np

    ends = np.cumsum(sizes)
    found: list[int] = []
    bounds = [*starts.tolist(), len(sizes)]
    for first, stop in pairwise(bounds):
        at = first
        while at < stop:
            found.append(at)
            before = int(ends[at - 1]) if at else 0
            at = min(stop, max(at + 1, int(np.searchsorted(ends, before + limit, "right"))))
    return [*found, len(sizes)]


def encode(
    keys: pa.LargeBinaryArray,
    values: pa.LargeBinaryArray,
    headers: pa.LargeBinaryArray | None,
    offset_deltas: NDArray[np.int64],
    timestamp_deltas: NDArray[np.int64],
) -> tuple[memoryview, NDArray[np.int64]]:
    """All records, and where each begins in them, and the end.

    ``headers`` are those of each record as they stand in it (``headers_of``); None where no record has any.
    """
    import numpy as np

    key_sizes, value_sizes = sizes_of(keys), sizes_of(values)
    header_sizes = np.ones(len(keys), np.int64) if headers is None else sizes_of(headers)
    numbers = [_varints(timestamp_deltas), _varints(offset_deltas), _varints(key_sizes)]
    attributes = (np.zeros((len(keys), 1), np.uint8), np.ones((len(keys), 1), np.bool_))
    head = _column([attributes, *numbers])
    middle = _column([_varints(value_sizes)])
    lengths = sizes_of(head) + key_sizes.clip(0) + sizes_of(middle) + value_sizes.clip(0) + header_sizes
    joined = pc.binary_join_element_wise(
        _column([_varints(lengths)]),
        head,
        keys.fill_null(b""),
        middle,
        values.fill_null(b""),
        pa.scalar(_NO_HEADERS, pa.large_binary()) if headers is None else headers,
        pa.scalar(b"", pa.large_binary()),
    )
    _, offsets, data = joined.buffers()
    places = np.frombuffer(offsets, np.int64)[joined.offset : joined.offset + len(joined) + 1]
    return memoryview(data), places


def sizes_of(column: pa.LargeBinaryArray) -> NDArray[np.int64]:
    """The bytes of each value; -1 for a null."""
    import numpy as np

    found = pc.binary_length(column).fill_null(-1)
    return np.asarray(found.to_numpy(zero_copy_only=False), np.int64)


def headers_of(column: pa.Array) -> pa.LargeBinaryArray | None:
    """Lists of (key, value) as they stand in records; None where all are empty."""
    if not pc.any(pc.greater(pc.list_value_length(column).fill_null(0), 0)).as_py():
        return None
    found = []
    for headers in column.to_pylist():
        out = bytearray(_varint(len(headers or ())))
        for header in headers or ():
            name, value = header["key"].encode(), header["value"]
            out += _varint(len(name)) + name
            out += b"\x01" if value is None else _varint(len(value)) + value
        found.append(bytes(out))
    return pa.array(found, pa.large_binary())


def _varint(number: int) -> bytes:
    from anabranch.records.varint import write

    out = bytearray()
    write(out, number)
    return bytes(out)


def _varints(numbers: NDArray[np.int64]) -> tuple[NDArray[np.uint8], NDArray[np.bool_]]:
    """Zigzag numbers of seven bits a byte, a row for each, and which bytes of a row count."""
    import numpy as np

    left = ((numbers << 1) ^ (numbers >> 63)).astype(np.uint64)
    columns, counted = [], []
    present = np.ones(len(numbers), np.bool_)
    while True:
        rest = left >> np.uint64(7)
        more = rest != 0
        columns.append((left & np.uint64(0x7F)).astype(np.uint8) | (more.astype(np.uint8) << 7))
        counted.append(present)
        if not more.any():
            return np.stack(columns, axis=1), np.stack(counted, axis=1)
        left, present = rest, more


def _column(parts: list[tuple[NDArray[Any], NDArray[Any]]]) -> pa.LargeBinaryArray:
    """Each row's bytes that count, one part behind the other, as a column."""
    import numpy as np

    data = np.concatenate([data for data, _ in parts], axis=1)
    counted = np.concatenate([counted for _, counted in parts], axis=1)
    offsets = np.zeros(len(data) + 1, np.int64)
    np.cumsum(counted.sum(axis=1), out=offsets[1:])
    return pa.LargeBinaryArray.from_buffers(
        pa.large_binary(), len(data), [None, pa.py_buffer(offsets), pa.py_buffer(data[counted])]
    )
