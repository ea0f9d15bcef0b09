"""Changes of artifacts.  What is in one runs as the service's own user, so an admin saves it."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import StringConstraints

from anabranch.model.accounts import Role
from anabranch.operations.artifacts import deleting, saving
from anabranch.operations.artifacts.deleting import DeleteArtifactPlan, DeletedArtifact
from anabranch.operations.artifacts.saving import SaveArtifactPlan, SavedArtifact
from anabranch.operations.catalog.entries import object_of
from anabranch.service.reach import Reach
from anabranch.service.verb import Request, Verb
from anabranch.service.verbs.streams import Note, VersionNumber
from anabranch.service.words import command
from anabranch.streams.artifacts.references import NAME
from anabranch.streams.catalog.objects import Function

ArtifactName = Annotated[str, StringConstraints(pattern=rf"^{NAME}$")]
FileName = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^[A-Za-z0-9][A-Za-z0-9._+-]*$")]
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]


class ArtifactRequest(Request):
    """An artifact."""

    artifact: ArtifactName


class SaveArtifactRequest(ArtifactRequest):
    """An upload by its hash, which is to be a version; a description of None stays as it is."""

    file: FileName
    sha256: Sha256
    description: Note | None = None
    note: Note = ""


class DeleteArtifactRequest(ArtifactRequest):
    """A version of an artifact, or all of them."""

    version: VersionNumber | None = None


def _subject(request: ArtifactRequest) -> str:
    return f"artifact {request.artifact}"


async def _save_plan(reach: Reach, request: SaveArtifactRequest) -> SaveArtifactPlan:
    asked = request.artifact, request.file, request.sha256, request.description, request.note
    return await saving.plan(reach.artifacts, *asked)


async def _save(reach: Reach, _: SaveArtifactRequest, planned: SaveArtifactPlan) -> SavedArtifact:
    return await saving.apply(reach.artifacts, planned, reach.account)


async def _functions(reach: Reach) -> list[Function]:
    """Those of the catalog."""
    stored = reach.routes.stored
    entries = await stored.ask(stored.catalog.all)
    return [made for made in map(object_of, entries) if isinstance(made, Function)]


async def _delete_plan(reach: Reach, request: DeleteArtifactRequest) -> DeleteArtifactPlan:
    return await deleting.plan(reach.artifacts, request.artifact, request.version, await _functions(reach))


async def _delete(reach: Reach, _: DeleteArtifactRequest, planned: DeleteArtifactPlan) -> DeletedArtifact:
    return await deleting.apply(reach.artifacts, planned, await _functions(reach))


def _save_words(request: SaveArtifactRequest) -> str:
    options = [("--sha256", request.sha256), ("--description", request.description), ("--note", request.note or None)]
    return command("artifact", "upload", request.artifact, request.file, options=options)


def _delete_words(request: DeleteArtifactRequest) -> str:
    return command("artifact", "delete", request.artifact, options=[("--version", request.version)])


VERBS: tuple[Verb[Any, Any], ...] = (
    Verb(
        "artifacts.save",
        "Save what was uploaded as a version of an artifact",
        Role.ADMIN,
        SaveArtifactRequest,
        SaveArtifactPlan,
        SavedArtifact,
        _subject,
        _save_words,
        _save_plan,
        _save,
        execute="",
    ),
    Verb(
        "artifacts.delete",
        "Forget versions of an artifact that no stream was saved with",
        Role.ADMIN,
        DeleteArtifactRequest,
        DeleteArtifactPlan,
        DeletedArtifact,
        _subject,
        _delete_words,
        _delete_plan,
        _delete,
    ),
)
