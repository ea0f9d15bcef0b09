"""Between two leases: copying goes on, lanes stay or are handed over, and it all ends by itself."""

from __future__ import annotations

import asyncio
import itertools
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from anabranch.config.jobspec import LinkJob
from anabranch.copier import worker as worker_module
from anabranch.copier.ownership import handover
from anabranch.copier.planning.lease import Lease, LeaseFigures
from anabranch.copier.worker import Worker
from anabranch.kafka.cluster import Cluster as Client
from anabranch.model.clock import now_ms
from anabranch.model.link import ModePolicy
from anabranch.model.reports import LinkPlan
from anabranch.protocol.claims import Claim, ClaimState
from anabranch.sandbox import SandboxCluster
from anabranch.spark.link.leases import LeasePlanner
from anabranch.state.topics.control import Progress
from anabranch.state.topics.journal import Journal
from qa.timeouts import LONG_TIMEOUT_S
from tests.integration.links.lab import TIMEOUT_S, Link, link
from tests.integration.links.test_spark import CommandLine
from tests.integration.links.topics import create, fresh, newest_offset, numbered, produce

pytestmark = pytest.mark.test
LEASE_S = 0.5


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """What one step of a test takes must not be taken for the end of a run."""
    monkeypatch.setattr(worker_module, "GRACE_S", TIMEOUT_S)


class Staff:
    """Workers of one run, in this process, and the leases that its planner makes; nothing happens by itself."""

    def __init__(self, made: Link, slots: int) -> None:
        self.job = LinkJob(made.id, f"{made.id}-run", made.source, made.target, LEASE_S)
        self.is_alive = True
        self._planner = LeasePlanner(self.job, slots)
        self._batches = itertools.count(1)
        self._workers: list[Worker] = []

    def hire(self) -> Worker:
        """A worker more."""
        worker = Worker(self.job.source, self.job.target, self.job.run, lambda: self.is_alive)
        self._workers.append(worker)
        return worker

    def dismiss(self, worker: Worker) -> None:
        """A worker less."""
        self._workers.remove(worker)
        worker.close()

    def leases(self, seconds: float = LEASE_S) -> list[Lease]:
        """Plan."""
        made = self._planner.leases(now_ms())
        return [Lease(one.link, one.run, one.batch, one.slot, one.slots, seconds, one.lanes, one.homes) for one in made]

    def close(self) -> None:
        """Dismiss all."""
        for worker in self._workers:
            worker.close()
        self._planner.close()


@contextmanager
def staff(made: Link, slots: int = 1) -> Iterator[Staff]:
    """A run's workers while the block lasts."""
    run = Staff(made, slots)
    try:
        yield run
    finally:
        run.close()


