"""Types of Spark's SQL from annotations of Python, read and never evaluated."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from types import MappingProxyType

_SCALARS: Mapping[str, str] = MappingProxyType(
    {
        "str": "STRING",
        "int": "BIGINT",
        "float": "DOUBLE",
        "bool": "BOOLEAN",
        "bytes": "BINARY",
        "date": "DATE",
        "datetime": "TIMESTAMP",
        "timedelta": "INTERVAL DAY TO SECOND",
        "Decimal": "DECIMAL(38,18)",
    }
)
_LISTS = frozenset({"list", "List", "Sequence", "Iterable"})
_MAPS = frozenset({"dict", "Dict", "Mapping"})


def sql_type(annotation: ast.expr | None) -> str:
    """The type, empty where an annotation says none that is known.

    ``X | None`` and ``Optional[X]`` are X: every value of SQL may be null.
    """
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        try:
            return sql_type(ast.parse(annotation.value, mode="eval").body)
        except (SyntaxError, ValueError):
            return ""
    if isinstance(annotation, ast.BinOp) and isinstance(annotation.op, ast.BitOr):
        sides = [one for one in (annotation.left, annotation.right) if not _is_none(one)]
        return sql_type(sides[0]) if len(sides) == 1 else ""
    if isinstance(annotation, ast.Subscript):
        return _generic(_name(annotation.value), annotation.slice)
    return _SCALARS.get(_name(annotation), "")


def _generic(name: str, inner: ast.expr) -> str:
    if name == "Optional":
        return sql_type(inner)
    if name in _LISTS:
        item = sql_type(inner)
        return f"ARRAY<{item}>" if item else ""
    if name in _MAPS and isinstance(inner, ast.Tuple) and len(inner.elts) == 2:
        key, value = map(sql_type, inner.elts)
        return f"MAP<{key}, {value}>" if key and value else ""
    return ""


def _name(annotation: ast.expr | None) -> str:
    """The last part of a dotted name: ``datetime.date`` is ``date``; ``datetime.datetime`` is ``datetime``."""
    if isinstance(annotation, ast.Attribute):
        return annotation.attr
    return annotation.id if isinstance(annotation, ast.Name) else ""


def _is_none(annotation: ast.expr) -> bool:
    return isinstance(annotation, ast.Constant) and annotation.value is None
