"""What the headers of some batches say of a topic."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from anabranch.migration.inventory import BatchSample
from anabranch.records.header import LOG_APPEND_TIME, NO_PRODUCER, BatchHeader


def sampled(headers: Sequence[BatchHeader]) -> BatchSample:
    """The sample of batches that follow each other in one log; markers count for gaps alone."""
    data = [header for header in headers if not header.is_control]
    times = [header.max_timestamp for header in data if header.max_timestamp >= 0]
    return BatchSample(
        batches=len(data),
        transactional=sum(header.is_transactional for header in data),
        idempotent=sum(header.producer_id != NO_PRODUCER and not header.is_transactional for header in data),
        plain=sum(header.producer_id == NO_PRODUCER for header in data),
        append_time=sum(bool(header.attributes & LOG_APPEND_TIME) for header in data),
        gaps=sum(after.base_offset - before.last_offset - 1 for before, after in pairwise(headers)),
        thinned=sum(header.count <= header.last_offset_delta for header in data),
        records=sum(header.count for header in data),
        size=sum(header.size for header in data),
        largest=max((header.size for header in data), default=0),
        oldest_ms=min(times, default=None),
        newest_ms=max(times, default=None),
    )
