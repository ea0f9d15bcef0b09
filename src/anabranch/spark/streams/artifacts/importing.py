"""Whether functions of Python can be imported: a process of its own, so that no user's module is in a driver.

``python -m anabranch.spark.streams.artifacts.importing DIRECTORY HANDLER ...`` writes a line of JSON: for each handler
what it is, or the last line of what went wrong.  It is started with the environment that the workers have.
"""

from __future__ import annotations

import importlib
import inspect
import json
import os
import subprocess
import sys
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from anabranch.config.jobsettings import SAFE_PATH

IMPORT_S = 120.0
_MODULE = "anabranch.spark.streams.artifacts.importing"


@dataclass(frozen=True, slots=True)
class ImportedFunction:
    """What was found; ``problem`` is why it cannot be called, empty where it can.

    ``file`` and ``function`` are where its source is, empty where it has none.  It takes from ``least`` to ``most``
    arguments, None for any number.
    """

    problem: str = ""
    module: str = ""
    function: str = ""
    file: str = ""
    least: int = 0
    most: int | None = None


def look(directory: Path, handlers: Sequence[str], variables: Mapping[str, str]) -> Mapping[str, ImportedFunction]:
    """Import them all in another process; what that process did not tell is a problem of each."""
    if not handlers:
        return {}
    command = [sys.executable, "-m", _MODULE, str(directory), *handlers]
    environment = {**os.environ, **variables, SAFE_PATH: "1"}
    try:
        ended = subprocess.run(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            timeout=IMPORT_S,
            text=True,
            check=False,
        )
        lines = ended.stdout.splitlines()
        problem = f"the process that imports it ended with {ended.returncode}"
    except subprocess.TimeoutExpired:
        lines, problem = [], f"it is not imported within {IMPORT_S:g} s"
    try:
        told = json.loads(lines[-1])
        return {name: ImportedFunction(**told[name]) for name in handlers}
    except (IndexError, ValueError, KeyError, TypeError):
        return {name: ImportedFunction(problem) for name in handlers}


def main(words: Sequence[str]) -> None:
    """Import, and tell; what modules print as they are imported goes to standard error."""
    answer = os.dup(1)
    os.dup2(2, 1)
    directory = Path(words[0]).resolve()
    told = {name: asdict(_imported(directory, name)) for name in words[1:]}
    os.write(answer, (json.dumps(told) + "\n").encode())
    sys.stderr.flush()
    os._exit(0)  # threads that a module has begun hold nothing up


def _imported(directory: Path, handler: str) -> ImportedFunction:
    module, _, attribute = handler.rpartition(".")
    if not module:
        return ImportedFunction(f"{handler!r} names no function of a module: write 'module.function'")
    try:
        found = importlib.import_module(module)
    except BaseException as error:
        traceback.print_exc()
        return ImportedFunction(_last_line(error))
    if not _is_below(directory, module):
        return ImportedFunction(f"module {module.partition('.')[0]} is in none of its files")
    one = getattr(found, attribute, None)
    if one is None:
        return ImportedFunction(f"module {module} has no {attribute!r}")
    if not callable(one):
        return ImportedFunction(f"{handler} is no function")
    least, most = _counts(one)
    source = inspect.unwrap(one)
    try:
        file = inspect.getsourcefile(source) or ""
    except TypeError:
        file = ""
    where = str(getattr(source, "__module__", module)), str(getattr(source, "__qualname__", ""))
    if where[1] and not _is_below(directory, where[0]):
        return ImportedFunction(f"{handler} is {'.'.join(where)}, which {module} imports: it is in none of its files")
    return ImportedFunction("", *where, file, least, most)


def _counts(one: Any) -> tuple[int, int | None]:
    try:
        arguments = inspect.signature(one).parameters.values()
    except (ValueError, TypeError):
        return 0, None
    plain = [each for each in arguments if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
    least = sum(each.default is each.empty for each in plain)
    return least, None if any(each.kind is each.VAR_POSITIONAL for each in arguments) else len(plain)


def _is_below(directory: Path, module: str) -> bool:
    """Whether a module was brought: what one of these imports of Python's own, as `os.system`, is nobody's to call."""
    top = sys.modules.get(module.partition(".")[0])
    places = [] if top is None else [getattr(top, "__file__", None), *getattr(top, "__path__", ())]
    return any(Path(place).resolve().is_relative_to(directory) for place in places if place)


def _last_line(error: BaseException) -> str:
    lines = traceback.format_exception_only(error)
    return lines[-1].strip()


if __name__ == "__main__":
    main(sys.argv[1:])
