"""Secrets as references, and the masked value that they resolve to.

A secret never stands in a file, a flag, a log line, a stored record or a pickle: a ``SecretRef`` names the
environment variable or the file that holds it, and is resolved where a connection is opened, on whatever
machine that is.  Reading the reference is the only thing in ``model`` that looks outside.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import NoReturn

from anabranch.errors import ConfigError
from anabranch.model.home import expanded

MASK = "********"


@dataclass(eq=False)
class MissingSecretError(ConfigError):
    """A referenced secret is not there, cannot be read or is empty."""

    reference: str
    problem: str

    _message = "secret {reference}: {problem}"

    @property
    def hint(self) -> str:
        kind, _, name = self.reference.partition(":")
        if kind == "env":
            return (
                f"export {name}=... in the shell that runs this command; on a Spark cluster give a file instead "
                "(password_file), that is on each machine or sent by `link run --file`"
            )
        return f"on the machine that connects, write the secret to {name} for this user alone (chmod 600 {name})"


class Secret:
    """A resolved secret whose ``repr`` and ``str`` are masked and which refuses to be pickled."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """The secret itself; call this only in the line that hands it to a socket or a TLS context."""
        return self._value

    def __repr__(self) -> str:
        return f"Secret({MASK})"

    def __str__(self) -> str:
        return MASK

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Secret is not pickled; send its SecretRef and resolve that over there")


class SecretKind(StrEnum):
    """Where a secret is kept."""

    ENV = "env"
    FILE = "file"


@dataclass(frozen=True, slots=True)
class SecretRef:
    """The name of the environment variable, or the path of the file, that holds a secret."""

    kind: SecretKind
    name: str

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}"

    def resolve(self, environ: Mapping[str, str] | None = None) -> Secret:
        """Read the secret; a file's trailing newline is not part of it.  Raises ``MissingSecretError``."""
        if self.kind is SecretKind.ENV:
            value = (os.environ if environ is None else environ).get(self.name)
            if value is None:
                raise MissingSecretError(str(self), "the environment variable is not set")
        else:
            try:
                value = expanded(self.name).read_text(encoding="utf-8").rstrip("\r\n")
            except (OSError, UnicodeDecodeError) as error:
                reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
                raise MissingSecretError(str(self), f"cannot read the file: {reason}") from error
        if not value:
            raise MissingSecretError(str(self), "it is empty")
        return Secret(value)
