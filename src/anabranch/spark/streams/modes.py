"""The output mode of an INSERT: what its table says, else the first that the sink and the query both have."""

from __future__ import annotations

from pyspark.sql import DataFrame

from anabranch.errors import InvalidFieldError
from anabranch.spark.streams.native_tables import FILES
from anabranch.streams.connectors import choice, option
from anabranch.streams.tables import TableDeclaration

MODES = ("append", "update", "complete")
_OPTION = "output.mode"


_APPENDED = frozenset({"kafka", "iceberg", "delta"})


def mode_of(rows: DataFrame, table: TableDeclaration) -> str:
    """``append`` for tables of files, Kafka and lakes, which take no updates; ``update``, else ``append`` for others.

    Raises Spark's AnalysisException where the query has no such mode, InvalidFieldError for a mode that a table of
    files has not.
    """
    if option(table, _OPTION):
        mode = choice(table, _OPTION, MODES, "")
        if mode != "append" and table.provider in FILES:
            problem = f"files take no updates, and the mode is {mode}"
            raise InvalidFieldError(f"table {table.name}", _OPTION, problem, "leave it out")
        check_mode(rows, mode)
        return mode
    if table.provider in FILES or table.provider in _APPENDED:
        check_mode(rows, "append")
        return "append"
    return first_mode(rows, ("update", "append"))


def first_mode(rows: DataFrame, modes: tuple[str, ...]) -> str:
    """The first of some modes that a query has; raises AnalysisException of the first where it has none."""
    first: Exception | None = None
    for mode in modes:
        try:
            check_mode(rows, mode)
        except Exception as error:
            first = first or error
        else:
            return mode
    assert first is not None
    raise first


def check_mode(rows: DataFrame, mode: str) -> None:
    """Ask Spark whether a query can be written so; raises its AnalysisException."""
    jvm = rows.sparkSession._jvm
    assert jvm is not None
    checker = jvm.org.apache.spark.sql.catalyst.analysis.UnsupportedOperationChecker
    output = jvm.org.apache.spark.sql.streaming.OutputMode
    checker.checkForStreaming(rows._jdf.queryExecution().analyzed(), getattr(output, mode.capitalize())())
