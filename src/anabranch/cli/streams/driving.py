"""``anabranch stream start|stop|restart|abandon``: whether a stream runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from anabranch.cli.dryrun import ExecuteOption, PlanOption, typed
from anabranch.cli.output import Format, FormatOption
from anabranch.cli.service_options import ServiceOption, service_of
from anabranch.cli.streams import render
from anabranch.cli.streams.asking import StreamArgument, TargetOfLinkOption, change, found, path_of
from anabranch.cli.streams.beginning import FromCheckpointOption, FromOption, KeepStateOption, NewStateOption, begin_of
from anabranch.config.streamspec import StreamBegin
from anabranch.errors import ClusterError, InvalidFieldError, RefusedError
from anabranch.streams.kept import StreamLostError
from anabranch.streams.state.results import StateChoice
from anabranch.streams.states import StreamState

if TYPE_CHECKING:  # imported when a verb asks, so that ``--help`` stays quick
    from anabranch.cli.service_client import ServiceClient

LOOK_S = 0.5
WaitOption = Annotated[
    float, typer.Option("--wait", metavar="SECONDS", min=0, max=3600, help="How long to wait until it is so.")
]


@dataclass(eq=False)
class StreamFailedError(RefusedError):
    """A stream that was started has failed."""

    name: str
    why: str

    _message = "stream {name} has failed: {why}"
    _hint = "read its log: `anabranch stream logs {name}`; correct it, then `anabranch stream start {name}`"


@dataclass(eq=False)
class StreamNotYetError(ClusterError):
    """A stream is not yet in the state that was waited for."""

    name: str
    state: str
    seconds: float

    _message = "stream {name} is still {state} after {seconds:g} s"
    _hint = "it goes on by itself: `anabranch stream show {name}`"


@dataclass(frozen=True, slots=True)
class Applied:
    """Whether a plan is applied, where it is the ``wanted`` one, and the command that it is of."""

    execute: bool = True
    wanted: str | None = None
    command: str = ""


def start(
    ctx: typer.Context,
    name: StreamArgument,
    wait: WaitOption = 120.0,
    new_state: NewStateOption = False,
    keep_state: KeepStateOption = False,
    from_: FromOption = None,
    from_checkpoint: FromCheckpointOption = None,
    target: TargetOfLinkOption = None,
    execute: ExecuteOption = False,
    plan: PlanOption = None,
    service: ServiceOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Start the published version of a stream; it goes on exactly where its checkpoints are.

    A version whose queries do not go on with them is refused, with what has changed, unless an option says what to do.
    Such a start cannot be taken back: --new-state, --keep-state, --from and --from-checkpoint show what they do, and
    require --execute. A link goes on exactly at its positions, as `link run` does, by the service.
    """
    asked = _begin(new_state, keep_state, from_, from_checkpoint, target)
    client = service_of(ctx, service)
    applied = Applied(execute or not _begins_otherwise(asked), plan, typed())
    _drive(client, "start", name, wait, output, lambda state: state is StreamState.RUNNING, applied, asked=asked)


