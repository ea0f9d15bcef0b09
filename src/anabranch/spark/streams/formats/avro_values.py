"""Values in Avro's binary encoding, without a header before them, by a schema of the table."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.avro.functions import from_avro, to_avro
from pyspark.sql.types import StructType

from anabranch.errors import InvalidFieldError
from anabranch.spark.streams.formats.port import value_columns
from anabranch.streams.connectors import option
from anabranch.streams.tables import TableDeclaration

_SCHEMA, _FILE = "avro.schema", "avro.schema.file"
_READ = "_anabranch_read"


class AvroFormat:
    """A record of Avro.

    It is read with one more field, which has a default: that is null only where the record could not be read, for
    Spark gives a row of nulls then.
    """

    options: ClassVar[Mapping[str, str]] = {
        _SCHEMA: "Avro's schema of the values, as JSON",
        _FILE: "a file with that schema, on the machine of the driver",
    }

    def __init__(self, table: TableDeclaration) -> None:
        self._schema = _schema(table)
        self.fields = value_columns(table) if table.columns else self._own_columns()
        names = {field["name"] for field in self._schema["fields"]}
        for column in self.fields:
            if column.name not in names:
                fix = f"the schema has {', '.join(sorted(names))}"
                raise InvalidFieldError(f"table {table.name}", column.name, "its Avro schema has no such field", fix)

    def _own_columns(self) -> StructType:
        """The columns that Spark makes of the schema."""
        rows = SparkSession.active().range(0)
        found = rows.select(from_avro(F.lit(None).cast("binary"), json.dumps(self._schema))).schema[0].dataType
        assert isinstance(found, StructType)
        return found

    def decode(self, value: Column) -> Column:
        more = {"name": _READ, "type": "int", "default": 1}
        wider = {**self._schema, "fields": [*self._schema["fields"], more]}
        return from_avro(value, json.dumps(self._schema), {"mode": "PERMISSIVE", "avroSchema": json.dumps(wider)})

    def is_bad(self, decoded: Column, value: Column) -> Column:
        return value.isNotNull() & decoded[_READ].isNull()

    def encode(self, row: Column) -> Column:
        return to_avro(row, json.dumps(self._schema))


def _schema(table: TableDeclaration) -> dict[str, Any]:
    where = f"table {table.name}"
    text, file = option(table, _SCHEMA), option(table, _FILE)
    if bool(text) == bool(file):
        problem = "both are given" if text else "format avro needs a schema"
        raise InvalidFieldError(where, _SCHEMA, problem, f"give {_SCHEMA} '{{...}}' or {_FILE} 'PATH'")
    if file:
        try:
            text = Path(file).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidFieldError(where, _FILE, f"{file} cannot be read: {error}") from error
    try:
        found = json.loads(text)
    except ValueError as error:
        raise InvalidFieldError(where, _SCHEMA, f"it is not JSON: {error}") from error
    if not isinstance(found, dict) or found.get("type") != "record" or not isinstance(found.get("fields"), list):
        fix = 'write {"type": "record", "name": ..., "fields": [...]}'
        raise InvalidFieldError(where, _SCHEMA, "it is no record", fix)
    return found
