"""Joining small batches where that pays.

A batch costs the worker and both brokers about the same whatever it holds, so a log of one-record batches would be
copied at the rate of batches and not of bytes.  Only batches of few records are joined: for others the work in each
record outweighs what is saved on its batch.  A batch that stands alone goes on as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from anabranch.lanes.holes import Stretch
from anabranch.records.errors import CorruptBatchError
from anabranch.records.header import read_header
from anabranch.records.join import UnjoinableError, join
from anabranch.replicate.reading import Copyable

FEW_RECORDS = 4
SMALL_BYTES = 2 << 10
LEAST = 8
MOST_BYTES = 256 << 10


def joined(batches: Sequence[Copyable], *, across_holes: bool = True) -> Iterator[Copyable]:
    """The same records in the same order, with neighbouring small batches as one.

    Without ``across_holes`` only batches between which no source offset is missing become one: an identity lane fills
    a hole before it sends what lies behind.
    What cannot be joined, or proves to be corrupt, is passed on as it is: whoever sends it says what is wrong.
    """
    if len(batches) < LEAST:
        yield from batches
        return
    group: list[Copyable] = []
    size = 0
    for batch in batches:
        header = batch.header
        small = header.count <= FEW_RECORDS and header.size <= SMALL_BYTES
        parted = group and not across_holes and group[-1].stretches[-1].end != batch.stretches[0].source
        if group and (not small or parted or size + header.size > MOST_BYTES):
            yield from _as_one(group)
            group, size = [], 0
        if small:
            group.append(batch)
            size += header.size
        else:
            yield batch
    yield from _as_one(group)


def _as_one(group: list[Copyable]) -> Sequence[Copyable]:
    if len(group) < LEAST:
        return group
    try:
        view = memoryview(join([(one.view, one.at, one.header) for one in group]))
    except (CorruptBatchError, UnjoinableError):
        return group
    stretches: list[Stretch] = []
    for one in group:
        for stretch in one.stretches:
            if stretches and stretches[-1].end == stretch.source:
                stretches[-1] = Stretch(stretches[-1].source, stretches[-1].length + stretch.length)
            else:
                stretches.append(stretch)
    last = group[-1]
    header = read_header(view)._replace(base_offset=stretches[0].source, leader_epoch=last.header.leader_epoch)
    return (Copyable(view, 0, header, tuple(stretches), last.through, True),)
