"""A consumer that joins its group anew forgets what it read past its last commit, and nothing else."""

from __future__ import annotations

import pytest

from qa.logcompare import ComparedRecord
from qa.moves.readings import Readings

pytestmark = pytest.mark.unit

PLACE = ("payments", 0)


def read(readings: Readings, *offsets: int) -> None:
    """A round in which these records come."""
    readings.begin()
    for offset in offsets:
        readings.add(PLACE, ComparedRecord(offset, offset.to_bytes(4, "big"), ""))


def join(readings: Readings) -> None:
    """A round in which the partition is assigned."""
    readings.begin()
    readings.give(PLACE)


def offsets(readings: Readings) -> list[int]:
    """What counts as read."""
    return [entry.offset for entry in readings.reads[PLACE]]


def test_what_was_read_past_the_last_commit_is_read_again_after_joining() -> None:
    """From the commit on, or later where a commit was carried out and not answered."""
    readings = Readings()
    join(readings)
    read(readings, 5, 6, 7, 8)
    readings.acknowledge(PLACE, 6)
    join(readings)
    readings.add(PLACE, ComparedRecord(9, (9).to_bytes(4, "big"), "fetched before"))
    read(readings, 7, 8, 9)
    assert (offsets(readings), readings.rewinds) == ([5, 6, 7, 8, 9], 1)


@pytest.mark.parametrize("again", [4, 5])
def test_going_back_before_the_commit_or_the_first_record_stays_on_the_record(again: int) -> None:
    """Such a repetition is the move's, or somebody else's, and must be seen."""
    readings = Readings()
    join(readings)
    read(readings, 5, 6, 7)
    readings.acknowledge(PLACE, 6)
    join(readings)
    read(readings, again, 6, 7)
    assert (offsets(readings), readings.rewinds) == ([5, 6, 7, again, 6, 7], 0)


def test_going_back_without_joining_stays_on_the_record() -> None:
    """Also later than in the round after it, when the partition has gone on."""
    readings = Readings()
    join(readings)
    read(readings, 5, 6)
    read(readings, 6, 7)
    assert (offsets(readings), readings.rewinds) == ([5, 6, 6, 7], 0)


def test_going_back_behind_the_first_assignment_stays_on_the_record() -> None:
    """What was read in the very round of it cannot have been read past any commit."""
    readings = Readings()
    join(readings)
    readings.add(PLACE, ComparedRecord(5, b"5", ""))
    read(readings, 5, 6)
    assert (offsets(readings), readings.rewinds) == ([5, 5, 6], 0)


def test_another_record_than_the_one_that_was_forgotten_is_kept_beside_it() -> None:
    """A log that was written again in between must be seen, whoever joins its group."""
    readings = Readings()
    join(readings)
    read(readings, 5, 6, 7)
    join(readings)
    read(readings, 5)
    readings.add(PLACE, ComparedRecord(6, b"another", ""))
    read(readings, 7)
    assert [entry.digest for entry in readings.reads[PLACE] if entry.offset == 6][1:] == [b"another"]
    assert (offsets(readings), readings.rewinds) == ([5, 6, 6, 7], 1)
