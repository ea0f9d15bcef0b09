"""What lies past the pin: which records of the target are the lane's, and what they excuse."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.model.topics import TopicPartition
from anabranch.offsets.offset_map import MappedRange, OffsetMap
from anabranch.verify.compaction import excused
from anabranch.verify.findings import NOWHERE
from anabranch.verify.past import UNTOLD, PastBatch, PastPin, doubt_of, nothing_past, past, places, tail_start, untold
from anabranch.verify.pins import LogEnds, Pin, pin

pytestmark = pytest.mark.unit

AT = TopicPartition("t", 0)
FAR = LogEnds(0, 1 << 40)


def pinned(*ranges: MappedRange) -> Pin:
    """A lane that is pinned at its map's end."""
    return pin("lane", AT, AT, OffsetMap.of(ranges), FAR, FAR)


def target_places(known: PastPin, *offsets: int) -> list[int]:
    """The places of target offsets."""
    found: list[int] = places(known, np.array(offsets, dtype=np.int64), True).tolist()
    return found


def test_what_the_link_wrote_past_the_pin_has_a_place_and_what_others_wrote_has_none() -> None:
    """By the map where it tells of it, else by whose batch it is; what others wrote behind the last copy is foreign."""
    lane = pinned(MappedRange(0, 0, 10))
    later = OffsetMap.of([MappedRange(0, 0, 10), MappedRange(12, 11, 4)])
    assert tail_start(lane, later) == 15
    known = past(lane, later, [PastBatch(15, 16, False), PastBatch(17, 18, False), PastBatch(19, 20, True)])
    assert target_places(known, 9, 10, 11, 14, 15, 18, 19, 20, 21) == [9, -1, 12, 15, -1, -1, 16, 17, -1]
    assert known.foreign == ((15, 19),)
    assert places(known, np.array([9, 10, 12, 17, 18]), False).tolist() == [9, -1, 11, 20, -1]
    assert doubt_of(known, 0) == ""


def test_what_was_pinned_is_not_looked_at_again_as_a_tail() -> None:
    """A takeover counts foreign records behind the last copy as part of the log that it has read: they are pinned."""
    lane = pin("lane", AT, AT, OffsetMap.of([MappedRange(0, 0, 10)]).advance(10, 13), FAR, FAR)
    assert tail_start(lane, lane.ranges) == 13
    assert past(lane, lane.ranges, [PastBatch(11, 14, False)]).foreign == ((13, 15),)
    assert past(lane, lane.ranges, [PastBatch(11, 12, False)]).foreign == ()


def test_what_nothing_tells_is_told_as_such() -> None:
    """Past the pin only: in it the pin's own map holds."""
    lane = pinned(MappedRange(0, 0, 5), MappedRange(5, 6, 4))
    unknown = untold(lane, "the link is gone")
    assert target_places(unknown, 4, 5, 9, 10, 11) == [4, NOWHERE, 8, UNTOLD, UNTOLD]
    assert places(unknown, np.array([8, 9]), False).tolist() == [9, UNTOLD]
    assert doubt_of(unknown, 0) == "what lies on the target from offset 10 on cannot be determined: the link is gone"
    assert doubt_of(untold(lane), 0) == ""
    assert doubt_of(untold(lane), 3).startswith("3 records are absent from the target; ")
    assert target_places(nothing_past(lane), 9, 10) == [8, NOWHERE]


def test_a_later_map_does_not_change_the_pin() -> None:
    """Segments that were retired meanwhile, or a log that was truncated, take no record of the pin its place."""
    lane = pinned(MappedRange(0, 0, 10))
    known = past(lane, OffsetMap.of([MappedRange(20, 30, 5)]), [])
    assert target_places(known, 3, 9, 30) == [3, 9, 20]


def copied_to(copies: list[int], count: int) -> OffsetMap:
    """The map of so many copies, by their target offsets."""
    return OffsetMap(0, 0).extend(MappedRange(source, target, 1) for source, target in enumerate(copies[:count]))


WRITES = st.lists(
    st.tuples(st.sampled_from(["link", "other"]), st.sampled_from("abc"), st.booleans()), min_size=1, max_size=16
)
"""Appends to the target in order: who, which key, whether a tombstone; the link's are copies of the source in order."""


@given(WRITES, st.data())
def test_only_later_copies_excuse_what_the_cleaner_took(
    writes: list[tuple[str, str, bool]], data: st.DataObject
) -> None:
    """A copy that the cleaner took is excused if the link wrote that key again, in the pin or past it, and never if
    only another producer did, wherever it wrote.
    """
    copies = [offset for offset, (who, _, _) in enumerate(writes) if who == "link"]
    in_pin = data.draw(st.integers(0, len(copies)))
    filed = data.draw(st.integers(in_pin, len(copies)))
    lane, by_then = pin("lane", AT, AT, copied_to(copies, in_pin), FAR, FAR), copied_to(copies, filed)
    start = tail_start(lane, by_then)
    tail = [PastBatch(at, at, who == "link") for at, (who, _, _) in enumerate(writes) if at >= start]
    known = past(lane, by_then, tail)
    newest = {key: at for at, (_, key, _) in enumerate(writes)}
    left = [at for at, (_, key, _) in enumerate(writes) if newest[key] == at]
    where = dict(zip(left, target_places(known, *left), strict=True))
    copied = places(known, np.arange(len(copies), dtype=np.int64), False).tolist()
    for source, target in enumerate(copies[:in_pin]):
        if target in left:
            continue
        _, key, deletes = writes[target]
        here = max((place for at, place in where.items() if writes[at][1] == key), default=-1)
        tombstones = [at for at, offset in enumerate(copies) if writes[offset][1:] == (key, True) and copied[at] >= 0]
        one = np.array([source], dtype=np.int64)
        told = excused(one, np.array([True]), np.array([here]), np.array([max(tombstones, default=-1)]))
        later = [at for at in copies if at > target and writes[at][1] == key]
        lost = bool(later) and newest[key] != later[-1] and not any(writes[at][2] for at in later)
        assert bool(told[0]) == ((bool(later) and not lost) or deletes)
    behind = [at for at, (who, _, _) in enumerate(writes) if who == "other" and at >= start]
    assert [at for first, end in known.foreign for at in range(first, end)] == behind
