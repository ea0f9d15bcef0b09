"""One seed of a plan: its life, and what came of it as plain values, which another process can send."""

from __future__ import annotations

import traceback
from dataclasses import dataclass, replace

from qa.simulation.faults import Fault
from qa.simulation.life import Life, Outcome
from qa.simulation.load import forget_batches
from qa.simulation.plans import EVERY

RACED_SHARE = 50


@dataclass(frozen=True, slots=True)
class Came:
    """What came of one seed; ``steps`` is how many things happened, one after the other, ``raced`` how many lanes have
    stopped by the one race that remains, ``leapt_s`` and ``longest_claim_s`` are seconds of the wall clock."""

    plan: str
    seed: int
    wrong: tuple[str, ...]
    seconds: float
    records: int
    struck: tuple[tuple[str, int], ...]
    runs: int
    steps: int
    modes: tuple[tuple[str, int], ...]
    raced: int
    leapt_s: float
    longest_claim_s: float


def most_raced(plan: str, lives: int) -> int:
    """How many lanes so many lives of a plan may have stop by the one race that remains, and which no judge weighs.

    Only where an unclean election may fall; and one in ``RACED_SHARE`` of those lanes: of more, something is wrong.
    """
    chosen = EVERY[plan]
    if Fault.TARGET_UNCLEAN not in chosen.faults:
        return 0
    return -(-lives * sum(topic.partitions for topic in chosen.topics if topic.unclean) // RACED_SHARE)


def simulate(plan: str, seed: int, seconds: float | None = None, pace: float | None = None) -> Came:
    """One life, with faults for its plan's time or as long as is said; a simulation that breaks is wrong, too."""
    chosen = EVERY[plan] if pace is None else EVERY[plan].at(pace)
    life = Life(chosen if seconds is None else replace(chosen, seconds=seconds, pace=1.0), seed)
    try:
        outcome = life.live()
    except Exception:
        outcome = life.outcome
        outcome.wrong.append(traceback.format_exc(limit=-4))
    finally:
        forget_batches()
    return came(outcome)


def came(outcome: Outcome) -> Came:
    """The outcome as plain values."""
    return Came(
        outcome.plan,
        outcome.seed,
        tuple(outcome.wrong),
        outcome.seconds,
        outcome.proof.records,
        tuple(sorted((str(fault), count) for fault, count in outcome.struck.items())),
        outcome.runs,
        outcome.steps,
        tuple(sorted(outcome.proof.modes.items())),
        len(outcome.raced),
        outcome.leapt_s,
        outcome.longest_claim_s,
    )
