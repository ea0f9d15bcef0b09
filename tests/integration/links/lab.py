"""A link between two sandbox clusters whose workers run in this process, and what must be true of it."""

from __future__ import annotations

import asyncio
import itertools
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from anabranch.config.jobspec import LinkJob
from anabranch.copier.planning.lease import Lease
from anabranch.copier.worker import Worker
from anabranch.errors import ClusterError
from anabranch.kafka.cluster import Cluster as Client
from anabranch.kafka.errors import passing
from anabranch.kafka.security import open_cluster
from anabranch.model.cluster import ClusterContext
from anabranch.model.decisions import AcceptPlan
from anabranch.model.lane import LaneKey, LaneMode, LaneProgress, LaneState
from anabranch.model.link import ClusterRef, LinkSpec, UnknownLinkError
from anabranch.model.plugins import PluginSpec
from anabranch.model.reports import LinkStatus, ProbeReport
from anabranch.offsets.offset_map import MappedRange, OffsetMap
from anabranch.operations.links.status import LinkStatusReader
from anabranch.sandbox import SandboxCluster
from anabranch.spark.link.leases import LeasePlanner
from anabranch.state.maps.rebuild import LaneLog, rebuild, whole_log
from anabranch.state.segments.index import OffsetMapIndex, in_order
from anabranch.state.topics.control import MappedRanges
from anabranch.state.topics.journal import GapRecords, Journal
from qa import links as engine
from qa.logcompare import batches_differ, compare, disk_batches, read_log
from qa.timeouts import TIMEOUT_S
from tests.integration.kafka.security import context_of

_numbers = itertools.count(1)


