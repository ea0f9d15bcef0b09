"""Compare the link with MirrorMaker 2 and with Kafka's own replication: ``python -m benchmarks.run``.

One session: two clusters, and for each row a load and then rounds in which each system copies the same source data to
a fresh topic.  Prints a table and writes the section ``rows`` of ``build/bench.json``.  Exits with 1 if a copy did not
end with exactly the source's records.
"""

from __future__ import annotations

import argparse
import gc
import os
import signal
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from anabranch.errors import AnabranchError
from anabranch.sandbox import SandboxCluster
from benchmarks import report
from benchmarks.clusters import BROKER_HEAP_MB, KAFKA, clusters
from benchmarks.meter import Figures, Meter, figures
from benchmarks.rows import ROWS, Row
from benchmarks.sources import load
from benchmarks.systems import Stage, System, delete_topic, follower
from benchmarks.systems.follower import FollowerSystem
from benchmarks.systems.link import LinkSystem
from benchmarks.systems.mirror_maker import MirrorMakerSystem

COPY_SECONDS = 240.0
OUTPUT = Path("build/bench.json")
# Rows and rounds must be started within this, so that all is over in 25 minutes, latency and scale included.
SESSION_SECONDS = 15 * 60.0


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


def measure(system: System, stage: Stage, number: int) -> Figures:
    """One copy, from its start until the target holds every record; raises ``WrongCopyError``."""
    os.sync()
    gc.collect()
    meter = Meter(system.place(stage, number))
    meter.start()
    try:
        with system.copy(stage, number) as running:
            if running.pid is not None:
                meter.family.follow(running.pid, running.worker or "")
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
        meter.write(stage.directory / f"{number}-{stage.loaded.topic}-{system.name}.csv")
    if meter.log.records != stage.loaded.records:
        raise WrongCopyError(system.name, stage.loaded.records, meter.log.records)
    return figures(meter.samples, stage.loaded.bytes, has_copier, meter.family.memory_mb)


@dataclass(slots=True)
class Session:
    """Rows on two clusters, one after the other; prints as it goes."""

    source: SandboxCluster
    target: SandboxCluster
    systems: Mapping[str, System]
    scratch: Path
    began: float
    number: int = 0

    def row(self, row: Row, scale: float, rounds: int) -> list[report.Result]:
        """Load, measure each of the row's systems in each round, and delete the source topic."""
        loading = time.monotonic()
        print(f"\n{row.name}: {row.about}", flush=True)
        try:
            loaded = load(self.source, row.name, row.fill, scale, self.scratch)
            print(f"  {loaded.summary}; loaded in {time.monotonic() - loading:.0f} s", flush=True)
            stage = Stage(self.source, self.target, loaded, self.scratch)
            runs: dict[str, list[Figures]] = {name: [] for name in row.systems if name in self.systems}
            for turn in range(1, rounds + 1):
                if turn > 1 and self.is_late:
                    break
                for name, taken in runs.items():
                    self.number += 1
                    found = measure(self.systems[name], stage, self.number)
                    taken.append(found)
                    print(f"  round {turn}  {name:<16} {report.line(found)}", flush=True)
        finally:
            delete_topic(self.source, row.name)
        return report.results(row.name, runs, row.mirror, follower.NAME)

    @property
    def is_late(self) -> bool:
        """Whether nothing more should be begun."""
        return time.monotonic() - self.began > SESSION_SECONDS


def session(
    systems: Mapping[str, System], rows: Sequence[Row], scale: float, rounds: int, scratch: Path
) -> tuple[list[report.Result], list[AnabranchError]]:
    """Run the rows; a row that fails is told, and the others go on."""
    found: list[report.Result] = []
    failed: list[AnabranchError] = []
    with clusters(scratch, source_brokers=2) as (source, target):
        at_work = Session(source, target, systems, scratch, time.monotonic())
        for row in rows:
            if at_work.is_late:
                print(f"\nno time is left for {row.name}", flush=True)
                continue
            try:
                found += at_work.row(row, scale, rounds)
            except AnabranchError as error:
                print(f"  error: {error.message}\n  hint: {error.hint}", file=sys.stderr, flush=True)
                failed.append(error)
    return found, failed


def main(argv: list[str] | None = None) -> int:
    """Parse the options and run."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description=__doc__)
    parser.add_argument("--rows", default=",".join(row.name for row in ROWS), help="which, in which order")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--scale", type=float, default=1.0, help="multiplies the size of every row")
    parser.add_argument("--systems", help="only these of each row")
    parser.add_argument("--output", type=Path, default=OUTPUT)
    parser.add_argument("--keep", type=Path, help="keep logs and data in this empty directory")
    options = parser.parse_args(argv)
    every: tuple[System, ...] = (
        FollowerSystem(),
        MirrorMakerSystem(),
        MirrorMakerSystem(exactly_once=True),
        LinkSystem(),
    )
    known = {system.name: system for system in every}
    rows = {row.name: row for row in ROWS}
    chosen, wanted = options.rows.split(","), (options.systems or ",".join(known)).split(",")
    if not set(chosen) <= rows.keys():
        parser.error(f"--rows: choose from {', '.join(rows)}")
    if not set(wanted) <= known.keys():
        parser.error(f"--systems: choose from {', '.join(known)}")
    # So that SIGTERM leaves as little behind as Ctrl-C: supervisors end the processes anyway, and gigabytes stay.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    machine = report.machine(KAFKA)
    print(*machine, f"brokers: {BROKER_HEAP_MB} MB heap each; source 2 brokers, target 1", sep="\n")
    for name in wanted:
        print(f"{name}: " + ", ".join(f"{key}={value}" for key, value in known[name].settings.items()))
    with tempfile.TemporaryDirectory(prefix="anabranch-bench-") as scratch:
        try:
            found, failed = session(
                {name: known[name] for name in wanted},
                [rows[name] for name in chosen],
                options.scale,
                options.rounds,
                options.keep or Path(scratch),
            )
        except AnabranchError as error:
            print(f"error: {error.message}\nhint: {error.hint}", file=sys.stderr)
            return 1
        except KeyboardInterrupt:
            print("interrupted", file=sys.stderr)
            return 130
    print(f"\n{report.table(found)}")
    report.write("machine", machine, options.output)
    report.write("rows", [asdict(result) for result in found], options.output)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
