"""The tasks of a worker, and reading what is wanted, each made by a test without a cluster."""

from __future__ import annotations

import asyncio
import uuid
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from anabranch.copier.lane.lane import Lane
from anabranch.copier.leases import control_watch
from anabranch.copier.leases.control_topics import ControlTopics
from anabranch.copier.leases.control_watch import ControlWatch
from anabranch.copier.leases.copying import Copying
from anabranch.copier.leases.resumable import ResumableLanes
from anabranch.copier.reporting.progress_writer import ProgressWriter
from anabranch.copier.write_gate import WriteGate
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.connection import Transport
from anabranch.kafka.errors import AuthenticationError, UnreachableError
from anabranch.model.lane import LaneAssignment, LaneKey
from anabranch.model.link import ModePolicy
from anabranch.model.start import LaneStart
from anabranch.model.topics import TopicId, TopicPartition
from qa.timeouts import TIMEOUT_S

pytestmark = pytest.mark.unit

TOPIC = TopicId(uuid.UUID(int=9))
TASKS = {"gap writer", "fetcher", "takeovers", "open transactions", "foreign writers"}


@dataclass
class Read:
    """The control topics; notes what is read of which, and fails at what it is told."""

    done: list[str] = field(default_factory=list)
    fails: list[Exception] = field(default_factory=list)
    name: str = ""

    def __getattr__(self, name: str) -> Read:
        return Read(self.done, self.fails, name)

    async def sync(self) -> None:
        """Read what changed."""
        if self.fails:
            raise self.fails.pop(0)
        self.done.append(self.name)

    read = check = sync


def watch(topics: Read, *, urgent: bool = True) -> ControlWatch:
    """A watch over these; what acts on them notes it, too."""
    return ControlWatch(cast(Any, topics), lambda _: topics.done.append("acted"), lambda: urgent)


def test_what_is_wanted_is_acted_on_before_what_can_wait_is_read() -> None:
    """Links, progress and claims first; the topics that are read by takeovers are only looked after."""
    topics = Read()
    asyncio.run(watch(topics).read())
    assert topics.done == ["links", "progress", "journal", "acted", "gap_records", "ranges"]


def test_a_watch_goes_on_after_what_passes_and_raises_what_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """A target that is away for a moment ends no lease; lost rights do."""
    monkeypatch.setattr(control_watch, "HURRY_S", 0.0)
    topics = Read(fails=[UnreachableError("new", ("n:1: refused",))])

    async def play() -> None:
        task = asyncio.create_task(watch(topics).run())
        async with asyncio.timeout(TIMEOUT_S):
            while "ranges" not in topics.done:
                await asyncio.sleep(0)
            topics.fails.append(AuthenticationError("new", "User:ann", "PLAIN", "wrong credentials"))
            with pytest.raises(AuthenticationError):
                await task

    asyncio.run(play())


def test_two_reads_are_one_after_the_other() -> None:
    """Who begins a lease reads beside the watch: neither acts on half of what the other reads."""
    topics = Read()
    reads = watch(topics)

    async def play() -> None:
        await asyncio.gather(reads.read(), reads.read())

    asyncio.run(play())
    assert topics.done == ["links", "progress", "journal", "acted", "gap_records", "ranges"] * 2


class Worker:
    """A worker's copying with one lane, over clusters that nobody connects to; notes what is persisted."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.may_persist = True
        self.persisted: list[object] = []
        at = TopicPartition("t", 0)
        self.lane = Lane(LaneAssignment(LaneKey("l", TOPIC, 0), at, at, TOPIC, LaneStart(), ModePolicy.AUTO))
        source, target = (Cluster(Transport(name, "User:ANONYMOUS"), []) for name in ("old", "new"))
        topics = ControlTopics.of(target)
        resumable = ResumableLanes("me", topics)
        self.copying = Copying(
            *("me", source, target, topics, [self.lane], resumable, WriteGate()), lambda: self.may_persist
        )

        async def persist(_writer: ProgressWriter, *, everything: bool = False) -> None:
            self.persisted.append(everything)
            await asyncio.sleep(0)
            self.persisted.append("done")

        async def persist_last(_writer: ProgressWriter) -> None:
            self.persisted.append("last")

        monkeypatch.setattr(ProgressWriter, "persist", persist)
        monkeypatch.setattr(ProgressWriter, "persist_last", persist_last)


def test_nothing_is_persisted_where_that_is_not_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The link was deleted: what is persisted then would outlive it."""
    worker = Worker(monkeypatch)

    async def play() -> None:
        await worker.copying.persist()
        await worker.copying.persist_last()

    asyncio.run(play())
    assert worker.persisted == [False, "done", "last"]
    worker.may_persist = False
    asyncio.run(play())
    assert worker.persisted == [False, "done", "last"]


def test_one_round_is_persisted_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """A lane that is let go persists beside the round of each second: of one segment the later write is the last."""
    worker = Worker(monkeypatch)

    async def play() -> None:
        await asyncio.gather(worker.copying.persist(), worker.copying.settle(worker.lane))

    asyncio.run(play())
    assert worker.persisted == [False, "done", True, "done"]


def test_a_lane_that_settles_waits_for_its_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only then it is persisted: what is in flight is copied, too."""
    worker = Worker(monkeypatch)

    seen: list[list[object]] = []

    class Flight:
        @property
        def awaits_answers(self) -> bool:
            """Until it was looked at three times; keeps what was persisted by each."""
            seen.append(list(worker.persisted))
            return len(seen) < 3

    async def play() -> None:
        worker.lane.active = cast(Any, Flight())
        async with asyncio.timeout(TIMEOUT_S):
            await worker.copying.settle(worker.lane)

    asyncio.run(play())
    assert seen == [[], [], []]
    assert worker.persisted == [True, "done"]
    worker.copying.remove(worker.lane)
    assert worker.lane.active is None


def test_tasks_run_from_the_first_lease_until_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of them under its name, and none after the end."""
    worker = Worker(monkeypatch)
    copying = worker.copying

    async def play() -> None:
        assert not copying.is_running
        copying.start()
        assert copying.is_running and {task.get_name() for task in copying.tasks} == TASKS
        for task in copying.tasks:
            task.cancel()
        await asyncio.gather(*copying.tasks, return_exceptions=True)
        await copying.drain(0.0)
        copying.close()
        assert not copying.is_running

    asyncio.run(play())
