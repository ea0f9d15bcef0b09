"""Inject faults into links for as long as asked: ``python -m qa.soak --minutes N``.

Episodes of some minutes follow each other, each on fresh clusters with a configuration drawn from the seed: Spark
local or standalone with speculation, one or three brokers on either side, whose leaders move each second and are
elected uncleanly, logs of every kind, producer ids that the target forgets after a minute or a day, connections that
are closed when idle, leases of 5 to 30 s.  At the end the counts are printed; the exit code is 1 if anything differed,
stood still or stayed behind or a run of a link ended by itself, and 3 if nothing was wrong but some kind of fault that
an episode was to have struck in none: that takes more minutes.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from qa.faults import EpisodeResult, EpisodeSpec, FaultKind, run_episode
from qa.faults.episode import EVERY_KIND, LOSABLE
from qa.faults.schedule import LOCAL_KINDS, REPLICATED_SOURCE_KINDS, REPLICATED_TARGET_KINDS
from qa.faults.topics import LoadTopic
from qa.inconclusive import EXIT_CODE
from qa.process_ends import interrupt_on_term, seed_of

EPISODE_S = 120.0
SHORTEST_S = 20.0
# Starting, catching up, comparing: what an episode takes besides its faults.
AROUND_S = 75.0


@dataclass(slots=True)
class Totals:
    """The sums of all episodes."""

    wanted: set[FaultKind] = field(default_factory=set)
    injections: Counter[FaultKind] = field(default_factory=Counter)
    modes: Counter[str] = field(default_factory=Counter)
    episodes: int = 0
    records: int = 0
    runs: int = 0
    exits: int = 0
    claims: int = 0
    kills: int = 0
    speculative_attempts: int = 0
    gap_records: int = 0
    moves: int = 0
    cleaned: int = 0
    transactions: tuple[int, int, int] = (0, 0, 0)
    ended_by_hand: int = 0
    differences: int = 0
    wrong: list[str] = field(default_factory=list)

    def add(self, verdict: EpisodeResult) -> None:
        """Count one episode."""
        self.wanted.update(verdict.spec.kinds)
        self.injections.update(verdict.injections)
        self.modes.update(verdict.proof.modes)
        self.episodes += 1
        self.records += verdict.proof.records
        self.runs += verdict.runs
        self.exits += len(verdict.exits)
        self.claims += verdict.proof.claims
        self.kills += verdict.proof.markers
        self.speculative_attempts += verdict.speculative_attempts
        self.gap_records += verdict.proof.gap_records
        self.moves += verdict.moves
        self.cleaned += verdict.proof.cleaned
        self.ended_by_hand += verdict.ended_by_hand
        committed, aborted, hanging = map(sum, zip(self.transactions, verdict.transactions, strict=True))
        self.transactions = committed, aborted, hanging
        self.differences += verdict.proof.differences
        self.wrong += [f"episode {verdict.spec.seed}: {one}" for one in verdict.found]

    @property
    def never_injected(self) -> list[FaultKind]:
        """Kinds of faults that were wanted, and that never struck in any episode."""
        return [kind for kind in FaultKind if kind in self.wanted and not self.injections[kind]]

    @property
    def exit_code(self) -> int:
        """1 where anything was wrong, 3 where nothing was and some kind of fault never struck."""
        if self.wrong:
            return 1
        return EXIT_CODE if self.never_injected else 0

    def lines(self) -> list[str]:
        """The totals for people."""
        return [
            f"{self.episodes} episodes, {sum(self.injections.values())} faults:",
            *(f"  {self.injections.get(kind, 0):5d} x {kind}" for kind in FaultKind),
            f"{self.moves} leaders moved",
            f"{self.records} records compared in lanes {dict(self.modes)}, {self.claims} takeovers (claims), "
            f"{self.kills} kill markers, {self.gap_records} records of jumps, {self.speculative_attempts} speculative "
            "attempts",
            "{} transactions committed, {} aborted, {} left hanging, ".format(*self.transactions)
            + f"{self.ended_by_hand} ended by hand; {self.cleaned} records cleaned from compacted sources",
            f"{self.runs} runs of a link, {self.exits} of them ended by themselves",
            f"{self.differences} differences, {len(self.wrong)} findings",
            *([f"never injected: {', '.join(self.never_injected)}"] if self.never_injected else []),
            *(f"  WRONG: {one}" for one in self.wrong),
        ]


def draw(seed: int, seconds: float) -> EpisodeSpec:
    """The configuration of one episode: a pure function of its seed."""
    chance = random.Random(seed)
    standalone = chance.random() < 0.4
    kinds = LOCAL_KINDS
    if standalone:
        kinds = (*(kind for kind in LOCAL_KINDS if kind is not FaultKind.SECOND_RUN), FaultKind.EXECUTOR_KILL)
    source_brokers, target_brokers = chance.choice([1, 1, 1, 3]), chance.choice([1, 3, 3])
    topics: tuple[LoadTopic, ...] = EVERY_KIND
    if source_brokers > 1:
        kinds = (*kinds, *REPLICATED_SOURCE_KINDS)
    if target_brokers > 1:
        # Twice in each round: leaders move most of the time.
        kinds = (*kinds, *REPLICATED_TARGET_KINDS, FaultKind.TARGET_MOVE)
        topics = (*EVERY_KIND, *LOSABLE)
    return EpisodeSpec(
        seed=seed,
        seconds=seconds,
        gap=chance.choice([2.0, 3.5, 6.0]),
        kinds=kinds,
        long_share=chance.choice([0.0, 0.1, 0.3]),
        standalone=standalone,
        source_brokers=source_brokers,
        target_brokers=target_brokers,
        expiration_ms=chance.choice([60_000, 60_000, None]),
        idle_ms=chance.choice([600_000, 15_000]),
        lease_seconds=chance.choice([5, 10, 30]),
        rate=chance.choice([300, 1000, 2000]),
        topics=topics,
        stop_under_load=chance.random() < 0.5,
    )


def soak(minutes: float, seed: int, tell: Callable[[str], None]) -> Totals:
    """Run episodes until the time is over; at least one."""
    ends = time.monotonic() + minutes * 60
    totals = Totals()
    while totals.episodes == 0 or ends - time.monotonic() > AROUND_S + SHORTEST_S:
        left = ends - time.monotonic() - AROUND_S
        number = seed + totals.episodes
        try:
            verdict = run_episode(draw(number, max(SHORTEST_S, min(EPISODE_S, left))), tell)
        except Exception as error:  # the totals of what went before must not be lost
            totals.episodes += 1
            totals.wrong.append(f"episode {number} could not be carried out: {error!r}")
            tell("".join(traceback.format_exception(error)))
            continue
        totals.add(verdict)
        for line in verdict.lines():
            tell(line)
    return totals


def main(argv: list[str] | None = None) -> int:
    """Soak and print the totals; 1 if anything was wrong, 3 if a kind of fault never struck."""
    parser = argparse.ArgumentParser(prog="python -m qa.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=None, help="default: drawn from the clock, and printed")
    options = parser.parse_args(argv)
    seed = seed_of(options.seed)
    interrupt_on_term()
    print(f"seed {seed}", flush=True)
    totals = soak(options.minutes, seed, lambda line: print(line, flush=True))
    print("\n".join(totals.lines()), flush=True)
    return totals.exit_code


if __name__ == "__main__":
    sys.exit(main())
