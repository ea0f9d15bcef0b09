"""The last batches: when each was begun, its watermark, and whether it was committed."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from anabranch.checkpoints.job import BatchPage
from anabranch.checkpoints.ports import Files
from anabranch.checkpoints.spark.contents import MAX_LOG_BYTES
from anabranch.checkpoints.spark.errors import MalformedError
from anabranch.checkpoints.spark.layout import OFFSETS, Layout
from anabranch.checkpoints.spark.offsets_log import parse_head
from anabranch.errors import AnabranchError

_SHOWN = 10


def timeline(files: Files, layout: Layout) -> tuple[BatchPage, ...]:
    """The last ten batches, oldest first. One whose file cannot be read has no time: nothing depends on it."""
    return tuple(_batch(files, layout, number) for number in layout.offsets[-_SHOWN:])


def longest_interval_ms(batches: Sequence[BatchPage]) -> int | None:
    """The longest time between two batches, None with fewer than two."""
    times = [batch.at_ms for batch in batches if batch.at_ms is not None]
    return max((late - early for early, late in pairwise(times)), default=None)


def _batch(files: Files, layout: Layout, number: int) -> BatchPage:
    committed = number in layout.commits or number <= (layout.committed if layout.committed is not None else -1)
    try:
        content = files.read(f"{OFFSETS}/{number}", MAX_LOG_BYTES)
        head = parse_head(content.split(b"\n", 2)[1].decode())
    except (AnabranchError, MalformedError, IndexError, UnicodeDecodeError):
        head = None
    if head is None:
        return BatchPage(number, None, committed)
    return BatchPage(number, head.timestamp_ms, committed, head.watermark_ms or None)
