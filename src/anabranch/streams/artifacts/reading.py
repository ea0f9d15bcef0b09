"""What a file holds that is to become an artifact: told without importing, loading or running any of it.

Invariants
    U1  nothing of an artifact is run where it is read.
    U2  no file of an archive lies outside of it, and all of them together have at most ``MOST_UNPACKED`` bytes.
    U3  no module takes the place of Python's own, of Spark's, or of this program's.
"""

from __future__ import annotations

import io
import re
import sys
import zipfile
from dataclasses import dataclass, field
from email.parser import Parser
from pathlib import PurePosixPath

from anabranch.streams.artifacts import java_functions, poms, python_code
from anabranch.streams.artifacts.class_files import JavaClass, java_class
from anabranch.streams.artifacts.errors import NotAnArtifactError
from anabranch.streams.artifacts.poms import JarNeeds
from anabranch.streams.artifacts.python_code import MODULE, PythonProblem
from anabranch.streams.artifacts.values import ArtifactFunction, ArtifactKind, kind_of

MOST_UNPACKED = 2 << 30
MOST_FILES = 50_000
MOST_FUNCTIONS = 2_000
_MOST_SOURCE = 2 << 20
_OURS = frozenset({"anabranch", "pyspark", "py4j", "pyarrow", "pandas", "numpy"})
"""What Spark's Python workers and this program are made of; each job has those that are installed."""
_FILE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,199}")
_WHEEL = re.compile(r"[^-]+-[^-]+(-[0-9][^-]*)?-[^-]+-[^-]+-[^-]+\.whl", re.IGNORECASE)
_DATA = re.compile(r"[^/]+\.data/(?:purelib|platlib)/(?P<path>.+)")
_METADATA = re.compile(r"[^/]+\.dist-info/METADATA")


@dataclass(frozen=True, slots=True)
class ArtifactContent:
    """What a file holds; ``requires`` is what it declares that it needs, as ``pip`` reads it; ``needs`` is a jar's.

    ``modules`` are those at the top of a wheel.  ``more`` counts the functions beyond ``MOST_FUNCTIONS``.
    """

    kind: ArtifactKind
    functions: tuple[ArtifactFunction, ...] = ()
    requires: tuple[str, ...] = ()
    modules: tuple[str, ...] = field(default=())
    more: int = 0
    needs: JarNeeds = field(default=JarNeeds())


def read(file: str, data: bytes) -> ArtifactContent:
    """Look at a file by its name and its bytes; raises NotAnArtifactError."""
    kind = kind_of(file)
    if not _FILE.fullmatch(file):
        problem = "its name has other characters than letters, digits, '.', '_', '+' and '-', or more than 200"
        raise NotAnArtifactError(file, problem, "give it another name")
    if kind is ArtifactKind.PYTHON:
        return _python(file, data)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            check_members(file, archive)
            return _jar(file, archive) if kind is ArtifactKind.JAR else _wheel(file, archive)
    except (zipfile.BadZipFile, zipfile.LargeZipFile, NotImplementedError, RuntimeError, EOFError, ValueError) as error:
        raise NotAnArtifactError(file, f"it is no archive that can be read: {error}") from error


def check_members(file: str, archive: zipfile.ZipFile) -> None:
    """Hold an archive to U2; raises NotAnArtifactError."""
    members = archive.infolist()
    if len(members) > MOST_FILES:
        raise NotAnArtifactError(file, f"it has {len(members):,} files, more than {MOST_FILES:,}")
    if (total := sum(one.file_size for one in members)) > MOST_UNPACKED:
        raise NotAnArtifactError(file, f"it has {total:,} bytes as it is unpacked, more than {MOST_UNPACKED:,}")
    for one in members:
        path = PurePosixPath(one.filename)
        is_link = (one.external_attr >> 16) & 0o170000 == 0o120000
        if path.is_absolute() or ".." in path.parts or "\\" in one.filename or is_link:
            raise NotAnArtifactError(file, f"{one.filename!r} in it may lead out of its directory")


