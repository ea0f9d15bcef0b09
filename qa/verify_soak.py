"""Many mirrors with faults at random places, each compared: ``python -m qa.verify_soak --trials 500``.

Every planted fault must be found and named at its exact offset, and nothing else.  A trial is a topic of its own with
none to four faults; a comparison takes many at once.  ``--records`` is the size of each; ``--big`` adds one with a
million records and every fault ten times.  Prints each trial that fails with its seed; exits with 1 if one did.
"""

from __future__ import annotations

import argparse
import itertools
import logging
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from anabranch.sandbox import ClusterSpec, SandboxCluster, start_clusters
from anabranch.spark.verify.run import Comparison
from anabranch.verify.findings import Finding, FindingKind
from qa.verify_lab import Fault, Mirror, messages, pin_of, plant, spark_session, spec_of, write

TOLD: list[Fault] = [fault for fault in Fault if fault not in {Fault.UNTOLD_DROP, Fault.TAIL}]
BIG = 1_000_000


@dataclass(frozen=True, slots=True)
class Trial:
    """A mirror in a topic of its own; ``displaced`` is how many records an untold drop displaces."""

    topic: str
    seed: int
    faults: tuple[Fault, ...]
    mirror: Mirror
    displaced: int = 0

    def failures(self, found: Sequence[Finding]) -> list[str]:
        """What was found and not planted, and what was planted and not found."""
        displaced = [one for one in found if one.kind is FindingKind.DISPLACED]
        named = sorted(one for one in found if one.kind is not FindingKind.DISPLACED)
        expected = list(self.mirror.expected)
        wrong = [f"found, not planted: {one}" for one in named if one not in expected]
        wrong += [f"planted, not found: {one}" for one in expected if one not in named]
        if len(displaced) != self.displaced:
            wrong.append(f"{len(displaced)} displaced, {self.displaced} expected")
        return wrong


def trial(number: int, seed: int, records: int) -> Trial:
    """A trial, whole in its seed."""
    chance = random.Random(seed)
    topic = f"trial-{number}"
    source = messages(records, chance)
    if chance.random() < 0.1:
        mirror = plant(source, [Fault.UNTOLD_DROP], chance, topic)
        return Trial(topic, seed, (Fault.UNTOLD_DROP,), mirror, records - 1 - mirror.expected[0].source)
    faults: list[Fault] = [chance.choice(TOLD) for _ in range(chance.randint(0, 3))]
    if chance.random() < 0.2:
        faults.append(Fault.TAIL)
    return Trial(topic, seed, tuple(faults), plant(source, faults, chance, topic))


def big(seed: int) -> Trial:
    """A million records, every fault ten times."""
    chance = random.Random(seed)
    faults = (*TOLD * 10, Fault.TAIL)
    return Trial("big", seed, faults, plant(messages(BIG, chance), faults, chance, "big"))


def groups(trials: int, records: int, seed: int, at_once: int) -> Iterator[list[Trial]]:
    """The trials in groups of one comparison."""
    for first in range(0, trials, at_once):
        yield [trial(at, seed + at, records) for at in range(first, min(trials, first + at_once))]


def compared(
    session: object, clusters: tuple[SandboxCluster, SandboxCluster], trials: Sequence[Trial]
) -> dict[str, list[Finding]]:
    """Write the trials' logs and compare them; findings by topic."""
    old, new = clusters
    for one in trials:
        write(old, one.topic, one.mirror.source)
        write(new, one.topic, one.mirror.target)
    pins = [pin_of(one.topic, one.mirror.ranges) for one in trials]
    comparison = Comparison(session, spec_of(old, new, pins, samples=BIG))
    for _ in comparison.rounds():
        pass
    return {pins[lane].lane: list(named.samples) for lane, named in comparison.findings().items()}


def main(argv: list[str] | None = None) -> int:
    """Run the trials."""
    parser = argparse.ArgumentParser(prog="python -m qa.verify_soak", description=__doc__)
    parser.add_argument("--trials", type=int, default=500)
    parser.add_argument("--records", type=int, default=2_000)
    parser.add_argument("--at-once", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--big", action="store_true")
    options = parser.parse_args(argv)
    logging.getLogger("py4j").setLevel(logging.ERROR)
    failed, faults = 0, Counter[str]()
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="anabranch-verify-") as scratch:
        started = start_clusters([ClusterSpec("old", heap_mb=512), ClusterSpec("new", heap_mb=512)], Path(scratch))
        old, new = started
        session = spark_session("anabranch soak of verify", "local[2]")
        try:
            bulk = groups(options.trials, options.records, options.seed, options.at_once)
            for trials in itertools.chain([[big(options.seed)]] if options.big else [], bulk):
                found = compared(session, (old, new), trials)
                for one in trials:
                    faults.update(one.faults or ("none",))
                    wrong = one.failures(found.get(one.topic, []))
                    failed += bool(wrong)
                    for line in wrong[:10]:
                        print(f"{one.topic} (seed {one.seed}, {len(one.faults)} faults): {line}", flush=True)
                done = time.monotonic() - began
                print(f"{sum(faults.values())} faults and trials without, {failed} failed, {done:.0f} s", flush=True)
        finally:
            session.stop()
            for cluster in started:
                cluster.stop()
    print(", ".join(f"{name}: {number}" for name, number in sorted(faults.items())))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