def work(*pairs: tuple[Worker, Lease]) -> list[list[LeaseFigures]]:
    """Run leases at the same time, each to its end."""
    done: list[list[LeaseFigures]] = [[] for _ in pairs]

    def one(at: int, worker: Worker, lease: Lease) -> None:
        done[at] = list(worker.run(lease))

    threads = [threading.Thread(target=one, args=(at, *pair)) for at, pair in enumerate(pairs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(TIMEOUT_S)
    assert all(done), "a lease did not end"
    return done


@contextmanager
def working(worker: Worker, lease: Lease) -> Iterator[None]:
    """A long lease while the block lasts; then it is closed."""
    over = threading.Event()

    def main() -> None:
        figures = worker.run(lease)
        for _ in figures:
            if over.is_set():
                break
        figures.close()  # type: ignore[attr-defined]

    thread = threading.Thread(target=main)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(TIMEOUT_S)
    assert not thread.is_alive()


def until(condition: Callable[[], bool], seconds: float = TIMEOUT_S) -> None:
    """Wait until it is so."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come to pass"
        time.sleep(0.05)


def claims(made: Link) -> list[Claim]:
    """Every claim on the link's lanes, in the journal's order."""

    lanes = [str(lane.lane) for lane in made.status().lanes]

    async def read(client: Client) -> list[Claim]:
        log = await Journal(client).read()
        return [placed.claim for lane in lanes for placed in log.claims(lane)]

    found: list[Claim] = made.on_target(read)
    return found


def test_copying_goes_on_between_two_leases_under_the_same_claim(old: SandboxCluster, new: SandboxCluster) -> None:
    """The next lease does not come before records that were produced after the last one are on the target."""
    topic = create(old, fresh("between"))
    produce(old, topic, numbered(10))
    with link(old, new, topic, mode=ModePolicy.MAPPED) as made, staff(made) as run:
        worker = run.hire()
        copied = 0
        for turn in range(3):
            [figures] = work((worker, run.leases()[0]))
            copied += sum(one.records for one in figures)
            produce(old, topic, numbered(10, first=10 * turn + 10))
            until(lambda turn=turn: newest_offset(new, topic) == 10 * turn + 20)  # type: ignore[misc]
        [figures] = work((worker, run.leases()[0]))
        copied += sum(one.records for one in figures)
        assert copied == 40, "what was copied between leases is in the next one's figures"
        assert [claim.state for claim in claims(made)] == [ClaimState.CLAIMED]
        assert made.assert_copied(topic) == 40


def test_a_worker_whom_nobody_gives_a_lease_ends_by_itself_and_gives_back(
    old: SandboxCluster, new: SandboxCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The claim is released, all is persisted, and what is produced later stays where it is."""
    monkeypatch.setattr(worker_module, "GRACE_S", 1.0)
    topic = create(old, fresh("nobody"))
    produce(old, topic, numbered(10))
    with link(old, new, topic, mode=ModePolicy.MAPPED) as made, staff(made) as run:
        worker = run.hire()
        work((worker, run.leases()[0]))
        produce(old, topic, numbered(5, first=10))
        until(lambda: [claim.state for claim in claims(made)] == [ClaimState.RELEASED])
        end = newest_offset(new, topic)
        produce(old, topic, numbered(5, first=15))
        until(lambda: stands_still(worker))
        assert newest_offset(new, topic) == end
        assert made.lane(topic).position == end
        assert made.assert_copied(topic) == end


def test_a_worker_whose_parent_is_gone_copies_nothing_between_leases(old: SandboxCluster, new: SandboxCluster) -> None:
    """It ends within a moment, without a word to anyone; the next worker copies what is left."""
    topic = create(old, fresh("orphan"))
    produce(old, topic, numbered(10))
    with link(old, new, topic) as made, staff(made) as run:
        orphan = run.hire()
        work((orphan, run.leases()[0]))
        run.is_alive = False
        until(lambda: not threads_between_leases())
        produce(old, topic, numbered(5, first=10))
        until(lambda: stands_still(orphan))
        assert newest_offset(new, topic) == 10
        run.is_alive = True
        with working(run.hire(), run.leases(LONG_TIMEOUT_S)[0]):
            made.await_position(topic, 15)
        assert made.assert_copied(topic) == 15


def threads_between_leases() -> list[threading.Thread]:
    """Those that drive a worker's loop without a lease."""
    return [thread for thread in threading.enumerate() if thread.name == "between leases"]


def stands_still(worker: Worker) -> bool:
    """Whether nobody drives a worker's loop, and nothing would run if somebody did: it can write no more."""
    return not threads_between_leases() and not worker.loop.is_running() and not asyncio.all_tasks(worker.loop)


def test_workers_that_get_each_others_tasks_go_on_with_their_own_lanes(
    old: SandboxCluster, new: SandboxCluster
) -> None:
    """Spark gives slots to workers as it likes: lanes need not move for that, and nothing is claimed anew."""
    topic = create(old, fresh("swap"), 2)
    for partition in range(2):
        produce(old, topic, numbered(10, partition=partition))
    with link(old, new, topic, mode=ModePolicy.MAPPED) as made, staff(made, slots=2) as run:
        one, two = run.hire(), run.hire()
        first = run.leases()
        work((one, first[0]), (two, first[1]))
        for partition in range(2):
            made.await_position(topic, 10, partition)
        owners = {lane.source: lane.owner for lane in made.status().lanes}
        for _ in range(2):
            second = run.leases()
            assert set(second[0].homes) == {one.owner, two.owner}
            work((two, second[0]), (one, second[1]))
        for partition in range(2):
            produce(old, topic, numbered(10, first=10, partition=partition))
            made.await_position(topic, 20, partition)
        assert {lane.source: lane.owner for lane in made.status().lanes} == owners
        assert len(claims(made)) == 2
        assert [made.assert_copied(topic, partition=partition) for partition in range(2)] == [20, 20]


@pytest.mark.real
@pytest.mark.parametrize("mode", [ModePolicy.MAPPED, ModePolicy.AUTO])
def test_a_new_worker_is_handed_the_lanes_of_one_that_copies_on(
    old: SandboxCluster, new: SandboxCluster, mode: ModePolicy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It asks, the holder gives back, and no marker is spent on fencing anybody ."""
    monkeypatch.setattr(handover, "TIMEOUT_S", TIMEOUT_S)  # a holder that is only slow is not taken for dead
    topic = create(old, fresh("handed"))
    produce(old, topic, numbered(10))
    with link(old, new, topic, mode=mode) as made, staff(made) as run:
        holder, heir = run.hire(), run.hire()
        work((holder, run.leases()[0]))
        made.await_position(topic, 10)
        with working(heir, run.leases(LONG_TIMEOUT_S)[0]):
            made.await_(lambda status: status.lanes[0].owner == heir.owner and status.lanes[0].position == 10)
            produce(old, topic, numbered(10, first=10))
            made.await_position(topic, 20)
            made.await_(lambda status: status.lanes[0].owner == heir.owner)
        assert newest_offset(new, topic) == 20, "a kill would have cost an offset"
        assert made.assert_copied(topic) == 20


def test_a_worker_that_goes_on_with_its_lanes_yields_them_to_a_new_one_and_does_its_task(
    old: SandboxCluster, new: SandboxCluster
) -> None:
    """Of two workers one is gone and the other got its task: a new one takes the survivor's lane, none is left out."""
    topic = create(old, fresh("yield"), 2)
    for partition in range(2):
        produce(old, topic, numbered(10, partition=partition))
    with link(old, new, topic) as made, staff(made, slots=2) as run:
        lost, survivor, fresh_one = run.hire(), run.hire(), run.hire()
        first = run.leases()
        work((lost, first[0]), (survivor, first[1]))
        for partition in range(2):
            made.await_position(topic, 10, partition)
        run.dismiss(lost)
        second = run.leases(LONG_TIMEOUT_S)
        with working(survivor, second[0]), working(fresh_one, second[1]):
            for partition in range(2):
                produce(old, topic, numbered(10, first=10, partition=partition))
                made.await_position(topic, 20, partition)
            # What came meanwhile may have been copied by the survivor, before it let its lane go.
            made.await_(lambda status: {lane.owner for lane in status.lanes} == {survivor.owner, fresh_one.owner})
        assert [made.assert_copied(topic, partition=partition) for partition in range(2)] == [20, 20]


def test_a_run_that_is_told_to_end_leaves_nothing_running(old: SandboxCluster, new: SandboxCluster) -> None:
    """Not even between two leases: the claim is given back before the last figures are out."""
    topic = create(old, fresh("told"))
    produce(old, topic, numbered(10))
    with link(old, new, topic, mode=ModePolicy.MAPPED) as made, staff(made) as run:
        worker = run.hire()
        work((worker, run.leases()[0]))
        made.await_position(topic, 10)

        async def tell(client: Client) -> None:
            await Progress(client).plan(LinkPlan(made.id, run.job.run, now_ms(), now_ms(), 1, ends=True))

        lease = run.leases(LONG_TIMEOUT_S)[0]
        planned = now_ms()
        until(lambda: now_ms() > planned)
        made.on_target(tell)
        [figures] = work((worker, lease))
        assert figures[-1].over == "the run was told to end"
        assert not threads_between_leases()
        assert [claim.state for claim in claims(made)] == [ClaimState.RELEASED]


@pytest.mark.real
@pytest.mark.full
def test_leases_of_spark_follow_each_other_and_nobody_is_shut_out(
    old: SandboxCluster, new: SandboxCluster, tmp_path: Path
) -> None:
    """Over many micro-batches lanes stay or are handed over, and Ctrl-C gives all of them back."""
    cli = CommandLine(tmp_path, old, new)
    name = fresh("spark-leases")
    topic = create(old, name, 4)
    for partition in range(4):
        produce(old, topic, numbered(10, partition=partition))
    flags = ("--id", name, "--include", name, "--mode", "mapped", "--execute")
    cli("link", "create", "--source", "old", "--target", "new", *flags)
    with link(old, new, "", id=name, create=False) as made:
        with cli.running(name, "--master", "local[2]", "--lease-seconds", "2"):
            made.await_(lambda status: len(status.lanes) == 4, seconds=LONG_TIMEOUT_S)
            for turn in range(1, 4):
                until(lambda turn=turn: cli.batches >= 2 * turn)  # type: ignore[misc]
                for partition in range(4):
                    produce(old, topic, numbered(10, first=10 * turn, partition=partition))
            for partition in range(4):
                made.await_position(topic, 40, partition)
        found = claims(made)
        assert {claim.state for claim in found} == {ClaimState.RELEASED}, found
        assert len({claim.lane for claim in found}) == 4
        assert [made.assert_copied(topic, partition=partition) for partition in range(4)] == [40] * 4
