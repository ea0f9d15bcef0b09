"""Definitions of the catalog, read from SQL: CREATE DATABASE, TABLE, VIEW and FUNCTION.

What a query or a function says is kept as it is written, and is read by Spark when a stream uses it; what a table
says is read here, since a service has no Spark.

Invariant
    C1  a clause that is not understood is an error with its place, and never left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn, TypeVar

from anabranch.streams.catalog.names import CatalogNameError, database_name, object_name
from anabranch.streams.catalog.objects import CatalogDatabase, CatalogObject, Function, Table, View
from anabranch.streams.errors import ScriptError, error_at
from anabranch.streams.script import Statement, place, split
from anabranch.streams.sqltypes import TypeTextError, read_column, text_of, unquoted
from anabranch.streams.tables import Column, TableDeclaration

_TOKEN = re.compile(
    r"\s+|--[^\r\n]*|/\*.*?\*/"
    r"|(?P<token>'(?:[^'\\]|\\.|'')*'|\"(?:[^\"\\]|\\.|\"\")*\"|`(?:[^`]|``)*`|[A-Za-z0-9_]+|.)",
    re.DOTALL,
)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0"}
_SECRET = re.compile(r"password|secret|token", re.IGNORECASE)
_END = ""
N = TypeVar("N")


@dataclass(frozen=True, slots=True)
class Definition:
    """What a statement defines, and whether it may take the place of what is there, or leave it."""

    object: CatalogObject
    line: int
    or_replace: bool = False
    if_not_exists: bool = False


def definitions(script: str) -> tuple[Definition, ...]:
    """What the statements of a script define, in their order; raises ScriptError."""
    return tuple(_Reader(script, statement).definition() for statement in split(script))


class _Reader:
    def __init__(self, script: str, statement: Statement) -> None:
        self._script = script
        self._statement = statement
        self._text = statement.text
        found = [one for one in _TOKEN.finditer(self._text) if one["token"] is not None]
        self._tokens = [(one["token"], one.start()) for one in found]
        self._at = 0

    def definition(self) -> Definition:
        """What the statement defines."""
        self._take("CREATE")
        or_replace = self._had("OR")
        if or_replace:
            self._take("REPLACE")
        what = self._word()
        if what in ("TEMPORARY", "TEMP", "GLOBAL"):
            self._fail("what is temporary belongs to a script, not to the catalog", "leave TEMPORARY out")
        if_not_exists = self._had("IF")
        if if_not_exists:
            self._take("NOT")
            self._take("EXISTS")
        made: CatalogObject
        if what in ("DATABASE", "SCHEMA"):
            made = self._database()
        elif what == "TABLE":
            made = self._table()
        elif what == "VIEW":
            made = self._view()
        elif what == "FUNCTION":
            made = self._function()
        else:
            self._fail(f"CREATE {what} is not known", "write CREATE DATABASE, TABLE, VIEW or FUNCTION")
        return Definition(made, self._statement.line, or_replace, if_not_exists)

    # -- what is defined -------------------------------------------------------------------------------

    def _database(self) -> CatalogDatabase:
        text = self._name()
        name = self._checked(database_name, text)
        description = self._comment()
        self._end()
        return CatalogDatabase(name, description)

    def _table(self) -> Table:
        text = self._name()
        name = self._checked(object_name, text)
        columns: list[Column] = []
        comments: dict[str, str] = {}
        if self._had("("):
            while True:
                self._column(columns, comments)
                if not self._had(","):
                    break
            self._take(")")
        self._take("USING")
        provider = unquoted(self._next()).lower()
        if not provider:
            self._fail("no connector is named", "write USING kafka, or another connector")
        options: dict[str, str] = {}
        description = ""
        while self._peek():
            if self._had("OPTIONS"):
                self._options(options)
            elif self._peek().upper() == "COMMENT":
                description = self._comment()
            else:
                self._fail(f"{self._peek()} is not known here", "a table has columns, USING, OPTIONS and COMMENT")
        declaration = TableDeclaration(str(name), provider, tuple(columns), options)
        return Table(name, declaration, description, comments)

    def _view(self) -> View:
        name = self._checked(object_name, self._name())
        description = self._comment()
        self._take("AS")
        query = self._text[self._place() :].strip()
        if not query:
            self._fail("the query of the view is missing", "write it after AS")
        return View(name, query, description)

    def _function(self) -> Function:
        name = self._checked(object_name, self._name())
        if not self._peek():
            self._fail(
                "the function has no body", "write RETURNS TYPE RETURN EXPRESSION, or AS 'class' USING JAR 'file'"
            )
        return Function(name, self._text)

    # -- parts -----------------------------------------------------------------------------------------

    def _column(self, columns: list[Column], comments: dict[str, str]) -> None:
        name = unquoted(self._next())
        begin = self._place()
        depth = 0
        while self._peek() and not (not depth and self._peek().upper() in (",", ")", "COMMENT")):
            token = self._next()
            depth += (token in "<(") - (token in ">)")
        text = " ".join(self._text[begin : self._place()].split())
        try:
            read = read_column(name, text)
        except TypeTextError as error:
            self._fail(f"column {name}: {error.message}", error.hint)
        if name.lower() in {one.name.lower() for one in columns}:
            self._fail(f"column {name} is there twice", "give one of them another name")
        columns.append(Column(name, text_of(read.type) + ("" if read.nullable else " NOT NULL")))
        if comment := self._comment():
            comments[name] = comment

    def _options(self, options: dict[str, str]) -> None:
        self._take("(")
        while True:
            key = self._literal()
            while self._had("."):
                key += "." + self._next()
            self._had("=")
            if key.lower() in {one.lower() for one in options}:
                self._fail(f"option {key} is there twice", "leave one of them out")
            options[key] = self._literal()
            if _SECRET.search(key) and not options[key].startswith(("env:", "file:")):
                self._at -= 1
                self._fail(f"option {key}: a definition holds no secret", "write 'env:NAME' or 'file:PATH'")
            if not self._had(","):
                break
        self._take(")")

    def _comment(self) -> str:
        return self._literal() if self._had("COMMENT") else ""

    def _literal(self) -> str:
        """A string without its quotes, or a word."""
        token = self._next()
        if token[:1] not in ("'", '"'):
            if not re.fullmatch(r"[A-Za-z0-9_]+", token):
                self._at -= 1
                self._fail(f"a string is expected, not {token or 'the end'}", "write it in single quotes")
            return token
        quote, inner = token[0], token[1:-1]
        return re.sub(
            r"\\(.)", lambda one: _ESCAPES.get(one[1], one[1]), inner.replace(quote * 2, quote), flags=re.DOTALL
        )

    def _name(self) -> str:
        text = self._next()
        while self._had("."):
            text += "." + self._next()
        return text

    def _checked(self, read: Callable[[str], N], text: str) -> N:
        try:
            return read(text)
        except CatalogNameError as error:
            self._at -= 1
            self._fail(error.message, error.hint)

    def _word(self) -> str:
        return self._next().upper()

    # -- tokens ----------------------------------------------------------------------------------------

    def _peek(self) -> str:
        return self._tokens[self._at][0] if self._at < len(self._tokens) else _END

    def _place(self) -> int:
        return self._tokens[self._at][1] if self._at < len(self._tokens) else len(self._text)

    def _next(self) -> str:
        found = self._peek()
        self._at += 1
        return found

    def _had(self, word: str) -> bool:
        if self._peek().upper() != word:
            return False
        self._at += 1
        return True

    def _take(self, word: str) -> None:
        if not self._had(word):
            self._fail(
                f"{word} is expected, not {self._peek() or 'the end'}", "definitions are in docs/reference/catalog.md"
            )

    def _end(self) -> None:
        if self._peek():
            self._fail(f"{self._peek()} is too much", "end the statement with ;")

    def _fail(self, problem: str, fix: str) -> NoReturn:
        raise _error(self._script, self._statement, self._place(), problem, fix)


def _error(script: str, statement: Statement, at: int, problem: str, fix: str) -> ScriptError:
    line, column = place(statement.padded(), statement.line - 1 + statement.column - 1 + at)
    return error_at(script, statement.number, line, column, problem, fix, "INVALID_DEFINITION")
