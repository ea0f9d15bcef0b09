"""The excuse for absent records against a log cleaner that is simulated."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.verify.compaction import excused

pytestmark = pytest.mark.unit

LOG = st.lists(st.tuples(st.sampled_from([None, 1, 2, 3]), st.booleans()), max_size=14)
"""(key or None, whether it is a tombstone), by offset."""


def judge(log: list[tuple[int | None, bool]], source: set[int], target: set[int]) -> dict[int, bool]:
    """Whether each offset that only the source has is excused, as Spark asks it."""
    asked = sorted(source - target)

    def newest(offset: int, among: set[int], deletes: bool) -> int:
        same = (p for p in among if log[p][0] == log[offset][0] and (log[p][1] or not deletes))
        return max(same, default=-1)

    answers = excused(
        np.array(asked, dtype=np.int64),
        np.array([log[o][0] is not None for o in asked], dtype=bool),
        np.array([newest(o, target, False) for o in asked], dtype=np.int64),
        np.array([newest(o, source | target, True) for o in asked], dtype=np.int64),
    )
    return dict(zip(asked, answers.tolist(), strict=True))


@given(LOG, st.data())
def test_whatever_a_cleaner_takes_is_excused(log: list[tuple[int | None, bool]], data: st.DataObject) -> None:
    """A cleaner that ran up to some offset, and dropped some tombstones, leaves no unexcused absence."""
    dirty = data.draw(st.integers(0, len(log)))
    left = set(range(len(log)))
    for offset, (key, _) in enumerate(log[:dirty]):
        if key is not None and any(log[later][0] == key for later in range(offset + 1, dirty)):
            left.discard(offset)
    for offset in sorted(left):
        key, deletes = log[offset]
        if offset < dirty and key is not None and deletes and data.draw(st.booleans()):
            left.discard(offset)
    assert all(judge(log, set(range(len(log))), left).values())


@given(LOG, st.data())
def test_the_newest_value_of_a_key_is_never_excused(log: list[tuple[int | None, bool]], data: st.DataObject) -> None:
    """Neither the newest record with a value of a key, nor a record without a key, may be absent."""
    offsets = set(range(len(log)))
    for offset, (key, deletes) in enumerate(log):
        newest = not any(log[later][0] == key for later in range(offset + 1, len(log)))
        if key is None or (newest and not deletes):
            assert judge(log, offsets, offsets - {offset})[offset] is False


def test_a_key_whose_every_record_is_absent_is_not_excused() -> None:
    """Two records of a key, both lost: the newest had a value, so neither may be gone."""
    log: list[tuple[int | None, bool]] = [(1, False), (2, False), (1, False)]
    assert judge(log, {0, 1, 2}, {1}) == {0: False, 2: False}
