"""Which links of a migration are slowed down for its source: those that read it, or are about to again."""

from __future__ import annotations

from dataclasses import replace

import pytest

from anabranch.migration.journal import run_fields
from anabranch.migration.kept import StoredRun
from anabranch.migration.options import PLAIN, TailChoice, UnknownGroups, WaveOptions
from anabranch.migration.run import WaveRun, WaveRunState
from anabranch.migration.spec import Migration, Wave
from anabranch.migration.standing import WaveVerb, standing
from anabranch.migration.wave_steps import steps_for
from anabranch.operations.migrations.copying import copying_links

pytestmark = pytest.mark.unit

WAVE = Wave("orders", ("orders",))
MIGRATION = Migration("move", "old", "new", (WAVE,))


def links(*asked: tuple[WaveVerb, WaveOptions], last: WaveRunState = WaveRunState.DONE) -> list[str]:
    """Those of a wave for which all of this was done, the last of it so."""
    runs: list[WaveRun] = []
    for verb, options in asked:
        found = steps_for(standing(MIGRATION, WAVE, runs), verb, options)
        made = WaveRun(f"r{len(runs)}", "move", "orders", verb.value, found.steps, 0, leg=found.leg.number)
        runs.append(replace(made, state=last if len(runs) == len(asked) - 1 else WaveRunState.DONE))
    kept = [
        StoredRun(one.id, "move", "orders", one.state.is_open, one.state.value, 1, 0, "mei", "", run_fields(one))
        for one in runs
    ]
    return list(copying_links(MIGRATION, kept))


START, SWITCH = (WaveVerb.START, PLAIN), (WaveVerb.SWITCH, PLAIN)
LOST = (WaveVerb.SWITCH, WaveOptions(lost=UnknownGroups.REFUSE))
APPEND = (WaveVerb.RECONCILE, WaveOptions(tail=TailChoice.APPEND))


def test_a_link_that_reads_the_source_is_slowed_down_for_it() -> None:
    """From its start on, until its wave is switched; and again as it appends what a lost source had more."""
    assert links(START, last=WaveRunState.GOING) == links(START) == ["move-orders"]
    assert links(START, SWITCH) == links(START, LOST) == []
    assert links(START, SWITCH, (WaveVerb.REVERSE, PLAIN)) == ["move-orders-2"]
    assert links(START, LOST, APPEND, last=WaveRunState.GOING) == ["move-orders"]
    assert links(START, LOST, APPEND) == links(START, LOST, APPEND, (WaveVerb.COMPLETE, PLAIN)) == []
