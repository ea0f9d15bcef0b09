"""What a run is told by those before it: whose denials are to stay, and which topics were made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from anabranch.migration.fences import READING
from anabranch.migration.inherited import ABSENT, COPIED, DENIED, MADE, inherited
from anabranch.migration.legs import Leg
from anabranch.migration.lost_steps import lost_switch_steps, reconcile_steps
from anabranch.migration.options import TailChoice, UnknownGroups
from anabranch.migration.run import WaveRun, WaveRunState, key_of
from anabranch.migration.spec import FenceKind, Migration, Readers, Wave, WaveOrder
from anabranch.migration.standing import WaveVerb
from anabranch.migration.steps import MigrationStep, Part, StepKind, cancel_steps, start_steps, switch_steps

pytestmark = pytest.mark.unit

WAVE = Wave("orders", ("orders",), ("shop",), fences=(FenceKind.ACL,), order=WaveOrder.CONSUMERS_FIRST)
LEG = Leg(Migration("move", "old", "new", (WAVE,)), WAVE)
LOOK, PREFLIGHT = key_of(StepKind.LOOK, "orders"), key_of(StepKind.PREFLIGHT, "orders")
FENCE = key_of(StepKind.FENCE, FenceKind.ACL.value)
LIFT = key_of(StepKind.LIFT_FENCE, "orders")
BOB, EVE = ["orders", "User:bob"], ["orders", "User:eve"]


def ran(
    verb: WaveVerb, steps: tuple[MigrationStep, ...], results: Mapping[str, Mapping[str, Any]], leg: int = 0
) -> WaveRun:
    """A run that is done."""
    return WaveRun("r", "move", "orders", verb.value, steps, 0, state=WaveRunState.DONE, results=results, leg=leg)


def switched(leg: int, part: Part, *denied: list[str]) -> WaveRun:
    """A part of a wave went; so much was denied when it began."""
    return ran(WaveVerb.SWITCH, switch_steps(LEG.at(leg), part), {PREFLIGHT: {DENIED: list(denied)}}, leg)


def test_a_switch_back_is_told_what_was_denied_before_the_fence() -> None:
    """By the part that had the fence, on the leg before; the other part may have seen the fence itself."""
    first = [switched(0, Part.CONSUMERS, BOB, EVE), switched(0, Part.PRODUCERS, BOB), switched(0, Part.CONSUMERS, EVE)]
    assert inherited(LEG.at(1), WaveVerb.REVERSE, first) == {LIFT: {DENIED: [BOB]}}
    assert inherited(LEG, WaveVerb.SWITCH, []) == {}
    both = [*first, switched(1, Part.PRODUCERS)]
    assert inherited(LEG.at(2), WaveVerb.SWITCH, both) == {LIFT: {DENIED: []}}
    taken_back = [replace(one, state=WaveRunState.CANCELLED) for one in first]
    assert inherited(LEG.at(1), WaveVerb.REVERSE, taken_back) == {}


def test_a_switch_back_is_told_what_the_fence_has_denied() -> None:
    """What the step wrote down, in whichever words the wave names its fence now."""
    run = switched(0, Part.PRODUCERS, BOB)
    run = replace(run, results={**run.results, FENCE: {MADE: [EVE]}})
    assert inherited(LEG.at(1), WaveVerb.REVERSE, [run]) == {LIFT: {DENIED: [BOB], MADE: [EVE]}}


def test_a_switch_back_to_where_no_fence_was_is_told_that_nothing_was_made() -> None:
    """Access rules became a fence of the wave after it had been switched: what is denied there is somebody else's."""
    bare = Leg(LEG.migration, replace(WAVE, fences=(FenceKind.OBSERVE,)))
    for part in (Part.ALL, Part.PRODUCERS):
        went = ran(WaveVerb.SWITCH, switch_steps(bare, part), {})
        went = replace(went, part=part)
        assert inherited(LEG.at(1), WaveVerb.REVERSE, [went]) == {LIFT: {DENIED: [], MADE: []}}
    ahead = replace(ran(WaveVerb.SWITCH, switch_steps(bare, Part.CONSUMERS), {}), part=Part.CONSUMERS)
    assert inherited(LEG.at(1), WaveVerb.REVERSE, [ahead]) == {}, "its producers have not left"


def test_each_fence_is_told_of_by_those_that_it_is_about() -> None:
    """Consumers go first, and what was denied to them is told apart; the part that went without it tells nothing."""
    wave = replace(WAVE, readers=Readers.DENY)
    leg = Leg(Migration("move", "old", "new", (wave,)), wave)
    groups, lift = READING.key, READING.lift_key("orders")
    looked = {PREFLIGHT: {DENIED: [BOB], READING.denied: [["shop", "User:eve"]]}}
    ahead = ran(WaveVerb.SWITCH, switch_steps(leg, Part.CONSUMERS), looked | {groups: {MADE: [["shop", "User:bob"]]}})
    rest = ran(WaveVerb.SWITCH, switch_steps(leg, Part.PRODUCERS), looked | {FENCE: {MADE: [EVE]}})
    runs = [replace(ahead, part=Part.CONSUMERS), replace(rest, part=Part.PRODUCERS)]
    told = {DENIED: [["shop", "User:eve"]], MADE: [["shop", "User:bob"]]}
    assert inherited(leg.at(1), WaveVerb.REVERSE, runs[:1]) == {lift: told}
    assert inherited(leg.at(1), WaveVerb.REVERSE, runs) == {
        LIFT: {DENIED: [BOB], MADE: [EVE]},
        lift: told,
    }


