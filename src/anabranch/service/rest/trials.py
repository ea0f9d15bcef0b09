"""Trials of scripts: validations and previews, as they come."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Annotated, Literal

from fastapi import APIRouter, Header, Path, Query
from pydantic import Field
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from anabranch.config.offsets_file import start_of
from anabranch.errors import InvalidFieldError
from anabranch.model.accounts import Role
from anabranch.operations.documents import plain
from anabranch.service.answers import answered
from anabranch.service.caller import Caller
from anabranch.service.instance import Instance
from anabranch.service.rest.events import KNOWN_S, QUIET_S, event
from anabranch.service.stream_specs import pins_for
from anabranch.service.trial import Trial
from anabranch.service.trial_answers import TrialAnswer, trial_answer
from anabranch.service.verb import Request as Body
from anabranch.service.verb import Start
from anabranch.service.verbs.streams import LauncherName, Script, StreamName, VersionNumber
from anabranch.service.web import AsOperator, Here, answer, body_of, expects
from anabranch.streams.kinds import ONLY_RUNS, RUN_IT, NotOfPySparkError, StreamKind
from anabranch.streams.trials import TrialKind, TrialQuestion

router = APIRouter(prefix="/api/v1/trials", tags=["streams"])
TrialId = Annotated[str, Path(pattern=r"^[0-9a-f]{32}$", description="As it was answered.")]
ROWS_AT_ONCE = 200
MOST_SECONDS = 300
"""The longest that a trial may be asked to take, in seconds."""
_VERBS = {"validation": "validate", "preview": "preview", "checkpoints": "try"}


class TrialRequest(Body):
    """A look at a script, or at a version of a stream; without ``version`` at the one that is published.

    ``checkpoints`` is a saved version's alone, and ``tables`` without a script: what attached catalogs have, of the
    service or of a ``launcher``.
    The fields from ``select`` on are a preview's; ``fresh`` wants no earlier answer.
    """

    kind: Literal["validation", "preview", "checkpoints", "tables"]
    script: Script | None = None
    stream: StreamName | None = None
    version: VersionNumber | None = None
    select: Annotated[int, Field(ge=0, lt=2**31)] = 0
    start: Start | None = None
    rows: Annotated[int, Field(ge=1, le=1000)] = 100
    seconds: Annotated[float, Field(ge=1, le=MOST_SECONDS)] = 60.0
    launcher: LauncherName | None = None
    fresh: bool = False


@router.post(
    "",
    status_code=202,
    responses={
        **answered(TrialAnswer, 202, "It has begun, or waits for its turn"),
        **answered(TrialAnswer, 200, "One that is under way, or an earlier answer"),
    },
    openapi_extra=expects(TrialRequest),
)
async def ask(here: Here, request: Request, caller: AsOperator) -> JSONResponse:
    """Try a script in a process of its own: validate it, preview rows of one of its SELECTs, or try a saved version on
    copies of its stream's checkpoints; or list the tables of attached catalogs that one has a privilege on.

    Nothing is written anywhere.
    """
    body = await body_of(request, TrialRequest)
    question = await _question(here, body, caller.account.name)
    trial, was_there = await here.trials.ask(caller.account.name, question, fresh=body.fresh)
    if not was_there:
        await here.acting.note(caller, f"trial.{question.kind.value}", question.subject)
    told = trial_answer(trial, is_cached=was_there and trial.state.is_over)
    return answer(told, 200 if was_there else 202, {"Location": f"/api/v1/trials/{trial.id}"})


@router.get("/{trial_id}", responses=answered(TrialAnswer))
async def trial(
    here: Here,
    trial_id: TrialId,
    caller: AsOperator,
    rows: Annotated[bool, Query(description="Whether rows are answered.")] = True,
    after: Annotated[int, Query(ge=0, lt=2**31, description="So many rows are known already.")] = 0,
) -> JSONResponse:
    """A trial as it stands; asking for it keeps it alive."""
    found = _found(here, trial_id, caller)
    return answer(trial_answer(found, rows=rows, after=after))


@router.delete("/{trial_id}", status_code=204, responses=answered(None, 204, "It ends, or is forgotten"))
async def remove(here: Here, trial_id: TrialId, caller: AsOperator) -> Response:
    """End a trial; one that has ended is forgotten."""
    here.trials.end(_found(here, trial_id, caller))
    return Response(status_code=204)


@router.get(
    "/{trial_id}/events",
    responses=answered(str, description="Events: trial, rows, ended", media="text/event-stream"),
)
async def events(
    here: Here,
    trial_id: TrialId,
    request: Request,
    caller: AsOperator,
    last_event_id: Annotated[str, Header(max_length=20)] = "",
) -> Response:
    """Listen to a trial from its beginning; the id of each event counts the rows that were told with it.

    ``trial`` is how it stands, without rows; ``rows`` are the next ones; ``ended`` is the last event.
    """
    told = int(last_event_id) if last_event_id.isdecimal() else 0
    return StreamingResponse(
        _told(here, _found(here, trial_id, caller), told, caller, request),
        media_type="text/event-stream",
        headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
    )


def _found(here: Instance, trial_id: str, caller: Caller) -> Trial:
    found = here.trials.get(trial_id, caller.account.name, is_admin=caller.account.role is Role.ADMIN)
    here.trials.hear(found)
    return found


async def _question(here: Instance, body: TrialRequest, account: str) -> TrialQuestion:
    """What is asked; raises InvalidFieldError, NoStreamError, NoStreamVersionError."""
    if body.kind == "tables":
        if body.script is not None or body.stream is not None or body.version is not None:
            fix = "leave script, stream and version out"
            raise InvalidFieldError("body", "kind", "tables are of catalogs, and of no script", fix)
        return TrialQuestion(TrialKind.TABLES, "", rows=body.rows, launcher=body.launcher or "")
    if body.launcher is not None:
        fix = "leave it out: scripts are tried on the service's machine, with its settings"
        raise InvalidFieldError("body", "launcher", "only tables of attached catalogs are a launcher's", fix)
    script, version, name, author, launcher = body.script, body.version, body.stream, "", ""
    if script is None and name is None:
        raise InvalidFieldError("body", "script", "there is neither a script nor a stream", "give one of them")
    if body.kind == "checkpoints" and (script is not None or name is None):
        fix = "name a stream; of a text: `anabranch stream try FILE --checkpoints DIRECTORY`"
        raise InvalidFieldError("body", "stream", "only a saved version is tried on checkpoints here", fix)
    if version is not None and (name is None or script is not None):
        fix = "give a version with the name of its stream, and without a script"
        raise InvalidFieldError("body", "version", "it is of no stream that was saved", fix)
    if script is None and name is not None:
        wanted, stored = name, here.stored.streams
        with here.stream_links.refusing(_VERBS[body.kind]):
            kept = await here.stored.ask(lambda: stored.get(wanted))
        number = version or kept.published
        found = await here.stored.ask(lambda: stored.version(wanted, number))
        if found.kind is StreamKind.PYSPARK:
            raise NotOfPySparkError(body.kind, ONLY_RUNS, RUN_IT)
        script, version, pins, author = found.script, found.number, found.artifacts, found.author
        launcher = found.settings.launcher
    else:
        pins = await pins_for(here.stored, here.routing, here.clusters, account, script or "")
    kind = TrialKind(body.kind)
    asked = TrialQuestion(kind, script or "", name or "", version, artifacts=pins, author=author)
    if kind is TrialKind.VALIDATION:
        return asked
    if kind is TrialKind.CHECKPOINTS:
        return replace(asked, checkpoints=await here.streaming.place_of(asked.stream), launcher=launcher)
    if body.start is not None:
        start_of(body.start)
    return replace(asked, select=body.select, start=body.start, rows=body.rows, seconds=body.seconds)


async def _told(here: Instance, found: Trial, told: int, caller: Caller, request: Request) -> AsyncIterator[str]:
    loop = asyncio.get_running_loop()
    known_until, revision = loop.time() + KNOWN_S, -1
    with found.listening():
        while True:
            changed = found.changed
            if found.revision != revision and not found.state.is_over:
                revision = found.revision
                yield _event("trial", found, told)
            while told < len(found.rows):
                rows = found.rows[told : told + ROWS_AT_ONCE]
                told += len(rows)
                yield f"id: {told}\n" + event("rows", {"from": told - len(rows), "rows": rows})
            if found.state.is_over:
                yield _event("ended", found, told)
                return
            if loop.time() >= known_until:
                if not await here.tokens.is_known_now(caller, request):
                    yield event("signed-out", {})
                    return
                known_until = loop.time() + KNOWN_S
            try:
                await asyncio.wait_for(changed.wait(), QUIET_S)
            except TimeoutError:
                yield ": quiet\n\n"


def _event(kind: str, found: Trial, told: int) -> str:
    return f"id: {told}\n" + event(kind, plain(trial_answer(found, rows=False)))
