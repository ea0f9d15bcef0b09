"""Changes of streams: their versions, and whether they run.

A script is judged by the catalog's grants of its author, and SQL's ways to the service's machine are closed.  What an
operator wrote has data of the catalog alone; topics and servers that the catalog does not have are for scripts of an
admin (docs/reference/streams.md).  A PySpark file runs any code with the rights
of the service's user, and no grant judges it: an admin alone saves one, and it runs for as long as its author is one.
The alerts of a stream are changed by its owner, who created it, or by an admin; those of a link by any operator.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Annotated, Any

from pydantic import Field, StringConstraints

from anabranch.config.serve_file import LAUNCHER_NAME
from anabranch.errors import InvalidFieldError
from anabranch.model.accounts import Role
from anabranch.operations.streams import abandoning, alerting, changing, checkpointing, saving
from anabranch.operations.streams.abandoning import AbandonStreamPlan
from anabranch.operations.streams.alerting import AlertsPlan, ChangedAlerts
from anabranch.operations.streams.changing import (
    ChangedStream,
    DeleteStreamPlan,
    PublishStreamPlan,
    RunStreamPlan,
    StreamVerb,
)
from anabranch.operations.streams.checkpointing import ChangedCheckpoint, CheckpointPlan, CheckpointVerb
from anabranch.operations.streams.saving import SavedStream, SaveStreamPlan, Validate
from anabranch.service.board import SeenCluster, SeenLink
from anabranch.service.reach import Reach
from anabranch.service.stream_links import meant
from anabranch.service.stream_specs import check_owns, check_runs_code, pins_for
from anabranch.service.verb import Request, Verb
from anabranch.service.verbs import stream_links
from anabranch.service.words import command
from anabranch.storage.saved_checkpoints import check_goes_back
from anabranch.store.streams import StoredStreams
from anabranch.streams.alerts.jobs import AlertedJob
from anabranch.streams.artifacts.values import ArtifactPin
from anabranch.streams.kept import NoStreamError
from anabranch.streams.kinds import StreamKind
from anabranch.streams.links import OnlyStreamsBeginError
from anabranch.streams.state.results import StateChoice
from anabranch.streams.trials import TrialKind, TrialQuestion
from anabranch.streams.versions import StreamSettings

StreamName = Annotated[str, StringConstraints(min_length=1, max_length=60, pattern=r"^[a-z0-9][a-z0-9._-]*$")]
JobName = Annotated[str, StringConstraints(min_length=1, max_length=63, pattern=r"^[a-z0-9][a-z0-9._-]*$")]
"""Of a stream, or of a link, whose id may be longer."""
Script = Annotated[str, StringConstraints(min_length=1, max_length=500_000, pattern=r"^[^\x00]+$")]
Note = Annotated[str, StringConstraints(max_length=1000, pattern=r"^[^\x00-\x1f\x7f]*$")]
Trigger = Annotated[str, StringConstraints(min_length=1, max_length=60, pattern=r"^[0-9A-Za-z. ]+$")]
LauncherName = Annotated[str, StringConstraints(pattern=LAUNCHER_NAME)]
Restarts = Annotated[int, Field(ge=0, le=100)]
TargetName = Annotated[str, StringConstraints(max_length=249, pattern=r"^[^\x00-\x1f\x7f]*$")]
Position = Annotated[str, StringConstraints(max_length=20_000, pattern=r"^[^\x00-\x1f\x7f]*$")]
AlertSetting = Annotated[str, StringConstraints(min_length=1, max_length=100, pattern=r"^[^\x00-\x1f\x7f]*$")]
SavedName = Annotated[str, StringConstraints(max_length=60, pattern=r"^([A-Za-z0-9][A-Za-z0-9._-]*)?$")]
ReceiverName = Annotated[str, StringConstraints(min_length=1, max_length=100, pattern=r"^[^\x00-\x1f\x7f]*$")]
VersionNumber = Annotated[int, Field(ge=1, lt=2**31)]
FILES = {StreamKind.SQL: "stream.sql", StreamKind.PYSPARK: "stream.py"}


class StreamRequest(Request):
    """A stream."""

    stream: JobName


class CreateStreamRequest(StreamRequest):
    """A new stream: its script and how it runs."""

    stream: StreamName
    script: Script
    description: Note = ""
    note: Note = ""
    kind: StreamKind = StreamKind.SQL
    trigger: Trigger = StreamSettings().trigger
    restarts: Restarts = StreamSettings().restarts
    launcher: LauncherName = StreamSettings().launcher


class EditStreamRequest(StreamRequest):
    """Another version of a stream; what is None stays as in the newest, and its kind always does."""

    script: Script | None = None
    note: Note = ""
    kind: StreamKind | None = None
    trigger: Trigger | None = None
    restarts: Restarts | None = None
    launcher: LauncherName | None = None


class StreamOrLinkRequest(StreamRequest):
    """A stream; or a link, which a target tells apart from a stream of its name."""

    target: TargetName = ""


class StopStreamRequest(StreamOrLinkRequest):
    """A stream or a link that is to end."""


class StartStreamRequest(StopStreamRequest):
    """How a start goes on where its checkpoints are; a link goes on at its positions alone."""

    state: StateChoice = StateChoice.REFUSE
    """For a query whose state does not fit the version, or means something else in it."""
    start: Position = ""
    """Where every query begins anew with an empty state: earliest, latest, ms, group:NAME, TOPIC-PARTITION:OFFSET."""
    checkpoint: SavedName = ""
    """The name of a saved checkpoint that every query goes back to; what it has written since is written again."""


class StreamCheckpointRequest(StreamRequest):
    """Save the checkpoints of a stopped stream under a name, or take such a one away."""

    save: SavedName = ""
    delete: SavedName = ""


class StreamAlertsRequest(StreamOrLinkRequest):
    """Settings of alerts, such as lag=50000, lag.for=5m, slow=off, and who is told; None leaves that."""

    settings: Annotated[list[AlertSetting], Field(max_length=50)] = []
    receivers: Annotated[list[ReceiverName], Field(max_length=50)] | None = None


class PublishStreamRequest(StreamRequest):
    """The version that the next start runs."""

    version: VersionNumber


def _subject(request: StreamRequest) -> str:
    if isinstance(request, StreamOrLinkRequest) and request.target:
        return f"link {request.stream} to {request.target}"
    return f"stream {request.stream}"


def _stored(reach: Reach) -> StoredStreams:
    return reach.migrating.stored.streams


def _validate(reach: Reach, stream: str) -> Validate:
    async def validate(script: str, artifacts: tuple[ArtifactPin, ...]) -> Mapping[str, Any]:
        question = TrialQuestion(TrialKind.VALIDATION, script, stream, artifacts=artifacts)
        return await reach.trials.validated(reach.account, question)

    return validate


async def _pin(reach: Reach, script: str) -> tuple[ArtifactPin, ...]:
    return await pins_for(reach.routes.stored, reach.routes.routing, reach.clusters, reach.account, script)


async def _create_plan(reach: Reach, request: CreateStreamRequest) -> SaveStreamPlan:
    settings = StreamSettings(request.trigger, request.restarts, reach.jobs.launcher(request.launcher).name)
    asked = request.stream, request.script, settings, request.description, request.note
    validate = _validate(reach, request.stream)
    reach.stream_links.check_free(request.stream)
    planned = await saving.plan_create(_stored(reach), partial(_pin, reach), *asked, validate, request.kind)
    await _check_code(reach, planned)
    return planned


async def _edit_plan(reach: Reach, request: EditStreamRequest) -> SaveStreamPlan:
    if request.launcher is not None:
        reach.jobs.launcher(request.launcher)
    given = {"trigger": request.trigger, "restarts": request.restarts, "launcher": request.launcher}
    changes = {name: value for name, value in given.items() if value is not None}
    asked = request.stream, request.script, changes, request.note
    validate = _validate(reach, request.stream)
    planned = await saving.plan_edit(_stored(reach), partial(_pin, reach), *asked, validate, request.kind)
    await _check_code(reach, planned)
    return planned


async def _check_code(reach: Reach, planned: SaveStreamPlan) -> None:
    """Raise AuthorNoAdminError where somebody would save a file of PySpark who is no admin."""
    if planned.made.kind is StreamKind.PYSPARK:
        await check_runs_code(reach.migrating.stored, reach.account)


async def _save(reach: Reach, request: StreamRequest, planned: SaveStreamPlan) -> SavedStream:
    if isinstance(request, CreateStreamRequest):
        reach.stream_links.check_free(request.stream)
    await _check_code(reach, planned)
    return await saving.apply(_stored(reach), planned, reach.account)


async def _publish_plan(reach: Reach, request: PublishStreamRequest) -> PublishStreamPlan:
    return await changing.plan_publish(_stored(reach), request.stream, request.version)


async def _rollback_plan(reach: Reach, request: StreamRequest) -> PublishStreamPlan:
    return await changing.plan_publish(_stored(reach), request.stream, None)


async def _publish(reach: Reach, _: StreamRequest, planned: PublishStreamPlan) -> ChangedStream:
    return await changing.publish(_stored(reach), planned)


async def _run(reach: Reach, _: StreamRequest, planned: RunStreamPlan) -> ChangedStream:
    if planned.target:
        return await stream_links.apply(reach, planned)
    return await changing.run(_stored(reach), planned, reach.jobs.running_streams)


async def _alerts_plan(reach: Reach, request: StreamAlertsRequest) -> AlertsPlan:
    stored = reach.migrating.stored
    link = await meant(stored.streams, reach.stream_links, request.stream, request.target)
    if link is None:
        await check_owns(stored, request.stream, reach.planned_by or reach.account)
    job = AlertedJob(request.stream, "" if link is None else link[0].name)
    return await alerting.plan(stored.alerts, job, request.settings, request.receivers, reach.alerting.receivers)


async def _alerts(reach: Reach, _: StreamRequest, planned: AlertsPlan) -> ChangedAlerts:
    return await alerting.apply(reach.migrating.stored.alerts, planned, reach.account)


async def _checkpoint_plan(reach: Reach, request: StreamCheckpointRequest) -> CheckpointPlan:
    if bool(request.save) == bool(request.delete):
        raise InvalidFieldError("stream checkpoint", "save", "give one of save and delete", "name what is saved")
    verb = CheckpointVerb.SAVE if request.save else CheckpointVerb.DELETE
    asked = request.stream, verb, request.save or request.delete
    return await checkpointing.plan(_stored(reach), await reach.streaming.place_of(request.stream), *asked)


async def _checkpoint(reach: Reach, request: StreamCheckpointRequest, planned: CheckpointPlan) -> ChangedCheckpoint:
    return await checkpointing.apply(
        _stored(reach), await reach.streaming.place_of(request.stream), planned, reach.account
    )


async def _delete_plan(reach: Reach, request: StreamRequest) -> DeleteStreamPlan:
    return await changing.plan_delete(_stored(reach), request.stream)


async def _delete(reach: Reach, _: StreamRequest, planned: DeleteStreamPlan) -> ChangedStream:
    return await changing.delete(_stored(reach), planned)


async def _abandon_plan(reach: Reach, request: StreamRequest) -> AbandonStreamPlan:
    return await abandoning.plan(_stored(reach), request.stream, reach.streaming.silent_since)


async def _abandon(reach: Reach, _: StreamRequest, planned: AbandonStreamPlan) -> ChangedStream:
    streaming = reach.streaming
    return await abandoning.apply(_stored(reach), planned, streaming.silent_since, streaming.abandon, reach.account)


def _run_verb(verb: StreamVerb, summary: str) -> Verb[Any, Any]:
    async def plan(reach: Reach, request: StopStreamRequest) -> RunStreamPlan:
        if request.target:
            return await _link_plan(reach, reach.stream_links.board.link(request.target, request.stream), request, verb)
        try:
            return await stream_plan(reach, request)
        except NoStreamError:
            found = reach.stream_links.named(request.stream)
            if found is None:
                raise
            return await _link_plan(reach, found, request, verb)

    async def stream_plan(reach: Reach, request: StopStreamRequest) -> RunStreamPlan:
        if isinstance(request, StartStreamRequest):
            place = await reach.streaming.place_of(request.stream) if request.checkpoint else ""
            if request.checkpoint:
                goes_to = await reach.streaming.next_place_of(request.stream)
                check_goes_back(request.stream, request.checkpoint, goes_to)
            asked = request.state, request.start, request.checkpoint, place, reach.jobs.running_streams
            return await changing.plan_run(_stored(reach), request.stream, verb, *asked)
        return await changing.plan_run(_stored(reach), request.stream, verb)

    return Verb(
        f"streams.{verb.value}",
        summary,
        Role.OPERATOR,
        StopStreamRequest if verb is StreamVerb.STOP else StartStreamRequest,
        RunStreamPlan,
        ChangedStream,
        _subject,
        lambda request: command("stream", verb.value, request.stream, options=_begin_options(request)),
        plan,
        _run,
        is_shown_first=_begins_otherwise,
    )


async def _link_plan(
    reach: Reach, found: tuple[SeenCluster, SeenLink], request: StopStreamRequest, verb: StreamVerb
) -> RunStreamPlan:
    """What would be done with a link; raises OnlyStreamsBeginError, and what its plan raises."""
    if _begins_otherwise(request):
        raise OnlyStreamsBeginError(request.stream, found[0].name)
    return await stream_links.plan(reach, found, verb)


def _begins_otherwise(request: StopStreamRequest) -> bool:
    """Whether it is a start that does not just go on, which nothing takes back."""
    return isinstance(request, StartStreamRequest) and (
        request.start != "" or request.checkpoint != "" or request.state is not StateChoice.REFUSE
    )


def _begin_options(request: StopStreamRequest) -> list[tuple[str, object]]:
    target: tuple[str, object] = ("--target", request.target or None)
    if not isinstance(request, StartStreamRequest):
        return [target]
    chosen = {StateChoice.NEW: "--new-state", StateChoice.KEEP: "--keep-state"}.get(request.state)
    return [
        *([(chosen, True)] if chosen else []),
        ("--from", request.start or None),
        ("--from-checkpoint", request.checkpoint or None),
        target,
    ]


def _settings(request: CreateStreamRequest | EditStreamRequest) -> list[tuple[str, object]]:
    """As options of the command line; what is as by default is not typed."""
    fresh = isinstance(request, CreateStreamRequest)
    trigger = None if fresh and request.trigger == StreamSettings().trigger else request.trigger
    restarts = None if fresh and request.restarts == StreamSettings().restarts else request.restarts
    launcher = None if fresh and request.launcher == StreamSettings().launcher else request.launcher
    kind = None if request.kind in (None, StreamKind.SQL) else request.kind.value
    options = [("--kind", kind), ("--trigger", trigger), ("--restarts", restarts), ("--launcher", launcher)]
    return [*options, ("--note", request.note or None)]


def _create_words(request: CreateStreamRequest) -> str:
    options = [("--description", request.description or None), *_settings(request)]
    return command("stream", "create", request.stream, _file(request), options=options)


def _edit_words(request: EditStreamRequest) -> str:
    file = [] if request.script is None else [_file(request)]
    return command("stream", "edit", request.stream, *file, options=_settings(request))


def _files(request: CreateStreamRequest | EditStreamRequest) -> Mapping[str, str]:
    return {} if request.script is None else {_file(request): request.script}


def _file(request: CreateStreamRequest | EditStreamRequest) -> str:
    """A file's name whose ending says the kind."""
    return FILES[request.kind or StreamKind.SQL]