def stop(
    ctx: typer.Context,
    name: StreamArgument,
    wait: WaitOption = 120.0,
    target: TargetOfLinkOption = None,
    service: ServiceOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Have a stream end after the micro-batch that runs, and stay stopped; a link ends as `link stop` has it."""
    asked = _begin(new_state=False, keep_state=False, start=None, saved=None, target=target)
    client = service_of(ctx, service)
    _drive(client, "stop", name, wait, output, lambda state: state is StreamState.STOPPED, Applied(), asked=asked)


def restart(
    ctx: typer.Context,
    name: StreamArgument,
    wait: WaitOption = 120.0,
    new_state: NewStateOption = False,
    keep_state: KeepStateOption = False,
    from_: FromOption = None,
    from_checkpoint: FromCheckpointOption = None,
    target: TargetOfLinkOption = None,
    execute: ExecuteOption = False,
    plan: PlanOption = None,
    service: ServiceOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Have a stream end, and start it with the version that is published; the options are those of `stream start`."""
    asked = _begin(new_state, keep_state, from_, from_checkpoint, target)
    client = service_of(ctx, service)
    before = _fence(found(client, name, target))
    applied = Applied(execute or not _begins_otherwise(asked), plan, typed())
    _drive(client, "restart", name, wait, output, lambda state: state is StreamState.RUNNING, applied, before, asked)


def abandon(
    ctx: typer.Context,
    name: StreamArgument,
    execute: ExecuteOption = False,
    plan: PlanOption = None,
    service: ServiceOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Give up the run of a machine that is not heard of, so that another machine of the service starts the stream.

    Only where the job is gone for good, or may be ended as it is: the plan says what may happen.
    """
    change(
        service_of(ctx, service),
        "abandon",
        {"stream": name},
        render.abandon_plan,
        render.abandoned,
        output,
        execute=execute,
        wanted=plan,
        command=typed(),
    )


def _drive(
    client: ServiceClient,
    verb: str,
    name: str,
    wait: float,
    output: Format,
    is_done: Callable[[StreamState], bool],
    applied: Applied,
    after: int = 0,
    asked: Mapping[str, Any] = MappingProxyType({}),
) -> None:
    done = change(
        client,
        verb,
        {"stream": name, **asked},
        render.run_plan,
        render.wanted,
        output,
        execute=applied.execute,
        wanted=applied.wanted,
        command=applied.command,
    )
    if done is None or done["target"]:  # a dry run; or a link: what came of it is known
        return
    deadline = time.monotonic() + wait
    told = ""
    while wait:
        answer: Any = client.get(path_of(name))
        stream = answer["stream"]
        state = StreamState(stream["state"])
        if is_done(state) and _fence(answer) > after:
            _say(output, name, state.value)
            return
        if state is StreamState.FAILED:
            raise StreamFailedError(name, stream["why"])
        if state is StreamState.LOST:
            raise StreamLostError(name, stream["why"])
        if verb == "start" and state is StreamState.STOPPED and stream["wanted"] == "stopped":
            _say(output, name, f"stopped: {stream['why']}")  # it has read all that there was
            return
        if verb == "stop" and state is StreamState.DRAFT:
            return
        if state.value != told:
            told = state.value
            _say(output, name, f"{told}{': ' + stream['why'] if stream['why'] else ''}")
        if time.monotonic() > deadline:
            raise StreamNotYetError(name, state.value, wait)
        time.sleep(LOOK_S)


def _begins_otherwise(asked: Mapping[str, Any]) -> bool:
    """Whether a start does not just go on: what it leaves, or writes again, nothing takes back."""
    return not asked.keys() <= {"target"}


def _begin(
    new_state: bool, keep_state: bool, start: str | None, saved: str | None, target: str | None
) -> dict[str, Any]:
    """The options as the service's request has them; what is as by default is left out."""
    return {**_start(new_state, keep_state, start, saved), **({"target": target} if target else {})}


def _start(new_state: bool, keep_state: bool, start: str | None, saved: str | None) -> dict[str, Any]:
    begin = begin_of(0, new_state, keep_state, start)
    if saved is not None:
        if begin != StreamBegin():
            problem = "--from-checkpoint has its own position and state"
            raise InvalidFieldError("stream", "--from-checkpoint", problem, "leave the others out")
        return {"checkpoint": saved}
    state = {} if begin.state is StateChoice.REFUSE else {"state": begin.state.value}
    return {**state, **({"start": begin.start} if begin.start else {})}


def _fence(answer: Any) -> int:
    """Of its newest run."""
    return int(answer["runs"][0]["fence"]) if answer["runs"] else 0


def _say(output: Format, name: str, what: str) -> None:
    if output is Format.TABLE:
        typer.echo(f"stream {name} is {what}", err=True)
