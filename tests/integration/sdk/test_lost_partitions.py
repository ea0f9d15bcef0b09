"""Consumers that stand elsewhere than they think as they are moved, on real clusters with a real link.

One was stopped (SIGSTOP) for longer than its session, so that its group has gone on without it; one has read nothing.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from anabranch.kafka.groups import describe
from anabranch.model.groups import GroupState
from anabranch.sdk import Consumer, Producer
from qa.service import until
from qa.timeouts import LONG_TIMEOUT_S
from tests.integration.kafka.security import ask
from tests.integration.sdk.lab import read, values
from tests.integration.sdk.lab import stored as stored_in
from tests.integration.sdk.test_coordinated import KEYS, PARTITIONS, Moving, moving

pytestmark = [pytest.mark.full, pytest.mark.real]
__all__ = ["moving"]
PATIENCE_S = round(LONG_TIMEOUT_S)


@dataclass
class Process:
    """An application with a producer and a consumer of the group, and what it has told."""

    process: subprocess.Popen[bytes]
    log: Path

    def lines(self, *words: str) -> list[tuple[str, str]]:
        """Word and value of what it has told so, in its order."""
        told = self.log.read_text().splitlines() if self.log.exists() else []
        split = [line.partition(" ") for line in told]
        return [(word, value) for word, _, value in split if word in words]

    def works(self) -> None:
        """Wait until it has had more acknowledged, and has read more."""
        before = Counter(word for word, _ in self.lines("acknowledged", "read"))

        def does() -> bool:
            now = Counter(word for word, _ in self.lines("acknowledged", "read"))
            return all(now[word] > before[word] + 30 for word in ("acknowledged", "read"))

        until(does)


@contextmanager
def running(moving: Moving, directory: Path, number: int) -> Iterator[Process]:
    """One of them, which ends by SIGTERM."""
    log, file = directory / f"log-{number}", directory / f"config-{number}.json"
    config = {"config": moving.lab.configured(), "topic": moving.topic, "group": moving.lab.group}
    config["keys"] = KEYS  # one of each partition
    file.write_text(json.dumps({**config, "life": number, "log": str(log)}))
    process = subprocess.Popen([sys.executable, "-m", "tests.integration.sdk.application", str(file)])
    try:
        yield Process(process, log)
    finally:
        process.send_signal(signal.SIGCONT)  # no error for one that was killed
        process.terminate()
        process.wait()


def members(moving: Moving) -> int:
    """How many read in the group on the old cluster; 0 while it is not settled who reads what."""
    name = moving.lab.group
    group = ask(moving.link.source, lambda cluster: describe(cluster, [name]))[name]
    return len(group.members) if group.state is GroupState.STABLE else 0


def test_a_consumer_that_has_lost_its_partitions_is_moved_with_its_group(moving: Moving, tmp_path: Path) -> None:
    """U6: another member has them, and has paused where it had read on: that counts; nothing is lost or repeated."""
    with running(moving, tmp_path, 1) as stopped, running(moving, tmp_path, 2) as other:
        for one in (stopped, other):
            one.works()
        until(lambda: members(moving) == 2)
        os.kill(stopped.process.pid, signal.SIGSTOP)
        until(lambda: members(moving) == 1)
        other.works()
        operation = moving.begin(timeout_s=PATIENCE_S)
        moving.await_state("preparing")
        until(lambda: moving.switch()["paused"] == 2)
        assert (moving.switch()["state"], moving.switch()["clients"]) == ("preparing", 4)
        os.kill(stopped.process.pid, signal.SIGCONT)
        until(lambda: operation()["state"] != "running")
        assert operation()["state"] == "done", operation()
        for one in (stopped, other):
            one.works()
    there = stored_in(moving.lab.new, moving.there, PARTITIONS)
    place = {value: (number, at) for number, part in enumerate(there) for at, value in enumerate(part)}
    assert len(place) == sum(map(len, there)), "each is there once"
    of_writer: defaultdict[str, list[int]] = defaultdict(list)
    for value in (value for part in there for value in part):
        writer, _, number = value.rpartition(":")
        of_writer[writer].append(int(number))
    assert all(numbers == sorted(numbers) for numbers in of_writer.values()), "in the order in which it was written"
    for one in (stopped, other):
        assert not one.lines("refused")
        assert {value for _, value in one.lines("acknowledged")} <= place.keys()
    missing = place.keys() - {value for one in (stopped, other) for _, value in one.lines("read")}
    with Consumer(moving.lab.reading()) as consumer:  # what their last polls did not reach
        consumer.subscribe([moving.topic])

        def took() -> bool:
            missing.difference_update(values(consumer.consume(500, 0.2)))
            return not missing

        until(took)
    for one in (stopped, other):
        done = dict.fromkeys(range(PARTITIONS), -1)
        for word, value in one.lines("read", "committed"):
            number, at = place[value]
            if word == "committed":
                done[number] = at
            assert word != "read" or at > done[number], f"{value} was read again after it was committed"


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_consumer_that_has_read_nothing_yet_misses_nothing_that_is_written_as_it_is_moved(
    moving: Moving, protocol: str
) -> None:
    """It begins at the end, in partitions that hold nothing, and its producer goes on before it has joined there."""
    lab = moving.lab
    given = lab.configured(group_id=lab.group, group_protocol=protocol)
    with Producer(lab.configured(route_topics=[moving.topic])) as producer, Consumer(given) as consumer:
        consumer.subscribe([moving.topic])
        until(lambda: consumer.poll(0.1) is None and len(consumer.assignment()) == PARTITIONS)
        operation = moving.begin(timeout_s=PATIENCE_S)
        # Both: the producer may be the first, and who is not polled any more does not pause.
        until(lambda: consumer.poll(0.1) is None and moving.switch()["paused"] == 2)
        until(lambda: producer.is_switching or operation()["state"] != "running")

        def write() -> None:
            for key in "ad":
                producer.produce(moving.topic, f"first of {key}", key=key)  # it waits for the end of the switch
            producer.flush()

        thread = threading.Thread(target=write)
        thread.start()
        thread.join()
        found = read(consumer, lambda found: len(found) == 2)
        assert operation()["state"] == "done", operation()
    assert sorted(values(found)) == ["first of a", "first of d"]
    assert [len(part) for part in stored_in(lab.old, moving.topic, PARTITIONS)] == [0, 0]