def _refusing(verb: Verb[Any, Any]) -> Verb[Any, Any]:
    """The same verb, whose plan of a link is refused with what there is of links in its place."""

    async def plan(reach: Reach, request: StreamRequest) -> Any:
        with reach.stream_links.refusing(verb.word):
            return await verb.plan(reach, request)

    return replace(verb, plan=plan)


_VERBS: tuple[Verb[Any, Any], ...] = (
    Verb(
        "streams.create",
        "Save a new stream: a script of SQL, or a file of PySpark",
        Role.OPERATOR,
        CreateStreamRequest,
        SaveStreamPlan,
        SavedStream,
        _subject,
        _create_words,
        _create_plan,
        _save,
        execute="",
        files=_files,
    ),
    Verb(
        "streams.edit",
        "Save another version of a stream",
        Role.OPERATOR,
        EditStreamRequest,
        SaveStreamPlan,
        SavedStream,
        _subject,
        _edit_words,
        _edit_plan,
        _save,
        execute="",
        files=_files,
    ),
    Verb(
        "streams.publish",
        "Have the next start of a stream run a version",
        Role.OPERATOR,
        PublishStreamRequest,
        PublishStreamPlan,
        ChangedStream,
        _subject,
        lambda request: command("stream", "publish", request.stream, str(request.version)),
        _publish_plan,
        _publish,
        execute="",
    ),
    Verb(
        "streams.rollback",
        "Have the next start of a stream run the version that was published before",
        Role.OPERATOR,
        StreamRequest,
        PublishStreamPlan,
        ChangedStream,
        _subject,
        lambda request: command("stream", "rollback", request.stream),
        _rollback_plan,
        _publish,
        execute="",
    ),
    _run_verb(StreamVerb.START, "Start a stream; it goes on exactly where its checkpoints are"),
    _run_verb(StreamVerb.STOP, "Have a stream end after its micro-batch"),
    _run_verb(StreamVerb.RESTART, "Have a stream end, and start it with the version that is published"),
    Verb(
        "streams.abandon",
        "Give up the run of a machine that is not heard of, so that another machine starts the stream",
        Role.OPERATOR,
        StreamRequest,
        AbandonStreamPlan,
        ChangedStream,
        _subject,
        lambda request: command("stream", "abandon", request.stream),
        _abandon_plan,
        _abandon,
    ),
    Verb(
        "streams.alerts",
        "Change the rules of the alerts of a stream or a link, or who is told",
        Role.OPERATOR,
        StreamAlertsRequest,
        AlertsPlan,
        ChangedAlerts,
        _subject,
        lambda request: command(
            *("stream", "alerts", request.stream),
            options=[("--set", request.settings), ("--to", request.receivers), ("--target", request.target or None)],
        ),
        _alerts_plan,
        _alerts,
        execute="",
    ),
    Verb(
        "streams.checkpoint",
        "Save the checkpoints of a stopped stream under a name, or take such a one away",
        Role.OPERATOR,
        StreamCheckpointRequest,
        CheckpointPlan,
        ChangedCheckpoint,
        _subject,
        lambda request: command(
            *("stream", "checkpoint", request.stream),
            options=[("--save", request.save or None), ("--delete", request.delete or None)],
        ),
        _checkpoint_plan,
        _checkpoint,
        is_shown_first=lambda request: bool(request.delete),
    ),
    Verb(
        "streams.delete",
        "Forget a stream with its versions and runs; its checkpoints stay",
        Role.APPROVER,
        StreamRequest,
        DeleteStreamPlan,
        ChangedStream,
        _subject,
        lambda request: command("stream", "delete", request.stream),
        _delete_plan,
        _delete,
    ),
)
VERBS = tuple(_refusing(verb) for verb in _VERBS)
