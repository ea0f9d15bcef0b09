"""Maps for property tests, and the naive account of them that answers are held against."""

from __future__ import annotations

from hypothesis import strategies as st

from anabranch.offsets.offset_map import MappedRange, OffsetMap

STEPS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(1, 6)), max_size=25)


@st.composite
def range_lists(draw: st.DrawFn) -> list[MappedRange]:
    """Ranges in order with small gaps and foreign stretches, some of which continue the one before."""
    source, target = draw(st.integers(0, 20)), draw(st.integers(0, 20))
    ranges = []
    for source_gap, target_gap, length in draw(STEPS):
        ranges.append(MappedRange(source + source_gap, target + target_gap, length))
        source, target = ranges[-1].source_end, ranges[-1].target_end
    return ranges


@st.composite
def offset_maps(draw: st.DrawFn) -> OffsetMap:
    """Maps with room before the first run and after the last, sometimes empty."""
    ranges = draw(range_lists())
    before, after = draw(st.integers(0, 3)), draw(st.integers(0, 3))
    if ranges:
        start = max(0, ranges[0].source - before), max(0, ranges[0].target - after)
    else:
        start = before, after
    result = OffsetMap.of(ranges, *start)
    return result.advance(result.source_end + draw(st.integers(0, 4)), result.target_end + draw(st.integers(0, 4)))


def pairs(ranges: OffsetMap | list[MappedRange]) -> dict[int, int]:
    """Source offset to target offset of every single copied record."""
    return {mapped.source + n: mapped.target + n for mapped in ranges for n in range(mapped.length)}
