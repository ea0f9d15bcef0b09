"""Where artifacts are kept, and what an upload may be."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from anabranch.checkpoints.errors import MissingFileError
from anabranch.errors import RefusedError
from anabranch.operations.artifacts import resolving_jars
from anabranch.operations.artifacts.resolving import resolve
from anabranch.storage.hashed import HashedFiles
from anabranch.storage.opening import open_files
from anabranch.streams.artifacts.errors import NotAnArtifactError
from anabranch.streams.artifacts.reading import ArtifactContent
from anabranch.streams.artifacts.values import ArtifactFile, ArtifactKind

if TYPE_CHECKING:  # a program without the service has no database
    from anabranch.store.artifacts import StoredArtifacts

MOST_BYTES = 200 << 20
_REMEMBERED = 20


@dataclass(eq=False)
class NotUploadedError(RefusedError):
    """Bytes are to be saved as an artifact that nobody has uploaded, or that were taken away since."""

    file: str
    sha256: str

    _message = "the bytes of {file} with SHA-256 {sha256} were not uploaded, or more than a day ago"
    _hint = "upload them again: `anabranch artifact upload NAME {file}`"


@dataclass(frozen=True, slots=True)
class ArtifactSettings:
    """``place`` is a directory or a URI; ``dependencies`` says whether an index is asked for what an upload needs.

    ``most`` is how many bytes an upload has at most, and all that it needs together.
    """

    place: str
    dependencies: bool = True
    most: int = MOST_BYTES


@dataclass(frozen=True, slots=True)
class ArtifactDesk:
    """The store's rows and the files of one service."""

    stored: StoredArtifacts
    settings: ArtifactSettings
    writing: asyncio.Lock = field(default_factory=asyncio.Lock, compare=False)
    """Held while versions are saved and files are taken away: what is saved stays."""
    _resolved: OrderedDict[str, tuple[ArtifactFile, ...]] = field(default_factory=OrderedDict, compare=False)

    def files(self) -> HashedFiles:
        """The files; raises NoDriverError and what opening such a place raises."""
        return HashedFiles(open_files(self.settings.place))

    def upload(self, data: bytes) -> str:
        """Keep bytes for a day, or for as long as a version has them; returns their hash.  Raises StorageError."""
        return self.files().put(data)

    def uploaded(self, file: str, sha256: str) -> bytes:
        """What was uploaded; raises NotUploadedError, StorageError."""
        try:
            return self.files().read(sha256, self.settings.most)
        except MissingFileError as error:
            raise NotUploadedError(file, sha256) from error

    def dependencies(self, content: ArtifactContent, file: ArtifactFile, data: bytes) -> tuple[ArtifactFile, ...]:
        """What a file needs, which is kept with it; raises UnresolvedDependencyError, StorageError.

        The same bytes are looked up once: a plan that is made again as it is applied is the one that was shown.
        """
        files = self.files()
        known = self._resolved.get(file.sha256)
        if known is not None and all(files.has(one.sha256, one.size) for one in known):
            return known
        reaches, most = self.settings.dependencies, self.settings.most
        if content.kind is ArtifactKind.JAR:
            found = resolving_jars.resolve(file.file, content.needs, reaches_index=reaches, most=most)
        else:
            wheel = data if content.kind is ArtifactKind.WHEEL else None
            found = resolve(file.file, wheel, content.requires, reaches_index=reaches, most=most)
        made = tuple(ArtifactFile(name, files.put(found[name]), len(found[name])) for name in sorted(found))
        self._resolved[file.sha256] = made
        while len(self._resolved) > _REMEMBERED:
            self._resolved.popitem(last=False)
        return made

    def check_size(self, file: str, size: int) -> None:
        """Raise NotAnArtifactError for more bytes than an upload may have."""
        if size > self.settings.most:
            raise NotAnArtifactError(
                file, f"it has {size:,} bytes, more than {self.settings.most:,}", "make it smaller"
            )
