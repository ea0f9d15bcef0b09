"""A link in a simulated world in which nothing happens but what a test does, with both logs looked at all the time.

Times are virtual: how fast the machine is changes none of them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from anabranch.config.jobspec import LinkJob
from anabranch.copier.worker import Worker
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.security import open_cluster
from anabranch.kafka.simulated.partition import SimulatedPartition
from anabranch.model.clock import now_ms
from anabranch.model.decisions import AcceptPlan
from anabranch.model.lane import LaneProgress
from anabranch.model.link import ModePolicy
from anabranch.operations.links import accept as accepting
from anabranch.records.decode import decode
from anabranch.records.header import read_header
from anabranch.records.record import Record
from anabranch.spark.link.leases import LeasePlanner
from anabranch.state.codecs import progress, topics
from anabranch.state.topics.control import ControlLostError, Links
from qa.blocking import between
from qa.faults.topics import LoadTopic
from qa.simulation.life import LINK, Life, Plan
from qa.simulation.run import Run
from qa.simulation.world import World

TOPIC = "live"
LIVE = LoadTopic(TOPIC, 1, old=False)
LOOK_S = 0.02
"""Between two looks at the logs."""
ASKED_AGAIN = 10
"""How often a person asks who is told that it is not known whether something was stored."""


class Watched:
    """A link of topics that are written to.

    ``seen`` are (virtual second, end of the target's partition), ``written`` the same of the source's.
    """

    def __init__(
        self, seed: int, mode: ModePolicy, topic: LoadTopic, load_gap_s: float, guarded: bool, brokers: int
    ) -> None:
        plan = Plan("watched", (topic,), (), mode=mode, load_gap_s=load_gap_s, may_mark=not guarded, brokers=brokers)
        self.life = Life(plan, seed)
        self.seen: list[tuple[float, int]] = []
        self.written: list[tuple[float, int]] = []
        self._runs = 0

    @property
    def world(self) -> World:
        """Where it is."""
        return self.life.world

    @property
    def now(self) -> float:
        """The virtual second."""
        return self.world.scheduler.now

    def run(self, lease_seconds: float = 600.0, skew_ms: int = 0, slots: int = 1) -> Run:
        """Begin a run of the link, all of whose clocks are off by this much."""
        made = Run(self.world, self._job(lease_seconds), slots, lambda: skew_ms)
        made.start()
        return made

    def end(self, run: Run) -> None:
        """Have a run end, and wait until it has."""
        run.stop()
        assert self.world.scheduler.run(lambda: not run.is_alive, 60.0), "the run did not end"
        assert run.exits == []

    def _job(self, lease_seconds: float) -> LinkJob:
        self._runs += 1
        return LinkJob(
            LINK, f"run-{self._runs}", self.life.context("source"), self.life.context("target"), lease_seconds
        )

    def lease_once(self, seconds: float, ended: Callable[[float], None]) -> None:
        """A process that is given one lease and no other; ``ended`` hears of the lease's end."""

        def work() -> None:
            job = self._job(seconds)
            planner = LeasePlanner(job, 1)
            worker = Worker(job.source, job.target, job.run, lambda: True)
            for _ in worker.run(planner.leases(now_ms())[0]):
                pass
            ended(self.now)
            scheduler = self.world.scheduler
            while scheduler.fiber is not None:
                scheduler.fiber.park()

        self.world.process("once", work)

    def change(self, **wanted: Any) -> float:
        """Store what is wanted of the link; returns the second at which it was stored."""

        async def put() -> None:
            async with open_cluster(self.life.context("target")) as target:
                links = Links(target)
                await links.sync()
                record = links.links[LINK]
                before = record.wanted
                paused = wanted.pop("paused", before.paused)
                spec = replace(before.spec, **wanted)
                await links.put(
                    replace(record, wanted=replace(before, paused=paused, spec=spec, revision=before.revision + 1))
                )

        self.world.ask(lambda: asyncio.run(put()))
        return self.now

    def pass_(self, seconds: float) -> None:
        """Let virtual time go by."""
        self.world.scheduler.run(lambda: False, seconds)

    def until(self, condition: Callable[[], bool], seconds: float = 60.0) -> None:
        """Let virtual time go by until it is so."""
        assert self.world.scheduler.run(condition, seconds), "it did not come to pass"

    # -- what lies there -------------------------------------------------------------------------------

    def partition(self, cluster: str, topic: str = TOPIC) -> SimulatedPartition | None:
        """A topic's first partition, if the topic is there."""
        found = self.world.clusters[cluster].topics.get(topic)
        return None if found is None else found.partitions[0]

    def end_of(self, cluster: str, topic: str = TOPIC) -> int:
        """Where a log ends; 0 where there is none."""
        found = self.partition(cluster, topic)
        return 0 if found is None else found.led.log.end

    def persisted(self, topic: str) -> list[Record]:
        """The records of a control topic."""
        found = self.partition("target", topic)
        assert found is not None
        views = [memoryview(stored.data) for stored in found.led.log.batches]
        return [one for view in views for one in decode(view, 0, read_header(view))]

    def grown(self, after: float, before: float) -> int:
        """By how many offsets the target's partition grew between two seconds."""
        within = [end for at, end in self.seen if after <= at <= before]
        return within[-1] - within[0] if within else 0

    def _look(self) -> None:
        self.seen.append((self.now, self.end_of("target")))
        self.written.append((self.now, self.end_of("source")))
        self.world.scheduler.call_later(LOOK_S, self._look)

    def begin(self) -> None:
        """Write to the source, store the link, look."""
        self.life.load.start()
        self.world.ask(lambda: asyncio.run(self.life._store_link()))
        self._look()

    def lose(self, topic: str, *, made_again: bool = True) -> None:
        """A control topic is deleted, as by a mistake, and made again without a record; every broker hears of it."""
        assert topic in topics.ALL
        target = self.world.clusters["target"]
        target.delete(topic)
        if made_again:
            target.create(topic, topics.PARTITIONS, 1, topics.configs(1))
        self.pass_(1.0)

    def accept(self) -> AcceptPlan:
        """A person accepts all that waits in the link, and asks again where it is not known whether that was stored.

        Returns what that was.
        """
        contexts = self.life.context("source"), self.life.context("target")
        shown: list[AcceptPlan] = []

        async def accept(source: Cluster, target: Cluster) -> AcceptPlan:
            shown.append(await accepting.plan(source, target, LINK))
            return (await accepting.apply(source, target, shown[-1])).plan

        for _ in range(ASKED_AGAIN):
            try:
                return self.world.ask(lambda: between(*contexts, accept))
            except ControlLostError:
                self.pass_(1.0)
            except accepting.NothingToAcceptError:
                if not shown:
                    raise
                return shown[-1]
        raise AssertionError(f"not stored in {ASKED_AGAIN} tries")

    def judge(self) -> list[str]:
        """Stop writing, wait until all is copied, and say what is wrong with the copy or its maps."""
        self.life.load.stop()
        self.pass_(20.0)
        self.life._judge()
        return self.life.outcome.wrong


@contextmanager
def watched(
    seed: int,
    mode: ModePolicy = ModePolicy.AUTO,
    topic: LoadTopic = LIVE,
    load_gap_s: float = 0.15,
    guarded: bool = False,
    brokers: int = 1,
) -> Iterator[Watched]:
    """A world with a link, while the block lasts; ``guarded``: the target asks for a password."""
    made = Watched(seed, mode, topic, load_gap_s, guarded, brokers)
    with made.world.entered():
        made.begin()
        yield made


def lanes(persisted: Iterable[Record]) -> list[LaneProgress]:
    """What was persisted of lanes, in its order."""
    found = []
    for one in persisted:
        key, value = one.key or b"", one.value
        if value is not None and not isinstance(progress.parse_key(key), tuple):
            found.append(progress.decode_lane(key, value))
    return found
