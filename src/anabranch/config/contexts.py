"""Which contexts file is used, and the contexts in it.

One file is used, the first of: the ``--contexts`` flag; ``ANABRANCH_CONTEXTS``; ``.anabranch/contexts.yaml`` or
``anabranch.yaml`` in this directory or the nearest one above; ``contexts.yaml`` in the user's configuration
directory.  Files are not merged, so what a name means is read in one place.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import platformdirs

from anabranch.config import context_file, yaml_file
from anabranch.config.context_file import context_fields, read_context
from anabranch.errors import ConfigError
from anabranch.model.cluster import ClusterContext
from anabranch.model.home import expanded

__all__ = [
    "ContextExistsError",
    "Contexts",
    "Location",
    "NoContextsFileError",
    "NoTargetError",
    "UnknownContextError",
    "add",
    "context_fields",
    "load",
    "locate",
    "read_context",
    "remove",
    "save",
    "use",
]

CONTEXTS_FLAG = "--contexts"
CONTEXTS_ENV = "ANABRANCH_CONTEXTS"
TARGET_ENV = "ANABRANCH_TARGET"
_PROJECT_FILES = (".anabranch/contexts.yaml", "anabranch.yaml")


@dataclass(eq=False)
class UnknownContextError(ConfigError):
    """A name that stands for no cluster in the contexts file."""

    name: str
    path: str
    known: tuple[str, ...]

    @property
    def message(self) -> str:
        known = f"it has {', '.join(self.known)}" if self.known else "it has none"
        return f"no cluster context {self.name!r} in {self.path}: {known}"

    @property
    def hint(self) -> str:
        return f"anabranch context add {shlex.quote(self.name)} --bootstrap HOST:PORT"


@dataclass(eq=False)
class NoTargetError(ConfigError):
    """A verb acts on a target cluster, and none was named anywhere."""

    path: str

    @property
    def message(self) -> str:
        return f"no target cluster named: no --target, no {TARGET_ENV}, no target in {self.path}"

    _hint = "anabranch context use NAME"


@dataclass(eq=False)
class NoContextsFileError(ConfigError):
    """A contexts file that was named is not there."""

    path: str
    why: str

    _message = "there is no contexts file {path}, which {why} names"
    _hint = "correct the path; `anabranch --contexts FILE context add NAME --bootstrap HOST:PORT` makes a new file"


@dataclass(frozen=True, slots=True)
class Location:
    """The contexts file in use and why it is this one."""

    path: Path
    why: str

    def check_named(self) -> None:
        """Raise ``NoContextsFileError`` where a person named a file that is not there."""
        if self.why in (CONTEXTS_FLAG, CONTEXTS_ENV) and not self.path.exists():
            raise NoContextsFileError(str(self.path), self.why)


@dataclass(frozen=True, slots=True)
class Contexts:
    """A contexts file as read: ``raw`` is its mapping, kept so that a change rewrites only what it changes."""

    location: Location
    target: str | None
    contexts: Mapping[str, ClusterContext]
    raw: Mapping[str, Any]

    @property
    def service(self) -> str | None:
        """The URL of the service that verbs ask, None where the file names none."""
        return self.raw.get("service")

    def get(self, name: str) -> ClusterContext:
        """The context of that name; raises ``UnknownContextError``."""
        try:
            return self.contexts[name]
        except KeyError:
            raise UnknownContextError(name, str(self.location.path), tuple(self.contexts)) from None

    def target_context(self, flag: str | None, environ: Mapping[str, str]) -> ClusterContext:
        """The target that a verb acts on: flag, then environment, then the file's; raises ``ConfigError``."""
        name = flag or environ.get(TARGET_ENV) or self.target
        if name is None:
            raise NoTargetError(str(self.location.path))
        return self.get(name)


def locate(flag: Path | None, environ: Mapping[str, str], directory: Path) -> Location:
    """The file to use, whether it exists or not, seen from a directory."""
    if flag is not None:
        return Location(flag, CONTEXTS_FLAG)
    if named := environ.get(CONTEXTS_ENV):
        return Location(expanded(named), CONTEXTS_ENV)
    for above in (directory, *directory.parents):
        for name in _PROJECT_FILES:
            if (above / name).is_file():
                return Location(above / name, "project file")
    return Location(platformdirs.user_config_path("anabranch") / "contexts.yaml", "user's configuration")


def load(location: Location) -> Contexts:
    """The contexts of a file; a file that is not there has none.  Raises ``ConfigError``."""
    raw = yaml_file.read(location.path) if location.path.exists() else {}
    target, contexts = context_file.parse(raw, location.path)
    return Contexts(location, target, contexts, raw)


def add(contexts: Contexts, name: str, entry: Mapping[str, Any], replace: bool) -> Contexts:
    """The contexts with one more; checked as the file will be.  Raises ``ConfigError``."""
    if name in contexts.contexts and not replace:
        raise ContextExistsError(name, str(contexts.location.path))
    former = contexts.raw or {"version": 1}
    return _changed(contexts, {**former, "contexts": {**former.get("contexts", {}), name: entry}})


def use(contexts: Contexts, name: str) -> Contexts:
    """The contexts with another default target."""
    contexts.get(name)
    return _changed(contexts, {**contexts.raw, "target": name})


def remove(contexts: Contexts, name: str) -> Contexts:
    """The contexts without one; it stops being the default target too."""
    contexts.get(name)
    rest = {n: entry for n, entry in contexts.raw["contexts"].items() if n != name}
    raw = {**contexts.raw, "contexts": rest}
    if raw.get("target") == name:
        del raw["target"]
    return _changed(contexts, raw)


def save(contexts: Contexts) -> None:
    """Write the file, keeping the former one as a backup."""
    yaml_file.write(contexts.location.path, contexts.raw)


@dataclass(eq=False)
class ContextExistsError(ConfigError):
    """A context of that name is there already."""

    name: str
    path: str

    _message = "{path} has a context {name!r} already"
    _hint = "anabranch context add {name} ... --replace"


def _changed(contexts: Contexts, raw: dict[str, Any]) -> Contexts:
    yaml_file.refuse_secrets(str(contexts.location.path), raw, "")
    target, parsed = context_file.parse(raw, contexts.location.path)
    return Contexts(contexts.location, target, parsed, raw)
