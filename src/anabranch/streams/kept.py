"""Streams, versions and runs as a store keeps them, and why it refuses; values, known without a database."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from anabranch.errors import RefusedError
from anabranch.streams.states import StreamState, StreamWanted
from anabranch.streams.versions import StreamSettings


@dataclass(frozen=True, slots=True)
class StoredStream:
    """A stream as it is kept; ``revision`` counts what persons have changed of it.

    ``since`` is when it came into its state, ``asked_at`` when a person last started it (ms), 0 for never.  ``begin``
    is how that start goes on from its checkpoints (``state``, ``start``, the ``version`` that it was said of, and its
    ``number``, which rises with each).
    """

    name: str
    revision: int
    owner: str
    description: str
    created: int
    published: int
    former: int
    wanted: StreamWanted
    state: StreamState
    why: str
    since: int
    asked_at: int
    fence: int
    begin: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @property
    def begin_number(self) -> int:
        """The number of how it is to begin; of one that was written without, when that was."""
        return int(self.begin.get("number", self.asked_at))


@dataclass(frozen=True, slots=True)
class StoredStreamRun:
    """A start of a stream.  ``pid`` is 0 until its process is known; ``created`` is when the system says it began."""

    id: str
    stream: str
    version: int
    fence: int
    host: str
    pid: int
    created: int
    account: str
    directory: str
    began_at: int
    stopping_at: int | None = None
    ended_at: int | None = None
    exit_code: int | None = None
    failed: bool = False
    why: str = ""
    launcher: str = ""
    checkpoints: str = ""
    ran: bool = False
    is_open: bool = True


@dataclass(frozen=True, slots=True)
class SupervisedStream:
    """A stream with its open run, when runs have failed since a person started it, and how what is published runs."""

    stream: StoredStream
    run: StoredStreamRun | None
    failures: tuple[int, ...]
    settings: StreamSettings


@dataclass(eq=False)
class StreamExistsError(RefusedError):
    """There is a stream of that name."""

    name: str

    _message = "there is a stream {name!r} already"
    _hint = "save another version of it: `anabranch stream edit {name} FILE`; or give the new one another name"


@dataclass(eq=False)
class NoStreamError(RefusedError):
    """There is no stream of that name."""

    name: str

    _message = "there is no stream {name!r}"
    _hint = "list them: `anabranch stream list`"


@dataclass(eq=False)
class NotOwnerError(RefusedError):
    """Somebody would change what is its owner's to change."""

    name: str
    owner: str
    account: str

    _message = "alerts of stream {name!r} are changed by its owner {owner}, or by an admin, and {account} is neither"
    _hint = "ask one of them: `anabranch stream show {name}` says how the stream stands"


@dataclass(eq=False)
class NoStreamVersionError(RefusedError):
    """A stream has no version of that number."""

    name: str
    number: int

    _message = "stream {name!r} has no version {number}"
    _hint = "list them: `anabranch stream versions {name}`"


@dataclass(eq=False)
class StreamChangedError(RefusedError):
    """Somebody has changed a stream since."""

    name: str

    _message = "somebody has changed stream {name!r} since it was read"
    _hint = "look at it again: `anabranch stream show {name}`"


@dataclass(eq=False)
class TooManyStreamsError(RefusedError):
    """As many streams run, or are to run, as the service may have at once."""

    name: str
    running: int
    most: int

    _message = (
        "stream {name!r} is not started: of the streams {running} run or are to run, and at most {most} may at once"
    )
    _hint = "stop one of them (`anabranch stream list`), or raise `running_streams` in the service's file"


@dataclass(eq=False)
class StreamLostError(RefusedError):
    """A stream has a run on a machine that is not heard of."""

    name: str
    why: str

    _message = "stream {name!r} is lost: {why}"
    _hint = "start the service on that machine; where its run is gone for good: `anabranch stream abandon {name}`"


@dataclass(eq=False)
class NotLostError(RefusedError):
    """A stream has no run that could be given up: nobody but its own machine ends it."""

    name: str
    why: str

    _message = "stream {name!r} has no run to give up: {why}"
    _hint = "have it end: `anabranch stream stop {name}`"


@dataclass(eq=False)
class StreamRunsError(RefusedError):
    """A stream has a run that has not ended."""

    name: str
    run: str

    _message = "stream {name!r} runs already: {run}"
    _hint = "end it first: `anabranch stream stop {name}`; or `anabranch stream restart {name}`"
