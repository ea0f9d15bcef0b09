"""Plans of the lineage tests' scripts by the real Spark: ``python -m tests.integration.streams.record_lineage``.

Ids count from 0 in the order in which a plan has them, and what lineage does not read is left out, so that the same
script always gives the same text.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
from pyspark.java_gateway import ensure_callback_server_started
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming import StatefulProcessor
from pyspark.sql.types import IntegerType

from tests.unit.streams.lineage.cases import CATALOG, PACKAGES, PLANS, STREAMS, TABLES, Case, cases

_KEPT = frozenset(
    {
        *("class", "num-children", "exprId", "name", "dataType", "schema", "ordinal", "plan", "e", "output"),
        *("projectList", "groupingExpressions", "aggregateExpressions", "condition", "order", "eventTime", "keys"),
        *("windowExpressions", "generator", "generatorOutput", "projections", "joinType", "right", "object"),
        *("groupingAttributes", "leftAttributes", "outputAttrs", "outputAttributes", "id", "cteId", "loopId"),
        *("outputAttrIds", "groupingAttributesLen", "partitionExpressions"),
        *("desc", "identifier", "table", "database", "catalog", "qualifier", "catalogTable", "sourceName"),
        *("type", "fields", "elementType", "keyType", "valueType"),
    }
)
_IDS = {"id": "loop", "cteId": "loop", "loopId": "loop"}


def main(path: Path = PLANS) -> None:
    """Write all plans anew."""
    with tempfile.TemporaryDirectory() as folder:
        spark = session(Path(folder))
        try:
            text = "".join(f"{line}\n" for line in lines(spark))
            path.write_text(text.replace(folder, ""), encoding="utf-8")
        finally:
            spark.stop()


def session(folder: Path) -> SparkSession:
    """A session with the tables and functions that the scripts use; it keeps what it has in a folder."""
    spark = (
        SparkSession.builder.master("local[1]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.warehouse.dir", str(folder / "warehouse"))
        .getOrCreate()
    )
    for name, columns in STREAMS.items():
        rows = spark.readStream.format("rate").load()
        decoded = rows.select(F.from_json(F.col("value").cast("string"), columns).alias("decoded"))
        decoded.where("decoded IS NOT NULL").select("decoded.*").createOrReplaceTempView(name)
    for name, columns in {**TABLES, "stray": "x INT"}.items():
        spark.createDataFrame(spark.sparkContext.emptyRDD(), columns).createOrReplaceTempView(name)
    for name, shape in CATALOG.items():
        spark.sql(f"CREATE TABLE {name} {shape}")
    _functions(spark)
    return spark


def lines(spark: SparkSession) -> Iterator[str]:
    """A line for each script."""
    for case in cases():
        yield json.dumps({"script": case.name, "inserts": list(_inserts(spark, case))}, separators=(",", ":"))


def _inserts(spark: SparkSession, case: Case) -> Iterator[Mapping[str, Any]]:
    views = []
    for text in case.statements:
        if text.startswith("CREATE TEMPORARY VIEW"):
            views.append(text.split()[3])
            spark.sql(text)
            continue
        insert = spark._jsparkSession.sessionState().sqlParser().parsePlan(text)
        classic = spark._jvm.org.apache.spark.sql.classic.Dataset
        rows = _then(DataFrame(classic.ofRows(spark._jsparkSession, insert.query()), spark), case.then)
        listed = insert.userSpecifiedCols()
        plan = json.loads(rows._jdf.queryExecution().analyzed().toJSON())
        yield {
            "target": insert.table().tableName(),
            "columns": [listed.apply(at) for at in range(listed.size())],
            "plan": _Short().take(plan),
        }
    for name in views:
        spark.catalog.dropTempView(name)


def _then(rows: DataFrame, wanted: tuple[str, ...]) -> DataFrame:
    if not wanted:
        return rows
    verb, *columns = wanted
    if verb == "mapInPandas":
        return rows.mapInPandas(_same, "user STRING")
    if verb == "transformWithState":
        keyed = rows.groupBy(*columns)
        return keyed.transformWithStateInPandas(_Nothing(), "user STRING", "append", "none")
    return getattr(rows, verb)(columns)  # type: ignore[no-any-return]


def _same(parts: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    yield from parts


class _Nothing(StatefulProcessor):
    """A processor that is never run."""

    def init(self, handle: Any) -> None:
        """Nothing."""

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[pd.DataFrame]:
        """Nothing."""
        yield from ()

    def close(self) -> None:
        """Nothing."""


class _Length:
    """A function of Java's interface, never called."""

    def call(self, text: str) -> int:
        """Its length."""
        return len(text)

    class Java:
        """What Java sees."""

        implements = ("org.apache.spark.sql.api.java.UDF1",)


def _functions(spark: SparkSession) -> None:
    spark.udf.register("shorten", lambda user, page: f"{user} {page}"[:8], "string")
    middle = F.pandas_udf(_middle, "double", F.PandasUDFType.GROUPED_AGG)
    spark.udf.register("middle", middle)
    spark.udtf.register("words", F.udtf(_Words, returnType="word STRING"))
    spark.sql("CREATE TEMPORARY FUNCTION twice(x INT) RETURNS INT RETURN x * 2")
    rows = "SELECT city FROM cities WHERE cities.country = towns.country"
    spark.sql(f"CREATE TEMPORARY FUNCTION towns(country STRING) RETURNS TABLE (town STRING) RETURN {rows}")
    gateway = spark.sparkContext._gateway
    ensure_callback_server_started(gateway)
    kind = spark._jsparkSession.parseDataType(IntegerType().json())
    spark._jsparkSession.udf().register("java_length", _Length(), kind)


def _middle(values: pd.Series) -> float:
    return float(values.median())


class _Words:
    def eval(self, text: str) -> Iterator[tuple[str]]:
        """A row a word."""
        for word in text.split():
            yield (word,)


class _Short:
    """What lineage reads of a plan, with ids of its own."""

    def __init__(self) -> None:
        self._ids: dict[tuple[str, int], int] = {}

    def take(self, found: Any, key: str = "") -> Any:
        """The same, shorter."""
        if isinstance(found, list):
            return [self.take(one, key) for one in found]
        if not isinstance(found, dict):
            return self._number(key, found) if key in _IDS and isinstance(found, int) else found
        if key in ("exprId", "outputAttrIds"):
            return self._number("exprId", found["id"])
        short = {
            name: self.take(value, name)
            for name, value in found.items()
            if name in _KEPT and value not in (None, [], {}) and not (name == "num-children" and value == 0)
        }
        kind = str(found.get("class", ""))
        if kind:
            short.pop("qualifier", None)
            if kind.endswith(".Literal"):
                short.pop("dataType", None)
            for brief, package in PACKAGES.items():
                if kind.startswith(package):
                    short["class"] = brief + kind.removeprefix(package)
        return short

    def _number(self, key: str, found: int) -> int:
        space = _IDS.get(key, key)
        return self._ids.setdefault((space, found), len(self._ids))


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
