"""Events in a file that is kept short: each line is read once, in order, also while the file is changed for another."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.streams.lines import LineFile, LineTail, former

pytestmark = pytest.mark.unit


@given(st.lists(st.one_of(st.none(), st.text(st.characters(exclude_characters="\n\r", codec="utf-8"), max_size=30))))
def test_each_line_is_read_once_and_in_order(tmp_path_factory: pytest.TempPathFactory, steps: list[str | None]) -> None:
    """None is a look; the file is full after 200 bytes, and looked at before two have filled up."""
    path = tmp_path_factory.mktemp("lines") / "events"
    writer, tail = LineFile(path, full=200), LineTail(path)
    found: list[str] = tail.lines()
    since = 0
    for step in steps:
        if step is None or since > 150:
            found += tail.lines()
            since = 0
        if step is not None:
            writer.write(step + "\n")
            since += len(step.encode()) + 1
            found += [] if len(found) else tail.lines()
    found += tail.lines()
    assert found == [step for step in steps if step is not None]


def test_a_line_that_is_half_written_is_read_when_it_is_whole(tmp_path: Path) -> None:
    """No half of it is told."""
    path = tmp_path / "events"
    path.write_text("one\ntw")
    tail = LineTail(path)
    assert tail.lines() == ["one"]
    with path.open("a") as file:
        file.write("o\n")
    assert tail.lines() == ["two"]


@contextmanager
def full_after(size: int) -> Iterator[None]:
    """No file of this process grows beyond so many bytes, as on a disk that is full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_line_that_a_full_disk_takes_half_of_is_not_there(tmp_path: Path) -> None:
    """It is refused whole: the next one, once there is room, is a line of its own."""
    path = tmp_path / "events"
    writer = LineFile(path)
    writer.write("one\n")
    with full_after(8), pytest.raises(OSError, match="File too large"):
        writer.write("two is too long\n")
    assert path.read_text() == "one\n"
    writer.write("three\n")
    assert LineTail(path).lines() == ["one", "three"]
    with pytest.raises(OSError, match="No space left"):
        LineFile(Path("/dev/full")).write("one\n")


def test_a_long_file_is_read_from_near_its_end_at_first(tmp_path: Path) -> None:
    """And the line that is cut there is left out."""
    path = tmp_path / "events"
    path.write_text("".join(f"line {number}\n" for number in range(1000)))
    assert LineTail(path, most=25).lines() == ["line 998", "line 999"]


def test_what_was_written_before_a_change_of_files_is_not_lost(tmp_path: Path) -> None:
    """The end of the former file is read before the new one."""
    path = tmp_path / "events"
    writer, tail = LineFile(path, full=30), LineTail(path)
    writer.write("first\n")
    assert tail.lines() == ["first"]
    for number in range(6):
        writer.write(f"line {number}\n")
    assert former(path).exists()
    assert tail.lines()[-1] == "line 5"
