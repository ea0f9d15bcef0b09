"""Artifacts: bytes that are uploaded and downloaded; saving what was uploaded is a change as any other."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from anabranch.service.answers import answered
from anabranch.service.artifact_answers import ArtifactAnswer, UploadAnswer, artifact_answer
from anabranch.service.errors import NotBytesError, TooLargeError
from anabranch.service.web import AsAdmin, AsOperator, AsViewer, Here, answer
from anabranch.streams.artifacts.references import NAME
from anabranch.streams.artifacts.values import StoredArtifact, kind_of

router = APIRouter(prefix="/api/v1/artifacts", tags=["artifacts"])
MEDIA = "application/octet-stream"
ArtifactNamePath = Annotated[str, Path(pattern=rf"^{NAME}$")]
_BYTES = {"schema": {"type": "string", "format": "binary"}}
_CONTENT: dict[int | str, dict[str, Any]] = {
    **answered(None),
    200: {"description": "The file", "content": {MEDIA: _BYTES}},
}
_BODY: dict[str, Any] = {"requestBody": {"required": True, "content": {MEDIA: _BYTES}}}


@router.get("", responses=answered(Sequence[StoredArtifact]))
async def artifacts(here: Here, _: AsViewer) -> JSONResponse:
    """The artifacts, by name."""
    return answer(await here.stored.ask(here.stored.artifacts.all))


@router.get("/{name}", responses=answered(ArtifactAnswer))
async def artifact(here: Here, name: ArtifactNamePath, _: AsViewer) -> JSONResponse:
    """One artifact: its versions with their functions, and who runs with them."""
    stored = here.stored.artifacts

    def look() -> ArtifactAnswer:
        kept, versions = stored.get(name), stored.versions(name)
        return artifact_answer(kept, versions, {one.number: stored.uses(name, one.number) for one in versions})

    return answer(await here.stored.ask(look))


@router.post("/{name}", responses=answered(UploadAnswer), openapi_extra=_BODY)
async def upload(
    here: Here,
    name: ArtifactNamePath,
    file: Annotated[str, Query(max_length=200, pattern=r"^[A-Za-z0-9][A-Za-z0-9._+-]*$", description="Its name.")],
    request: Request,
    caller: AsAdmin,
) -> JSONResponse:
    """Upload a jar, a wheel or a file of Python; `artifacts/save/plan` with its hash says what it would be."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != MEDIA:
        raise NotBytesError(kind or "nothing")
    kind_of(file)
    most, size = here.artifacts.settings.most, 0
    with tempfile.TemporaryFile() as spool:  # without a name: nothing of it is left by whoever is killed
        async for part in request.stream():
            size += len(part)
            if size > most:
                raise TooLargeError(most)
            await asyncio.to_thread(spool.write, part)
        async with here.artifacts.writing:  # one in memory at a time
            spool.seek(0)
            sha256 = await asyncio.to_thread(lambda: here.artifacts.upload(spool.read()))
    await here.acting.note(caller, "artifacts.upload", f"artifact {name}", detail=f"{file}, SHA-256 {sha256}")
    return answer(UploadAnswer(name, file, sha256, size))


@router.get("/{name}/versions/{number}/content", responses=_CONTENT, response_class=Response)
async def content(
    here: Here, name: ArtifactNamePath, number: Annotated[int, Path(ge=1, lt=2**31)], _: AsOperator
) -> Response:
    """The bytes of a version, whose hash was looked at."""

    def read() -> tuple[str, bytes]:
        kept = here.stored.artifacts.version(name, number).content
        return kept.file, here.artifacts.files().read(kept.sha256, kept.size)

    file, data = await asyncio.to_thread(read)
    return Response(data, media_type=MEDIA, headers={"Content-Disposition": f'attachment; filename="{file}"'})
