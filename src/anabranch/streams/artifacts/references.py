"""Which artifacts a script names: ``CREATE FUNCTION f AS 'module.function' USING FILE 'artifact:lib@2'``.

What is read here says which versions are pinned as a script is saved.  What is run is read by Spark's own parser, and a
reference that it finds and that was not pinned is refused: so nothing here can have another version run.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from anabranch.errors import InvalidFieldError
from anabranch.streams.artifacts.errors import TwoArtifactVersionsError
from anabranch.streams.script import split

SCHEME = "artifact:"
NAME = r"[a-z0-9][a-z0-9._-]{0,59}"
_REFERENCE = re.compile(rf"artifact:(?P<name>{NAME})(?:@(?P<number>[1-9][0-9]{{0,8}}))?")
_TOKEN = re.compile(
    r"(?P<string>'(?:[^'\\]|\\.|'')*'|\"(?:[^\"\\]|\\.|\"\")*\")|(?P<name>`(?:[^`]|``)*`)"
    r"|--[^\r\n]*|/\*.*?\*/|(?P<word>\w+)|(?P<sign>[^\s])",
    re.DOTALL,
)
_RESOURCES = frozenset({"JAR", "FILE", "ARCHIVE"})
_HANDLER = re.compile(r"(?P<name>[\w.$]+)(?:\s+RETURNS\s+(?P<type>.+))?", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class ArtifactReference:
    """An artifact by its name; ``number`` None is the newest version as the script is saved."""

    name: str
    number: int | None = None

    def __str__(self) -> str:
        return SCHEME + self.name + ("" if self.number is None else f"@{self.number}")


@dataclass(frozen=True, slots=True)
class FunctionHandler:
    """What a function is in its artifact; ``returns`` is a type of SQL, empty where annotations say it."""

    name: str
    returns: str = ""


def reference(text: str) -> ArtifactReference:
    """What a text names that begins with ``artifact:``; raises InvalidFieldError."""
    found = _REFERENCE.fullmatch(text)
    if found is None:
        fix = "write 'artifact:NAME' or 'artifact:NAME@VERSION'"
        raise InvalidFieldError("CREATE FUNCTION", "USING", f"{text!r} names no artifact", fix)
    return ArtifactReference(found["name"], None if found["number"] is None else int(found["number"]))


def handler(text: str) -> FunctionHandler:
    """What stands after AS: ``module.function``, or ``module.function RETURNS TYPE``; raises InvalidFieldError."""
    found = _HANDLER.fullmatch(text.strip())
    if found is None:
        fix = "write 'module.function', or 'module.function RETURNS TYPE'; of a jar the name of a class"
        raise InvalidFieldError("CREATE FUNCTION", "AS", f"{text!r} names no function", fix)
    return FunctionHandler(found["name"], (found["type"] or "").strip())


def resources(script: str) -> tuple[str, ...]:
    """What the functions of a script are from, each once, in order; raises ScriptError."""
    found = [one for statement in split(script) for one in _of_statement(statement.text)]
    return tuple(dict.fromkeys(found))


def references(script: str) -> tuple[ArtifactReference, ...]:
    """The artifacts that a script names, each once; raises ScriptError, InvalidFieldError, TwoArtifactVersionsError."""
    return one_of_each(reference(text) for text in resources(script) if text.startswith(SCHEME))


def one_of_each(found: Iterable[ArtifactReference]) -> tuple[ArtifactReference, ...]:
    """Each artifact once; raises TwoArtifactVersionsError."""
    known: dict[str, ArtifactReference] = {}
    for one in found:
        before = known.setdefault(one.name, one)
        if before != one:
            raise TwoArtifactVersionsError(one.name, str(before), str(one))
    return tuple(known.values())


def _of_statement(text: str) -> Iterator[str]:
    tokens = [one for one in _TOKEN.finditer(text) if one.lastgroup is not None]
    if not _makes_function(one.group().upper() for one in tokens[:5]):
        return
    is_using = False
    for before, one in pairwise(tokens):
        is_using = is_using or before.group().upper() == "USING"
        if is_using and one.lastgroup == "string" and before.group().upper() in _RESOURCES:
            yield one.group()[1:-1]


def _makes_function(words: Iterable[str]) -> bool:
    left = [word for word in words if word not in ("OR", "REPLACE", "TEMPORARY")]
    return left[:2] == ["CREATE", "FUNCTION"]
