"""Speed of records and offsets on one core: split + CRC check + patch, decode, encode, translate.

Run: ``python benchmarks/records.py``.  The records are random bytes: what the copier sees of a compressed
batch. The buffer is larger than the CPU's caches, as a fetch answer fresh from the socket is not: the figures
are a floor.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from functools import partial

import numpy as np
from google_crc32c import value

from anabranch.offsets import codec as codec_of_maps
from anabranch.offsets.bulk import to_target_bulk
from anabranch.offsets.offset_map import MappedRange, OffsetMap
from anabranch.offsets.translate import to_target
from anabranch.records.decode import decode
from anabranch.records.encode import encode
from anabranch.records.header import CRC_START, HEADER, HEADER_SIZE, LOG_OVERHEAD, Codec, read_header
from anabranch.records.patch import check_and_patch, check_crc, patch
from anabranch.records.record import Record, TimestampType
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


def best_of(work: Callable[[], object]) -> float:
    """Return the shortest time in seconds of ``work``."""
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def copying() -> None:
    """Print a line for each size of batch and each kind of work of the copier."""
    for size, count, total in ((4_000, 20, 64 << 20), (16_000, 80, 64 << 20), (120_000, 600, 256 << 20)):
        data = build(size, count, total)
        batches = len(data) // size
        for work in (only_split, two_steps, fused):
            seconds = best(work, data)
            print(
                f"{size:>7} B batches  {work.__name__:<10} {len(data) / seconds / 1e6:>9,.0f} MB/s "
                f"{batches / seconds:>11,.0f} batches/s  {seconds / batches * 1e6:>7.2f} µs each"
            )


def coding() -> None:
    """Print records/s of decode and encode for each codec, 600 records of 200 bytes a batch."""
    value_of = [os.urandom(100) + bytes(100) for _ in range(600)]
    records = [
        Record(n, 1_700_000_000_000 + n, TimestampType.CREATE_TIME, b"key-%d" % n, value_of[n]) for n in range(600)
    ]
    for codec in Codec:
        batch = encode(records, codec=codec)
        header = read_header(batch)
        view = memoryview(batch)
        for name, seconds in (
            ("decode", best_of(partial(decode, view, 0, header))),
            ("encode", best_of(partial(encode, records, codec=codec))),
        ):
            print(f"{name} {codec.name.lower():<7} {len(records) / seconds:>11,.0f} records/s")


def translating() -> None:
    """Print offsets/s of translation through a hundred thousand runs, and what storing them takes."""
    ranges = OffsetMap.of(MappedRange(11 * n, 10 * n, 10) for n in range(100_000))
    some = [(n * 7919) % ranges.source_end for n in range(100_000)]
    seconds = best_of(lambda: [to_target(ranges, offset) for offset in some])
    print(f"to_target            {len(some) / seconds:>11,.0f} offsets/s")
    many = np.random.default_rng(1).integers(0, ranges.source_end, 5_000_000)
    seconds = best_of(lambda: to_target_bulk(ranges, many))
    print(f"to_target_bulk       {len(many) / seconds:>11,.0f} offsets/s")
    stored = codec_of_maps.encode(ranges)
    seconds = best_of(lambda: codec_of_maps.decode(stored))
    print(f"decode stored runs   {len(ranges) / seconds:>11,.0f} runs/s, {len(stored):,} bytes")
    seconds = best_of(lambda: OffsetMap.of(ranges))
    print(f"append               {len(ranges) / seconds:>11,.0f} runs/s")


def main() -> None:
    """Print everything."""
    copying()
    coding()
    translating()


if __name__ == "__main__":
    main()
