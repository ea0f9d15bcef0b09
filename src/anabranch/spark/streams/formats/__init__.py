"""How the value of a Kafka record becomes columns, and columns a value; each format says its options."""

from __future__ import annotations

from collections.abc import Mapping

from anabranch.errors import InvalidFieldError
from anabranch.spark.streams.formats.avro_values import AvroFormat
from anabranch.spark.streams.formats.port import ValueFormat, columns_of
from anabranch.spark.streams.formats.protobuf_values import ProtobufFormat
from anabranch.spark.streams.formats.text_values import CsvFormat, JsonFormat, RawFormat
from anabranch.streams.connectors import choice
from anabranch.streams.tables import TableDeclaration

_Kind = type[JsonFormat] | type[CsvFormat] | type[AvroFormat] | type[ProtobufFormat] | type[RawFormat]
FORMATS: Mapping[str, _Kind] = {
    "json": JsonFormat,
    "csv": CsvFormat,
    "avro": AvroFormat,
    "protobuf": ProtobufFormat,
    "raw": RawFormat,
}
OPTIONS = {
    "format": f"how values are written: {', '.join(FORMATS)}",
    **{name: text for kind in FORMATS.values() for name, text in kind.options.items()},
}
WITH_SCHEMA = ("avro", "protobuf")
"""Formats that know the columns of a table that declares none."""
PREFIXES = tuple(f"{name}." for name in FORMATS)

__all__ = ["FORMATS", "OPTIONS", "PREFIXES", "ValueFormat", "columns_of", "format_of"]


def format_of(table: TableDeclaration) -> ValueFormat:
    """The format that a table declares; raises InvalidFieldError."""
    name = choice(table, "format", FORMATS, "json")
    for key in table.options:
        prefix = next((one for one in PREFIXES if key.lower().startswith(one)), f"{name}.")
        if prefix != f"{name}.":
            problem = f"it belongs to format {prefix[:-1]}, and the format is {name}"
            raise InvalidFieldError(f"table {table.name}", key, problem, f"leave it out, or say format '{prefix[:-1]}'")
    return FORMATS[name](table)
