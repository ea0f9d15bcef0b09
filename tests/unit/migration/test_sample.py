"""What headers of batches say of a topic."""

from __future__ import annotations

import pytest

from anabranch.migration.inventory import BatchSample
from anabranch.migration.sample import sampled
from anabranch.records.header import CONTROL, LOG_APPEND_TIME, TRANSACTIONAL, BatchHeader

pytestmark = pytest.mark.unit


def header(
    base: int, count: int, *, last: int | None = None, attributes: int = 0, producer: int = -1, time: int = 1_000
) -> BatchHeader:
    """A batch of 88 bytes."""
    delta = count - 1 if last is None else last - base
    return BatchHeader(base, 76, 0, 2, 0, attributes, delta, time, time, producer, 0, 0, count)


def test_kinds_of_batches_gaps_and_times_are_counted() -> None:
    """A marker is no batch of records, and fills its offset."""
    found = sampled(
        [
            header(0, 2, time=500),
            header(2, 1, attributes=TRANSACTIONAL, producer=7),
            header(3, 1, attributes=TRANSACTIONAL | CONTROL, producer=7),
            header(10, 1, last=12, attributes=LOG_APPEND_TIME, producer=8, time=2_000),
        ]
    )
    assert found == BatchSample(
        batches=3,
        transactional=1,
        idempotent=1,
        plain=1,
        append_time=1,
        gaps=6,
        thinned=1,
        records=4,
        size=3 * 88,
        largest=88,
        oldest_ms=500,
        newest_ms=2_000,
    )
    assert found.bytes_per_record == 66


def test_samples_add_up() -> None:
    """Nothing and something is something; times without a record are unknown."""
    first, second = sampled([header(0, 2, time=500)]), sampled([header(5, 1, time=900, producer=3)])
    both = first + second
    assert (both.batches, both.plain, both.idempotent, both.records, both.size) == (2, 1, 1, 3, 176)
    assert (both.oldest_ms, both.newest_ms) == (500, 900)
    assert BatchSample() + first == first
    assert (BatchSample().oldest_ms, BatchSample().bytes_per_record, sampled([])) == (None, None, BatchSample())
