"""A wave is cancelled without a cluster: what is left there is known, and taken away before it is started again."""

from __future__ import annotations

from dataclasses import replace

import pytest

from anabranch.migration.ends import End
from anabranch.migration.inherited import inherited
from anabranch.migration.options import PLAIN, WaveOptions
from anabranch.migration.run import WaveRun, lost_meanwhile
from anabranch.migration.standing import WaveState, WaveVerb
from anabranch.migration.steps import StepKind
from anabranch.migration.wave_steps import WaveStateError, steps_for
from tests.unit.migration.test_lost_both import FENCE, FENCED, lost_at, told
from tests.unit.migration.test_lost_way_back import LOST, WHY, at_each_point, done, ended, made, stands, switched

pytestmark = pytest.mark.unit

PURGE = WaveOptions(purge=True)
THEIRS, OURS = ["orders", "User:other"], ["orders", "User:shop"]
NOTED = {"preflight: orders": {"denied": [THEIRS]}, "fence producers: acl": {"made": [OURS]}}


def led_back(*, is_lost: bool = False) -> list[WaveRun]:
    """A wave that was on the target, and is on the source again."""
    runs = switched(FENCED)
    runs[0] = replace(runs[0], results={"look: orders": {"absent": ["orders"]}})
    back = done(made(FENCED, runs, WaveVerb.REVERSE, LOST if is_lost else PLAIN))
    return [*runs, back if is_lost else replace(back, results=NOTED)]


def without_target(runs: list[WaveRun], asked: WaveOptions = PLAIN) -> WaveRun:
    """It is cancelled, and the target dies right behind the point of no return."""
    run = next(one for one in at_each_point(made(FENCED, runs, WaveVerb.CANCEL, asked)) if one.has_passed)
    return ended(lost_meanwhile(run, WHY, End.TARGET), FENCED, lambda _: None)


def test_a_wave_that_was_cancelled_without_its_target_is_cancelled_again_before_it_is_started() -> None:
    """Else its producers would be led to where a reverse has denied them writing, and two links copy into one topic."""
    runs = led_back()
    runs.append(without_target(runs))
    now = stands(FENCED, runs)
    assert (now.state, now.remains, now.leg.number) == (WaveState.PLANNED, 2, 0)
    with pytest.raises(
        WaveStateError, match="cancelled without a cluster, where its links, or its fence, are"
    ) as error:
        steps_for(now, WaveVerb.START)
    assert error.value.hint.endswith("`anabranch migrate cancel move --wave orders`")
    again = made(FENCED, runs, WaveVerb.CANCEL)
    assert told(again)[1:] == [
        "stop link: move-orders-2",
        "delete link: move-orders-2",
        "delete link: move-orders-back",
        "delete link: move-orders",
        "lift fence: orders",
    ]
    leg = now.leg_of(WaveVerb.CANCEL, PLAIN)
    assert again.leg == leg.number == 2
    found = inherited(leg, WaveVerb.CANCEL, runs)
    made_before = {"look: orders": {"absent": ["orders"]}}
    assert found == {"lift fence: orders": {"denied": [THEIRS], "made": [OURS]}, **made_before}
    runs.append(done(again))
    assert stands(FENCED, runs).remains is None
    assert inherited(leg, WaveVerb.CANCEL, runs) == made_before
    assert told(made(FENCED, runs, WaveVerb.START))[0] == "look: orders"


def test_a_wave_whose_target_was_lost_and_reconciled_leaves_what_the_reconcile_denied_there_to_a_second_cancel() -> (
    None
):
    """The first one asks nothing of the target, whether or not that is back."""
    runs = led_back(is_lost=True)
    over = made(FENCED, runs, WaveVerb.CANCEL)
    assert over.leg == 2
    found = replace(done(made(FENCED, runs, WaveVerb.RECONCILE)), results={"fence producers: acl": {"made": [OURS]}})
    for some in ([*runs, done(over)], [*runs, found, without_target([*runs, found])]):
        now = stands(FENCED, some)
        assert (now.state, now.remains) == (WaveState.PLANNED, 2)
        assert told(made(FENCED, some, WaveVerb.CANCEL))[-1] == "lift fence: orders"


def test_a_purge_that_was_left_out_is_done_by_the_next_one() -> None:
    """Which topics were made is not forgotten."""
    runs = led_back()
    runs.append(without_target(runs, PURGE))
    leg = stands(FENCED, runs).leg_of(WaveVerb.CANCEL, PURGE)
    assert inherited(leg, WaveVerb.CANCEL, runs)["look: orders"] == {"absent": ["orders"]}
    again = made(FENCED, runs, WaveVerb.CANCEL, PURGE)
    assert told(again)[-2:] == ["lift fence: orders", "purge: orders"]
    runs.append(done(again))
    assert inherited(leg, WaveVerb.CANCEL, runs) == {}


def test_a_fence_that_a_cancel_could_not_put_back_is_put_back_by_the_next_one() -> None:
    """The source was lost twice: its producers are denied writing until then."""
    runs = [done(made(FENCED, [], WaveVerb.START))]
    runs.append(replace(lost_at(FENCED, runs, WaveVerb.SWITCH, StepKind.VERIFY_END, End.SOURCE), results=NOTED))
    run = next(one for one in at_each_point(made(FENCED, runs, WaveVerb.CANCEL)) if one.has_passed)
    runs.append(ended(lost_meanwhile(run, WHY, End.SOURCE), FENCED, lambda _: None))
    now = stands(FENCED, runs)
    assert (now.state, now.remains) == (WaveState.PLANNED, 0)
    again = made(FENCED, runs, WaveVerb.CANCEL)
    assert told(again)[-1] == FENCE
    found = inherited(now.leg_of(WaveVerb.CANCEL, PLAIN), WaveVerb.CANCEL, runs)
    assert found == {"fence producers: acl": {"before": [THEIRS], "made": [OURS]}}
    after = stands(FENCED, [*runs, done(again)])
    assert (after.remains, after.left) == (None, None)


def test_a_cancel_is_told_what_was_set_on_topics_before_the_wave_was_started() -> None:
    """By the last start: a cancel puts it back, and the next start looks again; a purge that is done forgets it."""
    of = [{"orders": {"id": "i", "own": {"retention.ms": value}}} for value in ("1", "2")]
    runs = []
    for configs in of:
        start = made(FENCED, runs, WaveVerb.START)
        runs.append(replace(done(start), results={"look: orders": {"absent": [], "configs": configs}}))
        leg = stands(FENCED, runs).leg_of(WaveVerb.CANCEL, PLAIN)
        assert inherited(leg, WaveVerb.CANCEL, runs) == {"look: orders": {"absent": [], "configs": configs}}
        runs.append(done(made(FENCED, runs, WaveVerb.CANCEL)))
