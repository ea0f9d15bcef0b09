"""A group of the newer protocol on a cluster whose brokers have members send a heartbeat once an hour.

There it settles within a test's time only where its members send them unasked.  And on one that is far away, where no
two of its members have a partition at once.
"""

from __future__ import annotations

import logging
import threading
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer as PlainConsumer

from anabranch.sandbox import ClusterSpec, SandboxCluster, start_clusters
from anabranch.sdk import Consumer
from qa.brokers import STEADY, await_coordinators
from qa.service import until
from tests.integration.sdk.fake_service import FakeService
from tests.integration.sdk.scene import Scene

pytestmark = [pytest.mark.full, pytest.mark.real]
HOUR_MS, MEMBERS, PARTITIONS = 3_600_000, 4, 8
HOURLY = {
    **STEADY,
    **{f"group.consumer.{limit}session.timeout.ms": str(2 * HOUR_MS) for limit in ("max.", "")},
    **{f"group.consumer.{limit}heartbeat.interval.ms": str(HOUR_MS) for limit in ("max.", "")},
}


@pytest.fixture
def hourly(
    pair: tuple[SandboxCluster, SandboxCluster], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Scene]:
    """Clients are led to the old cluster, and then to one with such brokers."""
    monkeypatch.setenv("ANABRANCH_TOKEN", "anabranch_token")
    (new,) = start_clusters([ClusterSpec("hourly", overrides=HOURLY)])
    with new, FakeService() as service:
        await_coordinators(new)
        monkeypatch.setenv("ANABRANCH_SERVICE", service.url)
        made = Scene(pair[0], new, tmp_path / "cache", service=service)
        service.route = made.route(made.old, 1)
        yield made


@pytest.fixture
def far(
    pair: tuple[SandboxCluster, SandboxCluster], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Scene]:
    """Clients are led to the old cluster, and then to one far away that shares out as soon as one has come."""
    monkeypatch.setenv("ANABRANCH_TOKEN", "anabranch_token")
    at_once = {**STEADY, "group.consumer.assignment.interval.ms": "0"}
    (new,) = start_clusters([ClusterSpec("far", overrides=at_once, proxied=True)])
    with new, FakeService() as service:
        await_coordinators(new)
        new.proxy(1).delay(100.0)
        monkeypatch.setenv("ANABRANCH_SERVICE", service.url)
        made = Scene(pair[0], new, tmp_path / "cache", service=service)
        service.route = made.route(made.old, 1)
        yield made


class Heard(logging.Handler):
    """What clients log."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """One line of it."""
        self.lines.append(record.getMessage())


class Members:
    """Consumers in threads, and what each has by its callbacks; ``at_once`` is what came to two of them."""

    def __init__(self, topic: str, made: Any, settings: dict[str, Any], number: int) -> None:
        self.has: defaultdict[int, set[int]] = defaultdict(set)
        self.changes = 0
        self.at_once: list[tuple[int, int, int]] = []
        self._ended = threading.Event()
        self._threads = [threading.Thread(target=self._run, args=(made, settings, topic, one)) for one in range(number)]

    def __enter__(self) -> Members:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *reason: object) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join()

    def share(self) -> bool:
        """Whether each of them has as many partitions as any other, and no two have one."""
        found = [set(one) for one in self.has.values()]
        return len(found) == MEMBERS and all(len(one) == PARTITIONS // MEMBERS for one in found)

    def _run(self, made: Any, settings: dict[str, Any], topic: str, number: int) -> None:
        def come(_: Any, partitions: list[Any]) -> None:
            self.changes += 1
            found = {one.partition for one in partitions}
            self.at_once += [(part, other, number) for other, has in list(self.has.items()) for part in has & found]
            self.has[number] |= found

        def gone(_: Any, partitions: list[Any]) -> None:
            self.changes += 1
            self.has[number] -= {one.partition for one in partitions}

        consumer = made(settings)
        consumer.subscribe([topic], on_assign=come, on_revoke=gone)
        while not self._ended.is_set():
            consumer.poll(0.1)
        consumer.close()


def test_a_group_that_is_moved_settles_before_brokers_ask_its_members_for_a_heartbeat(hourly: Scene) -> None:
    """Its first member has all partitions there until it hears what to give up."""
    topic = hourly.topic(PARTITIONS)
    with Members(topic, Consumer, hourly.reading(group_protocol="consumer"), MEMBERS) as members:
        until(members.share)
        hourly.prepare("s", clients=MEMBERS)
        until(lambda: len(hourly.ready("s")) == MEMBERS)
        assert not any(members.has.values())
        hourly.go("s")
        until(members.share)


def test_no_two_members_of_a_group_that_is_moved_have_a_partition_at_once(far: Scene) -> None:
    """A partition is assigned to another member only once the one that reads it has committed and it is revoked.

    Of one that is given partitions of a topic that it does not know yet it is a matter of chance: so there is none.
    """
    topic, told = far.topic(PARTITIONS), Heard()
    logger = logging.Logger("far")
    logger.addHandler(told)
    given = far.reading(group_protocol="consumer", debug="cgrp", logger=logger)
    with Members(topic, Consumer, given, MEMBERS) as members:
        until(members.share)
        far.prepare("s", clients=MEMBERS)
        until(lambda: len(far.ready("s")) == MEMBERS)
        assert any("Metadata not found" in one for one in told.lines), "the client says so in other words by now"
        told.lines.clear()
        far.go("s")
        until(members.share)
        assert not [one for one in told.lines if "Metadata not found" in one]
    assert members.at_once == []


def test_a_member_that_subscribes_again_to_the_same_changes_nothing(hourly: Scene) -> None:
    """Brokers do not begin to share out again: no member is told of any change by so many heartbeats of another."""
    topic = hourly.topic(PARTITIONS)
    given = {"bootstrap.servers": hourly.old.bootstrap, "group.id": hourly.group, "group.protocol": "consumer"}
    with Members(topic, PlainConsumer, given, MEMBERS - 1) as members:
        changes: list[str] = []
        callbacks = {
            "on_assign": lambda _, partitions: changes.append("come"),
            "on_revoke": lambda _, partitions: changes.append("gone"),
        }
        consumer = PlainConsumer(given)
        consumer.subscribe([topic], **callbacks)

        def settled() -> bool:
            consumer.poll(0.1)
            shares = [*(len(one) for one in list(members.has.values())), len(consumer.assignment())]
            return shares == [PARTITIONS // MEMBERS] * MEMBERS

        until(settled)
        before = members.changes, len(changes)
        for _ in range(30):
            consumer.subscribe([topic], **callbacks)
            assert settled()
        assert (members.changes, len(changes)) == before
        consumer.close()
