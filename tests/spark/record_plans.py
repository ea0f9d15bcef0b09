"""Record Spark's analysed plans of the queries in ``plan_scripts``: ``python -m tests.spark.record_plans DIRECTORY``.

What differs from run to run (ids of expressions, times, places) is left out, so that a recording shows in a diff what
a version of Spark changed.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from tests.spark.plan_scripts import SCRIPTS, SETUP

_MOVING = {"exprId", "jvmId", "createTime", "resultId", "id", "cteId", "exprIds", "loopId", "outputAttrIds", "nodeId"}
_PLACES = {"locationUri", "origin", "properties"}


@contextmanager
def session(directory: Path) -> Iterator[SparkSession]:
    """A session of its own, with what the queries read."""
    made = (
        SparkSession.builder.master("local[1]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "1")
        .config("spark.sql.warehouse.dir", str(directory / "warehouse"))
        .getOrCreate()
    )
    try:
        for statement in SETUP:
            made.sql(statement)
        made.sql("DECLARE VARIABLE hidden INT")
        made.sql("SET VARIABLE hidden = (SELECT max(id) FROM shop.secret)")
        made.readStream.format("rate").load().createOrReplaceTempView("mine")
        rows = made.readStream.format("rate").load().selectExpr("CAST(value AS INT) AS id", "timestamp AS at")
        rows.createOrReplaceTempView("`shop.payments`")
        made.sql("SELECT p.id FROM `shop.payments` p JOIN shop.secret s ON s.id = p.id").createOrReplaceTempView(
            "`shop.paid`"
        )
        yield made
    finally:
        made.stop()


def record(spark: SparkSession, directory: Path) -> dict[str, str]:
    """The plan of each query as it is kept."""
    secret = directory / "warehouse" / "shop.db" / "secret"
    found = {}
    for name, script in SCRIPTS.items():
        plan = spark.sql(script.query.format(secret=secret))._jdf.queryExecution().analyzed().toJSON()
        found[name] = json.dumps(_settled(json.loads(plan)), separators=(",", ":")).replace(str(directory), "") + "\n"
    return found


def _settled(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _settled(one) for name, one in value.items() if name not in _MOVING | _PLACES}
    if isinstance(value, list):
        return [_settled(one) for one in value]
    return value


def main() -> None:
    """Record into the directory that is named."""
    target = Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as name, session(Path(name)) as spark:
        for query, plan in record(spark, Path(name)).items():
            (target / f"{query}.json").write_text(plan, encoding="utf-8")


if __name__ == "__main__":
    main()