def installed_path(member: str) -> str | None:
    """Where a file of a wheel is as the wheel is installed; None for what is no package: scripts, headers."""
    found = _DATA.fullmatch(member)
    if found is not None:
        return found["path"]
    return None if PurePosixPath(member).parts[0].endswith(".data") else member


def _python(file: str, data: bytes) -> ArtifactContent:
    module = file[: -len(".py")]
    _check_modules(file, {module})
    if not MODULE.fullmatch(module):
        raise NotAnArtifactError(file, f"{module!r} is no name of a module", "name it as it would be imported")
    try:
        source = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise NotAnArtifactError(file, f"it is not UTF-8: {error.reason}", "save it as UTF-8") from error
    found, requires = python_code.functions(source, module), python_code.requirements(source)
    for one in (found, requires):
        if isinstance(one, PythonProblem):
            place = f"line {one.line}: " if one.line else ""
            raise NotAnArtifactError(file, f"{place}{one.problem}", "correct it, and upload it again")
    assert not isinstance(found, PythonProblem) and not isinstance(requires, PythonProblem)
    return ArtifactContent(ArtifactKind.PYTHON, found, requires, (module,))


def _wheel(file: str, archive: zipfile.ZipFile) -> ArtifactContent:
    if not _WHEEL.fullmatch(file):
        raise NotAnArtifactError(file, "its name is none of a wheel: NAME-VERSION-PYTHON-ABI-PLATFORM.whl")
    metadata = [one for one in archive.namelist() if _METADATA.fullmatch(one)]
    if len(metadata) != 1:
        raise NotAnArtifactError(file, f"it has {len(metadata)} files METADATA, and a wheel has one")
    requires = Parser().parsestr(archive.read(metadata[0]).decode("utf-8", "replace")).get_all("Requires-Dist") or []
    paths = {one: path for one in archive.namelist() if (path := installed_path(one)) and not one.endswith("/")}
    tops = {PurePosixPath(path).parts[0].partition(".")[0] for path in paths.values() if ".dist-info/" not in path}
    _check_modules(file, tops)
    found: list[ArtifactFunction] = []
    for member, path in sorted(paths.items(), key=lambda pair: pair[1]):
        module = _module(path)
        if module and archive.getinfo(member).file_size <= _MOST_SOURCE:
            told = python_code.functions(archive.read(member).decode("utf-8", "replace"), module)
            if not isinstance(told, PythonProblem):  # of a template, or for another Python: imports will tell
                found += told
    cut, more = tuple(found[:MOST_FUNCTIONS]), max(0, len(found) - MOST_FUNCTIONS)
    return ArtifactContent(ArtifactKind.WHEEL, cut, tuple(requires), tuple(sorted(tops)), more)


def _jar(file: str, archive: zipfile.ZipFile) -> ArtifactContent:
    classes: dict[str, JavaClass] = {}
    members = [one for one in archive.namelist() if one.endswith(".class") and not one.startswith("META-INF/")]
    for member in members:
        found = java_class(archive.read(member))
        if found is not None:
            classes[found.name] = found
    if not classes:
        raise NotAnArtifactError(file, "it has no class")
    every = tuple(java_functions.functions(classes))
    cut, more = every[:MOST_FUNCTIONS], max(0, len(every) - MOST_FUNCTIONS)
    return ArtifactContent(ArtifactKind.JAR, cut, more=more, needs=poms.needs(file, archive))


def _check_modules(file: str, modules: set[str]) -> None:
    """Hold the modules at the top of a file to U3; raises NotAnArtifactError."""
    if taken := sorted(modules & (_OURS | sys.stdlib_module_names)):
        whose = "Python's own" if taken[0] in sys.stdlib_module_names else "the one that every job has"
        fix = "give it another name" if taken[0] in sys.stdlib_module_names else "leave it out: require it instead"
        raise NotAnArtifactError(file, f"its module {taken[0]} would take the place of {whose}", fix)


def _module(path: str) -> str:
    """The name by which a file is imported; empty for what is no module."""
    if not path.endswith(".py"):
        return ""
    parts = path[: -len(".py")].split("/")
    parts = parts[:-1] if parts[-1] == "__init__" else parts
    return ".".join(parts) if parts and all(map(MODULE.fullmatch, parts)) else ""
