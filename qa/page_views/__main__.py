"""``python -m qa.page_views``: the stream of page views under random kills, for people."""

from __future__ import annotations

import argparse
import random
import signal
import sys
import tempfile
from pathlib import Path
from types import FrameType

from qa.page_views.episode import EXECUTORS, LOCAL, EpisodePlan, run_episode
from qa.page_views.kills import Victim


def _end(number: int, _frame: FrameType | None) -> None:
    raise SystemExit(128 + number)


def main() -> int:
    """Run one episode; exit code 0 where nothing is wrong."""
    parser = argparse.ArgumentParser(prog="qa.page_views", description=__doc__)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 31))
    parser.add_argument("--seconds", type=float, default=180.0)
    parser.add_argument("--executors", action="store_true", help="executors of their own, which are killed, too")
    parser.add_argument("--victims", nargs="+", type=Victim, default=())
    parser.add_argument("--rate", type=int, default=200)
    options = parser.parse_args()
    victims = options.victims or [one for one in Victim if options.executors or one is not Victim.EXECUTOR]
    master = EXECUTORS if options.executors else LOCAL
    print(f"seed {options.seed}")
    signal.signal(signal.SIGTERM, _end)
    with tempfile.TemporaryDirectory(prefix="anabranch-page-views-") as root:
        plan = EpisodePlan(options.seed, options.seconds, tuple(victims), master, options.rate)
        found = run_episode(Path(root), plan, lambda text: print(text, flush=True))
    print("\n".join(found.lines()))
    return 1 if found.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
