"""Migrate back and forth at random while engines are killed: ``python -m tests.integration.kills.soak --minutes N``.

Each episode is a migration of its own between the same two clusters: its order, how often it goes there and back, where
engines die and what is given up on the way follow from the episode's seed.  After each verb all is held against what
applications have written and read.  The exit code is 1 where anything was not as it must be.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path

from anabranch.migration.run import WaveRunState
from anabranch.migration.spec import WaveOrder
from anabranch.migration.standing import WaveStanding, WaveState, WaveVerb
from anabranch.migration.steps import StepKind, parts
from anabranch.migration.wave_steps import steps_for
from anabranch.sandbox import ClusterSpec, start_clusters
from qa.brokers import STEADY
from qa.process_ends import interrupt_on_term, seed_of
from tests.integration.kills.journals import assert_journals
from tests.integration.kills.points import DONE, KillPlan
from tests.integration.kills.proofs import (
    assert_completed,
    assert_logs,
    assert_not_switched,
    assert_partly_switched,
    assert_purged,
    assert_switched,
    until_copied,
)
from tests.integration.kills.scene import Pair, scene
from tests.integration.kills.stand import KillStand

QUIETLY = KillPlan(only=frozenset())
MOST_WAYS = 6
Tell = Callable[[str], None]


def episode(pair: Pair, seed: int, tell: Tell, ways: int | None = None) -> int:
    """One migration; returns how many engines were killed.  ``ways`` is how often it is switched, drawn by default."""
    chance = random.Random(seed)
    order = chance.choice(list(WaveOrder))
    ways = ways or chance.randint(1, MOST_WAYS)
    with tempfile.TemporaryDirectory(prefix="soak-") as name, scene(pair, f"{name}/store.db", order) as made:
        tell(f"episode {seed}: {order.value}, {ways} ways")
        carried_out(made, WaveVerb.START, chance, tell)
        until_copied(made, 0)
        assert_logs(made)
        if order is WaveOrder.TOGETHER and chance.random() < 0.5:
            given_up(made, chance, tell)
        for number in range(ways):
            way(made, number, chance, tell)
        ended(made, ways, chance, tell)
        assert_journals(made)
        return len(made.killed)


def carried_out(made: KillStand, verb: WaveVerb, chance: random.Random, tell: Tell, **more: object) -> int:
    """A verb by engines that die at some points; returns the leg that it was on."""
    plan = KillPlan(share=chance.choice((1, 3, 10)), seed=chance.randrange(1 << 31), bounds=False)
    before = len(made.killed)
    run = made.carried_out(verb.value, plan, **more)
    tell(f"  {verb.value} {run.part.value}: {len(made.killed) - before} engines killed")
    assert (run.state, run.why) == (WaveRunState.DONE, ""), run
    return run.leg


def way(made: KillStand, number: int, chance: random.Random, tell: Tell) -> None:
    """A whole leg, in as many parts as its wave has."""
    verb = WaveVerb.REVERSE if number % 2 else WaveVerb.SWITCH
    for part in parts(made.wave):
        assert carried_out(made, verb, chance, tell) == number
        if part is not parts(made.wave)[-1]:
            assert_partly_switched(made, number, part)
    assert_switched(made, number)


def given_up(made: KillStand, chance: random.Random, tell: Tell) -> None:
    """The first switch is given up somewhere before its point of no return, and nothing is left of it."""
    steps = [step.kind for step in steps_for(WaveStanding(made.leg(), WaveState.COPYING), WaveVerb.SWITCH).steps]
    at = chance.randrange(steps.index(StepKind.JOURNAL))
    made.killed_at("switch", f"switch all 0, {at:02d} {steps[at].value}: {DONE}")
    made.give_up("mei: not tonight")
    run = made.carried_out("switch", KillPlan(share=10, seed=chance.randrange(1 << 31), bounds=False))
    tell(f"  switch given up at {steps[at].value}")
    assert run.state is WaveRunState.CANCELLED, run
    assert_not_switched(made)


def ended(made: KillStand, ways: int, chance: random.Random, tell: Tell) -> None:
    """It stays where it is."""
    if ways % 2:
        carried_out(made, WaveVerb.COMPLETE, chance, tell)
        assert_completed(made, ways)
        return
    carried_out(made, WaveVerb.CANCEL, chance, tell, purge=True)
    assert_purged(made, purged=True)


def main() -> int:
    """Soak, and print what came of it."""
    parser = argparse.ArgumentParser(prog="python -m tests.integration.kills.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=None, help="default: drawn from the clock, and printed")
    options = parser.parse_args()
    seed = seed_of(options.seed)
    interrupt_on_term()
    print(f"seed {seed}", flush=True)
    ends, episodes, killed, wrong = time.monotonic() + options.minutes * 60, 0, 0, list[str]()
    specs = [ClusterSpec(name, security="SCRAM-SHA-512", authorizer=True, overrides=STEADY) for name in ("old", "new")]
    with tempfile.TemporaryDirectory(prefix="soak-") as directory:
        old, new = start_clusters(specs, Path(directory))
        with old, new:
            pair = Pair(old, new, {**old.environment(), **new.environment()})
            while episodes == 0 or time.monotonic() < ends:
                try:
                    killed += episode(pair, seed + episodes, lambda line: print(line, flush=True))
                except Exception:
                    print(traceback.format_exc(), flush=True)
                    wrong.append(f"episode {seed + episodes}")
                episodes += 1
    print(f"{episodes} migrations, {killed} engines killed, {len(wrong)} wrong: {', '.join(wrong) or 'none'}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
