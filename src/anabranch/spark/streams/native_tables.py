"""Tables that Spark reads itself: files, ``rate``, JDBC, Iceberg, Delta, and data sources that a job brings.

A table of files, Iceberg or Delta is read as it is (``FROM t``), or as a stream of what comes (``FROM STREAM t``);
``rate`` is a stream alone, JDBC a lookup table alone.  Nothing is put into Spark's own catalog, which may outlive the
job.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from pyspark.sql import DataFrame, SparkSession

from anabranch.errors import InvalidFieldError
from anabranch.model.secrets import SecretKind, SecretRef
from anabranch.spark.streams import lake_tables
from anabranch.spark.streams.formats import columns_of
from anabranch.spark.streams.lake_tables import LAKES
from anabranch.streams.connectors import Connector
from anabranch.streams.tables import TableDeclaration

_FILE = {
    "pathGlobFilter": "only files whose names are like it",
    "recursiveFileLookup": "files of directories below it too: true or false",
    "modifiedBefore": "only files that are older",
    "modifiedAfter": "only files that are younger",
    "maxFilesPerTrigger": "how many files one micro-batch reads at most",
    "maxBytesPerTrigger": "how many bytes one micro-batch reads at most",
    "latestFirst": "the youngest files first: true or false",
    "maxFileAge": "older files are passed over",
    "cleanSource": "what becomes of files that were read: archive, delete or off",
    "sourceArchiveDir": "where they are archived",
    "ignoreCorruptFiles": "true or false",
    "ignoreMissingFiles": "true or false",
}
_TEXT = {"compression": "of files that are written", "encoding": "of the text", "lineSep": "what separates lines"}
_DATES = {"dateFormat": "of dates", "timestampFormat": "of timestamps", "timestampNTZFormat": "of those without zone"}
_BY_FORMAT: Mapping[str, Mapping[str, str]] = {
    "parquet": {"mergeSchema": "true or false", "compression": "of files that are written"},
    "orc": {"mergeSchema": "true or false", "compression": "of files that are written"},
    "text": {**_TEXT, "wholetext": "a file is a row: true or false"},
    "json": {
        **_TEXT,
        **_DATES,
        "multiLine": "a record may have several lines: true or false",
        "mode": "PERMISSIVE, DROPMALFORMED or FAILFAST",
        "primitivesAsString": "true or false",
        "allowComments": "true or false",
    },
    "csv": {
        **_TEXT,
        **_DATES,
        "header": "the first line has names: true or false",
        "sep": "what separates columns",
        "quote": "what quotes values",
        "escape": "what escapes a quote",
        "nullValue": "what stands for null",
        "mode": "PERMISSIVE, DROPMALFORMED or FAILFAST",
        "inferSchema": "true or false",
        "multiLine": "a record may have several lines: true or false",
    },
}
FILES = {name: Connector(name, {"path": "the directory"}, {**_FILE, **more}) for name, more in _BY_FORMAT.items()}
RATE = {
    "rate": Connector(
        "rate",
        {},
        {
            "rowsPerSecond": "how many rows",
            "rampUpTime": "how long it takes to come to that",
            "numPartitions": "how many partitions",
        },
    ),
    "rate-micro-batch": Connector(
        "rate-micro-batch",
        {"rowsPerBatch": "how many rows a micro-batch has"},
        {
            "numPartitions": "how many partitions",
            "startTimestamp": "of the first row, in ms",
            "advanceMillisPerBatch": "how far each batch moves it",
        },
    ),
}
JDBC = Connector(
    "jdbc",
    {"url": "jdbc:...", "dbtable": "the table"},
    {
        "driver": "the class of the driver",
        "user": "who connects",
        "password": "a reference: env:NAME or file:PATH",
        "fetchsize": "rows a round trip",
        "partitionColumn": "by which reading is spread",
        "lowerBound": "of that column",
        "upperBound": "of that column",
        "numPartitions": "how many",
        "queryTimeout": "seconds",
        "sessionInitStatement": "what is said first",
    },
)
READING: Mapping[str, Connector] = MappingProxyType({**FILES, **RATE, **LAKES, "jdbc": JDBC})
OURS = ("output.mode", "partition.by")
_REFERENCE = re.compile(r"(env|file):(.+)")


def rows(spark: SparkSession, table: TableDeclaration, streams: bool) -> DataFrame:
    """The rows of a table; ``streams`` is whether the script reads it as a stream, where it may be both.

    Raises what Spark does, InvalidFieldError, MissingSecretError, NoLakeConnectorError.
    """
    if table.provider in LAKES:
        return lake_tables.rows(spark, table, streams)
    options = {name: value for name, value in table.options.items() if name.lower() not in OURS}
    schema = columns_of(table) if table.columns else None
    if table.provider == "jdbc":
        return spark.read.format("jdbc").options(**with_secret(table, options)).load()
    if table.provider in RATE:
        return spark.readStream.format(table.provider).options(**options).load()
    if not streams:
        reader = spark.read.format(table.provider).options(**options)
        return (reader if schema is None else reader.schema(schema)).load()
    if schema is None and table.provider in FILES:
        schema = spark.read.format(table.provider).options(**options).load().schema
    stream = spark.readStream.format(table.provider).options(**options)
    return (stream if schema is None else stream.schema(schema)).load()


def with_secret(table: TableDeclaration, options: Mapping[str, str]) -> dict[str, str]:
    """The options with the password that they refer to."""
    return {**options, **{name: reference.resolve().reveal() for name, reference in references(table).items()}}


def references(table: TableDeclaration) -> dict[str, SecretRef]:
    """The secrets that a table refers to; raises InvalidFieldError where one stands in the script itself."""
    found: dict[str, SecretRef] = {}
    for name, value in table.options.items():
        if name.lower() == "password":
            reference = _REFERENCE.fullmatch(value)
            if reference is None:
                problem = "a script holds no secret"
                fix = "write password 'env:NAME' or 'file:PATH'"
                raise InvalidFieldError(f"table {table.name}", name, problem, fix)
            found[name] = SecretRef(SecretKind(reference[1]), reference[2])
    return found
