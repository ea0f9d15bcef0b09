"""``anabranch migrate``: where waves stand, their runs and plans, as people read them."""

from __future__ import annotations

from typing import Any

import pytest

from anabranch.cli.migrations import render_runs as render
from anabranch.cli.migrations.asking import MigrationChange
from tests.unit.cli.printing import cells_of, lines_of

pytestmark = pytest.mark.unit
NOW = 1_700_000_000_000
TIME = "2023-11-14 22:13:20"
RUN: dict[str, Any] = {
    "wave": "first",
    "what": "switch",
    "state": "running",
    "began_ms": NOW,
    "over_ms": None,
    "is_open": True,
    "at": 2,
    "steps": 9,
    "waits": "",
    "why": "",
    "paused_since_ms": None,
    "paused_until_ms": None,
}
WAVE: dict[str, Any] = {
    "name": "first",
    "state": "copying",
    "at": "old",
    "held": "",
    "not_copied": "",
    "gone": "",
    "is_gone": False,
    "lost": "",
    "run": None,
    "topics": ["a"],
    "groups": ["g"],
    "leg": 0,
    "doubts": [],
}
MIGRATION: dict[str, Any] = {
    "name": "move",
    "source": "old",
    "target": "new",
    "author": "mei",
    "approvers": [],
    "waves": [WAVE],
    "throttle": {},
    "access": {},
}


def change(**plan: Any) -> MigrationChange:
    """A plan as the service answers it."""
    return MigrationChange("c-1", "abc", plan)


def wave(**told: Any) -> list[str]:
    """The line of a wave."""
    return cells_of(render.migrations([{"name": "move", "waves": [{**WAVE, **told}]}], NOW))[1]


def test_a_wave_is_a_line_with_what_is_under_way_and_what_holds_it() -> None:
    """For how long applications are held up, or were."""
    assert wave() == ["move", "first", "copying", "old"]
    assert wave(held="a \x07 look", gone="old") == [
        *("move", "first", r"copying, old did not answer (held: a \x07 look)", "old")
    ]
    assert wave(gone="old", lost="old is lost")[2] == "copying, old is lost"
    assert wave(not_copied="link a: it is paused")[2] == "copying, not all is copied"
    below = render.migrations([{"name": "move", "waves": [WAVE, {**WAVE, "not_copied": "link a: \x07"}]}], NOW)
    assert lines_of(below)[3:] == [r"migration move, wave first: link a: \x07"]
    assert wave(run=RUN)[4:] == ["switch, step 3 of 9"]
    assert wave(run={**RUN, "waits": "for g"})[4:] == ["switch, step 3 of 9: for g"]
    assert wave(run={**RUN, "paused_since_ms": NOW - 1_500})[4:] == ["switch, step 3 of 9", "1,500 ms so far"]
    over = {**RUN, "is_open": False, "waits": "for g", "paused_since_ms": NOW - 1_500, "paused_until_ms": NOW - 400}
    assert wave(run=over)[4:] == ["1,100 ms"]
    assert cells_of(render.migrations([{"name": "move", "waves": []}], NOW)) == [
        ["no migrations; begin with: anabranch migrate discover --source NAME --target NAME"]
    ]


def test_a_migration_says_what_was_lost_and_how_fast_it_copies() -> None:
    """Of every wave, or of the one that was asked for."""
    lost = {**WAVE, "name": "second", "lost": "old is lost", "doubts": ["6 records"], "leg": 1}
    away = {**WAVE, "name": "third", "is_gone": True, "gone": "new", "groups": []}
    throttle = {
        "seen": {
            "at_ms": NOW - 4_000,
            "rates": {"b": None, "a": 1_500_000},
            "reasons": ["disk of 2 is full"],
            "failures": ["no answer"],
        }
    }
    told = {**MIGRATION, "approvers": ["jo", "ada"], "waves": [WAVE, lost, away], "throttle": throttle}
    assert cells_of(render.migration({"migration": told, "runs": []}, None, NOW)) == [
        ["migration move: old -> new, by mei"],
        ["switches are approved by one of: jo, ada"],
        ["WAVE", "STATE", "APPLICATIONS ON", "UNDER WAY", "HELD UP", "TOPICS", "GROUPS"],
        ["first", "copying", "old", "a", "g"],
        ["second", "copying, old is lost", "old", "a", "g"],
        ["third", "copying, new did not answer", "old", "a"],
        ["rates, 4.0 s ago: a 1.5 MB/s, b as fast as it goes"],
        ["held back: disk of 2 is full"],
        ["held back: no answer"],
        ["wave second: old is lost; there is no way back"],
        ["6 records"],
        ["wave third: new did not answer, and does not keep up"],
    ]
    lines = lines_of(render.migration({"migration": {**told, "throttle": {}}, "runs": []}, "second", NOW))
    assert lines[-2:] == ["wave second: old is lost; there is no way back", "  6 records"]
    still = {**MIGRATION, "waves": [{**WAVE, "not_copied": "link a: it is paused"}]}
    assert (
        lines_of(render.migration({"migration": still, "runs": []}, None, NOW))[-1]
        == "wave first: link a: it is paused"
    )
    there = {**MIGRATION, "waves": [{**lost, "leg": 2, "doubts": []}]}
    assert lines_of(render.migration({"migration": there, "runs": []}, None, NOW))[-1].endswith("there is no way there")


