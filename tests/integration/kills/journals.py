"""The journals that a store has seen: each follows from the one before it, however often its engine was killed."""

from __future__ import annotations

import json
from itertools import pairwise

from anabranch.migration.journal import run_of
from anabranch.migration.run import WaveRun, WaveRunState, key_of
from tests.integration.kills.stand import KillStand


def assert_journals(stand: KillStand) -> None:
    """Of each run: what was written follows from what was written before (M5 to M8), and none is missing."""
    lines = (stand.directory / "journals").read_text().splitlines()
    runs: dict[str, list[tuple[int, WaveRun]]] = {}
    for line in lines:
        revision, fields = json.loads(line)
        runs.setdefault(fields["id"], []).append((revision, run_of(fields)))
    for kept in stand.runs():
        written = runs.pop(kept.id)
        assert [revision for revision, _ in written] == list(range(2, kept.revision + 1)), f"{kept.id}, {kept.state}"
        assert written[-1][1] == run_of(kept.journal)
        first = written[0][1]
        assert (first.at, first.is_begun) == (0, True)
        for (_, before), (_, after) in pairwise(written):
            assert_follows(before, after)
    assert runs == {}


def assert_follows(before: WaveRun, after: WaveRun) -> None:
    """One journal may stand behind another."""
    told = f"{before.state} {before.at} {before.is_begun} -> {after.state} {after.at} {after.is_begun}"
    assert before.state.is_open, told  # M8
    if before.state is WaveRunState.TURNED:
        ended = before.at == 0
        assert after.state is (WaveRunState.CANCELLED if ended else WaveRunState.TURNED), told  # M7
        assert after.at == max(0, before.at - 1), told
    elif after.state in (WaveRunState.TURNED, WaveRunState.CANCELLED):
        assert not before.has_passed, told  # M6
        assert after.at == (before.at if before.is_begun else max(0, before.at - 1)), told
    elif before.is_begun:
        assert (after.at, after.is_begun) == (before.at + 1, False), told  # M5
        assert (after.state is WaveRunState.DONE) is (after.at == len(after.steps)), told
    else:
        assert (after.at, after.is_begun) == (before.at, True), told
    kept = {**before.results}
    if before.is_begun and before.at < len(before.steps):
        step = before.steps[before.at]  # one that is done twice in a run tells what it found the second time
        kept.pop(key_of(step.kind, step.subject), None)
    assert {**after.results, **kept} == {**after.results}, told
