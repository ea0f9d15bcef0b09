"""Move queries until ``--trials`` are done: ``python -m qa.streamjobs --trials 50``.

Each episode is on fresh clusters, each round runs some random queries in one process, cuts it at a random moment,
moves every checkpoint, and compares sinks and state with queries that were never moved.  The exit code is 1 if
anything differs.
"""

from __future__ import annotations

import argparse
import random
import sys
import traceback

from anabranch.model.link import ModePolicy
from qa.process_ends import interrupt_on_term, seed_of
from qa.streamjobs.spec import Sink
from qa.streamjobs.stage import stage
from qa.streamjobs.trials import Cut, Sums, draw, run_trials

AT_ONCE = 5
ROUNDS = 4


def main(argv: list[str] | None = None) -> int:
    """Run the trials and print their sums."""
    parser = argparse.ArgumentParser(prog="python -m qa.streamjobs", description=__doc__)
    parser.add_argument("--trials", type=int, default=24)
    parser.add_argument("--seed", type=int, default=None, help="default: drawn from the clock, and printed")
    parser.add_argument("--keep", action="store_true", help="leave the directories of what went wrong")
    options = parser.parse_args(argv)
    seed = seed_of(options.seed)
    interrupt_on_term()
    print(f"seed {seed}", flush=True)
    sums = Sums()
    episode = 0
    while sums.trials < options.trials:
        _episode(seed + episode, options.trials - sums.trials, sums, options.keep)
        episode += 1
    return 1 if sums.wrong else 0


def _episode(seed: int, trials: int, sums: Sums, keep: bool) -> None:
    chance = random.Random(f"episode/{seed}")
    mode = chance.choice([ModePolicy.MAPPED, ModePolicy.MAPPED, ModePolicy.AUTO])
    with stage(seed, mode=mode, keep=keep) as made:
        for number in range(ROUNDS):
            count = min(AT_ONCE, trials)
            if count < 1:
                return
            trials -= count
            cases = [draw(chance) for _ in range(count)]
            cuts = [cut for cut in Cut if cut is not Cut.HELD or any(case.sink is Sink.BATCHES for case in cases)]
            cut = chance.choice(cuts)
            try:
                sums.add(run_trials(made, cases, cut, chance, number))
            except Exception as error:  # the sums of what went before must not be lost
                sums.trials += count
                sums.wrong.append(f"round {number} of episode {seed} could not be carried out: {error!r}")
                print("".join(traceback.format_exception(error)), flush=True)
            for line in sums.lines():
                print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