def test_the_last_run_of_each_wave_is_shown_with_its_steps() -> None:
    """How long each took since the one before; older runs, and those of other waves, are not."""
    steps = [
        {"kind": "drain", "state": "done", "text": "drain it", "ended_ms": NOW + 1_500},
        {"kind": "point of no return", "state": "doing", "text": "go", "ended_ms": None},
    ]
    waits = {**RUN, "waits": "for g", "paused_since_ms": NOW - 1_500}
    newest = {"run": waits, "steps": steps, "pauses": {"b": 1_200, "a": 40, "c": 1_200}}
    older = {"run": {**RUN, "what": "start"}, "steps": steps, "pauses": {}}
    other = {"run": {**RUN, "wave": "second"}, "steps": [], "pauses": {}}
    answer = {"migration": {**MIGRATION, "waves": []}, "runs": [newest, older, other]}
    assert cells_of(render.migration(answer, "first", NOW))[2:] == [
        [f"wave first: switch, running, {TIME} UTC"],
        ["STEP", "TOOK"],
        ["1.", "drain", "done: drain it", "1.5 s"],
        ["2.", "point of no return", "doing: go"],
        ["waits: for g"],
        ["applications are held up: 1,500 ms so far"],
        ["TOPIC", "NOT WRITTEN TO FOR AT LEAST"],
        ["b", "1,200 ms"],
        ["c", "1,200 ms"],
        ["a", "40 ms"],
    ]
    told = [line for line in lines_of(render.migration(answer, None, NOW)) if line.startswith("wave ")]
    assert told == [f"wave {name}: switch, running, {TIME} UTC" for name in ("first", "second")]
    over = {
        **waits,
        "is_open": False,
        "state": "taken back",
        "why": "no g",
        "over_ms": NOW + 1_000,
        "paused_until_ms": NOW,
    }
    ended = {"migration": {**MIGRATION, "waves": []}, "runs": [{"run": over, "steps": [], "pauses": {}}]}
    assert cells_of(render.migration(ended, None, NOW))[2:] == [
        [f"wave first: switch, taken back, {TIME} to 2023-11-14 22:13:21 UTC"],
        ["STEP", "TOOK"],
        ["taken back: no g"],
        ["applications were held up for 1,500 ms"],
    ]


def test_the_plan_of_a_start_has_each_wave_with_every_reason() -> None:
    """And what is against all of them."""
    reason = {"severity": "error", "what": "topic a is not there", "fix": "make it"}
    planned = {
        "name": "first",
        "topics": ["a"] * 1_200,
        "groups": [],
        "estimate": {"size": 1_500_000},
        "reasons": [reason],
    }
    fine = {**planned, "name": "second", "reasons": []}
    plan = {"name": "move", "source": "old", "target": "new", "waves": [planned, fine], "reasons": []}
    assert cells_of(render.plan_of("migrations.start", change(**plan))) == [
        ["migration move: old -> new"],
        ["WAVE", "TOPICS", "GROUPS", "TO COPY"],
        ["first", "1,200", "0", "1.5 MB"],
        ["second", "1,200", "0", "1.5 MB"],
        ["wave first"],
        ["error: topic a is not there"],
        ["fix: make it"],
        ["plan abc"],
    ]
    none = {**plan, "waves": [], "reasons": [{**reason, "severity": "warning", "fix": ""}]}
    assert cells_of(render.plan_of("migrations.start", change(**none)))[2:] == [
        ["warning: topic a is not there"],
        ["nothing is left to start"],
        ["plan abc"],
    ]


def test_the_plan_of_a_verb_of_a_wave_has_each_step_with_what_it_would_meet() -> None:
    """Of a part of it as well; by its id it is approved."""
    steps = [
        {"kind": "drain", "text": "drain it", "what": "7 records", "waits": True, "forbidden": False},
        {"kind": "point of no return", "text": "go", "what": "", "waits": False, "forbidden": True},
    ]
    plan = {
        "verb": "switch",
        "wave": "first",
        "migration": "move",
        "part": "all",
        "source": "old",
        "target": "new",
        "steps": steps,
        "reasons": [],
    }
    assert cells_of(render.plan_of("migrations.switch", change(**plan))) == [
        ["switch of wave first of migration move: old -> new"],
        ["STEP", "NOW"],
        ["1.", "drain", "drain it", "it would wait: 7 records"],
        ["2.", "point of no return", "go"],
        ["plan abc, to be approved by its id: c-1"],
    ]
    part = {**plan, "part": "producers", "reasons": [{"severity": "error", "what": "no", "fix": ""}]}
    lines = cells_of(render.plan_of("migrations.switch", change(**part)))
    assert lines[0] == ["switch of wave first of migration move, producers: old -> new"]
    assert lines[-2] == ["error: no"]


