"""Artifacts, their versions, and which versions of streams run with them.

Invariants
    S19  a version is never changed, and while there is the artifact its number is used once.
    S20  a version that a version of a stream runs with is not deleted: the database itself holds it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from sqlalchemy import Connection, Row, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from anabranch.store.database import Database
from anabranch.store.tables import ARTIFACT_VERSIONS, ARTIFACTS, STREAM_ARTIFACTS, STREAMS
from anabranch.streams.artifacts.errors import (
    ArtifactChangedError,
    ArtifactInUseError,
    NoArtifactError,
    NoArtifactVersionError,
)
from anabranch.streams.artifacts.values import (
    ArtifactArgument,
    ArtifactFile,
    ArtifactFunction,
    ArtifactKind,
    ArtifactPin,
    ArtifactVersion,
    PinnedFunction,
    StoredArtifact,
)


class StoredArtifacts:
    """The artifacts of a store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, artifact: StoredArtifact, version: ArtifactVersion) -> None:
        """Keep another version, of a new artifact or of one whose newest is the one before it (S19).

        Raises ArtifactChangedError.
        """
        before = version.number - 1
        try:
            with self._database.begin() as connection:
                if before:
                    same = ARTIFACTS.c.name == artifact.name, ARTIFACTS.c.newest == before
                    changes = {"newest": version.number, "description": artifact.description}
                    if connection.execute(update(ARTIFACTS).where(*same).values(**changes)).rowcount != 1:
                        raise ArtifactChangedError(artifact.name)
                else:
                    connection.execute(insert(ARTIFACTS).values(**{**asdict(artifact), "newest": version.number}))
                connection.execute(insert(ARTIFACT_VERSIONS).values(**_values(artifact.name, version)))
        except IntegrityError as error:
            raise ArtifactChangedError(artifact.name) from error

    def remove(self, name: str, numbers: Sequence[int]) -> None:
        """Forget versions (S20), and the artifact with the last of them.

        Raises ArtifactInUseError, and ArtifactChangedError where one of them is gone.
        """
        chosen = ARTIFACT_VERSIONS.c.artifact == name, ARTIFACT_VERSIONS.c.number.in_(numbers)
        mine = ARTIFACT_VERSIONS.c.artifact == name
        try:
            with self._database.begin() as connection:
                if connection.execute(delete(ARTIFACT_VERSIONS).where(*chosen)).rowcount != len(numbers):
                    raise ArtifactChangedError(name)
                if not connection.execute(select(func.count()).select_from(ARTIFACT_VERSIONS).where(mine)).scalar():
                    connection.execute(delete(ARTIFACTS).where(ARTIFACTS.c.name == name))
        except IntegrityError as error:
            uses = tuple(use for number in numbers for use in self.uses(name, number))
            raise (ArtifactInUseError(name, uses) if uses else ArtifactChangedError(name)) from error

    def get(self, name: str) -> StoredArtifact:
        """An artifact; raises NoArtifactError."""
        with self._database.read() as connection:
            row = connection.execute(select(ARTIFACTS).where(ARTIFACTS.c.name == name)).first()
        if row is None:
            raise NoArtifactError(name)
        return _artifact(row)

    def all(self) -> Sequence[StoredArtifact]:
        """Every one, by name."""
        with self._database.read() as connection:
            return [_artifact(row) for row in connection.execute(select(ARTIFACTS).order_by(ARTIFACTS.c.name))]

    def versions(self, name: str) -> Sequence[ArtifactVersion]:
        """Its versions, the newest first."""
        asked = select(ARTIFACT_VERSIONS).where(ARTIFACT_VERSIONS.c.artifact == name)
        with self._database.read() as connection:
            return [_version(row) for row in connection.execute(asked.order_by(ARTIFACT_VERSIONS.c.number.desc()))]

    def version(self, name: str, number: int | None) -> ArtifactVersion:
        """A version, the newest that there is for None; raises NoArtifactError, NoArtifactVersionError."""
        versions = self.versions(name)
        if not versions:
            raise NoArtifactError(name)
        found = next((one for one in versions if number in (None, one.number)), None)
        if found is None:
            assert number is not None
            raise NoArtifactVersionError(name, number)
        return found

    def uses(self, name: str, number: int) -> Sequence[str]:
        """The versions of streams that run with a version, each as ``stream counts version 2``."""
        chosen = STREAM_ARTIFACTS.c.artifact == name, STREAM_ARTIFACTS.c.number == number
        columns = STREAM_ARTIFACTS.c.stream, STREAM_ARTIFACTS.c.version
        with self._database.read() as connection:
            rows = connection.execute(select(*columns).where(*chosen).order_by(*columns))
            return [f"stream {row.stream} version {row.version}" for row in rows]

    def callers(self, function: str) -> Sequence[str]:
        """The streams whose published version is pinned to a function of the catalog, by its name in scripts."""
        is_published = (STREAMS.c.name == STREAM_ARTIFACTS.c.stream) & (
            STREAMS.c.published == STREAM_ARTIFACTS.c.version
        )
        asked = select(STREAM_ARTIFACTS.c.stream, STREAM_ARTIFACTS.c.functions).join(STREAMS, is_published)
        with self._database.read() as connection:
            rows = connection.execute(asked.order_by(STREAM_ARTIFACTS.c.stream))
            found = [row.stream for row in rows if any(one["name"] == function for one in row.functions)]
        return tuple(dict.fromkeys(found))

    def contents(self) -> frozenset[str]:
        """The hash of every file that a version has or needs."""
        columns = ARTIFACT_VERSIONS.c.sha256, ARTIFACT_VERSIONS.c.dependencies
        with self._database.read() as connection:
            rows = connection.execute(select(*columns)).all()
        return frozenset(sha for row in rows for sha in (row.sha256, *(one["sha256"] for one in row.dependencies)))


