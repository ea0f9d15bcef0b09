"""How long it takes to find the map of a topic at which MirrorMaker 2 was killed: ``python -m benchmarks.rebuild``.

Fills a topic, and a smaller one by transactions of 500 records of which some abort; has real MirrorMaker 2 copy each,
kills it twice and starts it again, then runs the job of
``anabranch offsets rebuild`` on local[2], and has a comparison look at the result: each record of the source must lie
where the map says, and what is left over must be repeats, as many as the copy has records too many.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from anabranch.config import maps_file
from anabranch.config.rebuildspec import RebuildSpec
from anabranch.config.verifyspec import Levels
from anabranch.operations.jobs.readerjob import ReaderJob
from anabranch.operations.offsets.rebuild import start
from anabranch.sandbox import SandboxCluster
from anabranch.spark.verify.run import Comparison
from anabranch.verify.findings import FindingKind
from anabranch.verify.pins import LogEnds, pin
from benchmarks import report
from benchmarks.clusters import KAFKA, clusters
from qa import killed_mirror
from qa.offsets import rebuild_spec
from qa.verify_lab import connector_settings, context_of, spark_session, spec_of

TOPIC, TRANSACTIONS = "killed", "killed-transactions"
IN_TRANSACTION = 500
MASTER = "local[2]"
_FAR = 1 << 62


def rebuild(spec_out: tuple[RebuildSpec, Path], scratch: Path) -> dict[str, float]:
    """Run the job as the command line does; its last figures, with the time that it took in all."""
    spec, out = spec_out
    began = time.monotonic()
    how = ReaderJob(spec.source, spec.target, MASTER, scratch, connector_settings())
    figures: dict[str, float] = {}

    async def tell(step: Mapping[str, Any]) -> None:
        nonlocal figures
        figures = {name: figure for name, figure in step.items() if name != "step"}
        print(f"  {dict(step)}", flush=True)

    asyncio.run(start(spec, out, how, how.arguments()).ended(tell))
    return figures | {"seconds": round(time.monotonic() - began, 1)}


def row(
    old: SandboxCluster, new: SandboxCluster, topic: str, records: int, in_transaction: int, how: argparse.Namespace
) -> dict[str, Any]:
    """Copy, kill, rebuild, compare: one topic."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="anabranch-bench-") as name:
        scratch, out = Path(name), Path(name) / "maps.json"
        killed_mirror.fill(old, topic, records, how.partitions, how.size, in_transaction)
        print(f"{topic}: {records:,} records are there after {time.monotonic() - began:.0f} s", flush=True)
        copy = killed_mirror.copy(old, new, topic, scratch, heap_mb=2048, records=records if in_transaction else None)
        copied = sum(killed_mirror.ends(new, copy).values())
        print(f"{copied:,} records are in the copy after {time.monotonic() - began:.0f} s", flush=True)
        spec = rebuild_spec(context_of(old), context_of(new), "bench", {topic: copy})
        figures = rebuild((spec, out), scratch)
        maps = maps_file.load(out)
    whole = LogEnds(0, _FAR)
    pins = [pin(str(one.lane), one.source, one.target, one.ranges, whole, whole) for one in maps]
    spark = spark_session("anabranch benchmark of rebuild", MASTER)
    try:
        comparison = Comparison(spark, spec_of(old, new, pins, levels=Levels.COMMITTED), first_round=1 << 22)
        for _ in comparison.rounds():
            pass
        counts = [named.counts for named in comparison.findings().values()]
    finally:
        spark.stop()
    surplus = sum(one[FindingKind.DUPLICATE] + one[FindingKind.UNEXPECTED] for one in counts)
    again = copied - records
    right = (
        figures["records"] == records
        and figures["unclear"] == 0
        and surplus == sum(count.differences for count in counts) == again
    )
    found = {"topic": topic, "in_transaction": in_transaction, "copied": copied, "again": again}
    return {**found, **figures, "right": right}


def main(argv: list[str] | None = None) -> int:
    """One row for each topic that is to have records."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rebuild", description=__doc__)
    parser.add_argument("--records", type=int, default=10_000_000)
    parser.add_argument("--transactional", type=int, default=200_000, help="records that are written by transactions")
    parser.add_argument("--partitions", type=int, default=4)
    parser.add_argument("--size", type=int, default=100)
    parser.add_argument("--output", type=Path, default=Path("build/bench.json"))
    options = parser.parse_args(argv)
    print(*report.machine(KAFKA), sep="\n")
    rows = []
    wanted = ((TOPIC, options.records, 0), (TRANSACTIONS, options.transactional, IN_TRANSACTION))
    with tempfile.TemporaryDirectory(prefix="anabranch-bench-") as name, clusters(Path(name)) as (old, new):
        for topic, records, in_transaction in wanted:
            if records:
                rows.append(row(old, new, topic, records, in_transaction, options))
                print(rows[-1], flush=True)
                report.write("rebuild", rows, options.output)
    return 0 if all(one["right"] for one in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
