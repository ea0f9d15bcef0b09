"""The options of a sink's declaration, read once; a secret is a reference, and stays one until a connection opens.

A reference is ``env:NAME``, an environment variable, or ``file:PATH``, both of the machine where the driver runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from anabranch.model.secrets import SecretKind, SecretRef
from anabranch.spark.streams.sinks.errors import SinkOptionError
from anabranch.streams.tables import TableDeclaration

COMMON = {
    "retry_seconds": "how long a batch is tried while the server is away or full, in seconds; 60",
}
SECRET = "env:NAME or file:PATH, where the driver finds it"
_RETRY_SECONDS = 60


@dataclass(frozen=True, slots=True)
class SinkOptions:
    """Options by name; ``table`` is the name of the declaration."""

    table: str
    values: Mapping[str, str]

    @classmethod
    def of(cls, table: TableDeclaration, required: Mapping[str, str], optional: Mapping[str, str]) -> SinkOptions:
        """The options of a declaration, none missing and none unknown; raises ``SinkOptionError``."""
        given = {name.lower(): text for name, text in table.options.items()}
        for name in given:
            if name not in required and name not in optional:
                known = ", ".join(sorted({*required, *optional}))
                raise SinkOptionError(table.name, name, f"{table.provider} has none of this name", f"it has {known}")
        for name, meaning in required.items():
            if not given.get(name, "").strip():
                raise SinkOptionError(table.name, name, "is missing", f"{name}: {meaning}")
        return cls(table.name, given)

    def text(self, name: str, default: str = "") -> str:
        return self.values.get(name, "").strip() or default

    def columns(self, name: str) -> tuple[str, ...]:
        """Names between commas, none twice; raises ``SinkOptionError``."""
        if not self.text(name):
            return ()
        found = tuple(one.strip() for one in self.text(name).split(","))
        if "" in found or len(set(found)) < len(found):
            raise SinkOptionError(self.table, name, "a column is named twice, or not at all", "write a, b")
        return found

    def number(self, name: str, default: int, least: int = 1) -> int:
        """A whole number; raises ``SinkOptionError``."""
        text = self.text(name)
        if not text:
            return default
        if not (text.isascii() and text.isdigit() and int(text) >= least):
            raise SinkOptionError(self.table, name, f"{text!r} is no whole number from {least}", "write digits alone")
        return int(text)

    def choice(self, name: str, *choices: str) -> str:
        """One of a few words, the first where none is said; raises ``SinkOptionError``."""
        text = self.text(name, choices[0])
        if text not in choices:
            raise SinkOptionError(self.table, name, f"{text!r} is none of them", f"use one of {', '.join(choices)}")
        return text

    def secret(self, name: str) -> SecretRef | None:
        """A reference; raises ``SinkOptionError``, which does not say what stood there."""
        text = self.text(name)
        if not text:
            return None
        kind, colon, rest = text.partition(":")
        if not colon or not rest or kind not in set(SecretKind):
            problem = "is no reference to a secret, and a secret stands in no option"
            raise SinkOptionError(self.table, name, problem, f"write {SECRET}")
        return SecretRef(SecretKind(kind), rest)

    def url(self, name: str, *schemes: str) -> SplitResult:
        """An address without user and password; raises ``SinkOptionError``, which does not repeat it."""
        try:
            found = urlsplit(self.text(name))
            port_is_right = found.port is None or found.port > 0
        except ValueError:
            port_is_right = False
        example = f"write {schemes[0]}://HOST:PORT"
        if not port_is_right or found.scheme not in schemes or not found.hostname:
            raise SinkOptionError(self.table, name, f"is no address of {' or '.join(schemes)}", example)
        if found.username is not None or found.password is not None or "password=" in found.query.lower():
            raise SinkOptionError(self.table, name, "has a user or a password in it", "use the options user, password")
        return found

    @property
    def retry_seconds(self) -> int:
        return self.number("retry_seconds", _RETRY_SECONDS, least=0)
