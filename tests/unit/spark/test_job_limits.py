"""What a job keeps of its limits by itself."""

from __future__ import annotations

import subprocess
import sys

import pytest

from anabranch.spark.jobs.limits import RoomForRows

pytestmark = pytest.mark.unit


def test_rows_are_told_while_there_is_room() -> None:
    """Bytes are those of the row as JSON; the first that does not fit ends it, and without a limit all fit."""
    room = RoomForRows(20)
    assert room.take([["é"], ["abc"]]) == [["é"], ["abc"]]
    assert room.told == len('["é"]'.encode()) + len('["abc"]')
    assert room.take([["x" * 10], ["y"]]) == []
    assert len(RoomForRows(0).take([["x" * 1000]] * 10)) == 10


@pytest.mark.test
def test_memory_is_refused_beyond_the_limit() -> None:
    """By the system, in the process and in those that it starts."""
    grab = "bytearray(900 << 20)"
    text = f"""
import subprocess, sys
from anabranch.spark.jobs.limits import limit_memory
limit_memory(600 << 20)
print(subprocess.run([sys.executable, "-c", "{grab}"], capture_output=True).returncode)
try:
    {grab}
except MemoryError:
    print("refused")
"""
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["1", "refused"], done.stderr
