"""Deleting versions of an artifact that no stream was saved with."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from anabranch.model.clock import DAY_MS, now_ms
from anabranch.model.plans import REQUEST, check_holds, plan_hash
from anabranch.operations.artifacts.desk import ArtifactDesk
from anabranch.streams.artifacts.errors import ArtifactInUseError
from anabranch.streams.artifacts.references import references
from anabranch.streams.catalog.objects import Function


@dataclass(frozen=True, slots=True)
class DeleteArtifactPlan:
    """Versions that would be forgotten; ``is_last`` where the artifact goes with them."""

    artifact: str
    versions: tuple[int, ...]
    is_last: bool
    hash: str
    asked: int | None = field(default=None, metadata=REQUEST)


@dataclass(frozen=True, slots=True)
class DeletedArtifact:
    """Versions that were forgotten; ``swept`` is how many files were taken away that nothing has any more.

    Files that were written within the last day stay for now.
    """

    artifact: str
    versions: tuple[int, ...]
    swept: int


async def plan(
    desk: ArtifactDesk, name: str, number: int | None, functions: Sequence[Function] = ()
) -> DeleteArtifactPlan:
    """Forget a version, all of them for None; ``functions`` are those of the catalog, which may be from it.

    Raises NoArtifactError, NoArtifactVersionError, ArtifactInUseError.
    """

    def look() -> DeleteArtifactPlan:
        desk.stored.version(name, number)
        every = [one.number for one in desk.stored.versions(name)]
        numbers = tuple(sorted(every if number is None else [number]))
        streams = tuple(use for one in numbers for use in desk.stored.uses(name, one))
        left = [one for one in every if one not in numbers]
        if uses := (*streams, *(f"function {one.name.short}" for one in functions if _needs(one, name, numbers, left))):
            raise ArtifactInUseError(name, uses)
        hash_ = plan_hash("artifacts.delete", name, numbers, every)
        return DeleteArtifactPlan(name, numbers, len(numbers) == len(every), hash_, number)

    return await asyncio.to_thread(look)


def _needs(function: Function, name: str, gone: Sequence[int], left: Sequence[int]) -> bool:
    """Whether a function would be from nothing: its version goes, or where it names none the last one."""
    named = [one for one in references(function.statement) if one.name == name]
    return any(one.number in gone if one.number is not None else not left for one in named)


async def apply(desk: ArtifactDesk, planned: DeleteArtifactPlan, functions: Sequence[Function] = ()) -> DeletedArtifact:
    """Forget them, and take away what nothing has; ``functions`` are those that the catalog has by now.

    Raises PlanChangedError where versions were saved or forgotten since, what ``plan`` raises, ArtifactChangedError,
    StorageError.
    """

    def forget() -> DeletedArtifact:
        desk.stored.remove(planned.artifact, planned.versions)
        swept = desk.files().sweep(desk.stored.contents(), now_ms() - DAY_MS)
        return DeletedArtifact(planned.artifact, planned.versions, swept)

    async with desk.writing:
        now = await plan(desk, planned.artifact, planned.asked, functions)
        check_holds(f"artifact {planned.artifact}", planned, now, f"anabranch artifact show {planned.artifact}")
        return await asyncio.to_thread(forget)
