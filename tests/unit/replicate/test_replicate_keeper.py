"""What a takeover that failed leaves for the next one."""

import asyncio
import uuid
from collections.abc import Generator, Mapping
from typing import Any

import pytest

from anabranch.kafka.cluster import Cluster
from anabranch.kafka.connection import Transport
from anabranch.lanes.claims import Claim, ClaimState
from anabranch.lanes.tenure import Tenure
from anabranch.model.lane import LaneAssignment, LaneKey, LaneMode
from anabranch.model.link import ModePolicy
from anabranch.model.start import LaneStart
from anabranch.model.topics import TopicId, TopicPartition
from anabranch.offsets.runs import Run
from anabranch.replicate.control import Progress, Runs
from anabranch.replicate.gate import Gate
from anabranch.replicate.journal import Journal, Jumps
from anabranch.replicate.keeper import Keeper
from anabranch.replicate.lane import Lane, Phase
from anabranch.replicate.rebuild import UntoldBatchError
from anabranch.replicate.runs import RunBook

pytestmark = pytest.mark.unit

TOPIC, PLACE = TopicId(uuid.UUID(int=9)), TopicPartition("t", 0)


class Target:
    """A target partition on which every takeover is won."""

    leader_epoch = 1

    def __init__(self, lane: Lane) -> None:
        self.connection = self
        self.closed = None
        claim = Claim(lane.key, 1, LaneMode.MAPPED, "me", None, 0, ClaimState.CLAIMED, 0, 0)
        self.tenure = Tenure(lane.key, LaneMode.MAPPED, claim, 1, 1, 1, 0, 0, 0, 0, None, frozenset(), "")

    async def drive(self, steps: Generator[Any, Any, Any]) -> Tenure:
        """The end of a takeover."""
        steps.close()
        return self.tenure


class Taking(Keeper):
    """A keeper whose lanes' runs can be told only once the filed ones were read again."""

    def __init__(self) -> None:
        cluster = Cluster(Transport("c", "User:ANONYMOUS"), [])
        parts = (Journal(cluster), Jumps(cluster), Progress(cluster), Runs(cluster))
        super().__init__("me", cluster, cluster, *parts, lambda _: None, Gate())
        self.refreshed = False

    async def _start_of(self, lane: Lane) -> int:
        return 0

    async def _refresh_runs(self, lane: Lane, others: bool = False) -> bool:
        self.refreshed = self.refreshed or others
        return others

    async def _open(self, lane: Lane, start: int, purpose: str = "") -> Any:
        return Target(lane)

    async def _expiration(self, target: Any) -> int:
        return 1

    async def _mode(self, lane: Lane, start: int, expiration: int) -> tuple[LaneMode, str]:
        return LaneMode.MAPPED, ""

    async def _complete_runs(self, lane: Lane, tenure: Tenure) -> None:
        if not self.refreshed:
            raise UntoldBatchError(lane.key, 5)


def wanted() -> Lane:
    """A lane that is to be taken over."""
    return Lane(LaneAssignment(LaneKey("l", TOPIC, 0), PLACE, PLACE, TOPIC, LaneStart(), ModePolicy.AUTO))


async def attempt(keeper: Keeper, lane: Lane) -> None:
    """One more takeover of a lane, to its end."""
    keeper._start([lane])
    await asyncio.gather(*keeper._tasks.values())
    keeper._retries[lane.key].at = 0.0
    keeper._tasks.clear()


def test_runs_that_could_not_be_told_are_read_again_before_the_next_attempt() -> None:
    """An earlier owner filed them, and forgot the jumps behind them, when an attempt had read what was filed: the next
    one finds a claim of its own as the last and would not look."""

    async def play() -> list[Phase]:
        keeper = Taking()
        lane = wanted()
        found = []
        for _ in range(2):
            await attempt(keeper, lane)
            found.append(lane.phase)
        return found

    assert asyncio.run(play()) == [Phase.TAKING, Phase.RUNNING]


