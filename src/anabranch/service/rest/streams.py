"""Streams: their states, versions, runs and logs."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path as FilePath
from typing import Annotated, BinaryIO

from fastapi import APIRouter, Path, Query
from starlette.responses import JSONResponse, StreamingResponse

from anabranch.operations.streams.checkpointing import local_files
from anabranch.service.answers import answered
from anabranch.service.board import SeenCluster, SeenLink
from anabranch.service.errors import NoStreamLogError
from anabranch.service.instance import Instance
from anabranch.service.stream_answers import (
    SavedCheckpointAnswer,
    StreamAnswer,
    StreamDiffAnswer,
    StreamLogAnswer,
    StreamSummary,
    StreamVersionAnswer,
    answer_of,
    saved_answer,
    summary_of,
    version_answer,
)
from anabranch.service.stream_link_answers import link_answer, link_summary
from anabranch.service.stream_links import meant
from anabranch.service.web import AsViewer, Here, answer
from anabranch.storage.saved_checkpoints import saved
from anabranch.store.runs import Run, RunKind
from anabranch.store.streams import StoredStream, StoredStreamRun
from anabranch.streams.kinds import StreamKind
from anabranch.streams.lines import former
from anabranch.streams.run_log import tail
from anabranch.streams.versions import diff as difference

router = APIRouter(prefix="/api/v1/streams", tags=["streams"])
StreamNamePath = Annotated[str, Path(min_length=1, max_length=63, pattern=r"^[a-z0-9][a-z0-9._-]*$")]
TargetQuery = Annotated[
    str | None,
    Query(min_length=1, max_length=249, description="The target of a link, which tells it apart from a stream."),
]
RunId = Annotated[str, Path(pattern=r"^run-[0-9a-f]{12}$")]
LOG_BYTES = 4 << 20
"""So much of a log is looked through, from its end."""
CHUNK_BYTES = 1 << 18


@router.get("", responses=answered(Sequence[StreamSummary]))
async def streams(here: Here, _: AsViewer) -> JSONResponse:
    """The streams, by name, with how their queries go; then the links of the clusters that were read."""
    stored = here.stored.streams
    found, runs, kinds = await here.stored.ask(lambda: (stored.all(), stored.open_runs(), stored.kinds()))
    kept = [_summary(here, one, kinds[one.name], runs.get(one.name)) for one in found if one.name in kinds]
    return answer([*kept, *(link_summary(*one) for one in here.stream_links.every())])


@router.get("/{name}", responses=answered(StreamAnswer))
async def stream(here: Here, name: StreamNamePath, _: AsViewer, target: TargetQuery = None) -> JSONResponse:
    """One stream: its state, its versions, and its runs; or a link, with the runs that the service has started."""
    stored = here.stored.streams
    link = await meant(here.stored.streams, here.stream_links, name, target)
    if link is not None:
        return answer(link_answer(*link, await _link_runs(here, link)))
    kept, run, versions, runs = await here.stored.ask(
        lambda: (stored.get(name), stored.open_run(name), stored.versions(name), stored.runs_of(name))
    )
    place = here.streaming.checkpoints(kept, runs, versions)
    return answer(answer_of(_summary(here, kept, versions[0].kind, run), place, versions, runs))


@router.get("/{name}/checkpoints", responses=answered(Sequence[SavedCheckpointAnswer]))
async def checkpoints(here: Here, name: StreamNamePath, _: AsViewer) -> JSONResponse:
    """The checkpoints that were saved of a stream, the newest first."""
    with here.stream_links.refusing("checkpoint"):
        place = await here.streaming.place_of(name)
    found = await asyncio.to_thread(lambda: saved(local_files(name, place)))
    return answer([saved_answer(one) for one in found])


@router.get("/{name}/versions/{number}", responses=answered(StreamVersionAnswer))
async def version(
    here: Here, name: StreamNamePath, number: Annotated[int, Path(ge=1, lt=2**31)], _: AsViewer
) -> JSONResponse:
    """One version, with its script."""
    stored = here.stored.streams
    with here.stream_links.refusing("versions"):
        found = await here.stored.ask(lambda: (stored.get(name), stored.version(name, number))[1])
    return answer(version_answer(name, found))


@router.get("/{name}/diff", responses=answered(StreamDiffAnswer))
async def diff(
    here: Here,
    name: StreamNamePath,
    _: AsViewer,
    before: Annotated[int, Query(ge=1, lt=2**31, description="A version.")],
    after: Annotated[int | None, Query(ge=1, lt=2**31, description="Another one; default: the newest.")] = None,
) -> JSONResponse:
    """How a version differs from another: its settings, what its functions come from, its script."""
    stored = here.stored.streams
    with here.stream_links.refusing("diff"):
        await here.stored.ask(lambda: stored.get(name))
    newest = after or (await here.stored.ask(lambda: stored.versions(name)))[0].number
    both = await here.stored.ask(lambda: (stored.version(name, before), stored.version(name, newest)))
    return answer(StreamDiffAnswer(name, before, newest, tuple(difference(*both))))


@router.get("/{name}/runs/{run_id}/log", responses=answered(StreamLogAnswer))
async def log(
    here: Here,
    name: StreamNamePath,
    run_id: RunId,
    _: AsViewer,
    search: Annotated[str, Query(max_length=200, description="Only lines with this text, whatever its case.")] = "",
    limit: Annotated[int, Query(ge=1, le=5000, description="At most so many lines, the newest.")] = 500,
    target: TargetQuery = None,
) -> JSONResponse:
    """The log of a run on this machine: what Spark and the job itself have written."""
    file = await _log_of(here, name, run_id, target)
    return answer(await asyncio.to_thread(_lines, name, run_id, file, search, limit))


@router.get(
    "/{name}/runs/{run_id}/log/whole",
    responses=answered(str, description="The log, from its first line", media="text/plain"),
)
async def whole_log(
    here: Here, name: StreamNamePath, run_id: RunId, _: AsViewer, target: TargetQuery = None
) -> StreamingResponse:
    """The whole log of a run on this machine as a file, as far as it is written now."""
    file = await _log_of(here, name, run_id, target)
    opened = await asyncio.to_thread(_opened, name, run_id, file)
    shown_as = f'attachment; filename="{name}-{run_id}.log"'
    return StreamingResponse(
        _chunks(opened),
        media_type="text/plain; charset=utf-8",
        headers={"Cache-Control": "no-store", "Content-Disposition": shown_as},
    )


async def _log_of(here: Instance, name: str, run_id: str, target: str | None) -> FilePath:
    """Where a run's log is; raises NoStreamLogError where there is no such run."""
    link, stored = await meant(here.stored.streams, here.stream_links, name, target), here.stored.streams
    if link is not None:
        logs = [FilePath(one.log) for one in await _link_runs(here, link)]
    else:
        runs = await here.stored.ask(lambda: stored.runs_of(name, 10_000))
        logs = [FilePath(one.directory) / f"{one.id}.log" for one in runs]
    file = next((one for one in logs if one.stem == run_id), None)
    if file is None:
        raise NoStreamLogError(name, run_id, "there is no such run")
    return file


