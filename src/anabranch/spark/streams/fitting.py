"""The rows of an INSERT as its table takes them: by position as SQL has it, or BY NAME.

Invariant
    F1  a value is put into the column that its statement says, or the INSERT is refused: columns that have the table's
        names in another order are never taken by position.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DataType

from anabranch.errors import InvalidFieldError
from anabranch.spark.streams.formats import columns_of
from anabranch.streams.tables import TableDeclaration

_HOW = "the query has {found}, the table has {wanted}"


def fitted(rows: DataFrame, table: TableDeclaration, columns: Sequence[str] = (), by_name: bool = False) -> DataFrame:
    """The rows with names and types of the table (F1); raises InvalidFieldError.

    ``columns`` are those that the INSERT names.  A table that declares none takes the query's.
    """
    where = f"table {table.name}"
    if not table.columns:
        _check_distinct(where, rows.columns)
        return rows
    declared = columns_of(table)
    positions = _positions(where, rows.columns, declared.names, columns, by_name)
    _check_types(rows, where, [(declared[name].dataType, at) for name, at in positions.items()])
    # By a name of its own each: two columns of a query may have the same.
    numbered = rows.toDF(*(f"_{at}" for at in range(len(rows.columns))))
    found: list[Column] = []
    for one in declared:
        at = positions.get(one.name)
        source = F.lit(None) if at is None else F.col(f"_{at}")
        found.append(source.cast(one.dataType).alias(one.name))
    return numbered.select(*found)


def _positions(
    where: str, found: Sequence[str], wanted: Sequence[str], named: Sequence[str], by_name: bool
) -> dict[str, int]:
    """Which column of the query is put into which of the table."""
    lower = {name.lower(): name for name in wanted}
    how = _HOW.format(found=", ".join(found), wanted=", ".join(wanted))
    if by_name:
        missing = [name for name in wanted if name.lower() not in {one.lower() for one in found}]
        extra = [name for name in found if name.lower() not in lower]
        if missing or extra:
            raise InvalidFieldError(where, (missing + extra)[0], _differ(missing, extra), how)
        _check_distinct(where, found)
        return {lower[name.lower()]: at for at, name in enumerate(found)}
    for name in named:
        if name.lower() not in lower:
            raise InvalidFieldError(where, name, "the INSERT names it, and the table has no such column", how)
    _check_distinct(where, named)
    targets = [lower[name.lower()] for name in named] or list(wanted)
    if len(found) != len(targets):
        missing, extra = list(targets[len(found) :]), list(found[len(targets) :])
        raise InvalidFieldError(where, (missing + extra)[0], _differ(missing, extra), how)
    names = [name.lower() for name in found]
    if names != [name.lower() for name in targets] and sorted(names) == sorted(name.lower() for name in targets):
        first = next(name for name, target in zip(found, targets, strict=True) if name.lower() != target.lower())
        problem = "the query has the table's columns in another order"
        raise InvalidFieldError(
            where, first, problem, f"{how}; order them alike, or write INSERT INTO ... BY NAME SELECT"
        )
    return {name: at for at, name in enumerate(targets)}


def _differ(missing: Sequence[str], extra: Sequence[str]) -> str:
    words = [f"the query has no column for {', '.join(missing)}"] if missing else []
    words += [f"the table has no column for {', '.join(extra)}"] if extra else []
    return "; ".join(words)


def _check_distinct(where: str, names: Sequence[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name.lower() in seen:
            raise InvalidFieldError(where, name, "two columns have that name", "rename one: ... AS other")
        seen.add(name.lower())


def _check_types(rows: DataFrame, where: str, pairs: Sequence[tuple[DataType, int]]) -> None:
    jvm = rows.sparkSession._jvm
    assert jvm is not None
    fields = rows.schema.fields
    for target, at in pairs:
        source = fields[at].dataType
        to, of = (jvm.org.apache.spark.sql.types.DataType.fromJson(one.json()) for one in (target, source))
        if not jvm.org.apache.spark.sql.catalyst.expressions.Cast.canANSIStoreAssign(of, to):
            problem = f"the query has {source.simpleString()}, the table {target.simpleString()}"
            raise InvalidFieldError(where, fields[at].name, problem, "convert it: CAST(... AS ...)")
