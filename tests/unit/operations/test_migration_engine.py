"""The engine ends a run, whatever fails, is killed, or is done twice at once."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.errors import AnabranchError, RefusedError
from anabranch.kafka.errors import BrokerRefusedError
from anabranch.migration.journal import run_fields, run_of
from anabranch.migration.legs import Leg
from anabranch.migration.run import SEES_ITSELF, WaveRun, WaveRunState, may_take_ms
from anabranch.migration.spec import FenceKind, JobKind, Migration, StreamJob, Wave
from anabranch.migration.steps import MigrationStep, Part, StepKind, switch_steps
from anabranch.model.clock import now_ms
from anabranch.operations.migrations.engine import KeptRun, NotYetError, carry_out

pytestmark = pytest.mark.unit

WAVE = Wave(
    "orders",
    ("orders",),
    ("shop",),
    (StreamJob("sums", JobKind.SPARK, "/cp"),),
    codes=("orders",),
    fences=(FenceKind.ROUTES, FenceKind.ACL),
)
STEPS = switch_steps(Leg(Migration("move", "old", "new", (WAVE,)), WAVE), Part.ALL)
JOURNAL_AT = [step.kind for step in STEPS].index(StepKind.JOURNAL)


class KilledError(BaseException):
    """The engine is no more."""


class FailedError(AnabranchError):
    """A step cannot be done."""


class AwayError(AnabranchError):
    """A step could not be done just now."""

    retryable = True


class OvertakenError(RefusedError):
    """Somebody else wrote."""


@dataclass
class Kept:
    """A store of one run, as JSON values; each question may be the last of an engine."""

    fields: Mapping[str, Any]
    revision: int = 1
    cancelled: str = ""
    kills: set[int] = field(default_factory=set)
    questions: int = 0

    def _asked(self) -> None:
        self.questions += 1
        if self.questions in self.kills:
            raise KilledError

    async def read(self, run: str) -> KeptRun:
        """What it is now."""
        self._asked()
        return KeptRun(run_of(self.fields), self.revision, self.cancelled)

    async def write(self, before: KeptRun, run: WaveRun) -> KeptRun:
        """Over what was read; killed before or after it is kept."""
        self._asked()
        if before.revision != self.revision:
            raise OvertakenError
        self.fields, self.revision = run_fields(run), self.revision + 1
        self._asked()
        return KeptRun(run, self.revision, self.cancelled)


@dataclass
class World:
    """Where steps leave something: ``there`` is what was done and not put back, in order."""

    store: Kept
    fails: Mapping[int, AnabranchError] = field(default_factory=dict)
    tries: int = 2
    there: list[tuple[StepKind, str]] = field(default_factory=list)
    failures: dict[tuple[StepKind, str], int] = field(default_factory=dict)

    async def do(self, run: WaveRun, step: MigrationStep) -> Mapping[str, Any]:
        """Do it, after it has failed some times."""
        self.store._asked()
        key = step.kind, step.subject
        error = self.fails.get(run.at)
        if error is not None and self.failures.setdefault(key, 0) < self.tries:
            self.failures[key] += 1
            raise error
        if key not in self.there:
            self.there.append(key)
        self.store._asked()
        return {"at": run.at}

    async def put_back(self, _: WaveRun, step: MigrationStep) -> None:
        """Undo it."""
        self.store._asked()
        key = step.kind, step.subject
        if key in self.there:
            assert self.there[-1] == key, "put back in another order than it was done"
            self.there.remove(key)
        self.store._asked()


def fresh(longest_ms: int | None = None) -> Kept:
    """A run that has not begun."""
    return Kept(run_fields(WaveRun("r", "move", "orders", "switch", STEPS, 0, longest_ms)))


def ended(kept: Kept, world: World, now_ms: int = 0) -> WaveRun:
    """How it ends, with as many engines as it takes."""

    async def nothing(*_: object) -> None:
        pass

    while True:
        try:
            return asyncio.run(carry_out(kept, "r", world, lambda: now_ms, nothing, nothing))
        except KilledError:
            continue


ALL = [(step.kind, step.subject) for step in STEPS]


def test_killed_at_any_moment_a_run_ends_with_all_of_it_done() -> None:
    """Whatever the engine asked of the store or of a step last: each of its questions is its last once."""
    for kill in count(1):
        kept = fresh()
        kept.kills = {kill}
        world = World(kept)
        run = ended(kept, world)
        assert (run.state, world.there) == (WaveRunState.DONE, ALL), kill
        assert run.result(StepKind.PIN, "orders") == {"at": ALL.index((StepKind.PIN, "orders"))}
        if kept.questions < kill:
            break
    assert kill > 6 * len(STEPS)


@given(st.sets(st.integers(1, 400), max_size=30), st.integers(0, JOURNAL_AT - 1))
def test_a_failure_before_the_point_of_no_return_leaves_nothing(kills: set[int], at: int) -> None:
    """Also where engines are killed as it is taken back."""
    kept = fresh()
    kept.kills = kills
    world = World(kept, {at: FailedError()}, tries=10_000)
    run = ended(kept, world)
    assert (run.state, world.there) == (WaveRunState.CANCELLED, [])
    assert run.why == "FailedError"


@given(st.sets(st.integers(1, 400), max_size=30), st.integers(JOURNAL_AT + 1, len(STEPS) - 1))
def test_a_failure_after_it_is_tried_again_until_it_is_done(kills: set[int], at: int) -> None:
    """Nobody takes it back any more."""
    kept = fresh(longest_ms=1)
    kept.kills = kills
    world = World(kept, {at: FailedError()}, tries=3)
    assert ended(kept, world).state is WaveRunState.DONE
    assert world.there == ALL


BETWEEN = [BrokerRefusedError("old", "Read", "topic orders", code) for code in (6, 74, 75)]


@pytest.mark.parametrize("error", [NotYetError("it takes time"), AwayError(), *BETWEEN])
def test_what_waits_is_asked_again(error: AnabranchError) -> None:
    """And so is what may be done a moment later."""
    kept = fresh(longest_ms=1_000)
    world = World(kept, dict.fromkeys(range(len(STEPS)), error), tries=2)
    assert ended(kept, world).state is WaveRunState.DONE
    assert set(world.failures.values()) == {2}


@pytest.mark.parametrize("at", range(1, JOURNAL_AT))
def test_what_holds_applications_up_for_too_long_is_taken_back(at: int) -> None:
    """It says what was waited for."""
    kept, clock = fresh(longest_ms=50), iter(range(10_000))
    world = World(kept, {at: NotYetError("never")}, tries=10_000)
    run = asyncio.run(carry_out(kept, "r", world, lambda: next(clock), nothing, nothing))
    assert (run.state, world.there) == (WaveRunState.CANCELLED, [])
    assert run.why == f"it would hold applications up for longer than 0.05 s: {STEPS[at].text}: never"


@pytest.mark.parametrize(
    ("error", "pauses"),
    [
        (FailedError(), [0.2, 0.4, 0.8, 1.6, 2.0, 2.0]),
        (NotYetError("it takes time"), [0.2] * 6),
    ],
)
def test_what_fails_again_and_again_is_tried_again_after_longer(error: AnabranchError, pauses: list[float]) -> None:
    """An operator's hook is not run five times a second; what only waits is looked at as often as ever."""
    kept, slept = fresh(), []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    world = World(kept, {JOURNAL_AT + 1: error, JOURNAL_AT + 3: error}, tries=6)
    assert asyncio.run(carry_out(kept, "r", world, lambda: 0, nothing, sleep)).state is WaveRunState.DONE
    assert slept == pauses * 2, "after a step is done it begins with the shortest again"


