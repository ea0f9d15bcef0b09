"""The engine: it goes on with a run of steps until that has ended, by the journal alone.

Killed anywhere it is begun again with the same run, here or elsewhere: what it had begun is done again.  Two engines
with one run do no harm to its journal: each writes over what it has read, and the second one is refused.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Protocol

from anabranch.errors import AnabranchError
from anabranch.kafka.between_leaders import is_between_leaders
from anabranch.migration.run import NextMove, WaveRun, begun, decide, finished, may_take_ms, postponed, put_back, turned
from anabranch.migration.steps import MigrationStep

PAUSE_S, LONGEST_PAUSE_S = 0.2, 2.0
"""Between two tries of a step that waits, and at most of one that fails each time and will be done all the same."""


@dataclass(eq=False)
class NotYetError(AnabranchError):
    """A step waits for something; it is asked again until it is done, or the run is turned back."""

    why: str

    _message = "{why}"


class Steps(Protocol):
    """What steps do; each may be done again, and put back also where it was done in part or not at all."""

    async def do(self, run: WaveRun, step: MigrationStep) -> Mapping[str, Any] | None:
        """Do a step; returns what later ones need to know.

        Raises NotYetError where it waits, and AnabranchError where it cannot be done: before the point of no return
        that turns the run back, unless it is ``retryable``, or brokers do not agree on a leader yet.
        """

    async def put_back(self, run: WaveRun, step: MigrationStep) -> None:
        """Undo what a step has done, in part or in whole; raises AnabranchError, and then it is tried again."""


@dataclass(frozen=True, slots=True)
class KeptRun:
    """A run as the store has it: over which revision it is written, and why a person wants it given up."""

    run: WaveRun
    revision: int
    cancelled: str


class Journals(Protocol):
    """Where runs are kept."""

    async def read(self, run: str) -> KeptRun:
        """A run as it is kept now; raises RefusedError, StoreError."""

    async def write(self, before: KeptRun, run: WaveRun) -> KeptRun:
        """Keep it over what was read; raises RefusedError where another engine has gone on with it since."""


Told = Callable[[WaveRun, str], Awaitable[None]]
"""Hears how a run stands, and in a sentence what is done or waited for."""


async def carry_out(
    journals: Journals,
    run: str,
    steps: Steps,
    now_ms: Callable[[], int],
    tell: Told,
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
) -> WaveRun:
    """Go on with a run until it has ended; raises what reading and writing its journal raises.

    ``tell`` hears what is waited for at each look, also where that is what it was.  A run that is turned back as it
    would hold applications up for too long says what it waited for then.
    """
    waited: tuple[int, str] = -1, ""
    pause_s = PAUSE_S
    while True:
        kept = await journals.read(run)
        move, why = decide(kept.run, now_ms(), kept.cancelled)
        if move is NextMove.NOTHING:
            return kept.run
        told = waited[1] if waited[0] == kept.run.at else ""
        if move is NextMove.TURN:
            is_late = told and not (kept.cancelled or kept.run.lost)
            await journals.write(kept, turned(kept.run, now_ms(), f"{why}: {told}" if is_late else why))
            continue
        go = partial(_do, told=told) if move is NextMove.DO else _put_back
        waits = await go(journals, kept, steps, now_ms)
        if waits.why:
            waited = kept.run.at, waits.why
            await tell(kept.run, waits.why)
            await sleep(pause_s)
        pause_s = min(LONGEST_PAUSE_S, 2 * pause_s) if waits.has_failed else PAUSE_S


class _Waits(NamedTuple):
    """Why a step is not done yet, empty where it is, or the run was turned back; and whether it has failed."""

    why: str = ""
    has_failed: bool = False


async def _do(journals: Journals, kept: KeptRun, steps: Steps, now_ms: Callable[[], int], told: str = "") -> _Waits:
    """Do the next step.

    It is broken off where it would hold applications up for too long; ``told`` is what it has waited for before.
    """
    step = kept.run.step
    assert step is not None
    if not kept.run.is_begun:
        kept = await journals.write(kept, begun(kept.run))
    began = now_ms()
    longest = may_take_ms(kept.run, began)
    try:
        async with asyncio.timeout(None if longest is None else longest / 1000) as limit:
            result = await steps.do(kept.run, step)
    except TimeoutError:
        if not limit.expired():
            raise
        return _Waits(told or f"it was not done after {(now_ms() - began) / 1000:.1f} s")
    except NotYetError as error:
        return _Waits(error.message)
    except AnabranchError as error:
        if kept.run.has_passed or error.retryable or is_between_leaders(error):
            return _Waits(f"{step.text}: {error.message}", has_failed=True)
        await journals.write(kept, turned(kept.run, now_ms(), error.message))
        return _Waits()
    await journals.write(kept, finished(kept.run, now_ms(), result))
    return _Waits()


async def _put_back(journals: Journals, kept: KeptRun, steps: Steps, now_ms: Callable[[], int]) -> _Waits:
    step = kept.run.step
    assert step is not None
    try:
        await steps.put_back(kept.run, step)
    except AnabranchError as error:
        if kept.run.may_wait:
            await journals.write(kept, postponed(kept.run))
        return _Waits(f"putting back: {step.text}: {error.message}", not isinstance(error, NotYetError))
    await journals.write(kept, put_back(kept.run, now_ms()))
    return _Waits()
