"""Move groups at random moments until ``--trials`` are done: ``python -m qa.moves --trials 200``.

Each episode moves twenty groups on fresh clusters.  The counts are printed at the end; the exit code is 1 if a moved
group missed, repeated or reordered a record or a run of the link ended by itself, and 3 if nothing was wrong but some
kind of fault never struck.
"""

from __future__ import annotations

import argparse
import sys
import traceback

from qa.moves.trials import Moves, run_moves
from qa.process_ends import interrupt_on_term, seed_of

AT_ONCE = 20


def main(argv: list[str] | None = None) -> int:
    """Run the trials and print their sums."""
    parser = argparse.ArgumentParser(prog="python -m qa.moves", description=__doc__)
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--seed", type=int, default=None, help="default: drawn from the clock, and printed")
    options = parser.parse_args(argv)
    seed = seed_of(options.seed)
    interrupt_on_term()

    def tell(line: str) -> None:
        print(line, flush=True)

    tell(f"seed {seed}")
    total = Moves()
    episode = 0
    while total.trials < options.trials:
        count = min(AT_ONCE, options.trials - total.trials)
        number = seed + episode
        try:
            total.join(run_moves(number, count, tell, brokers=3 if episode % 3 == 2 else 1))
        except Exception as error:  # the sums of what went before must not be lost
            total.trials += count
            total.wrong.append(f"episode {number} could not be carried out: {error!r}")
            tell("".join(traceback.format_exception(error)))
        episode += 1
        for line in total.lines():
            tell(line)
    return total.exit_code


if __name__ == "__main__":
    sys.exit(main())