def test_groups_that_were_let_in_again_are_denied_by_nobody_of_ours() -> None:
    """Consumers that went ahead are led back without the target, and may go again: by what is made then."""
    wave = replace(WAVE, readers=Readers.DENY)
    leg = Leg(Migration("move", "old", "new", (wave,)), wave)
    groups, lift = READING.key, READING.lift_key("orders")
    first, second = (
        replace(
            ran(WaveVerb.SWITCH, switch_steps(leg, Part.CONSUMERS), {groups: {MADE: [["shop", name]]}}),
            part=Part.CONSUMERS,
        )
        for name in ("User:bob", "User:eve")
    )
    back = ran(WaveVerb.REVERSE, lost_switch_steps(leg.at(1), Part.CONSUMERS, UnknownGroups.EARLIEST), {}, 1)
    back = replace(back, part=Part.CONSUMERS)
    runs = [first, back]
    assert inherited(leg.at(1), WaveVerb.REVERSE, runs)[lift] == {DENIED: [], MADE: []}
    assert inherited(leg.at(1), WaveVerb.REVERSE, [*runs, second])[lift] == {
        DENIED: [],
        MADE: [["shop", "User:eve"]],
    }


def test_a_cancel_is_told_which_fence_a_reverse_has_left_on_the_target() -> None:
    """A wave that is started over is led there, and its producers are to write."""
    back = ran(WaveVerb.REVERSE, switch_steps(LEG.at(1), Part.ALL), {PREFLIGHT: {DENIED: [BOB]}}, 1)
    back = replace(back, results={**back.results, FENCE: {MADE: [EVE]}})
    runs = [switched(0, Part.ALL), back]
    assert inherited(LEG.at(2), WaveVerb.CANCEL, runs) == {LIFT: {DENIED: [BOB], MADE: [EVE]}}
    assert inherited(LEG, WaveVerb.CANCEL, []) == {}


def test_a_switch_back_after_a_loss_is_told_what_was_denied_before_the_first_reconcile() -> None:
    """The second one has found the fence of the first; what clients of routes did was no fence of access rules."""
    both = replace(WAVE, fences=(FenceKind.ROUTES, FenceKind.ACL), codes=("orders",))
    leg = Leg(Migration("move", "old", "new", (both,)), both)
    key, found = key_of(StepKind.LOST_TAIL, "orders"), key_of(StepKind.PROVE_FOUND, "orders")
    told = {key: {"lanes": [["orders-0", 5, 5, 9, 1]], "doubts": ["offsets 5 to 8 of orders-0 are possibly lost"]}}
    lost = ran(WaveVerb.SWITCH, lost_switch_steps(leg, Part.ALL, UnknownGroups.LATEST), told)
    runs = [lost]
    for tail, denied in ((TailChoice.APPEND, [BOB]), (TailChoice.REFUSE, [BOB, EVE])):
        assert inherited(leg.at(1), WaveVerb.RECONCILE, runs) == {key: {"lanes": told[key]["lanes"]}}
        runs.append(ran(WaveVerb.RECONCILE, reconcile_steps(leg, tail), {found: {DENIED: denied}}))
    assert inherited(leg.at(1), WaveVerb.REVERSE, runs) == {LIFT: {DENIED: [BOB]}}


def test_a_purge_is_told_of_all_topics_that_were_made_since_the_last() -> None:
    """A second start finds the topics of the first one there, and still they were made."""
    steps = start_steps(LEG)
    starts = [ran(WaveVerb.START, steps, {LOOK: {ABSENT: [name]}}) for name in ("b", "a")]
    cancel = [ran(WaveVerb.CANCEL, cancel_steps(LEG, purge=purge), {}) for purge in (False, True)]
    runs = [starts[0], cancel[0], starts[1]]
    assert inherited(LEG, WaveVerb.CANCEL, runs) == {LOOK: {ABSENT: ["a", "b"]}}
    assert inherited(LEG, WaveVerb.CANCEL, [*runs, cancel[1]]) == {}
    assert inherited(LEG, WaveVerb.CANCEL, [*runs, cancel[1], starts[0]]) == {LOOK: {ABSENT: ["b"]}}
    assert inherited(LEG, WaveVerb.SWITCH, runs) == {}


def test_a_purge_is_told_up_to_where_topics_hold_copies_that_the_migration_did_not_make() -> None:
    """By the last cancel that saw the map of each: the offset map went with the link; after a purge there are none."""
    stopped, copied = key_of(StepKind.STOP_LINK, LEG.link), {"orders": {"id": "x", "to": {"0": 7}}}
    cancel = [
        ran(WaveVerb.CANCEL, cancel_steps(LEG, purge=purge), {stopped: {COPIED: copied}}) for purge in (False, True)
    ]
    again = ran(WaveVerb.CANCEL, cancel_steps(LEG, purge=False), {})
    told = {LOOK: {ABSENT: [], COPIED: copied}}
    assert inherited(LEG, WaveVerb.CANCEL, [cancel[0], again]) == told
    assert inherited(LEG, WaveVerb.CANCEL, cancel) == {}
