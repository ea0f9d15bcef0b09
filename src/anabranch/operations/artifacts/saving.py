"""Saving what was uploaded as a version of an artifact: its first, or another."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field

from anabranch.model.clock import now_ms
from anabranch.model.plans import REQUEST, check_holds, plan_hash
from anabranch.operations.artifacts.desk import ArtifactDesk
from anabranch.streams.artifacts.errors import ArtifactKindError, NoArtifactError, SameArtifactError
from anabranch.streams.artifacts.reading import read
from anabranch.streams.artifacts.values import (
    ArtifactFile,
    ArtifactFunction,
    ArtifactKind,
    ArtifactVersion,
    StoredArtifact,
)


@dataclass(frozen=True, slots=True)
class SaveArtifactPlan:
    """A version that would be saved; ``more`` counts functions that are not listed, ``is_new`` is of the artifact.

    ``modules`` are those at the top of a wheel; ``dependencies`` are the wheels or jars that it brings along.
    """

    artifact: str
    version: int
    is_new: bool
    kind: ArtifactKind
    content: ArtifactFile
    functions: tuple[ArtifactFunction, ...]
    more: int
    modules: tuple[str, ...]
    dependencies: tuple[ArtifactFile, ...]
    hash: str
    description: str = field(default="", metadata=REQUEST)
    note: str = field(default="", metadata=REQUEST)


@dataclass(frozen=True, slots=True)
class SavedArtifact:
    """A version that was saved."""

    artifact: str
    version: int
    sha256: str


async def plan(
    desk: ArtifactDesk, name: str, file: str, sha256: str, description: str | None, note: str
) -> SaveArtifactPlan:
    """What would be saved of an upload; ``description`` None leaves it as it is.

    Raises NotUploadedError, NotAnArtifactError, UnresolvedDependencyError, ArtifactKindError, SameArtifactError.
    """

    def look() -> SaveArtifactPlan:
        data = desk.uploaded(file, sha256)
        found = read(file, data)
        before: StoredArtifact | None = None
        with suppress(NoArtifactError):
            before = desk.stored.get(name)
            if before.kind is not found.kind:
                raise ArtifactKindError(name, before.kind.value, found.kind.value)
        same = next((one for one in desk.stored.versions(name) if one.content.sha256 == sha256), None)
        if same is not None:
            raise SameArtifactError(name, same.number)
        content = ArtifactFile(file, sha256, len(data))
        needed = desk.dependencies(found, content, data)
        number = 1 if before is None else before.newest + 1
        told = description if description is not None else "" if before is None else before.description
        seen = [name, number, file, sha256, [one.sha256 for one in needed], told, note]
        listed = found.functions, found.more, found.modules, needed
        hash_ = plan_hash("artifacts.save", *seen)
        return SaveArtifactPlan(name, number, before is None, found.kind, content, *listed, hash_, told, note)

    return await asyncio.to_thread(look)


async def apply(desk: ArtifactDesk, planned: SaveArtifactPlan, author: str) -> SavedArtifact:
    """Save it; raises PlanChangedError where something else was saved of it since, and what ``plan`` raises.

    Raises ArtifactChangedError where that happens at the same time, StorageError.
    """

    def write() -> SavedArtifact:
        files = desk.files()
        for one in (planned.content, *planned.dependencies):
            files.put(desk.uploaded(one.file, one.sha256))  # it counts as new: nothing sweeps it before it is noted
        at = now_ms()
        listed = planned.functions, planned.dependencies
        version = ArtifactVersion(planned.version, at, author, planned.note, planned.content, *listed)
        made = StoredArtifact(planned.artifact, planned.kind, author, planned.description, at, planned.version)
        desk.stored.add(made, version)
        return SavedArtifact(planned.artifact, planned.version, planned.content.sha256)

    async with desk.writing:
        name, content = planned.artifact, planned.content
        now = await plan(desk, name, content.file, content.sha256, planned.description, planned.note)
        check_holds(f"artifact {name}", planned, now, f"anabranch artifact show {name}")
        return await asyncio.to_thread(write)
