"""What a run looks at once more before its point of no return, and what its fence writes down."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from anabranch.errors import RefusedError
from anabranch.groups.plan import GroupPlan, GroupsPlan, GroupStep
from anabranch.kafka.log_ends import LogBounds
from anabranch.migration.ends import End
from anabranch.migration.left_out import LEFT_OUT
from anabranch.migration.legs import Leg
from anabranch.migration.lost_steps import lost_switch_steps, reconcile_steps
from anabranch.migration.options import TailChoice, UnknownGroups
from anabranch.migration.run import WaveRun
from anabranch.migration.spec import FenceKind, Migration, Wave, WaveOrder
from anabranch.migration.steps import MigrationStep, Part, StepKind, parts, switch_steps
from anabranch.model.groups import GroupKind, GroupState
from anabranch.model.reasons import Reason, ReasonKind
from anabranch.model.topics import TopicPartition
from anabranch.operations.migrations import ending, fencing, lost, lost_groups, positions, steps
from anabranch.operations.migrations.desk import Scene
from anabranch.operations.migrations.engine import NotYetError

pytestmark = pytest.mark.unit

WAVE = Wave("orders", ("orders",), ("shop",), codes=("orders",), fences=(FenceKind.ROUTES, FenceKind.ACL))
LEG = Leg(Migration("move", "old", "new", (WAVE,)), WAVE)


class LookedError(RefusedError):
    """It was looked at."""


class Desk:
    """Who is held, if anybody is."""

    bound = 0

    async def bind(self, *_: object) -> None:
        """They stay held."""
        self.bound += 1


def scene(made: tuple[MigrationStep, ...], subject: str = "", desk: Any = None) -> Scene:
    """A step of a run of these, on clusters that are not asked."""
    nobody: Any = None
    run = WaveRun("r", "move", "orders", "switch", made, 0)
    return Scene(LEG, nobody, nobody, desk or Desk(), run, subject)


def refuses(monkeypatch: pytest.MonkeyPatch, module: Any, name: str) -> None:
    """Looking at it is noticed."""

    async def look(*_: object) -> None:
        raise LookedError

    monkeypatch.setattr(module, name, look)


async def _nothing(*_: object) -> None:
    """All is as it was."""


@pytest.mark.parametrize("part", [Part.ALL, Part.CONSUMERS])
def test_a_source_that_is_back_is_not_left_without_it(monkeypatch: pytest.MonkeyPatch, part: Part) -> None:
    """However long groups and jobs were waited for since it was first seen to be gone."""
    refuses(monkeypatch, lost, "prove_lost")
    with pytest.raises(LookedError):
        asyncio.run(steps._bind(scene(lost_switch_steps(LEG, part, UnknownGroups.LATEST))))


@pytest.mark.parametrize("order", WaveOrder)
def test_what_happened_while_the_way_back_was_made_is_seen(monkeypatch: pytest.MonkeyPatch, order: WaveOrder) -> None:
    """Records that were written behind the pinned ends, and groups that read on: of each part what it moves."""
    wave = Wave("orders", ("orders",), ("shop",), order=order, fences=(FenceKind.OBSERVE,))
    looks = {Part.CONSUMERS: (ending, "refuse_written"), Part.PRODUCERS: (positions, "refuse_read")}
    for part in parts(wave):
        made = switch_steps(Leg(Migration("move", "old", "new", (wave,)), wave), part)
        for look in (look for whose, look in looks.items() if whose is not part):
            with monkeypatch.context() as patched:
                for each in looks.values():
                    patched.setattr(*each, _nothing)
                refuses(patched, *look)
                with pytest.raises(LookedError):
                    asyncio.run(steps._bind(scene(made)))


@pytest.mark.parametrize("tail", TailChoice)
def test_a_source_that_was_written_to_since_it_was_pinned_is_looked_at_again(
    monkeypatch: pytest.MonkeyPatch, tail: TailChoice
) -> None:
    """A way back would begin before what was written, and never bring it."""
    refuses(monkeypatch, ending, "refuse_written")
    with pytest.raises(LookedError):
        asyncio.run(steps._bind(scene(reconcile_steps(LEG, tail))))


@pytest.mark.parametrize(
    ("order", "part"), [(WaveOrder.TOGETHER, Part.ALL), (WaveOrder.PRODUCERS_FIRST, Part.CONSUMERS)]
)
def test_who_is_held_stays_so_past_the_point_of_no_return(
    monkeypatch: pytest.MonkeyPatch, order: WaveOrder, part: Part
) -> None:
    """Clients that pause with producers, and consumers that pause by themselves."""
    desk = Desk()
    monkeypatch.setattr(ending, "refuse_written", _nothing)
    wave = Wave("orders", ("orders",), ("shop",), codes=("orders",), order=order, fences=(FenceKind.ROUTES,))
    made = switch_steps(Leg(Migration("move", "old", "new", (wave,)), wave), part)
    asyncio.run(steps._bind(scene(made, desk=desk)))
    assert desk.bound == 1


def test_a_fence_writes_down_what_it_denies(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that exactly that is lifted, whoever may write by then."""

    async def deny(_: Scene) -> dict[str, Any]:
        return {"made": [["orders", "User:shop"]]}

    monkeypatch.setattr(fencing, "deny", deny)
    made = switch_steps(LEG, Part.ALL)
    does: Callable[[Scene], Any] = steps._DO[StepKind.FENCE]
    assert asyncio.run(does(scene(made, FenceKind.ACL.value))) == {"made": [["orders", "User:shop"]]}


