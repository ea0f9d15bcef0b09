"""An archive of this installation for machines that have nothing but Python: what Spark unpacks beside a job.

It holds the packages that links need, with the plugins that are installed here, and ``bin/python``, which runs the
Python of the machine that it is unpacked on with them.  PySpark is left out: Spark brings its own.  Some packages are
compiled, so those machines must have the same kind of system and the same minor version of Python as this one.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import sys
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path, PurePosixPath

import anabranch
from anabranch.errors import ConfigError

PYTHON = "bin/python"
_OURS = "anabranch"
_EXTRA = "spark"
_OF_SPARK = {"pyspark", "py4j"}
_PLUGINS = "anabranch."
_LAUNCHER = """#!/bin/sh
# The Python of this machine with the packages of this archive.
here=$(cd "$(dirname "$0")/.." && pwd)
python=${{ANABRANCH_PYTHON:-{python}}}
if ! command -v "$python" >/dev/null; then
    echo "error: there is no $python on $(hostname), which Anabranch's archive is to run with" >&2
    echo "hint: install it there, or build the archive again with: anabranch link package --python PATH" >&2
    exit 127
fi
PYTHONPATH="$here/lib${{PYTHONPATH:+:$PYTHONPATH}}" exec "$python" "$@"
"""
_NAME = re.compile(r"[A-Za-z0-9._-]+")
_MARKED = re.compile(r"extra\s*==\s*['\"]([^'\"]+)['\"]")


@dataclass(eq=False)
class EditablePackageError(ConfigError):
    """A package is installed as a link to its sources, so its files are not known."""

    package: str

    _message = "{package} is installed as editable; its files cannot be packed"
    _hint = "install {package} without -e, then run the same command again"


@dataclass(frozen=True, slots=True)
class Packed:
    """What was written: the archive, its size, and the packages in it with their versions."""

    path: Path
    size: int
    packages: tuple[tuple[str, str], ...]


def default_python() -> str:
    """The Python that the machines must have: of the same minor version as this one."""
    return f"python{sys.version_info.major}.{sys.version_info.minor}"


def build(path: Path, python: str) -> Packed:
    """Write the archive, a ``tar.gz``, in one piece; ``python`` is a name on the machines' path, or a path there.

    Equal installations make equal archives.  Raises EditablePackageError, OSError.
    """
    packages = wanted()
    files = dict(sorted(file for one in packages for file in _files(one)))
    draft = path.with_name(f"{path.name}.part")
    with (
        draft.open("wb") as file,
        gzip.GzipFile("", "wb", 3, file, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w") as archive,
    ):
        _add(archive, PYTHON, _LAUNCHER.format(python=python).encode(), 0o755)
        for name, path_here in files.items():
            _add(archive, f"lib/{name}", path_here.read_bytes(), 0o644)
    os.replace(draft, path)
    return Packed(path, path.stat().st_size, tuple((one.name, one.version) for one in packages))


def wanted() -> tuple[metadata.Distribution, ...]:
    """The packages that links need on an executor, sorted by name."""
    plugins = [
        one.name
        for one in metadata.distributions()
        if any(entry.group.startswith(_PLUGINS) for entry in one.entry_points)
    ]
    found: dict[str, metadata.Distribution] = {}
    asked = [(_OURS, _EXTRA), *((name, "") for name in plugins if _normal(name) != _OURS)]
    while asked:
        name, extra = asked.pop()
        if _normal(name) in found or _normal(name) in _OF_SPARK:
            continue
        try:
            one = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue  # for another system or another Python
        found[_normal(name)] = one
        asked += [(needed, "") for needed in _needed(one, extra)]
    return tuple(found[name] for name in sorted(found))


def _needed(one: metadata.Distribution, extra: str) -> Iterator[str]:
    for requirement in one.requires or ():
        marked = _MARKED.findall(requirement)
        name = _NAME.match(requirement)
        if name is not None and (not marked or extra in marked):
            yield name[0]


def _files(one: metadata.Distribution) -> Iterator[tuple[str, Path]]:
    """The files below the directory that packages are installed in, by their names there."""
    ours = _normal(one.name) == _OURS
    is_editable = _is_editable(one)
    if is_editable and not ours:
        raise EditablePackageError(one.name)
    if ours:
        root = Path(anabranch.__file__).parent
        for file in root.rglob("*"):
            if file.is_file() and "__pycache__" not in file.parts:
                yield (PurePosixPath(_OURS) / file.relative_to(root).as_posix()).as_posix(), file
    for name in one.files or ():
        inside = ".." not in name.parts and "__pycache__" not in name.parts
        if inside and (not ours or name.parts[0].endswith(".dist-info")):
            path = Path(str(name.locate()))
            if path.is_file():
                yield name.as_posix(), path


def _is_editable(one: metadata.Distribution) -> bool:
    origin = json.loads(one.read_text("direct_url.json") or "{}")
    return bool(origin.get("dir_info", {}).get("editable"))


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _add(archive: tarfile.TarFile, name: str, content: bytes, mode: int) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(content), mode
    archive.addfile(entry, io.BytesIO(content))
