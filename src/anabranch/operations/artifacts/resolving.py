"""The wheels that an upload needs, brought by ``pip`` in a process of its own, so that no start needs a network.

Nothing of an upload or of what it needs is built or run: wheels alone are taken.  What every job has already (Spark,
its workers' Arrow and pandas, and this program) is given to ``pip`` as wheels without content, of the versions that are
installed here: so what asks for another version of them is refused, and nobody's workers get one.
"""

from __future__ import annotations

import importlib.util
import re
import sys
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path

from anabranch.operations.artifacts.limited import limited, read_all
from anabranch.streams.artifacts.errors import UnresolvedDependencyError

PROVIDED = ("anabranch", "pyspark", "py4j", "pyarrow", "pandas", "numpy")
_LOCAL = "+anabranch"
"""The local part of the version of what is provided; no index has one of that name."""
_MISSING = re.compile(r"No matching distribution found for (?P<what>.+)")
_ASKED = re.compile(r" depends on |The user requested ")
_DIRECT = re.compile(r"^[^;]*@")


def resolve(
    file: str, data: bytes | None, requires: Sequence[str], *, reaches_index: bool, most: int
) -> Mapping[str, bytes]:
    """The wheels that are needed, by their names; none of what is provided.

    ``data`` is the wheel ``file`` itself, None for a file of Python that ``requires`` some.  Raises
    UnresolvedDependencyError.
    """
    if not requires and data is None:
        return {}
    if direct := next(filter(_DIRECT.match, requires), None):
        fix = "require it by its name and version, from a package index"
        raise UnresolvedDependencyError(file, f"{direct} names an address", fix)
    if importlib.util.find_spec("pip") is None:
        raise UnresolvedDependencyError(file, "the service has no pip", "install pip where the service runs")
    with tempfile.TemporaryDirectory(prefix="anabranch-artifact-") as made:
        directory = Path(made)
        provided, brought = directory / "provided", directory / "brought"
        provided.mkdir()
        brought.mkdir()
        pins = [_provide(provided, name) for name in PROVIDED if _version(name)]
        constraints = directory / "constraints.txt"
        constraints.write_text("".join(f"{one}\n" for one in pins), encoding="utf-8")
        words = [*("download", "--disable-pip-version-check", "--no-input", "--only-binary", ":all:")]
        words += ["--dest", str(brought), "--find-links", str(provided), "--constraint", str(constraints)]
        words += [] if reaches_index else ["--no-index"]
        if data is None:
            words += ["--", *requires]
        else:
            (directory / file).write_bytes(data)
            words += ["--", str(directory / file)]
        _run(file, words, most, reaches_index)
        found = (one for one in brought.iterdir() if one.name != file and _LOCAL not in one.name)
        return read_all(file, found, most)


def _run(file: str, words: Sequence[str], most: int, reaches_index: bool) -> None:
    code, told = limited("pip", file, [sys.executable, "-I", "-m", "pip", *words], most)
    if code:
        problem = _problem(told)
        if reaches_index:
            raise UnresolvedDependencyError(file, problem)
        problem += ", and the service is set to bring none (artifacts.dependencies: false)"
        raise UnresolvedDependencyError(file, problem, "upload a wheel that brings what it needs itself")


def _problem(told: str) -> str:
    """What pip said, in a sentence: the requirement that is missing, else its last error."""
    errors = [line.partition("ERROR:")[2].strip() for line in told.splitlines() if line.startswith("ERROR:")]
    for line in errors:
        if found := _MISSING.search(line):
            return f"there is no wheel for {found['what']}"
    conflict = next((line for line in errors if "conflicting dependencies" in line), None)
    if conflict is not None:
        asked = dict.fromkeys(line.strip() for line in told.splitlines() if _ASKED.search(line))
        told = "; ".join(asked).replace("The user requested (constraint) ", "every job has ")
        return told.replace(_LOCAL, "") or conflict.rstrip(".")
    return (errors or [line for line in told.splitlines() if line.strip()] or ["pip has failed"])[-1].rstrip(".")


def _version(name: str) -> str | None:
    try:
        return metadata.version(name).partition("+")[0]
    except metadata.PackageNotFoundError:
        return None


def _provide(directory: Path, name: str) -> str:
    """A wheel without content; returns the requirement that only it meets."""
    version = f"{_version(name)}{_LOCAL}"
    info = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(directory / f"{name}-{version}-py3-none-any.whl", "w") as archive:
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        archive.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: anabranch\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{info}/RECORD", f"{info}/METADATA,,\n{info}/WHEEL,,\n{info}/RECORD,,\n")
    return f"{name}=={version}"
