"""What a soak and moves at random make of their episodes: sums, and the exit code."""

from __future__ import annotations

from dataclasses import replace

import pytest

from qa.faults import EpisodeResult, EpisodeSpec, FaultKind
from qa.faults.proof import Proof
from qa.moves.trials import Moves
from qa.soak import Totals

pytestmark = pytest.mark.unit
KINDS = (FaultKind.WORKER_KILL, FaultKind.TARGET_CUT)
HELD = EpisodeResult(
    EpisodeSpec(7, 8.0, kinds=KINDS),
    dict.fromkeys(KINDS, 1),
    moves=0,
    transactions=(1, 1, 1),
    ended_by_hand=0,
    proof=Proof(records=5),
    runs=1,
    speculative_attempts=0,
    slowest_end=1.0,
    caught_up_after=1.0,
    seconds=30.0,
    exits=[],
    wrong=[],
)
EXITED = replace(HELD, exits=["run-1.log ended by itself with 1"])
HALF = replace(HELD, injections={FaultKind.WORKER_KILL: 3})
OTHER_HALF = replace(HELD, injections={FaultKind.TARGET_CUT: 1})


def sums(*episodes: EpisodeResult) -> tuple[Totals, Moves]:
    """Both of the same episodes."""
    totals, moves = Totals(), Moves()
    for one in episodes:
        totals.add(one)
        more = Moves()
        more.add([], one)
        moves.join(more)
    return totals, moves


@pytest.mark.parametrize(
    ("episodes", "code"),
    [
        ((HELD,), 0),
        ((HELD, EXITED), 1),
        ((replace(HELD, wrong=["history-0: 1 missing"]),), 1),
        ((HALF,), 3),
        ((HALF, OTHER_HALF), 0),
        ((replace(HALF, exits=EXITED.exits),), 1),
    ],
)
def test_the_exit_code_tells_what_came_of_all_episodes(episodes: tuple[EpisodeResult, ...], code: int) -> None:
    """1 for what was wrong or ended by itself, 3 for faults that never struck in any, else 0."""
    assert [one.exit_code for one in sums(*episodes)] == [code, code]


def test_what_ended_by_itself_and_what_never_struck_is_told() -> None:
    """By name, at the end of the sums."""
    for one in sums(HALF, replace(HALF, exits=EXITED.exits)):
        told = "\n".join(one.lines())
        assert "never injected: target network cut" in told
        assert "a run ended: run-1.log ended by itself with 1" in told