def test_a_group_that_is_not_known_goes_on_behind_the_copies_and_not_behind_what_was_written_since() -> None:
    """A log that begins behind the copies is begun at its beginning."""
    here, later, new = (TopicPartition("orders", number) for number in range(3))
    logs = {here: LogBounds(0, 900), later: LogBounds(700, 900), new: LogBounds(0, 5)}
    copied = {here: 400, later: 400}
    latest = dict(lost_groups._chosen(UnknownGroups.LATEST, logs, copied))
    assert latest == {here: 400, later: 700, new: 0}
    assert dict(lost_groups._chosen(UnknownGroups.EARLIEST, logs, copied)) == {here: 0, later: 700, new: 0}


def test_a_partition_of_which_nothing_tells_is_not_known_though_others_of_its_topic_are() -> None:
    """Whether its members handed those over, or the target has commits of them."""
    here, other, foreign = TopicPartition("orders", 0), TopicPartition("orders", 1), TopicPartition("clicks", 0)
    logs = dict.fromkeys((here, other, foreign), LogBounds(0, 9))
    assert set(lost_groups._not_known(logs, (here,), ())) == {other}
    assert set(lost_groups._not_known(logs, (), (here,))) == {other}
    assert set(lost_groups._not_known(logs, (), ())) == set(logs)
    assert set(lost_groups._not_known(logs, (), (here,), is_whole=True)) == set()
    assert set(lost_groups._not_known(logs, (), (), is_whole=True)) == set(logs), "what was moved once is gone there"


@pytest.mark.parametrize(
    ("said", "end", "led"), [("", End.TARGET, True), ("gone", End.SOURCE, True), ("gone", End.TARGET, False)]
)
def test_nobody_is_led_to_a_cluster_that_was_lost(said: str, end: End, led: bool) -> None:
    """Those that are held are let go where they are; one that is lost where the leg began leads nobody back."""
    done: list[str] = []

    class Leading(Desk):
        async def lead(self, *_: object) -> None:
            done.append("led")

        async def let_go(self, *_: object) -> None:
            done.append("let go")

    made = scene(switch_steps(LEG, Part.ALL), desk=Leading())
    found = asyncio.run(steps._lead(replace(made, run=replace(made.run, lost=said, lost_end=end))))
    assert (done, found) == ((["led"], None) if led else (["let go"], LEFT_OUT))


@pytest.mark.parametrize(
    ("whys", "error"),
    [
        ([ReasonKind.NOT_COPIED, ReasonKind.MOVING], NotYetError),
        ([ReasonKind.NOT_COPIED, ReasonKind.METADATA], positions.GroupsBlockedError),
        ([ReasonKind.METADATA], positions.GroupsBlockedError),
    ],
)
def test_what_does_not_pass_by_itself_is_not_waited_for(
    whys: list[ReasonKind], error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also beside what does: applications are held up meanwhile."""
    reasons = tuple(Reason(why, f"shop: {why.value}", "") for why in whys)
    states = GroupState.EMPTY, GroupState.DEAD
    plan = GroupPlan("shop", GroupKind.CLASSIC, *states, (), reasons, GroupStep.REFUSED)

    async def selected(*_: object) -> tuple[GroupsPlan]:
        return (GroupsPlan("move", (plan,), "h"),)

    monkeypatch.setattr(positions, "selected", selected)
    with pytest.raises(error):
        asyncio.run(positions.stage_groups(scene(switch_steps(LEG, Part.ALL), WAVE.name)))
