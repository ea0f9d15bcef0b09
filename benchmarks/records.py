"""Speed of split + CRC check + patch on one core, in MB/s and batches/s.

Run: ``python benchmarks/records.py``.  The records are random bytes: what the copier sees of a compressed
batch. The buffer is larger than the CPU's caches, as a fetch answer fresh from the socket is not: the figures
are a floor.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from google_crc32c import value

from anabranch.records.header import CRC_START, HEADER, HEADER_SIZE, LOG_OVERHEAD, Codec
from anabranch.records.patch import check_and_patch, check_crc, patch
from anabranch.records.split import split

ROUNDS = 5


def build(batch_size: int, count: int, total: int) -> bytearray:
    """Return about ``total`` bytes of batches of ``batch_size`` bytes and ``count`` records, marked as LZ4."""
    out = bytearray()
    for number in range(total // batch_size):
        records = os.urandom(batch_size - HEADER_SIZE)
        fields = (Codec.LZ4, count - 1, 1_700_000_000_000, 1_700_000_000_999, -1, -1, -1, count)
        head = HEADER.pack(number * count, batch_size - LOG_OVERHEAD, 7, 2, 0, *fields)
        crc = value(head[CRC_START:] + records)
        out += HEADER.pack(number * count, batch_size - LOG_OVERHEAD, 7, 2, crc, *fields) + records
    return out


def best(work: Callable[[memoryview], None], data: bytearray) -> float:
    """Return the shortest time in seconds of ``work`` on fresh copies of ``data``."""
    times = []
    for _ in range(ROUNDS):
        buffer = memoryview(bytearray(data))
        start = time.perf_counter()
        work(buffer)
        times.append(time.perf_counter() - start)
    return min(times)


def only_split(buffer: memoryview) -> None:
    """Cut only."""
    split(buffer)


def two_steps(buffer: memoryview) -> None:
    """Cut, check, patch, as separate calls."""
    for position, header in split(buffer):
        check_crc(buffer, position, header)
        patch(buffer, position, header, 4000, 0, header.base_offset)


def fused(buffer: memoryview) -> None:
    """Cut, check and patch in one call."""
    for position, header in split(buffer):
        check_and_patch(buffer, position, header, 4000, 0, header.base_offset)


def main() -> None:
    """Print one line for each size of batch and kind of work."""
    for size, count, total in ((4_000, 20, 64 << 20), (16_000, 80, 64 << 20), (120_000, 600, 256 << 20)):
        data = build(size, count, total)
        batches = len(data) // size
        for work in (only_split, two_steps, fused):
            seconds = best(work, data)
            print(
                f"{size:>7} B batches  {work.__name__:<10} {len(data) / seconds / 1e6:>9,.0f} MB/s "
                f"{batches / seconds:>11,.0f} batches/s  {seconds / batches * 1e6:>7.2f} µs each"
            )


if __name__ == "__main__":
    main()