def test_nothing_is_claimed_of_a_lane_that_was_left() -> None:
    """Another worker may have it by then; and the keeper goes on with the others."""

    class Slow(Taking):
        """One that finds the target's leader after the lane was left."""

        opened = 0

        async def _open(self, lane: Lane, start: int, purpose: str = "") -> Any:
            await asyncio.sleep(0.01)
            self.opened += 1
            return Target(lane)

    async def play() -> tuple[int, Phase]:
        keeper = Slow()
        lane = wanted()
        keeper._start([lane])
        await asyncio.sleep(0)
        lane.leave()
        await keeper.forgo(lane)
        keeper._start([lane])
        await asyncio.sleep(0.03)
        return keeper.opened, lane.phase

    assert asyncio.run(play()) == (0, Phase.OVER)


class Reading(Taking):
    """A keeper that reads what was filed from a topic in memory, and can complete no runs."""

    def __init__(self) -> None:
        super().__init__()
        self._runs.sync = self.read  # type: ignore[method-assign]
        self.books: list[RunBook] = []

    async def read(self) -> None:
        """Nothing new."""

    async def _refresh_runs(self, lane: Lane, others: bool = False) -> bool:
        return await Keeper._refresh_runs(self, lane, others)

    async def _complete_runs(self, lane: Lane, tenure: Tenure) -> None:
        self.books.append(lane.book)
        raise UntoldBatchError(lane.key, 5)


def test_attempts_that_fail_make_a_book_only_of_what_is_new() -> None:
    """A book of many runs takes time in which nothing is copied, and a broker may be away for long."""

    async def play() -> list[RunBook]:
        keeper = Reading()
        lane = wanted()
        keeper._runs.segments[lane.assignment.lane] = {0: (Run(0, 0, 50),)}
        for _ in range(3):
            await attempt(keeper, lane)
        keeper._runs.segments[lane.assignment.lane] = {0: (Run(0, 0, 60),)}
        keeper._runs._news[lane.assignment.lane] = {0}
        await attempt(keeper, lane)
        return keeper.books

    own, first, second, third = asyncio.run(play())
    assert own.last is None, "a lane's own book is not made anew for its first attempt"
    assert first is second and first.last == Run(0, 0, 50)
    assert third.last == Run(0, 0, 60)


def test_a_lane_whose_filed_runs_contradict_each_other_waits_and_says_so() -> None:
    """Its position could be told wrong without them, also where its last claim is this worker's own."""

    async def play() -> tuple[str, list[RunBook], Phase]:
        keeper = Reading()
        lane = wanted()
        keeper._runs.segments[lane.assignment.lane] = {0: (Run(0, 0, 50),), 1: (Run(40, 40, 9),)}
        lane.is_untold = True
        for _ in range(2):
            await attempt(keeper, lane)
        return lane.waiting, keeper.books, lane.phase

    waiting, books, phase = asyncio.run(play())
    assert waiting.startswith("what is filed of its offset map contradicts itself: ")
    assert books == [] and phase is Phase.TAKING


def test_filed_runs_past_the_end_of_the_lane_s_last_batch_are_cut_before_anything_is_sent() -> None:
    """An election took what they tell of: what lies there next is something else."""
    cluster = Cluster(Transport("c", "User:ANONYMOUS"), [])
    filed: dict[tuple[LaneKey, int], tuple[Run, ...]] = {}

    async def file(segments: Mapping[tuple[LaneKey, int], tuple[Run, ...]]) -> None:
        filed.update(segments)

    runs = Runs(cluster)
    keeper = Keeper(
        "me", cluster, cluster, Journal(cluster), Jumps(cluster), Progress(cluster), runs, lambda _: None, Gate()
    )
    lane = wanted()
    lane.book.append(Run(0, 0, 20))
    claim = Claim(lane.key, 1, LaneMode.MAPPED, "me", None, 0, ClaimState.CLAIMED, 0, 0)
    tenure = Tenure(lane.key, LaneMode.MAPPED, claim, 1, 1, 1, 12, 12, 12, 12, None, frozenset(), "")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runs, "file", file)
        asyncio.run(keeper._complete_runs(lane, tenure))
    assert filed == {(lane.assignment.lane, 0): (Run(0, 0, 12),)}
    assert lane.book.map.target_end == 12
