"""Compare the link with MirrorMaker 2 and with Kafka's own replication: ``python -m benchmarks.run``.

One session: two clusters, one load, and then rounds in which each system copies the same source data to a fresh topic.
Prints a table and writes ``build/bench.json``.  Exits with 1 if a copy did not end with exactly the source's records.
"""

from __future__ import annotations

import argparse
import gc
import os
import signal
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from anabranch.errors import AnabranchError
from anabranch.sandbox import Cluster, ClusterSpec, start_clusters
from benchmarks import report, workload
from benchmarks.meter import Figures, Meter, figures
from benchmarks.systems import Stage, System, follower, mirror_maker
from benchmarks.systems.follower import FollowerSystem
from benchmarks.systems.link import LinkSystem
from benchmarks.systems.mirror_maker import MirrorMakerSystem

KAFKA = "4.3.1"
BROKER_HEAP_MB = 1024
COPY_SECONDS = 240.0
# The copies must be started within this, so that all is over in 25 minutes.
SESSION_SECONDS = 20 * 60.0


@dataclass(eq=False)
class WrongCopyError(AnabranchError):
    """A copy did not end with the source's records."""

    system: str
    wanted: int
    found: int

    @property
    def message(self) -> str:
        return f"{self.system}: the target holds {self.found:,} records of {self.wanted:,}"

    @property
    def hint(self) -> str:
        return "run again with --keep and read the system's log"


def broker_spec(name: str, brokers: int) -> ClusterSpec:
    """Brokers of one heap and JVM for all; deleted logs go at once, to leave the disk as it was."""
    overrides = {"log.segment.delete.delay.ms": "500"}
    options = ("-XX:+UseG1GC", f"-Xms{BROKER_HEAP_MB}m")
    return ClusterSpec(
        name, version=KAFKA, brokers=brokers, overrides=overrides, heap_mb=BROKER_HEAP_MB, jvm_options=options
    )


def measure(system: System, stage: Stage, number: int) -> Figures:
    """One copy, from its start until the target holds every record; raises ``WrongCopyError``."""
    os.sync()
    gc.collect()
    meter = Meter(system.place(stage, number))
    meter.start()
    try:
        with system.copy(stage, number) as running:
            if running.pid is not None:
                meter.family.follow(running.pid)
            deadline = time.monotonic() + COPY_SECONDS
            while not meter.wait(stage.loaded.records, 1.0):
                running.check()
                if time.monotonic() > deadline:
                    break
            # A record too many would come late.
            time.sleep(0.5)
            has_copier = running.pid is not None
            meter.stop()
    finally:
        meter.stop()
        meter.write(stage.directory / f"{system.name}-{number}.csv")
    if meter.log.records != stage.loaded.records:
        raise WrongCopyError(system.name, stage.loaded.records, meter.log.records)
    return figures(meter.samples, stage.loaded.bytes, has_copier)


def session(systems: list[System], gigabytes: float, rounds: int, scratch: Path) -> list[report.Row]:
    """Load once, then measure each system in each round; prints as it goes."""
    began = time.monotonic()
    work = workload.large_lz4(round(gigabytes * 1e9))
    specs = [broker_spec("source", 2), broker_spec("target", 1)]
    runs: dict[str, list[Figures]] = {system.name: [] for system in systems}
    clusters: tuple[Cluster, ...] = start_clusters(specs, scratch)
    try:
        source, target = clusters
        loaded = workload.load(source, work, scratch)
        print(f"{work.name}: {loaded.summary}; loaded in {time.monotonic() - began:.0f} s", flush=True)
        stage = Stage(source, target, loaded, scratch)
        number = 0
        for turn in range(1, rounds + 1):
            for system in systems:
                if time.monotonic() - began > SESSION_SECONDS:
                    print("no time is left for further rounds", flush=True)
                    return report.rows(work.name, runs, mirror_maker.NAME, follower.NAME)
                number += 1
                found = measure(system, stage, number)
                runs[system.name].append(found)
                print(f"round {turn}  {system.name:<12} {report.line(found)}", flush=True)
    finally:
        for cluster in clusters:
            cluster.stop()
    return report.rows(work.name, runs, mirror_maker.NAME, follower.NAME)


def main(argv: list[str] | None = None) -> int:
    """Parse the options and run."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description=__doc__)
    parser.add_argument("--gigabytes", type=float, default=2.5, help="stored bytes of the source (10^9)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--systems", default="follower,mirrormaker2,link", help="which, in which order")
    parser.add_argument("--mm2-tasks", type=int, default=MirrorMakerSystem().tasks)
    parser.add_argument("--output", type=Path, default=Path("build/bench.json"))
    parser.add_argument("--keep", type=Path, help="keep logs and data in this empty directory")
    options = parser.parse_args(argv)
    known: dict[str, System] = {
        system.name: system for system in (FollowerSystem(), MirrorMakerSystem(options.mm2_tasks), LinkSystem())
    }
    chosen = options.systems.split(",")
    if not set(chosen) <= known.keys():
        parser.error(f"--systems: choose from {', '.join(known)}")
    systems = [known[name] for name in chosen]
    # So that SIGTERM leaves as little behind as Ctrl-C: processes end on their leashes anyway, gigabytes do not.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    print(*report.machine(KAFKA), f"load before: {os.getloadavg()[0]:.2f}", sep="\n")
    print(f"brokers: {BROKER_HEAP_MB} MB heap each; source 2 brokers, target 1")
    for system in systems:
        print(f"{system.name}: " + ", ".join(f"{key}={value}" for key, value in system.settings.items()))
    with tempfile.TemporaryDirectory(prefix="anabranch-bench-") as scratch:
        try:
            found = session(systems, options.gigabytes, options.rounds, options.keep or Path(scratch))
        except AnabranchError as error:
            print(f"error: {error.message}\nhint: {error.hint}", file=sys.stderr)
            return 1
        except KeyboardInterrupt:
            print("interrupted", file=sys.stderr)
            return 130
    print(report.table(found))
    report.write(found, options.output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
