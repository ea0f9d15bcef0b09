"""Types as Spark's SQL writes them, as values: read, written, and whether one holds what another held.

Invariants
    Y1  ``read(text_of(t)) == t``.
    Y2  ``is_wider(a, a)``, and of three types wider is passed on: a reader of the narrower one loses nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from anabranch.errors import ConfigError

_TOKEN = re.compile(r"\s*(`(?:[^`]|``)*`|'(?:[^'\\]|\\.)*'|[A-Za-z_][A-Za-z0-9_]*|\d+|[<>(),:])")
_NAMES = {
    "TINYINT": "TINYINT",
    "BYTE": "TINYINT",
    "SMALLINT": "SMALLINT",
    "SHORT": "SMALLINT",
    "INT": "INT",
    "INTEGER": "INT",
    "BIGINT": "BIGINT",
    "LONG": "BIGINT",
    "FLOAT": "FLOAT",
    "REAL": "FLOAT",
    "DOUBLE": "DOUBLE",
    "BOOLEAN": "BOOLEAN",
    "STRING": "STRING",
    "BINARY": "BINARY",
    "DATE": "DATE",
    "TIMESTAMP": "TIMESTAMP",
    "TIMESTAMP_LTZ": "TIMESTAMP",
    "TIMESTAMP_NTZ": "TIMESTAMP_NTZ",
    "VARIANT": "VARIANT",
    "VOID": "VOID",
    "CHAR": "CHAR",
    "CHARACTER": "CHAR",
    "VARCHAR": "VARCHAR",
    "DECIMAL": "DECIMAL",
    "DEC": "DECIMAL",
    "NUMERIC": "DECIMAL",
}
_ARGUMENTS = {"DECIMAL": (0, 2), "CHAR": (1, 1), "VARCHAR": (1, 1)}
_INTEGERS = ("TINYINT", "SMALLINT", "INT", "BIGINT")
_DIGITS = {"TINYINT": 3, "SMALLINT": 5, "INT": 10, "BIGINT": 20}
_TEXTS = ("CHAR", "VARCHAR", "STRING")


@dataclass(eq=False)
class TypeTextError(ConfigError):
    """A text that names no type of Spark's SQL."""

    text: str
    problem: str

    _message = "{text!r} is no type: {problem}"
    _hint = "write it as Spark's SQL does: BIGINT, DECIMAL(10, 2), ARRAY<STRING>, STRUCT<a: INT, b: STRING>"


@dataclass(frozen=True, slots=True)
class Scalar:
    """A type without others inside; ``size`` are the numbers of a DECIMAL, a CHAR or a VARCHAR."""

    name: str
    size: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Array:
    """``ARRAY<item>``."""

    item: SqlType


@dataclass(frozen=True, slots=True)
class Map:
    """``MAP<key, value>``."""

    key: SqlType
    value: SqlType


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a struct, or a column; ``nullable`` unless NOT NULL is written."""

    name: str
    type: SqlType
    nullable: bool = True


@dataclass(frozen=True, slots=True)
class Struct:
    """``STRUCT<name: type, ...>``."""

    fields: tuple[Field, ...]


SqlType = Scalar | Array | Map | Struct


def read(text: str) -> SqlType:
    """The type of a text; raises TypeTextError."""
    reader = _Reader(text)
    found = reader.type()
    reader.end()
    return found


def read_column(name: str, text: str) -> Field:
    """A column whose type may end with NOT NULL; raises TypeTextError."""
    reader = _Reader(text)
    found = Field(name, reader.type(), reader.nullable())
    reader.end()
    return found


def text_of(found: SqlType) -> str:
    """The type as Spark's SQL writes it (Y1)."""
    if isinstance(found, Array):
        return f"ARRAY<{text_of(found.item)}>"
    if isinstance(found, Map):
        return f"MAP<{text_of(found.key)}, {text_of(found.value)}>"
    if isinstance(found, Struct):
        return f"STRUCT<{', '.join(_field_text(one) for one in found.fields)}>"
    return found.name + (f"({', '.join(map(str, found.size))})" if found.size else "")


def quoted(name: str) -> str:
    """A name as it is written: in backticks unless it is a plain word."""
    return name if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) else "`" + name.replace("`", "``") + "`"


def is_wider(wide: SqlType, narrow: SqlType) -> bool:
    """Whether each value of the narrow type is one of the wide type as it is (Y2)."""
    if wide == narrow:
        return True
    if isinstance(wide, Array) and isinstance(narrow, Array):
        return is_wider(wide.item, narrow.item)
    if isinstance(wide, Map) and isinstance(narrow, Map):
        return is_wider(wide.key, narrow.key) and is_wider(wide.value, narrow.value)
    if isinstance(wide, Struct) and isinstance(narrow, Struct):
        there = {one.name.lower(): one for one in wide.fields}
        return all(
            (found := there.get(one.name.lower())) is not None
            and is_wider(found.type, one.type)
            and (found.nullable or not one.nullable)
            for one in narrow.fields
        )
    if isinstance(wide, Scalar) and isinstance(narrow, Scalar):
        return _is_wider(wide, narrow)
    return False