@dataclass
class Slow(World):
    """One step never ends by itself."""

    slow: int = 0

    async def do(self, run: WaveRun, step: MigrationStep) -> Mapping[str, Any]:
        """Begin it, and take long."""
        found = await super().do(run, step)
        if run.at == self.slow:
            await asyncio.Event().wait()
        return found


async def nothing(*_: object) -> None:
    """Nobody listens, and nothing is waited for."""


@pytest.mark.parametrize("at", [at for at in range(1, JOURNAL_AT) if STEPS[at].kind not in SEES_ITSELF])
def test_a_step_that_takes_too_long_itself_is_broken_off_and_put_back(at: int) -> None:
    """As one whose engine was killed in it; it says for how long it was under way."""
    kept = fresh(longest_ms=100)
    world = Slow(kept, slow=at)
    run = asyncio.run(carry_out(kept, "r", world, now_ms, nothing, nothing))
    assert (run.state, world.there) == (WaveRunState.CANCELLED, [])
    held = f"it would hold applications up for longer than 0.1 s: {STEPS[at].text}: it was not done after "
    assert run.why.startswith(held), run.why


@pytest.mark.parametrize("at", [0, *(at for at in range(JOURNAL_AT + 1) if STEPS[at].kind in SEES_ITSELF)])
def test_what_is_not_to_be_broken_off_is_not(at: int) -> None:
    """Before anybody is held up, a fence that knows itself for how long it may, and the point of no return."""
    kept = fresh(longest_ms=60_000)
    assert may_take_ms(replace(run_of(kept.fields), at=at, times=tuple(range(at))), 0) is None