@dataclass
class Link:
    """One link: how to make it, run it, ask it, and hold both logs against each other."""

    old: SandboxCluster
    new: SandboxCluster
    spec: LinkSpec
    source: ClusterContext
    target: ClusterContext
    report: ProbeReport | None = None
    _ranges: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    _look: Look | None = None

    @property
    def id(self) -> str:
        """Its id."""
        return self.spec.id

    def create(self) -> ProbeReport:
        """Probe and store it."""
        self.report = engine.create(self.source, self.target, self.spec).plan
        return self.report

    def status(self) -> LinkStatus:
        """What ``link show`` is given; a broker that is only slow is asked again."""
        deadline = time.monotonic() + TIMEOUT_S
        while True:
            self._look = self._look or Look(self.target)
            try:
                return self._look.at(self.id)
            except ClusterError as error:
                self.close()
                if not passing(error) or time.monotonic() > deadline:
                    raise
            time.sleep(0.1)

    def close(self) -> None:
        """End the connections that looking at it has opened."""
        if self._look is not None:
            self._look.close()
            self._look = None

    def lane(self, topic: str, partition: int = 0) -> LaneProgress:
        """One lane as it was persisted last."""
        found = [lane for lane in self.status().lanes if lane.source == type(lane.source)(topic, partition)]
        assert found, f"no lane of {topic}-{partition} was persisted"
        return found[-1]

    def findings(self) -> str:
        """What the last plan found, as one text."""
        plan = self.status().plan
        return "" if plan is None else "\n".join(f"{one.what} | {one.fix}" for one in plan.findings)

    def await_(self, condition: Callable[[LinkStatus], bool], seconds: float = TIMEOUT_S) -> LinkStatus:
        """Ask until it is so."""
        deadline = time.monotonic() + seconds
        while True:
            status = self.status()
            if condition(status):
                return status
            if time.monotonic() > deadline:
                plan = status.plan.findings if status.plan else ()
                lanes = [f"{one.source} {one.state} {one.position} {one.stop_reason}" for one in status.lanes]
                raise AssertionError(f"not so after {seconds:.0f} s: {lanes} {plan}")
            time.sleep(0.1)

    def await_finding(self, *texts: str) -> None:
        """Wait until one plan finds all that these texts say."""
        self.await_(lambda _: all(text in self.findings() for text in texts))

    def await_position(self, topic: str, position: int, partition: int = 0) -> LaneProgress:
        """Wait until a lane has copied up to a source offset."""
        self.await_(lambda status: any(_at(lane, topic, partition, position) for lane in status.lanes))
        return self.lane(topic, partition)

    def await_rounds(self, topic: str, partition: int = 0, rounds: int = 2) -> LaneProgress:
        """Wait until a lane was persisted so often since now, and for so many seconds: its owner has read and sent."""
        first = self.lane(topic, partition).updated_at_ms
        seen = {first}

        def persisted(status: LinkStatus) -> bool:
            seen.update(lane.updated_at_ms for lane in status.lanes if _at(lane, topic, partition, 0))
            return len(seen) > rounds and max(seen) - first >= 1000 * rounds

        self.await_(persisted)
        return self.lane(topic, partition)

    def await_plans(self, plans: int = 2) -> None:
        """Wait until the link was planned so often since now: so many leases have begun."""
        plan = self.status().plan
        seen = {plan.planned_at_ms if plan is not None else 0}

        def planned(status: LinkStatus) -> bool:
            if status.plan is not None:
                seen.add(status.plan.planned_at_ms)
            return len(seen) > plans

        self.await_(planned)

    def accept(self, where: str | None = None) -> AcceptPlan:
        """Look at what waits for a decision, then accept exactly that; returns what was decided."""
        return engine.accept(self.source, self.target, self.id, where)

    def await_stopped(self, topic: str, partition: int = 0) -> LaneProgress:
        """Wait until a lane has stopped for a reason."""
        self.await_(
            lambda status: any(
                lane.state is LaneState.STOPPED and (lane.source.topic, lane.source.partition) == (topic, partition)
                for lane in status.lanes
            )
        )
        return self.lane(topic, partition)

    @contextmanager
    def running(self, lease_seconds: float = 60.0, slots: int = 1) -> Iterator[Running]:
        """Workers in threads of this process, one for each slot, while the block lasts."""
        run = Running(self, f"run-{next(self._ranges)}", lease_seconds, slots)
        run.start()
        try:
            yield run
        finally:
            run.stop()

    # -- both logs -------------------------------------------------------------------------------------

    def assert_copied(
        self, topic: str, renamed: str | None = None, partition: int = 0, first: int | None = None
    ) -> int:
        """Both logs hold the same records in the same order, and the runs say exactly where; returns how many."""
        target_topic = renamed or topic
        here, there = (
            read_log(
                {"bootstrap.servers": cluster.internal_bootstrap, "fetch.wait.max.ms": 20},
                name,
                partition,
                committed=cluster is self.old,
            )
            for cluster, name in ((self.old, topic), (self.new, target_topic))
        )
        lane = self.lane(topic, partition)
        begin = first if first is not None else lane.log_start
        ours = [entry for entry in here if begin <= entry.offset < lane.position]
        ranges = self.ranges(lane.lane)
        mine = {run.target + at for run in ranges for at in range(run.length)}
        theirs = [entry for entry in there if entry.offset in mine]
        differences = compare(ours, theirs)
        assert not differences.total, differences
        digests = {entry.offset: entry.digest for entry in there}
        for run in ranges:
            for entry in ours:
                if run.source <= entry.offset < run.source + run.length:
                    assert digests[run.target + entry.offset - run.source] == entry.digest, (run, entry)
        assert sum(run.length for run in ranges) == len(ours), ranges
        if lane.mode is LaneMode.IDENTITY:
            assert all(run.source == run.target for run in ranges)
        return len(ours)

    def assert_same_batches(self, topic: str, renamed: str | None = None, partition: int = 0) -> None:
        """The batches on both disks are the same: boundaries, codecs, times, stored bytes."""
        here, there = (
            disk_batches(cluster.layout.nodes[0].data / f"{name}-{partition}")
            for cluster, name in ((self.old, topic), (self.new, renamed or topic))
        )
        assert batches_differ(here, there) == ""

    def ranges(self, lane: LaneKey) -> list[MappedRange]:
        """The persisted runs of a lane."""

        async def read(client: Client) -> list[MappedRange]:
            ranges = MappedRanges(client)
            await ranges.sync()
            return list(OffsetMap.of(in_order(ranges.segments.get(lane, {}))))

        return self.on_target(read)

    def rebuilt(self, lane: LaneProgress) -> list[MappedRange]:
        """The runs of a lane as the target's log alone tells them, with the producer ids of its claims."""

        async def read(client: Client) -> list[MappedRange]:
            journal = Journal(client)
            claims = await journal.read()
            within = await whole_log(client, lane.target.topic, lane.target.partition)
            key = str(lane.lane)
            book = OffsetMapIndex()
            log = LaneLog(key, claims.producer_ids(key), await GapRecords(client).read())
            for run in await rebuild(client, within, log, claims.start(key, lane.position)):
                book.append(run)
            return list(book.map)

        return self.on_target(read)

    def on_target(self, question: Callable[[Client], Any]) -> Any:
        """Ask the target something."""

        async def ask() -> Any:
            async with open_cluster(self.target) as client:
                return await question(client)

        return asyncio.run(ask())


