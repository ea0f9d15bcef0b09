"""The environment of one run: its jars, and a directory of Python that only its driver's checks and its workers see.

Invariants
    V1  every byte of an artifact in it has the hash that was pinned: what differs ends the run before Spark starts.
    V2  it is a directory of this run alone, and no other run's processes are told of it.
    V3  no two files of it have one path, unless they are the same.
    V4  nothing is taken away but what a run has laid out: its directory has a mark.
"""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from anabranch.checkpoints.errors import MissingFileError
from anabranch.config.jobsettings import is_here
from anabranch.config.streamspec import StreamRunSpec
from anabranch.errors import InvalidFieldError
from anabranch.spark.streams.artifacts.errors import ArtifactClashError, NoEnvironmentError
from anabranch.storage.hashed import HashedFiles, OtherBytesError
from anabranch.storage.opening import open_files
from anabranch.streams.artifacts.errors import ArtifactKeptBadlyError
from anabranch.streams.artifacts.poms import artifact_of
from anabranch.streams.artifacts.reading import check_members, installed_path
from anabranch.streams.artifacts.references import SCHEME, resources
from anabranch.streams.artifacts.values import ArtifactKind, kind_of

_PATH = "PYTHONPATH"
_ARCHIVE = "stream-python"
_MARK = ".anabranch-environment"


@dataclass(slots=True)
class RunEnvironment:
    """What is laid out; ``brought`` has what each resource of the script is, by its text in it.

    ``functions`` are those of the catalog that were pinned, whole CREATE statements by their names.
    """

    directory: Path
    jars: list[Path] = field(default_factory=list)
    brought: dict[str, ArtifactKind] = field(default_factory=dict)
    functions: dict[str, str] = field(default_factory=dict)
    _owners: dict[str, tuple[str, str]] = field(default_factory=dict)

    @classmethod
    def of(cls, spec: StreamRunSpec, directory: Path) -> RunEnvironment:
        """Lay out what a run needs (V1 to V3); ``directory`` is made where it needs any.

        Raises ArtifactKeptBadlyError, ArtifactClashError, NoEnvironmentError, InvalidFieldError, StorageError.
        """
        made = cls(directory)
        for pin in spec.artifacts:
            made.functions.update({one.name: one.statement for one in pin.functions})
        try:
            for name, file, data in (*_pinned(spec, made.brought), *_named(spec, made.brought)):
                made._take(name, file, data)
        except OSError as error:
            made.remove()
            raise NoEnvironmentError(str(directory), error.strerror or str(error)) from error
        except Exception:
            made.remove()
            raise
        return made

    @property
    def python(self) -> Path:
        """The directory that modules are imported from."""
        return self.directory / "python"

    def variables(self) -> dict[str, str]:
        """What the JVM, its workers and the check of imports are started with."""
        if not self.has_python:
            return {}
        before = os.environ.get(_PATH)
        return {_PATH: f"{self.python}{os.pathsep}{before}" if before else str(self.python)}

    def settings(self, master: str | None, settings: Mapping[str, str]) -> dict[str, str]:
        """Settings of Spark with this environment, for executors of other machines, too."""
        found = dict(settings)
        if self.jars:
            found["spark.jars"] = ",".join(filter(None, [found.get("spark.jars", ""), *map(str, self.jars)]))
        if self.has_python and not is_here(master):
            archive = shutil.make_archive(str(self.directory / _ARCHIVE), "zip", self.python)
            sent = f"{archive}#{_ARCHIVE}"
            found["spark.archives"] = ",".join(filter(None, [found.get("spark.archives", ""), sent]))
            found[f"spark.executorEnv.{_PATH}"] = f"./{_ARCHIVE}"
        return found

    @property
    def has_python(self) -> bool:
        """Whether there is any to import."""
        return any(path.startswith("python/") for path in self._owners)

    def remove(self) -> None:
        """Take it away again (V4)."""
        if (self.directory / _MARK).is_file():
            shutil.rmtree(self.directory, ignore_errors=True)

    def _make(self) -> None:
        """An empty directory; what a run of the same name has left that was killed is taken away."""
        self.remove()
        self.directory.mkdir(parents=True)
        (self.directory / _MARK).touch()

    def _take(self, name: str, file: str, data: bytes) -> None:
        """Lay out a file of ``name``."""
        kind = kind_of(file)
        if kind is ArtifactKind.JAR:
            jar = self.directory / "jars" / file
            self._write(name, jar, data)
            owner, before = self._owners.setdefault(f"jar {artifact_of(file)}", (name, file))
            if before != file:  # whose classes would be found first nobody has said
                raise ArtifactClashError(owner, name, f"{artifact_of(file)} ({before}, {file})")
            if jar not in self.jars:
                self.jars.append(jar)
            return
        if kind is ArtifactKind.PYTHON:
            self._write(name, self.python / file, data)
            return
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            check_members(file, archive)
            for member in archive.namelist():
                path = installed_path(member)
                if path is not None and not member.endswith("/"):
                    self._write(name, self.python / path, archive.read(member))

    def _write(self, name: str, path: Path, data: bytes) -> None:
        if not self._owners:
            self._make()
        inner = path.relative_to(self.directory).as_posix()
        digest = hashlib.sha256(data).hexdigest()
        owner, before = self._owners.setdefault(inner, (name, digest))
        if before != digest:
            raise ArtifactClashError(owner, name, path.name if path.suffix == ".jar" else inner.removeprefix("python/"))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def _pinned(spec: StreamRunSpec, brought: dict[str, ArtifactKind]) -> Iterator[tuple[str, str, bytes]]:
    """The files of the pins, read and checked (V1)."""
    if not spec.artifacts:
        return
    files = HashedFiles(open_files(spec.artifact_place))
    for pin in spec.artifacts:
        for text in (f"{SCHEME}{pin.artifact}", f"{SCHEME}{pin}"):
            brought[text] = pin.kind
        for one in pin.files:
            try:
                yield f"artifact {pin}", one.file, files.read(one.sha256, one.size)
            except OtherBytesError as error:
                raise ArtifactKeptBadlyError(str(pin), one.file, one.sha256, error.found) from error
            except MissingFileError as error:
                raise ArtifactKeptBadlyError(str(pin), one.file, one.sha256, "of no file") from error


def _named(spec: StreamRunSpec, brought: dict[str, ArtifactKind]) -> Iterator[tuple[str, str, bytes]]:
    """The files that a script names by their paths, where it may."""
    for text in resources(spec.script) if spec.files else ():
        if text.startswith(SCHEME):
            continue
        path = Path(spec.files) / Path(text.removeprefix("file:")).expanduser()
        try:
            data = path.read_bytes()
        except OSError as error:
            problem = f"{path}: {error.strerror or error}"
            raise InvalidFieldError("CREATE FUNCTION", "USING", problem, "correct the path") from error
        brought[text] = kind_of(path.name)
        yield str(path), path.name, data
