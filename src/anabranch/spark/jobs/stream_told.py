"""What a job tells of an analysed script."""

from __future__ import annotations

from typing import Any

from pyspark.sql.types import StructType

from anabranch.spark.streams.analysis import AnalysedScript


def analysed_fields(found: AnalysedScript, plans: bool) -> dict[str, Any]:
    """The fields of the event ``analysed``; with ``plans`` those of Spark are in it."""
    lines = {one.statement.number: one.statement.line for one in found.statements}
    return {
        "statements": [
            {
                "number": one.statement.number,
                "line": one.statement.line,
                "column": one.statement.column,
                "kind": one.kind.value,
                "name": one.name,
            }
            for one in found.statements
        ],
        "tables": [
            {
                "name": table.name,
                "line": table.line,
                "connector": table.provider,
                "columns": [{"name": column.name, "type": column.type} for column in table.columns],
                "options": dict(table.options),
            }
            for table in found.tables.values()
        ],
        "selects": [
            {"number": number, "line": lines[number], "columns": columns_fields(rows.schema)}
            for number, rows in found.selects.items()
        ],
        "inserts": [
            {
                "number": plan.number,
                "line": plan.line,
                "table": plan.target.name,
                "query": plan.query,
                "mode": plan.mode,
                "columns": columns_fields(plan.rows.schema),
                **({"plan": plan.plan} if plans else {}),
            }
            for plan in found.inserts
        ],
    }


def columns_fields(schema: StructType) -> list[dict[str, str]]:
    """The columns of rows, with types as Spark's SQL writes them."""
    return [{"name": one.name, "type": one.dataType.simpleString()} for one in schema]
