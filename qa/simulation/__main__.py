"""Simulate many lives of links, one seed each, and print what went wrong in any."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from functools import partial

from qa.simulation.life import Life
from qa.simulation.plans import BRIEF, EVERY, PLANS
from qa.simulation.seed import Came, most_raced, simulate


def main() -> int:
    """0 where every life held, and no more lanes stopped by the one race that remains than may."""
    parser = argparse.ArgumentParser(prog="python -m qa.simulation", description=__doc__)
    parser.add_argument("--plan", choices=sorted(EVERY), action="append", help="which lives (default: all)")
    parser.add_argument("--brief", action="store_true", help="lives of one lane and some moments, many in a minute")
    parser.add_argument("--seeds", type=int, default=100, help="how many of each")
    parser.add_argument("--first", type=int, default=1, help="the first of the seeds")
    parser.add_argument("--seed", type=int, help="this one alone, in this process")
    parser.add_argument("--trace", action="store_true", help="print faults as they fall")
    parser.add_argument("--pace", type=float, help="faults so many times as fast (default: as plan and seed say)")
    parser.add_argument("--jobs", type=int, default=2, help="processes at once")
    arguments = parser.parse_args()
    plans = arguments.plan or sorted(BRIEF if arguments.brief else PLANS)
    if arguments.seed is not None:
        return _one(plans, arguments.seed, arguments.pace, trace=arguments.trace)
    began = time.perf_counter()
    work = [(plan, seed) for seed in range(arguments.first, arguments.first + arguments.seeds) for plan in plans]
    struck: Counter[str] = Counter()
    modes: Counter[str] = Counter()
    raced: Counter[str] = Counter()
    records = runs = 0
    virtual = 0.0
    failed: list[Came] = []
    with ProcessPoolExecutor(arguments.jobs, max_tasks_per_child=200) as pool:
        for one in pool.map(partial(simulate, pace=arguments.pace), *zip(*work, strict=True), chunksize=4):
            struck.update(dict(one.struck))
            modes.update(dict(one.modes))
            raced[one.plan] += one.raced
            records, virtual, runs = records + one.records, virtual + one.seconds, runs + one.runs
            if one.wrong:
                failed.append(one)
                print(f"WRONG plan {one.plan} seed {one.seed}: {one.wrong[0]}", flush=True)
    took = time.perf_counter() - began
    print(
        f"{len(work)} lives in {took:.1f} s ({len(work) / took * 60:.0f} a minute), {virtual:.0f} virtual seconds, "
        f"{runs} runs, {records} records, {dict(modes)}, {raced.total()} raced, {len(failed)} wrong"
    )
    print("; ".join(f"{count} x {fault}" for fault, count in sorted(struck.items())))
    too_many = {plan: count for plan, count in raced.items() if count > most_raced(plan, arguments.seeds)}
    for plan, count in sorted(too_many.items()):
        print(f"WRONG plan {plan}: {count} lanes raced, {most_raced(plan, arguments.seeds)} may", flush=True)
    return 1 if failed or too_many else 0


def _one(plans: list[str], seed: int, pace: float | None, *, trace: bool) -> int:
    wrong = 0
    for plan in plans:
        life = Life(EVERY[plan] if pace is None else EVERY[plan].at(pace), seed)
        if trace:
            scheduler = life.world.scheduler
            scheduler.trace = lambda text, scheduler=scheduler: print(f"{scheduler.now:9.4f} {text}")
        began = time.perf_counter()
        outcome = life.live()
        print(
            f"plan {plan} seed {seed}: {outcome.seconds:.1f} virtual seconds, {outcome.steps} steps, "
            f"{time.perf_counter() - began:.2f} s, {outcome.proof.records} records, {outcome.proof.modes}"
        )
        for one in outcome.wrong:
            print(f"  WRONG: {one}")
        for topic, partition in sorted(outcome.raced):
            print(f"  RACED: {topic}-{partition}, which was not judged")
        wrong += bool(outcome.wrong)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
