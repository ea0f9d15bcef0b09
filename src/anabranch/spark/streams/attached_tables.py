"""What is in catalogs of Spark's own, as far as grants let somebody see it.

Invariant
    X2  no catalog is asked for a database or a table before a grant has allowed that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]  # comes with pyspark
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from anabranch.config.catalogspec import CatalogSpec
from anabranch.spark.streams.granted import quoted
from anabranch.spark.streams.refusals import sentence
from anabranch.streams.catalog.attached import attached_name
from anabranch.streams.catalog.names import CatalogNameError
from anabranch.streams.grants import Privilege


@dataclass(frozen=True, slots=True)
class AttachedTable:
    """A table of an attached catalog; without one ``problem`` says why nothing of the database or catalog is told.

    With a table it says why no script can name it.
    """

    catalog: str
    database: str = ""
    table: str = ""
    problem: str = ""


def attached_tables(spark: SparkSession, spec: CatalogSpec) -> Iterator[AttachedTable]:
    """Every table that an account may use, by name; a catalog that does not answer is told as such."""
    may = spec.access.may
    for catalog in sorted(spec.attached):
        below = sorted(name for name in may if name.startswith(f"{catalog}."))
        try:
            databases = (
                _listed(spark, f"SHOW NAMESPACES IN `{catalog}`")
                if may.get(catalog)
                else sorted({name.split(".")[1] for name in below})
            )
        except (PySparkException, Py4JJavaError) as error:
            yield AttachedTable(catalog, problem=sentence(error)[1])
            continue
        for database in databases:
            yield from _in_database(spark, spec.attached, may, catalog, database)


def _in_database(
    spark: SparkSession,
    catalogs: Mapping[str, str],
    may: Mapping[str, tuple[Privilege, ...]],
    catalog: str,
    database: str,
) -> Iterator[AttachedTable]:
    name = f"{catalog}.{database}"
    try:
        if may.get(catalog) or may.get(name):
            tables = _listed(spark, f"SHOW TABLES IN {quoted((catalog, database))}", "tableName")
        else:
            granted = [one.split(".")[2] for one in sorted(may) if one.startswith(f"{name}.") and may[one]]
            tables = [one for one in granted if spark.catalog.tableExists(quoted((catalog, database, one)))]
    except (PySparkException, Py4JJavaError) as error:
        yield AttachedTable(catalog, database, problem=sentence(error)[1])
        return
    if not tables:
        yield AttachedTable(catalog, database)
    for table in tables:
        try:
            attached_name((catalog, database, table), catalogs)
            problem = ""
        except CatalogNameError as error:
            problem = error.message
        yield AttachedTable(catalog, database, table, problem)


def _listed(spark: SparkSession, statement: str, column: str = "namespace") -> Sequence[str]:
    return sorted(row[column] for row in spark.sql(statement).collect())
