"""What can be wrong with artifacts, and why a store or an upload refuses."""

from __future__ import annotations

from dataclasses import dataclass

from anabranch.errors import ConfigError, ProtocolError, RefusedError


@dataclass(eq=False)
class NotAnArtifactError(ConfigError):
    """A file that no function of a stream can come from."""

    file: str
    problem: str
    fix: str = "give a jar, a wheel, or a file of Python"

    _message = "{file} cannot be an artifact: {problem}"
    _hint = "{fix}"


@dataclass(eq=False)
class UnresolvedDependencyError(RefusedError):
    """What a wheel or a file declares that it needs is not to be had."""

    file: str
    problem: str
    fix: str = "correct what it requires, or have the package index of the service bring it"

    _message = "a dependency of {file} cannot be resolved: {problem}"
    _hint = "{fix}"


@dataclass(eq=False)
class NoArtifactError(RefusedError):
    """There is no artifact of that name."""

    name: str

    _message = "there is no artifact {name!r}"
    _hint = "list them: `anabranch artifact list`; or upload it: `anabranch artifact upload {name} FILE`"


@dataclass(eq=False)
class NoArtifactVersionError(RefusedError):
    """An artifact has no version of that number."""

    name: str
    number: int

    _message = "artifact {name!r} has no version {number}"
    _hint = "list them: `anabranch artifact show {name}`"


@dataclass(eq=False)
class ArtifactChangedError(RefusedError):
    """Somebody has changed an artifact since."""

    name: str

    _message = "somebody has changed artifact {name!r} since it was read"
    _hint = "look at it again: `anabranch artifact show {name}`"


@dataclass(eq=False)
class SameArtifactError(RefusedError):
    """These bytes are a version already."""

    name: str
    number: int

    _message = "version {number} of artifact {name!r} has these bytes already"
    _hint = "name it in a script: USING FILE 'artifact:{name}@{number}' (of a jar: USING JAR)"


@dataclass(eq=False)
class ArtifactKindError(RefusedError):
    """Versions of one artifact are of one kind."""

    name: str
    kind: str
    given: str

    _message = "artifact {name!r} is a {kind}, and the file is a {given}"
    _hint = "give it a name of its own"


@dataclass(eq=False)
class ArtifactInUseError(RefusedError):
    """Versions of streams run with it, or functions of the catalog are from it."""

    name: str
    uses: tuple[str, ...]

    @property
    def message(self) -> str:
        return f"artifact {self.name!r} is used by {', '.join(self.uses)}"

    _hint = "what was saved can be rolled back to: delete those streams first, and have functions name another version"


@dataclass(eq=False)
class TwoArtifactVersionsError(ConfigError):
    """A script, with the functions of the catalog that it calls, asks for two versions of one artifact."""

    name: str
    first: str
    second: str

    _message = "the script, or a function of the catalog, names two versions of artifact {name!r}: {first} and {second}"
    _hint = "name one version everywhere, or run two streams: each has an environment of its own"


@dataclass(eq=False)
class ArtifactKeptBadlyError(ProtocolError):
    """The bytes of an artifact are not those that were uploaded."""

    artifact: str
    file: str
    wanted: str
    found: str

    _message = "{file} of artifact {artifact} is not what was uploaded: its SHA-256 is {found}, and not {wanted}"
    _hint = "bring the directory of artifacts back from a copy, or upload it again; nothing was run"