async def _link_runs(here: Instance, link: tuple[SeenCluster, SeenLink]) -> Sequence[Run]:
    """The runs of a link that instances of the service have started, the newest first; raises StoreError."""
    cluster, seen = link
    runs = await here.processes.of_link(seen.status.spec.id)
    return [one for one in runs if (one.kind, one.target) == (RunKind.LINK, cluster.name)]


def _summary(here: Instance, kept: StoredStream, kind: StreamKind, run: StoredStreamRun | None) -> StreamSummary:
    return summary_of(kept, kind, run, None if run is None else here.streaming.live(run.id))


def _opened(name: str, run_id: str, file: FilePath) -> list[tuple[BinaryIO, int]]:
    """Both parts of a log, read from their beginnings, and how long each is now; raises NoStreamLogError."""
    found: list[BinaryIO] = []
    try:
        # The newest part first: where it is emptied meanwhile, what it held is in the one before by then.
        found.append(file.open("rb"))
        with suppress(FileNotFoundError):
            found.insert(0, former(file).open("rb"))
        return [(one, os.fstat(one.fileno()).st_size) for one in found]
    except OSError as error:
        for one in found:
            one.close()
        raise NoStreamLogError(name, run_id, error.strerror or str(error)) from error


def _chunks(opened: Iterable[tuple[BinaryIO, int]]) -> Iterator[bytes]:
    """So much of each, a piece at a time: a log may be larger than the service's memory."""
    for file, size in opened:
        left = size
        with file:
            while left > 0 and (piece := file.read(min(CHUNK_BYTES, left))):
                left -= len(piece)
                yield piece


def _lines(name: str, run_id: str, file: FilePath, search: str, limit: int) -> StreamLogAnswer:
    try:
        text, is_cut = tail(file, LOG_BYTES)
    except OSError as error:
        raise NoStreamLogError(name, run_id, error.strerror or str(error)) from error
    found = [line for line in text.splitlines() if search.lower() in line.lower()]
    return StreamLogAnswer(run_id, tuple(found[-limit:]), is_cut or len(found) > limit)