def pin(connection: Connection, stream: str, version: int, pins: Sequence[ArtifactPin]) -> None:
    """Note what a version of a stream runs with, in the transaction that keeps it; raises IntegrityError."""
    for one in pins:
        values = {"artifact": one.artifact, "number": one.number, "sha256": one.content.sha256}
        values |= {"functions": [asdict(each) for each in one.functions]}
        connection.execute(insert(STREAM_ARTIFACTS).values(stream=stream, version=version, **values))


def unpin(connection: Connection, stream: str) -> None:
    """Forget what the versions of a stream run with."""
    connection.execute(delete(STREAM_ARTIFACTS).where(STREAM_ARTIFACTS.c.stream == stream))


def pinned(connection: Connection, stream: str) -> Mapping[int, tuple[ArtifactPin, ...]]:
    """What the versions of a stream run with, by their numbers, in order of names."""
    same = (
        (ARTIFACT_VERSIONS.c.artifact == STREAM_ARTIFACTS.c.artifact)
        & (ARTIFACT_VERSIONS.c.number == STREAM_ARTIFACTS.c.number)
        & (ARTIFACT_VERSIONS.c.sha256 == STREAM_ARTIFACTS.c.sha256)
    )
    columns = STREAM_ARTIFACTS.c.version, STREAM_ARTIFACTS.c.functions.label("pinned"), ARTIFACTS.c.kind
    asked = select(*columns, ARTIFACT_VERSIONS).where(STREAM_ARTIFACTS.c.stream == stream)
    asked = asked.join(ARTIFACT_VERSIONS, same).join(ARTIFACTS, ARTIFACTS.c.name == ARTIFACT_VERSIONS.c.artifact)
    found: dict[int, tuple[ArtifactPin, ...]] = {}
    for row in connection.execute(asked.order_by(STREAM_ARTIFACTS.c.artifact)):
        version = _version(row)
        functions = tuple(PinnedFunction(**each) for each in row.pinned)
        told = ArtifactKind(row.kind), version.content, version.dependencies, functions
        made = ArtifactPin(row.artifact, version.number, *told)
        found[row.version] = (*found.get(row.version, ()), made)
    return found


def _values(name: str, version: ArtifactVersion) -> dict[str, Any]:
    told = asdict(version)
    return {
        "artifact": name,
        "number": version.number,
        "at": version.at_ms,
        "author": version.author,
        "note": version.note,
        **told["content"],
        "functions": list(told["functions"]),
        "dependencies": list(told["dependencies"]),
    }


def _artifact(row: Row[Any]) -> StoredArtifact:
    fields = {name: getattr(row, name) for name in StoredArtifact.__slots__}
    return StoredArtifact(**{**fields, "kind": ArtifactKind(row.kind)})


def _version(row: Row[Any]) -> ArtifactVersion:
    functions = tuple(
        ArtifactFunction(
            one["name"], tuple(ArtifactArgument(**argument) for argument in one["arguments"]), one["returns"]
        )
        for one in row.functions
    )
    dependencies = tuple(ArtifactFile(**one) for one in row.dependencies)
    content = ArtifactFile(row.file, row.sha256, row.size)
    return ArtifactVersion(row.number, row.at, row.author, row.note, content, functions, dependencies)
