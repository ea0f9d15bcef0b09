"""Which columns of a query are a key, which say what is newer, and what types a sink can take of them."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import types as T

from anabranch.spark.streams.sinks.chunks import RowPlan
from anabranch.spark.streams.sinks.errors import SinkSchemaError
from anabranch.spark.streams.sinks.keys import KEY_TYPES
from anabranch.spark.streams.sinks.options import SinkOptions

OPTIONS = {
    "key": "columns that name a row, between commas: the row of a key takes the place of the one before",
    "order": "columns of which, within a batch, the greatest row of a key stays; without it two rows of one key in a "
    "batch are refused",
}
NESTED = (T.ArrayType, T.MapType, T.StructType, T.VariantType)
_PLAIN = (
    *(T.StringType, T.BinaryType, T.BooleanType, T.NumericType, T.DateType, T.TimestampType, T.TimestampNTZType),
    *NESTED,
)
_FIX = "cast it in the query, for instance to STRING"


@dataclass(frozen=True, slots=True)
class KeyedRows:
    """The columns of options ``key`` and ``order``; ``distinct`` as of ``RowPlan``.

    With ``document`` a row is a JSON object, and only its key, and the columns ``beside``, are there on their own.
    ``key_types`` are the types that a key may have here.
    """

    keys: tuple[str, ...]
    order: tuple[str, ...]
    distinct: bool = False
    document: bool = False
    beside: tuple[str, ...] = ()
    key_types: tuple[type[T.DataType], ...] = (*KEY_TYPES, T.BinaryType)

    @classmethod
    def of(cls, options: SinkOptions) -> KeyedRows:
        """Raises ``SinkOptionError``."""
        return cls(options.columns("key"), options.columns("order"))

    def check(self, sink: str, schema: T.StructType) -> None:
        """Raise ``SinkSchemaError`` for types that no sink can write, and columns that are not there."""
        types = {field.name: field.dataType for field in schema.fields}
        found = [f"column {name} is {kind.simpleString()}" for name, kind in types.items() if not _is_plain(kind)]
        for option, columns in (("key", self.keys), ("order", self.order)):
            found += [
                f"the query writes no column {one}, which option {option} names" for one in columns if one not in types
            ]
        found += [
            f"key column {one} is {types[one].simpleString()}"
            for one in self.keys
            if one in types and not isinstance(types[one], self.key_types)
        ]
        if found:
            raise SinkSchemaError(sink, tuple(found), _FIX)

    def plan(self, schema: T.StructType) -> RowPlan:
        """How a batch of that schema becomes bytes."""
        names = tuple(schema.fieldNames())
        if self.document:
            return RowPlan((*self.keys, *self.beside), self.keys, self.order, distinct=self.distinct, document=names)
        nested = frozenset(field.name for field in schema.fields if isinstance(field.dataType, NESTED))
        return RowPlan(names, self.keys, self.order, nested, self.distinct)


def _is_plain(kind: T.DataType) -> bool:
    return isinstance(kind, _PLAIN)
