"""The judge of moved consumers names what was missed, read twice, out of order, or never there."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa.faults.ledger import Ledger
from qa.logcompare import ComparedRecord
from qa.moves.judge import judge

pytestmark = pytest.mark.unit

PLACE = ("payments", 0)


def entry(number: int, offset: int | None = None) -> ComparedRecord:
    """A record that is told by its number."""
    return ComparedRecord(number if offset is None else offset, number.to_bytes(4, "big"), f"record {number}")


def log(*numbers: int) -> list[ComparedRecord]:
    """Records in this order."""
    return [entry(number) for number in numbers]


@given(st.integers(0, 30), st.data())
def test_a_log_that_is_cut_anywhere_and_read_in_two_places_is_whole(length: int, data: st.DataObject) -> None:
    """Nothing is wrong wherever the consumer was moved."""
    cut = data.draw(st.integers(0, length))
    source = log(*range(length))
    found = judge({PLACE: source}, {PLACE: source[:cut]}, {PLACE: source[cut:]})
    assert (found.wrong, found.before, found.after) == (0, cut, length - cut)


@given(st.integers(2, 30), st.data())
def test_a_move_that_is_one_off_is_noticed(length: int, data: st.DataObject) -> None:
    """One record forward is one missing, one back is one repeated."""
    cut = data.draw(st.integers(1, length - 1))
    source = log(*range(length))
    skipped = judge({PLACE: source}, {PLACE: source[:cut]}, {PLACE: source[cut + 1 :]})
    again = judge({PLACE: source}, {PLACE: source[:cut]}, {PLACE: source[cut - 1 :]})
    assert (skipped.missing, skipped.wrong) == (1, 1)
    assert (again.repeated, again.wrong) == (1, 1)


def test_records_out_of_order_and_strangers_are_named() -> None:
    """Each by the cluster and the offset where it was read."""
    found = judge({PLACE: log(0, 1, 2)}, {PLACE: log(0)}, {PLACE: [entry(2, 7), entry(1, 8), entry(9, 9)]})
    assert (found.reordered, found.foreign, found.missing) == (1, 1, 0)
    assert any("source offset 1 was read on the target behind 2" in one for one in found.samples)


def test_what_a_cleaner_took_after_it_was_read_is_not_foreign() -> None:
    """The ledger of the producers knows it, with its place in the order."""
    ledger = Ledger()
    ledger.note(PLACE, 1, entry(1).digest)
    found = judge({PLACE: log(0, 2)}, {PLACE: log(0, 1)}, {PLACE: log(2)}, ledger)
    assert found.wrong == 0
    late = judge({PLACE: log(0, 2)}, {PLACE: log(0)}, {PLACE: log(2, 1)}, ledger)
    assert late.reordered == 1
