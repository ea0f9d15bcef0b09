"""How long it takes to find the map of a topic at which MirrorMaker 2 was killed: ``python -m benchmarks.rebuild``.

Fills a topic, has real MirrorMaker 2 copy it, kills it twice and starts it again, then runs the job of
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
from anabranch.spark.verify.run import Comparison
from anabranch.verify.findings import FindingKind
from anabranch.verify.pins import LogEnds, pin
from benchmarks import report
from benchmarks.clusters import KAFKA, clusters
from qa import killed_mirror
from qa.offsets import rebuild_spec
from qa.verify_lab import connector_settings, context_of, spark_session, spec_of

TOPIC = "killed"
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


def main(argv: list[str] | None = None) -> int:
    """Copy, kill, rebuild, compare."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rebuild", description=__doc__)
    parser.add_argument("--records", type=int, default=10_000_000)
    parser.add_argument("--partitions", type=int, default=4)
    parser.add_argument("--size", type=int, default=100)
    parser.add_argument("--output", type=Path, default=Path("build/bench.json"))
    options = parser.parse_args(argv)
    print(*report.machine(KAFKA), sep="\n")
    with tempfile.TemporaryDirectory(prefix="anabranch-bench-") as name, clusters(Path(name)) as (old, new):
        scratch, out, began = Path(name), Path(name) / "maps.json", time.monotonic()
        killed_mirror.fill(old, TOPIC, options.records, options.partitions, options.size)
        print(f"{options.records:,} records are there after {time.monotonic() - began:.0f} s", flush=True)
        copy = killed_mirror.copy(old, new, TOPIC, scratch, heap_mb=2048)
        copied = sum(killed_mirror.ends(new, copy).values())
        print(f"{copied:,} records are in the copy after {time.monotonic() - began:.0f} s", flush=True)
        spec = rebuild_spec(context_of(old), context_of(new), "bench", {TOPIC: copy})
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
        right = (
            figures["records"] == options.records
            and figures["unclear"] == 0
            and surplus == sum(count.differences for count in counts) == copied - options.records
        )
        row = {"copied": copied, "again": copied - options.records, **figures, "right": right}
        print(row, flush=True)
        report.write("rebuild", [row], options.output)
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
