"""Maps for property tests, and the naive account of them that answers are held against."""

from __future__ import annotations

from hypothesis import strategies as st

from anabranch.offsets.runs import Run, RunMap

STEPS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(1, 6)), max_size=25)


@st.composite
def run_lists(draw: st.DrawFn) -> list[Run]:
    """Runs in order with small gaps and foreign stretches, some of which continue the one before."""
    source, target = draw(st.integers(0, 20)), draw(st.integers(0, 20))
    runs = []
    for source_gap, target_gap, length in draw(STEPS):
        runs.append(Run(source + source_gap, target + target_gap, length))
        source, target = runs[-1].source_end, runs[-1].target_end
    return runs


@st.composite
def run_maps(draw: st.DrawFn) -> RunMap:
    """Maps with room before the first run and after the last, sometimes empty."""
    runs = draw(run_lists())
    before, after = draw(st.integers(0, 3)), draw(st.integers(0, 3))
    if runs:
        start = max(0, runs[0].source - before), max(0, runs[0].target - after)
    else:
        start = before, after
    result = RunMap.of(runs, *start)
    return result.advance(result.source_end + draw(st.integers(0, 4)), result.target_end + draw(st.integers(0, 4)))


def pairs(runs: RunMap | list[Run]) -> dict[int, int]:
    """Source offset to target offset of every single copied record."""
    return {run.source + n: run.target + n for run in runs for n in range(run.length)}
