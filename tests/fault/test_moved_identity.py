"""Gaps filled on three brokers whose leaders move each second, the transaction coordinators' among them."""

from __future__ import annotations

import contextlib
import random
import threading
import time
from pathlib import Path

import pytest

from anabranch.errors import ClusterError
from anabranch.model.lane import LaneMode, LaneProgress
from anabranch.operations.jobs import launcher
from anabranch.sandbox import ClusterSpec, SandboxCluster, start_clusters
from anabranch.state.codecs import topics as control_topics
from qa import links
from qa.brokers import STEADY, await_markers
from qa.faults.leaders import Leaders
from qa.faults.testbed import LINK, LinkTestbed
from qa.faults.worker_process import start_worker
from qa.logcompare import ComparedRecord, compare, read_log
from qa.timeouts import LONG_TIMEOUT_S
from tests.chance import seed
from tests.integration.links.identity import assert_equal_offsets
from tests.integration.links.topics import create, newest_offset, numbered, produce, transaction

pytestmark = [pytest.mark.full, pytest.mark.timeout(1800)]
TOPICS = ("paid", "sent", "returned")
ROUNDS = 20
MOVES = 100
MOVING_S = 180.0
TIMEOUT_S = LONG_TIMEOUT_S
COORDINATORS = "__transaction_state"


class Moving:
    """Leads every partition by another broker each second, until it is stopped; ``moves`` counts.

    For three minutes, or until enough were moved: on a slow machine lanes may hardly get on between two moves.
    """

    def __init__(self, cluster: SandboxCluster) -> None:
        self.moves = 0
        self._cluster = cluster
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._move, daemon=True)
        self._thread.start()

    def _move(self) -> None:
        leaders, chance, ends = Leaders(self._cluster), random.Random(seed(11)), time.monotonic() + MOVING_S
        while not self._over.wait(1.0) and (time.monotonic() < ends or self.moves <= MOVES):
            with contextlib.suppress(ClusterError):
                self.moves += leaders.rotate([*TOPICS, *control_topics.ALL, COORDINATORS], chance)

    def stop(self) -> None:
        """Return once nothing moves any more."""
        self._over.set()
        self._thread.join()


def _records(cluster: SandboxCluster, topic: str, *, committed: bool) -> list[ComparedRecord]:
    return read_log({"bootstrap.servers": cluster.internal_bootstrap}, topic, 0, committed=committed)


def test_gaps_are_filled_exactly_while_leaders_and_coordinators_move(tmp_path: Path) -> None:
    """Nothing is lost, repeated or shifted unnoticed.

    A coordinator whose marker was appended, but not acknowledged before the leader moved, writes it again: that lane
    has an offset too many, says so and is mapped from there on.
    """
    source, target = start_clusters((ClusterSpec("source", overrides=STEADY), ClusterSpec("target", brokers=3)))
    with source, target:
        for topic in TOPICS:
            create(source, topic)
            produce(source, topic, numbered(50), batch=9)
        testbed = LinkTestbed(tmp_path, source, target, lease_seconds=60, standalone=None, environment={})
        testbed.create_link()
        job = tmp_path / "job.json"
        job.write_text(launcher.job_spec(testbed.target_context, testbed.source_context, LINK, 60))
        worker = start_worker(job)
        try:
            _await(testbed)
            moving, number, deadline = Moving(target), 0, time.monotonic() + TIMEOUT_S
            while number < ROUNDS or moving.moves <= MOVES:
                assert time.monotonic() < deadline, f"{moving.moves} moves in {number} rounds"
                for topic in TOPICS:
                    transaction(source, topic, [b"%d" % number] * 3, commit=number % 3 != 1)
                    produce(source, topic, numbered(10, first=1000 * number), batch=4)
                number += 1
            _await(testbed)
            moving.stop()
            for topic in TOPICS:  # a marker too many behind the last gap is noticed by the next batch
                produce(source, topic, numbered(10), batch=10)
            lanes = _await(testbed)
        finally:
            worker.kill()
            worker.wait()
        print(moving.moves, *((lane.mode.value, lane.mode_reason) for lane in lanes), sep="\n")
        for lane in lanes:
            topic = lane.source.topic
            if lane.mode is LaneMode.IDENTITY:
                assert assert_equal_offsets(source, target, topic) > 50 + 10 * ROUNDS
                assert newest_offset(target, topic) == newest_offset(source, topic)
            else:
                assert "a marker too many" in lane.mode_reason or "shifted" in lane.mode_reason, lane
            assert "someone else" not in lane.mode_reason
            here, there = _records(source, topic, committed=True), _records(target, topic, committed=False)
            assert compare(here, there).total == 0


def _await(testbed: LinkTestbed) -> tuple[LaneProgress, ...]:
    """The lanes once each stands at its source's end, behind the last transaction's marker."""
    await_markers({"bootstrap.servers": testbed.source.internal_bootstrap}, [(topic, 0) for topic in TOPICS])
    ends = {topic: newest_offset(testbed.source, topic) for topic in TOPICS}
    deadline = time.monotonic() + TIMEOUT_S
    while True:
        lanes: tuple[LaneProgress, ...] = ()
        with contextlib.suppress(ClusterError):  # the control topics' leaders move as well
            lanes = links.show(testbed.target_context, LINK).lanes
        if {lane.source.topic: lane.position for lane in lanes} == ends:
            return lanes
        assert time.monotonic() < deadline, lanes
        time.sleep(0.2)