def test_a_rehearsal_says_what_it_makes_what_it_leaves_out_and_how_it_went() -> None:
    """Its time, its pauses, and what was exact."""
    left = {"left_out": ["job pv"]}
    made = {"topics": {"a": "r.a"}, "groups": {"g": "r.g"}, "checkpoints": {"/c": "/r/c"}, "wave": "first"}
    assert cells_of(render.plan_of("migrations.rehearse", change(**made, **left))) == [
        ["rehearsal of wave first"],
        ["REAL", "MADE FOR THE REHEARSAL"],
        *(["a", "r.a"], ["g", "r.g"], ["/c", "/r/c"]),
        ["not rehearsed: job pv"],
        ["plan abc"],
    ]
    runs = [
        {"verb": "switch", "took_ms": 61_000, "pause_ms": 1_400},
        {"verb": "start", "took_ms": 500, "pause_ms": None},
    ]
    report = {"runs": runs, "records": 12_000, "partitions": 3, "positions": 4, **left}
    assert cells_of(render.rehearsed(report)) == [
        ["TOOK", "HELD UP"],
        ["switch", "1 min 1 s", "1,400 ms"],
        ["start", "0.5 s"],
        [
            "12,000 records of 3 partitions were copied exactly, and 4 positions moved exactly; all that was made is "
            "removed"
        ],
        ["not rehearsed: job pv"],
    ]


def test_what_is_given_up_held_throttled_or_set_is_said() -> None:
    """With the limits that apply from now on."""
    going = {"verb": "give-up", "wave": "first", "migration": "move", "steps": ["fence", "lead"], "left_out": ["old"]}
    assert cells_of(render.plan_of("migrations.give-up", change(**going, goes_on=False))) == [
        ["give-up of wave first of migration move"],
        ["IS PUT BACK, THE LAST STEP FIRST"],
        *(["1.", "fence"], ["2.", "lead"]),
        ["left out, without the lost cluster: old"],
    ]
    assert cells_of(render.plan_of("migrations.give-up", change(**going, goes_on=True)))[1] == ["IS STILL DONE"]
    for verb in ("migrations.hold", "migrations.release"):
        held = change(migration="move", after={"second": "a look", "": "night"})
        assert cells_of(render.plan_of(verb, held)) == [["migration move: all waves: night; second: a look"]]
        assert cells_of(render.plan_of(verb, change(migration="move", after={}))) == [
            ["migration move: no switch waits"]
        ]
    said = {
        (None, False, None, None): "migration move copies as its file says",
        (2_000_000, False, None, "first"): "wave first of migration move copies at most 2.0 MB/s",
        (None, True, None, "first"): "wave first of migration move copies nothing",
        (None, True, 7_200_000, None): (
            "migration move copies nothing, for 2 h at most: records are kept for twice that"
        ),
    }
    for verb in ("migrations.throttle", "migrations.resume"):
        for (rate, is_paused, longest, of), text in said.items():
            wish = {"rate": rate, "is_paused": is_paused, "longest_ms": longest}
            assert cells_of(render.plan_of(verb, change(migration="move", wave=of, after=wish))) == [[text]]
    changed = change(migration="move", before={"a": 1}, after={"a": 2, "b": [3]})
    assert cells_of(render.plan_of("migrations.set", changed)) == [
        ["migration move"],
        *(["BEFORE", "AFTER"], ["a: 1", "a: 2"], ["b:"], ["- 3"]),
        ["plan abc, to be approved by its id: c-1"],
    ]


def test_what_came_of_a_verb_is_said_by_its_report() -> None:
    """Of waves that were started, of a rehearsal, of a run with its pause; of anything else that it is done."""
    runs = [{"wave": "first", "state": "running"}, {"wave": "second", "state": "done"}]
    assert cells_of(render.ended({"runs": runs})) == [["wave first: start running"], ["wave second: start done"]]
    assert cells_of(render.ended({"runs": []})) == [["nothing was left to start"]]
    assert cells_of(render.ended({"migration": "move"})) == [["done"]]
    told = {"run": 3, "wave": "first", "verb": "switch", "state": "done", "doubts": ["6 records"], "pauses": {"a": 30}}
    assert cells_of(render.ended({**told, "pause_ms": 1_400})) == [
        ["wave first: switch done; applications were held up for 1,400 ms"],
        ["TOPIC", "NOT WRITTEN TO FOR AT LEAST"],
        ["a", "30 ms"],
        ["6 records"],
    ]
    assert cells_of(render.ended({**told, "pause_ms": None, "pauses": {}, "doubts": []})) == [
        ["wave first: switch done"]
    ]
    assert cells_of(render.said("a \x1b b")) == [[r"a \x1b b"]]