def test_a_step_that_says_itself_that_time_is_over_is_not_taken_for_one_that_was_broken_off() -> None:
    """That is a fault of ours, and not to be hidden."""
    kept = fresh(longest_ms=60_000)

    class Late(World):
        async def do(self, run: WaveRun, step: MigrationStep) -> Mapping[str, Any]:
            raise TimeoutError

    with pytest.raises(TimeoutError):
        asyncio.run(carry_out(kept, "r", Late(kept), now_ms, nothing, nothing))


def test_before_anybody_is_held_up_it_waits_as_long_as_it_takes() -> None:
    """Until the link has caught up, say."""
    kept = fresh(longest_ms=50)
    world = World(kept, {0: NotYetError("much is to be copied")}, tries=10_000)
    clock = iter(range(100_000))
    heard = []

    async def nothing(*_: object) -> None:
        pass

    async def heard_of(_: WaveRun, why: str) -> None:
        heard.append(why)

    run = asyncio.run(carry_out(kept, "r", world, lambda: next(clock), heard_of, nothing))
    assert (run.state, heard[0]) == (WaveRunState.DONE, "much is to be copied")
    assert run.times[0] > 10_000


def test_a_person_gives_it_up_before_the_point_of_no_return_and_not_after_it() -> None:
    """What is said after it changes nothing."""
    kept = fresh()
    kept.cancelled = "not tonight"
    world = World(kept)
    run = ended(kept, world)
    assert (run.state, run.why, world.there) == (WaveRunState.CANCELLED, "not tonight", [])

    class Late(World):
        async def do(self, run: WaveRun, step: MigrationStep) -> Mapping[str, Any]:
            if run.has_passed:
                self.store.cancelled = "too late"
            return await super().do(run, step)

    kept = fresh()
    late = Late(kept)
    assert ended(kept, late).state is WaveRunState.DONE
    assert kept.cancelled and late.there == ALL


def test_of_two_engines_one_is_refused() -> None:
    """The second one to write over the same revision."""
    kept = fresh()

    async def both() -> list[object]:
        async def nothing(*_: object) -> None:
            await asyncio.sleep(0)

        class Slow(World):
            async def do(self, run: WaveRun, step: MigrationStep) -> Mapping[str, Any]:
                await asyncio.sleep(0)
                return await super().do(run, step)

        engines = [carry_out(kept, "r", Slow(kept), lambda: 0, nothing, nothing) for _ in range(2)]
        return await asyncio.gather(*engines, return_exceptions=True)

    outcomes = asyncio.run(both())
    assert any(isinstance(one, OvertakenError) for one in outcomes)
    assert ended(kept, World(kept)).state is WaveRunState.DONE


def test_what_is_waited_for_is_told_at_each_look() -> None:
    """Whoever hears it says how often it is kept."""
    kept, heard = fresh(), []
    world = World(kept, {3: NotYetError("orders-0 grows")}, tries=5)

    async def tell(run: WaveRun, why: str) -> None:
        heard.append((run.at, why))

    async def nothing(*_: object) -> None:
        pass

    asyncio.run(carry_out(kept, "r", world, lambda: 0, tell, nothing))
    assert heard == [(3, "orders-0 grows")] * 5
