"""Giving up the run of a machine that is not heard of, so that another machine may start the stream."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from anabranch.model.plans import REQUEST, check_holds, plan_hash
from anabranch.operations.streams.changing import ChangedStream
from anabranch.streams.kept import NotLostError, StoredStreamRun
from anabranch.streams.states import StreamWanted
from anabranch.streams.supervising import silent_machine

if TYPE_CHECKING:  # a program without the service has no database
    from anabranch.store.streams import StoredStreams

SilentSince = Callable[[StoredStreamRun], int | None]
_WRITES = (
    "where its job still goes on there, it ends as soon as it sees the next start: Kafka, PostgreSQL and MySQL refuse "
    "what it writes from then on; other tables may have rows of it, or of a micro-batch that was not ended, once more"
)
_GOES_ON = (
    "no start follows, since the stream is to be stopped: a job that goes on there writes on until the service of that "
    "machine comes back, and ends it"
)
_IN_DIRECTORY = (
    "its checkpoints are in directory {place}: a start on another machine is refused unless that is the same storage "
    "there"
)


@dataclass(frozen=True, slots=True)
class AbandonStreamPlan:
    """The run that would be given up: its machine ``host`` is silent since then (ms); ``wanted`` is what follows.

    ``may`` is what may happen, in sentences.
    """

    stream: str
    run: str
    host: str
    silent_since: int
    wanted: StreamWanted
    may: tuple[str, ...]
    hash: str
    given_up: StoredStreamRun = field(metadata=REQUEST)


async def plan(stored: StoredStreams, name: str, silent_since: SilentSince) -> AbandonStreamPlan:
    """Give up the open run of a stream; raises NoStreamError, and NotLostError while its machine is heard of."""

    def look() -> AbandonStreamPlan:
        stream, run = stored.get(name), stored.open_run(name)
        if run is None:
            raise NotLostError(name, "none is open")
        since = silent_since(run)
        if since is None:
            raise NotLostError(name, f"machine {run.host} is heard of, and has {run.id}")
        begins = stream.wanted is StreamWanted.RUNNING
        place = [] if "://" in run.checkpoints else [_IN_DIRECTORY.format(place=run.checkpoints or run.directory)]
        may = (_WRITES, *place) if begins else (_GOES_ON,)
        hash_ = plan_hash("streams.abandon", name, stream.revision, stream.wanted.value, run.id, run.host)
        return AbandonStreamPlan(name, run.id, run.host, since, stream.wanted, may, hash_, run)

    return await asyncio.to_thread(look)


async def apply(
    stored: StoredStreams,
    planned: AbandonStreamPlan,
    silent_since: SilentSince,
    abandon: Callable[[StoredStreamRun, str], Awaitable[None]],
    author: str,
) -> ChangedStream:
    """Note it; the instance that acts starts the stream where it is wanted to run.

    Raises PlanChangedError where something else would follow by now, and what ``plan`` raises; StreamChangedError where
    its machine is heard of at the same time.
    """
    name = planned.stream
    check_holds(f"stream {name}", planned, await plan(stored, name, silent_since), f"anabranch stream show {name}")
    why = f"{author} gave its run up: {silent_machine(planned.host, planned.silent_since)}"
    await abandon(planned.given_up, why)
    return ChangedStream(planned.stream, planned.given_up.version, planned.wanted.value)
