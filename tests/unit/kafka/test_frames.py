"""What a pool lends and keeps."""

import pytest

from anabranch.kafka.frames import FramePool

pytestmark = pytest.mark.unit

MB = 1 << 20


def test_what_is_lent_counts_until_the_last_holder_lets_go() -> None:
    """The budget of answers is over this figure."""
    pool = FramePool()
    frame = pool.take(3 * MB)
    frame.retain()
    frame.release()
    assert pool.lent == 4 * MB
    frame.release()
    assert pool.lent == 0


def test_a_frame_that_nobody_releases_is_not_counted_for_ever() -> None:
    """A holder that was cancelled must not make the budget smaller until the process ends."""
    pool = FramePool()
    frame = pool.take(3 * MB)
    del frame
    assert pool.lent == 0


def test_what_is_kept_and_what_is_lent_stay_below_48_mb_together() -> None:
    """A pool keeps nothing that it would need only beyond its bound."""
    pool = FramePool()
    frames = [pool.take(8 * MB) for _ in range(12)]
    for frame in frames:
        frame.release()
    assert pool._held == 48 * MB
    again = [pool.take(8 * MB) for _ in range(6)]
    assert (pool._held, pool.lent) == (0, 48 * MB)
    for frame in again:
        frame.release()
