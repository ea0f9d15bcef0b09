"""Functions and requirements of Python's source, read and never run."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass

from anabranch.streams.artifacts.annotations import sql_type
from anabranch.streams.artifacts.values import ArtifactArgument, ArtifactFunction

MODULE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_BEGIN, _END = "# /// script", "# ///"


@dataclass(frozen=True, slots=True)
class PythonProblem:
    """Why a text is no source of Python that can be read, and the line, 0 where there is none."""

    line: int
    problem: str


def functions(source: str, module: str) -> tuple[ArtifactFunction, ...] | PythonProblem:
    """The functions at the top of a module whose names do not begin with ``_``, in order."""
    try:
        tree = ast.parse(source)
    except SyntaxError as error:
        return PythonProblem(error.lineno or 0, error.msg)
    except (ValueError, RecursionError, MemoryError) as error:
        return PythonProblem(0, str(error) or "it is nested too deeply")
    found = {
        one.name: ArtifactFunction(f"{module}.{one.name}", tuple(_arguments(one.args)), sql_type(one.returns))
        for one in tree.body
        if isinstance(one, ast.FunctionDef) and not one.name.startswith("_")
    }
    return tuple(found.values())


def requirements(source: str) -> tuple[str, ...] | PythonProblem:
    """The dependencies that a file of Python declares of itself (PEP 723), none where it declares none."""
    lines = [line.rstrip() for line in source.splitlines()]
    begins = [at for at, line in enumerate(lines) if line == _BEGIN]
    if not begins:
        return ()
    if len(begins) > 1:
        return PythonProblem(begins[1] + 1, f"it has several blocks `{_BEGIN}`")
    inner = lines[begins[0] + 1 :]
    if _END not in inner:
        return PythonProblem(begins[0] + 1, f"its block `{_BEGIN}` has no end `{_END}`")
    text = "\n".join(line.removeprefix("#").removeprefix(" ") for line in inner[: inner.index(_END)])
    try:
        declared = tomllib.loads(text).get("dependencies", [])
    except tomllib.TOMLDecodeError as error:
        return PythonProblem(0, f"its block `# /// script` is no TOML: {error}")
    if not isinstance(declared, list) or not all(isinstance(one, str) for one in declared):
        return PythonProblem(0, "its dependencies are no list of texts")
    return tuple(declared)


def _arguments(given: ast.arguments) -> Iterator[ArtifactArgument]:
    plain = [*given.posonlyargs, *given.args]
    needed = len(plain) - len(given.defaults)
    for at, one in enumerate(plain):
        yield ArtifactArgument(one.arg, sql_type(one.annotation), at >= needed)
    if given.vararg is not None:
        yield ArtifactArgument(f"*{given.vararg.arg}", sql_type(given.vararg.annotation), True)
    for one, default in zip(given.kwonlyargs, given.kw_defaults, strict=True):
        yield ArtifactArgument(one.arg, sql_type(one.annotation), default is not None)
