"""What is still to be committed for a group by whoever goes on with a step that another one had begun."""

from __future__ import annotations

import pytest

from anabranch.groups.undo import UndoRecord
from anabranch.model.groups import Commit
from anabranch.model.topics import TopicPartition
from anabranch.operations.migrations.positions import _left

pytestmark = pytest.mark.unit

A, B = TopicPartition("orders", 0), TopicPartition("orders", 1)
WANTED = {A: Commit(10, "noted"), B: Commit(20, "")}
MADE = UndoRecord("u", "shop", False, {}, WANTED, 1, "migration")


def test_the_first_time_what_is_there_stays_and_the_rest_is_recorded() -> None:
    """With what was there before, of those that are written alone."""
    found = _left(MADE, {A: Commit(10, "noted"), B: Commit(3, "x")}, None)
    assert found is not None
    assert (found.former, found.wrote) == ({B: Commit(3, "x")}, {B: Commit(20, "")})
    assert _left(MADE, dict(WANTED), None) is None


def test_again_the_record_stays_as_it_was_made_and_nobody_is_led_back() -> None:
    """Nothing was written yet, all was, or the group has gone on since."""
    known = UndoRecord("u", "shop", False, {A: None, B: None}, WANTED, 0, "migration")
    assert _left(MADE, {}, known) == known
    assert _left(MADE, dict(WANTED), known) is None
    assert _left(MADE, {A: Commit(11, ""), B: Commit(20, "")}, known) is None
    found = _left(MADE, {A: Commit(11, "")}, known)
    assert found is not None
    assert (found.former, found.wrote) == (known.former, {A: Commit(11, ""), B: Commit(20, "")})
