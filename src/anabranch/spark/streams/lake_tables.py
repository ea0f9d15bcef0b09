"""Tables of Iceberg and Delta, read by their own connectors: as a stream of what is added, or as they are.

An Iceberg table is named by its catalog, a Delta table by its directory.  Each knows its columns: those that a script
declares are checked, and are all that it sees.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

from anabranch.errors import ConfigError, InvalidFieldError
from anabranch.spark.streams.formats import columns_of
from anabranch.streams.connectors import Connector, option
from anabranch.streams.tables import TableDeclaration

NO_CLASS = "DATA_SOURCE_NOT_FOUND"
LAKES: Mapping[str, Connector] = MappingProxyType(
    {
        "iceberg": Connector(
            "iceberg",
            {"table": "CATALOG.NAMESPACE.TABLE, which is there"},
            {
                "stream-from-timestamp": "a stream begins with what was added since (ms)",
                "streaming-max-files-per-micro-batch": "how many files one micro-batch reads at most",
                "streaming-max-rows-per-micro-batch": "how many rows one micro-batch reads at most",
                "streaming-skip-delete-snapshots": "a stream passes over what was deleted: true or false",
                "streaming-skip-overwrite-snapshots": "a stream passes over what was written over: true or false",
                "snapshot-id": "the table as it was, read as it is",
                "as-of-timestamp": "the table as it was then (ms), read as it is",
            },
        ),
        "delta": Connector(
            "delta",
            {"path": "the table's directory"},
            {
                "startingVersion": "a stream begins with what was added since, or latest",
                "startingTimestamp": "a stream begins with what was added since",
                "maxFilesPerTrigger": "how many files one micro-batch reads at most",
                "maxBytesPerTrigger": "how many bytes one micro-batch reads at most",
                "skipChangeCommits": "a stream passes over what was deleted or changed: true or false",
                "versionAsOf": "the table as it was, read as it is",
                "timestampAsOf": "the table as it was then, read as it is",
            },
        ),
    }
)
"""What each needs and may have as it is read; a writer passes over the second."""


@dataclass(eq=False)
class NoLakeConnectorError(ConfigError):
    """The jars of the connector are not in this Spark."""

    table: str
    provider: str

    _message = "{table}: this Spark has no connector {provider}"
    _hint = "bring its jars and its catalog's settings: --conf spark.jars=PATH,PATH"


def place_of(table: TableDeclaration) -> str:
    """Where the connector finds it: a name, or a directory."""
    return option(table, next(iter(LAKES[table.provider].required))).strip()


def rows(spark: SparkSession, table: TableDeclaration, streams: bool) -> DataFrame:
    """The rows of a table; raises NoLakeConnectorError, InvalidFieldError, what Spark does."""
    known = {name.lower(): name for name in LAKES[table.provider].optional}
    options = {known[name.lower()]: value for name, value in table.options.items() if name.lower() in known}
    reader = spark.readStream if streams else spark.read
    try:
        found = reader.format(table.provider).options(**options).load(place_of(table))
    except AnalysisException as error:
        if (error.getCondition() or "").startswith(NO_CLASS):
            raise NoLakeConnectorError(f"table {table.name}", table.provider) from error
        raise
    return _declared(found, table)


def _declared(found: DataFrame, table: TableDeclaration) -> DataFrame:
    """Its columns as they are declared; all where none are."""
    if not table.columns:
        return found
    types = {field.name.lower(): field for field in found.schema.fields}
    names: list[str] = []
    for one in columns_of(table).fields:
        has = types.get(one.name.lower())
        if has is None:
            told = f"it has {', '.join(found.schema.fieldNames())}"
            raise InvalidFieldError(f"table {table.name}", one.name, "the table has no such column", told)
        if has.dataType.simpleString() != one.dataType.simpleString():
            problem = f"it is {has.dataType.simpleString()} there, and is declared {one.dataType.simpleString()}"
            raise InvalidFieldError(f"table {table.name}", one.name, problem, "declare it as it is, or no column")
        names.append(has.name)
    return found.select(*(found[name] for name in names))