def _is_wider(wide: Scalar, narrow: Scalar) -> bool:
    if narrow.name == "VOID":
        return True
    if wide.name in _TEXTS and narrow.name in _TEXTS:
        if wide.name == "STRING":
            return True
        return wide.name == "VARCHAR" and narrow.name != "STRING" and wide.size >= narrow.size
    if wide.name in _INTEGERS and narrow.name in _INTEGERS:
        return _INTEGERS.index(wide.name) >= _INTEGERS.index(narrow.name)
    if wide.name == "DOUBLE":
        return narrow.name in ("FLOAT", "TINYINT", "SMALLINT", "INT")
    if wide.name == "FLOAT":
        return narrow.name in ("TINYINT", "SMALLINT")
    if wide.name == "DECIMAL":
        whole, scale = _whole(wide)
        if narrow.name in _INTEGERS:
            return whole >= _DIGITS[narrow.name]
        if narrow.name == "DECIMAL":
            whole_narrow, scale_narrow = _whole(narrow)
            return whole >= whole_narrow and scale >= scale_narrow
    return False


def _whole(found: Scalar) -> tuple[int, int]:
    precision, scale = (*found.size, *(10, 0)[len(found.size) :])
    return precision - scale, scale


def _field_text(one: Field) -> str:
    return f"{quoted(one.name)}: {text_of(one.type)}{'' if one.nullable else ' NOT NULL'}"


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens: list[str] = []
        at, length = 0, len(text.rstrip())
        while at < length:
            token = _TOKEN.match(text, at)
            if token is None:
                raise TypeTextError(text, f"{text[at:].strip()[:20]!r} is not understood")
            self._tokens.append(token.group(1))
            at = token.end()
        self._at = 0

    def type(self) -> SqlType:
        word = self._next().upper()
        if word == "ARRAY":
            self._take("<")
            item = self.type()
            self._take(">")
            return Array(item)
        if word == "MAP":
            self._take("<")
            key = self.type()
            self._take(",")
            value = self.type()
            self._take(">")
            return Map(key, value)
        if word == "STRUCT":
            return self._struct()
        name = _NAMES.get(word)
        if name is None:
            raise TypeTextError(self._text, f"{word!r} is none" if word else "it ends too early")
        return self._scalar(name)

    def nullable(self) -> bool:
        if self._peek().upper() != "NOT":
            return True
        self._next()
        self._take("NULL")
        return False

    def end(self) -> None:
        if self._peek():
            raise TypeTextError(self._text, f"{self._peek()!r} is too much")

    def _scalar(self, name: str) -> Scalar:
        size: list[int] = []
        least, most = _ARGUMENTS.get(name, (0, 0))
        if most and self._peek() == "(":
            self._next()
            while self._peek() != ")":
                if size:
                    self._take(",")
                word = self._next()
                if not word.isdigit():
                    raise TypeTextError(self._text, f"{word!r} is no number")
                size.append(int(word))
            self._next()
        if not least <= len(size) <= most:
            raise TypeTextError(self._text, f"{name} takes {least if least == most else f'{least} to {most}'} numbers")
        if name == "DECIMAL":
            precision, scale = (*size, *(10, 0)[len(size) :])
            if not 1 <= precision <= 38 or scale > precision:
                raise TypeTextError(self._text, "a DECIMAL has 1 to 38 digits, and not more after the point")
            size = [precision, scale]
        return Scalar(name, tuple(size))

    def _struct(self) -> Struct:
        self._take("<")
        fields: list[Field] = []
        while self._peek() != ">":
            if fields:
                self._take(",")
            name = self._next()
            if not re.match(r"[`A-Za-z_]", name):
                raise TypeTextError(self._text, f"{name!r} is no name of a field")
            if self._peek() == ":":
                self._next()
            fields.append(Field(unquoted(name), self.type(), self.nullable()))
            if self._peek().upper() == "COMMENT":
                self._next()
                self._next()
        self._next()
        return Struct(tuple(fields))

    def _peek(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _next(self) -> str:
        found = self._peek()
        self._at += 1
        return found

    def _take(self, wanted: str) -> None:
        found = self._next()
        if found.upper() != wanted:
            raise TypeTextError(self._text, f"{wanted!r} is expected, not {found!r}" if found else "it ends too early")


def unquoted(name: str) -> str:
    """A name without its backticks."""
    return name[1:-1].replace("``", "`") if name.startswith("`") else name
