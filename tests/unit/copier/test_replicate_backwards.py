"""Reading a log's headers backwards: the same batches as one look at a time finds, in few fetches."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.copier.target.backwards import Backwards
from anabranch.records.header import BatchHeader

pytestmark = pytest.mark.unit


class Log:
    """Batches at rising offsets, with gaps where compaction took some; counts what is fetched of it."""

    def __init__(self, sizes: Sequence[tuple[int, int]]) -> None:
        self.headers: list[BatchHeader] = []
        self.fetches = 0
        at = 0
        for gap, length in sizes:
            at += gap
            self.headers.append(BatchHeader(at, 100, 0, 2, 0, 0, length - 1, 0, 0, 1, 0, 0, length))
            at += length
        self.end = at

    async def fetch(self, offset: int, size: int) -> list[BatchHeader]:
        """As many whole batches as fit, but one at least."""
        self.fetches += 1
        found = [header for header in self.headers if header.last_offset >= offset]
        return found[: max(1, size // 112)]

    def before(self, below: int, first: int = 0) -> BatchHeader | None:
        """The last batch that begins below an offset, and is not wholly below the log's start."""
        found = [header for header in self.headers if header.base_offset < below and header.last_offset >= first]
        return found[-1] if found else None


async def walked(log: Log, first: int, steps: int) -> list[BatchHeader | None]:
    """Looks from the end on, each below the batch that was found."""
    window, below = Backwards(log.fetch), log.end
    found: list[BatchHeader | None] = []
    for _ in range(steps):
        header = window.known(below) or await window.read(first, below)
        found.append(header)
        if header is None:
            break
        below = header.base_offset
    return found


@given(
    st.lists(st.tuples(st.sampled_from([0, 0, 0, 1, 50]), st.integers(1, 5)), min_size=1, max_size=60),
    st.integers(0, 40),
)
def test_a_walk_meets_every_batch_in_its_order(sizes: list[tuple[int, int]], first: int) -> None:
    """Whatever the windows are, wherever the log begins, and also over gaps."""
    log = Log(sizes)
    first = min(first, log.end)
    expected: list[BatchHeader | None] = []
    below: int = log.end
    while below > first and (header := log.before(below, first)) is not None:
        expected.append(header)
        below = header.base_offset
    found = [header for header in asyncio.run(walked(log, first, 200)) if header is not None]
    assert found == expected


def test_many_batches_take_few_fetches() -> None:
    """The first look is as small as it was; windows grow behind it."""
    log = Log([(0, 1)] * 1_000)
    found = asyncio.run(walked(log, 0, 2))
    assert log.fetches == 2 and found == [log.headers[-1], log.headers[-2]]
    log.fetches = 0
    assert len(asyncio.run(walked(log, 0, 10_000))) == 1_001
    assert log.fetches < 20


def test_what_was_forgotten_is_read_again() -> None:
    """After a fence the end of the log is another."""

    async def play() -> tuple[BatchHeader | None, int]:
        log = Log([(0, 1)] * 10)
        window = Backwards(log.fetch)
        await window.read(0, 10)
        await window.read(0, 9)
        assert window.known(8) == log.headers[7]
        window.forget()
        return window.known(8), window.span

    assert asyncio.run(play()) == (None, 1)
