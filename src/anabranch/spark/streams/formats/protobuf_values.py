"""Values as messages of Protobuf, without a header before them, by descriptors that protoc has written."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import pandas as pd  # type: ignore[import-untyped]
from pyspark.sql import Column
from pyspark.sql import functions as F

from anabranch.errors import InvalidFieldError
from anabranch.spark.streams.formats.port import OWN, value_columns
from anabranch.spark.streams.formats.protobuf_wire import (
    UnknownMessageError,
    columns_of_message,
    message_class,
    to_bytes,
    to_text,
)
from anabranch.spark.streams.formats.text_values import PERMISSIVE, UNREAD, with_unread
from anabranch.streams.connectors import option
from anabranch.streams.tables import Column as Declared
from anabranch.streams.tables import TableDeclaration

_DESCRIPTOR, _MESSAGE = "protobuf.descriptor", "protobuf.message"


class ProtobufFormat:
    """A message a value: decoded to JSON in Spark's Python workers, and read from that by Spark.

    Spark's own functions for it would need a jar more; these need the Python package ``protobuf``, where workers run.
    """

    options: ClassVar[Mapping[str, str]] = {
        _DESCRIPTOR: "a file that protoc --include_imports --descriptor_set_out wrote, on the driver's machine",
        _MESSAGE: "the full name of the message, such as shop.View",
    }

    def __init__(self, table: TableDeclaration) -> None:
        where = f"table {table.name}"
        self._descriptors, self._name = _descriptors(table), option(table, _MESSAGE)
        try:
            fields = columns_of_message(message_class(self._descriptors, self._name).DESCRIPTOR)
        except UnknownMessageError as error:
            raise InvalidFieldError(where, _MESSAGE, str(error), "correct the file or the name") from error
        known = {name for name, _ in fields}
        for column in table.columns:
            if column.name not in known and column.name.lower() not in OWN:
                fix = f"the message has {', '.join(sorted(known))}"
                raise InvalidFieldError(where, column.name, "its message has no such field", fix)
        columns = table.columns or tuple(Declared(*field) for field in fields)
        self.fields = value_columns(TableDeclaration(table.name, table.provider, columns))

    def decode(self, value: Column) -> Column:
        read = partial(to_text, self._descriptors, self._name)

        def texts(values: pd.Series) -> pd.Series:
            found: Any = values.map(read, na_action="ignore")
            return found

        return F.from_json(F.pandas_udf(texts, "string")(value), with_unread(self.fields), dict(PERMISSIVE))

    def is_bad(self, decoded: Column, value: Column) -> Column:
        return value.isNotNull() & (decoded.isNull() | decoded[UNREAD].isNotNull())

    def encode(self, row: Column) -> Column:
        write = partial(to_bytes, self._descriptors, self._name)

        def encoded(texts: pd.Series) -> pd.Series:
            found: Any = texts.map(write, na_action="ignore")
            return found

        return F.pandas_udf(encoded, "binary")(F.to_json(row))


def _descriptors(table: TableDeclaration) -> bytes:
    where = f"table {table.name}"
    if importlib.util.find_spec("google.protobuf") is None:
        problem = "this installation has no protobuf"
        raise InvalidFieldError(
            where, "format", problem, "pip install 'anabranch[protobuf]', here and where workers run"
        )
    file = option(table, _DESCRIPTOR)
    for name in (_DESCRIPTOR, _MESSAGE):
        if not option(table, name):
            fix = f"{_DESCRIPTOR} 'views.desc', {_MESSAGE} 'shop.View'"
            raise InvalidFieldError(where, name, "format protobuf needs it", fix)
    try:
        return Path(file).read_bytes()
    except OSError as error:
        raise InvalidFieldError(where, _DESCRIPTOR, f"{file} cannot be read: {error.strerror}") from error