class Look:
    """What ``link show`` is given, read ten times a second over one client."""

    def __init__(self, target: ClusterContext) -> None:
        self._runner = asyncio.Runner()
        self._client = open_cluster(target)
        self._standing = LinkStatusReader(self._client)

    def at(self, link_id: str) -> LinkStatus:
        """One link; raises UnknownLinkError."""
        found = [one for one in self._runner.run(self._standing.read()) if one.spec.id == link_id]
        if not found:
            raise UnknownLinkError(link_id, self._client.name)
        return found[0]

    def close(self) -> None:
        """End its connections."""
        self._client.close()
        self._runner.close()


def _at(lane: LaneProgress, topic: str, partition: int, position: int) -> bool:
    return (lane.source.topic, lane.source.partition) == (topic, partition) and lane.position >= position


class Running:
    """A run of a link: a thread that plans and hands out leases, and a thread for each slot's worker."""

    def __init__(self, link: Link, run: str, lease_seconds: float, slots: int) -> None:
        self._job = LinkJob(link.id, f"{link.id}-{run}", link.source, link.target, lease_seconds)
        self._slots = slots
        self._over = threading.Event()
        self._killed = threading.Event()
        self._failures: list[BaseException] = []
        self._thread = threading.Thread(target=self._main, name=run, daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End the leases, and raise what a worker or the planner raised."""
        self._over.set()
        self._thread.join(TIMEOUT_S)
        assert not self._thread.is_alive(), "the workers did not end"
        if self._failures:
            raise self._failures[0]

    @property
    def id(self) -> str:
        """The run's id, with which its owners' names begin."""
        return self._job.run

    def kill(self) -> None:
        """Have the workers end as if their parent were gone: they give nothing back."""
        self._killed.set()
        self._over.set()

    def await_failure(self) -> None:
        """Wait until something ends the run; ``stop`` raises it."""
        deadline = time.monotonic() + TIMEOUT_S
        while not self._failures:
            assert time.monotonic() < deadline, "the run goes on"
            time.sleep(0.05)

    def await_end(self) -> None:
        """Wait until something has ended the run and its workers write no more; ``stop`` raises it."""
        self._thread.join(TIMEOUT_S)
        assert self._failures and not self._thread.is_alive(), "the run goes on"

    def _main(self) -> None:
        planner: LeasePlanner | None = None
        workers: list[Worker] = []
        try:
            planner = LeasePlanner(self._job, self._slots)
            workers = [
                Worker(self._job.source, self._job.target, self._job.run, lambda: not self._killed.is_set())
                for _ in range(self._slots)
            ]
            while not self._over.is_set() and not self._failures:
                leases = planner.leases(time.time_ns() // 1_000_000)
                threads = [
                    threading.Thread(target=self._work, args=pair, daemon=True)
                    for pair in zip(workers, leases, strict=False)
                ]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
        except BaseException as error:
            self._failures.append(error)
        finally:
            for worker in workers:
                worker.close()
            if planner is not None:
                planner.close()

    def _work(self, worker: Worker, lease: Lease) -> None:
        try:
            figures = worker.run(lease)
            for _ in figures:
                if self._over.is_set():
                    break
            figures.close()  # type: ignore[attr-defined]
        except BaseException as error:
            self._failures.append(error)


@contextmanager
def link(
    old: SandboxCluster,
    new: SandboxCluster,
    include: str | list[str],
    *,
    users: tuple[str, str] = ("admin", "admin"),
    create: bool = True,
    **spec: Any,
) -> Iterator[Link]:
    """A link of some topics; it is left behind, as its cluster is thrown away."""
    number = next(_numbers)
    patterns = [include] if isinstance(include, str) else include
    made = Link(
        old,
        new,
        LinkSpec(
            id=spec.pop("id", f"link-{number}"),
            source=ClusterRef(old.spec.name, ""),
            target=ClusterRef(new.spec.name, ""),
            filter=spec.pop("filter", PluginSpec("regex", {"include": patterns})),
            **spec,
        ),
        context_of(old, users[0]),
        context_of(new, users[1]),
    )
    if create:
        made.create()
    try:
        yield made
    finally:
        made.close()
