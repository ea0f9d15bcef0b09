"""The epochs under which a lane was read, against a list of one epoch an offset."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.copier.lane.epochs import UNKNOWN, EpochTrail

pytestmark = pytest.mark.unit

BATCHES = st.lists(st.tuples(st.integers(0, 2), st.integers(1, 5)), min_size=1, max_size=30)


def trail_of(batches: list[tuple[int, int]], first: int = 10) -> tuple[EpochTrail, dict[int, int]]:
    """A trail of batches given as (rise of the epoch, length), and the epoch of each offset."""
    trail, epochs, at, epoch = EpochTrail(), {}, first, 0
    trail.note(0, first - 1, first)
    epochs[first - 1] = 0
    for rise, length in batches:
        epoch += rise
        trail.note(epoch, at, at + length)
        epochs |= dict.fromkeys(range(at, at + length), epoch)
        at += length
    return trail, epochs


@given(BATCHES, st.data())
def test_each_position_has_the_epoch_of_the_record_before_it(
    batches: list[tuple[int, int]], data: st.DataObject
) -> None:
    """Also after reading has begun again somewhere within."""
    trail, epochs = trail_of(batches)
    for position in range(min(epochs) + 1, max(epochs) + 2):
        assert trail.at(position) == epochs[position - 1]
    assert trail.at(max(epochs) + 2) == trail.at(min(epochs)) == UNKNOWN
    cut = data.draw(st.integers(min(epochs) + 1, max(epochs) + 1))
    trail.cut(cut)
    assert trail.at(cut) == epochs[cut - 1]
    assert trail.at(cut + 1) == UNKNOWN
    trail.note(max(epochs.values()) + 1, cut, cut + 3)
    assert trail.at(cut + 3) == max(epochs.values()) + 1


@given(BATCHES, st.data())
def test_the_place_where_two_histories_part_is_found_exactly(
    batches: list[tuple[int, int]], data: st.DataObject
) -> None:
    """The source kept a prefix of what was read and went on under a later epoch; it tells the last common one."""
    trail, epochs = trail_of(batches)
    kept = data.draw(st.integers(min(epochs) + 1, max(epochs) + 1))
    written = data.draw(st.integers(0, 5))
    later = max(epochs.values()) + 1
    theirs = {offset: epoch for offset, epoch in epochs.items() if offset < kept}
    theirs |= dict.fromkeys(range(kept, kept + written), later)
    asked = trail.at(max(epochs) + 1)
    epoch = max(known for known in theirs.values() if known <= asked)
    end = max(offset for offset, known in theirs.items() if known <= epoch) + 1
    assert trail.agreed(epoch, end) == kept


def test_what_does_not_follow_or_has_no_epoch_is_not_guessed() -> None:
    """A gap record, an epoch that falls and a source without epochs leave nothing known of what was before."""
    trail = EpochTrail()
    assert trail.at(0) == UNKNOWN
    trail.note(3, 0, 5)
    trail.note(4, 9, 12)
    assert (trail.at(5), trail.at(12)) == (UNKNOWN, 4)
    trail.note(2, 12, 14)
    assert (trail.at(12), trail.at(14)) == (UNKNOWN, 2)
    trail.note(-1, 14, 20)
    assert trail.at(20) == UNKNOWN
