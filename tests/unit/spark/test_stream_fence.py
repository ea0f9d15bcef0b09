"""Of two drivers of a stream the older one ends, however their steps fall."""

from __future__ import annotations

from pathlib import Path

import pytest

from anabranch.spark.streams.fence import NewerStartError, StreamFence
from anabranch.storage.opening import open_files

pytestmark = pytest.mark.unit


class HeldUpFence(StreamFence):
    """Has another driver take the fence after its own first look, as one that was stopped there."""

    def check(self) -> None:
        """Look; at the first look the other one comes in between."""
        super().check()
        if not self._next_look:
            self._next_look = 1.0
            StreamFence(self.files, self.fence + 1).take()


def test_a_later_start_takes_over_and_the_earlier_one_ends(tmp_path: Path) -> None:
    """F1: and the same start may take its own again, as a driver that Spark starts once more."""
    files = open_files(str(tmp_path / "checkpoints"))
    first, second = StreamFence(files, 1), StreamFence(files, 2)
    first.take()
    first.check_at_times()
    second.take()
    second.take()
    with pytest.raises(NewerStartError, match="start 1 of the stream is over"):
        first.check()
    with pytest.raises(NewerStartError):
        first.take()
    second.check()
    assert [entry.name for entry in files.list("fence")] == ["2"]


def test_a_start_that_was_held_up_as_it_took_the_fence_does_not_lower_it(tmp_path: Path) -> None:
    """F2: it had looked before the later one came, and writes after."""
    files = open_files(str(tmp_path / "checkpoints"))
    with pytest.raises(NewerStartError):
        HeldUpFence(files, 4).take()
    StreamFence(files, 5).check()
    with pytest.raises(NewerStartError):
        StreamFence(files, 4).check()
