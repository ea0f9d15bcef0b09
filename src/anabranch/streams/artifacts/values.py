"""An artifact as it is kept: jars, wheels and Python files, of which every version is bytes with a hash."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePosixPath

from anabranch.streams.artifacts.errors import NotAnArtifactError


class ArtifactKind(StrEnum):
    """What a file is, by the end of its name."""

    JAR = "jar"
    WHEEL = "wheel"
    PYTHON = "python"


_BY_END = {".jar": ArtifactKind.JAR, ".whl": ArtifactKind.WHEEL, ".py": ArtifactKind.PYTHON}


@dataclass(frozen=True, slots=True)
class ArtifactArgument:
    """An argument of a function; ``type`` is as Spark's SQL writes it, empty where nothing says it."""

    name: str
    type: str = ""
    optional: bool = False


@dataclass(frozen=True, slots=True)
class ArtifactFunction:
    """A function by the name that ``CREATE FUNCTION ... AS`` takes: ``module.function``, or a Java class.

    ``returns`` is as Spark's SQL writes it, empty where nothing says it.
    """

    name: str
    arguments: tuple[ArtifactArgument, ...] = ()
    returns: str = ""

    def __str__(self) -> str:
        inner = ", ".join(f"{one.name} {one.type}".strip() for one in self.arguments)
        return f"{self.name}({inner})" + (f" RETURNS {self.returns}" if self.returns else "")


@dataclass(frozen=True, slots=True)
class ArtifactFile:
    """A file by its name and its content."""

    file: str
    sha256: str
    size: int


@dataclass(frozen=True, slots=True)
class ArtifactVersion:
    """What was uploaded, with the wheels or jars that it needs; never changed.  ``number`` is from 1, and used once."""

    number: int
    at_ms: int
    author: str
    note: str
    content: ArtifactFile
    functions: tuple[ArtifactFunction, ...] = ()
    dependencies: tuple[ArtifactFile, ...] = ()


@dataclass(frozen=True, slots=True)
class StoredArtifact:
    """An artifact; ``newest`` is the number of its last upload, also where that was deleted."""

    name: str
    kind: ArtifactKind
    owner: str
    description: str
    created: int
    newest: int


@dataclass(frozen=True, slots=True)
class PinnedFunction:
    """A function of the catalog as it was when a version was saved: its name in scripts, its whole CREATE FUNCTION."""

    name: str
    statement: str


@dataclass(frozen=True, slots=True)
class ArtifactPin:
    """The version of an artifact that a version of a stream runs with, whatever is uploaded later.

    ``functions`` are those of the catalog that it brings to the script.
    """

    artifact: str
    number: int
    kind: ArtifactKind
    content: ArtifactFile
    dependencies: tuple[ArtifactFile, ...] = ()
    functions: tuple[PinnedFunction, ...] = ()

    @property
    def files(self) -> tuple[ArtifactFile, ...]:
        """All that is needed to run it."""
        return (self.content, *self.dependencies)

    def __str__(self) -> str:
        return f"{self.artifact}@{self.number}"


def kind_of(file: str) -> ArtifactKind:
    """By the end of a file's name; raises NotAnArtifactError."""
    found = _BY_END.get(PurePosixPath(file).suffix.lower())
    if found is None:
        raise NotAnArtifactError(file, "its name ends with none of .jar, .whl, .py")
    return found
