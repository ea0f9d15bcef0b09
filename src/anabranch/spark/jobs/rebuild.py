"""Make maps once: ``spark-submit rebuild.py SPEC.json`` or ``python -m anabranch.spark.jobs.rebuild SPEC.json``.

Arguments: the file with a RebuildSpec, ``--out FILE`` for the maps, then ``--master`` and ``--conf KEY=VALUE`` (Spark
settings, repeatable) where wanted.  With ``--master`` Spark's Kafka source is brought, unless ``spark.jars`` settings
bring it; with ``spark-submit`` give it ``--jars $(python -m anabranch.jars.connector)``.  With ``--tied`` the end of
standard input ends the job at once.

Partitions are aligned one after the other, small ones together. What is finished is kept in ``FILE.part``, from which
the job goes on when it is run again.

Each step is a line of JSON on standard output, the last one with figures.  Exits with 0 where the maps are written,
whether or not all of them are clear, or with the code of the error that ended it.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from pyspark import __version__ as spark_version

from anabranch.config import maps_file
from anabranch.config.maps_file import StoredMap
from anabranch.config.rebuild_progress import keep, kept, part_of, pieces
from anabranch.config.rebuildspec import RebuildSpec
from anabranch.errors import AnabranchError
from anabranch.jars.connector import with_connector
from anabranch.model.clock import now_ms
from anabranch.model.lane import LaneKey
from anabranch.spark.align.progress import report_progress
from anabranch.spark.align.run import RebuildFigures, Rebuilding
from anabranch.spark.failures import failure
from anabranch.spark.jobs.tied import end_with_command, terminate
from anabranch.spark.session import session
from anabranch.spark.verify.session import SETTINGS, check_source


def main(argv: list[str] | None = None) -> int:
    """Run the job."""
    parser = argparse.ArgumentParser(prog="anabranch-rebuild-job", description=__doc__)
    parser.add_argument("spec", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--master")
    parser.add_argument("--conf", action="append", default=[], type=_setting, metavar="KEY=VALUE")
    parser.add_argument("--tied", action="store_true")
    options = parser.parse_args(argv)
    if options.tied:
        end_with_command(terminate)
    spec: RebuildSpec | None = None
    try:
        spec = RebuildSpec.from_json(options.spec.read_text())
        return _run(spec, options.out, options.master, dict(options.conf))
    except AnabranchError as error:
        code, why, hint = error.exit_code, error.message, error.hint
    except Exception as error:
        traceback.print_exc()
        code, why, hint = 1, f"{type(error).__name__}: {str(error)[:1000]}", ""
        known = None if spec is None else failure(error, spec.source, spec.target)
        if known is not None:
            code, why, hint = known.exit_code, known.message, known.hint
    print(json.dumps({"error": why, "hint": hint}), file=sys.stderr, flush=True)
    return code


def _run(spec: RebuildSpec, out: Path, master: str | None, settings: dict[str, str]) -> int:
    began = time.monotonic()

    def tell(step: str, **figures: Any) -> None:
        print(json.dumps({"step": step, "seconds": round(time.monotonic() - began, 1), **figures}), flush=True)

    made = kept(out, spec)
    if made:
        tell("kept", partitions=len(made), of=len(spec.lanes))
    figures = RebuildFigures()
    if len(made) < len(spec.lanes):
        _make(spec, out, made, figures, tell, master, settings)
    maps = [made[lane.lane] for lane in spec.lanes]
    maps_file.save_rebuilt(out, spec.link, spec.source.name, spec.target.name, maps, now_ms())
    part_of(out).unlink(missing_ok=True)
    tell(
        "done",
        **asdict(figures),
        records=sum(one.ranges.records for one in maps),
        ranges=sum(len(one.ranges) for one in maps),
        unclear=sum(len(one.unclear) for one in maps),
    )
    return 0


def _make(
    spec: RebuildSpec,
    out: Path,
    made: dict[LaneKey, StoredMap],
    figures: RebuildFigures,
    tell: Callable[..., None],
    master: str | None,
    settings: dict[str, str],
) -> None:
    """Make the missing maps piece by piece into ``made``; each is kept beside ``out`` as soon as it is there."""

    wanted = {**SETTINGS, **settings}
    if master is not None:
        wanted = with_connector(wanted, spark_version)
    spark = session(f"anabranch rebuild {spec.link}", master, wanted)
    try:
        check_source(spark)
        spark.sparkContext.setJobDescription(f"rebuild {spec.link}")
        missing = [lane for lane in spec.lanes if lane.lane not in made]
        parts = pieces(missing, spark.sparkContext.defaultParallelism)
        with report_progress(spark.sparkContext.statusTracker(), lambda done, of: tell("working", tasks=done, of=of)):
            for number, lanes in enumerate(parts, 1):
                topics = ", ".join(dict.fromkeys(one.source.topic for one in lanes))
                tell("piece", number=number, of=len(parts), partitions=len(lanes), topics=topics)
                rebuilding = Rebuilding(spark, replace(spec, lanes=lanes), tell, figures)
                made |= {one.lane: one for one in rebuilding.maps()}
                keep(out, spec, [made[one.lane] for one in spec.lanes if one.lane in made], now_ms())
    finally:
        spark.stop()


def _setting(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"{text!r} is not KEY=VALUE")
    return key, value


if __name__ == "__main__":
    sys.exit(main())
