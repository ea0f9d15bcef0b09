"""How far a job that stopped is behind on the cluster that it reads, and what cannot be told of that."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

import pytest

from anabranch.checkpoints.reports import Lag
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.connection import Transport
from anabranch.model.reasons import Reason, ReasonKind
from anabranch.model.topics import TopicPartition
from anabranch.operations.checkpoints import inspect as inspecting
from anabranch.operations.checkpoints.routes import TargetSnapshot
from anabranch.operations.checkpoints.unmodified_restart import ReadableRange
from tests.unit.operations.checkpoints.world import copy, starts

pytestmark = pytest.mark.unit


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A checkpoint of three partitions."""
    return copy("rocksdb", tmp_path / "cp")


def lags(
    place: Path,
    monkeypatch: pytest.MonkeyPatch,
    logs: Mapping[TopicPartition, ReadableRange],
    why: Reason | None = None,
) -> dict[str, Lag]:
    """The lag of each partition on a cluster with these logs."""
    topics = {one.rpartition("-")[0]: why or frozenset(range(9)) for one in starts(place)}

    async def read(_: Cluster, asked: set[str]) -> TargetSnapshot:
        assert asked == set(topics)
        return TargetSnapshot(logs, topics)

    monkeypatch.setattr(inspecting, "read_target", read)
    cluster = Cluster(Transport("new", "User:ANONYMOUS"), [])
    found = asyncio.run(inspecting.inspect(str(place), cluster))
    assert found.cluster == "new"
    return {str(one.partition): one for one in found.lags}


def test_a_lag_is_counted_to_the_end_of_the_log(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exactly at its end it is none; before its begin some have expired, and are counted all the same."""
    at = {TopicPartition.parse(name): offset for name, offset in starts(place).items()}
    first, second, third = sorted(at)
    assert all(isinstance(offset, int) and offset > 2 for offset in at.values())
    here = {one: int(str(offset)) for one, offset in at.items()}
    logs = {
        first: ReadableRange(0, here[first], here[first]),
        second: ReadableRange(here[second], here[second] + 5, here[second] + 7),
        third: ReadableRange(here[third] + 2, here[third] + 9, here[third] + 9),
    }
    found = lags(place, monkeypatch, logs)
    assert (found[str(first)].records, found[str(first)].why) == (0, "")
    assert (found[str(second)].records, found[str(second)].why) == (7, "")
    assert (found[str(third)].records, found[str(third)].why) == (9, "2 of them have expired")
    assert (found[str(third)].start, found[str(third)].end) == (here[third] + 2, here[third] + 9)


def test_a_position_behind_its_log_is_of_another_cluster_perhaps(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One record behind the end already; nothing is counted."""
    here = {TopicPartition.parse(name): int(str(offset)) for name, offset in starts(place).items()}
    found = lags(place, monkeypatch, {one: ReadableRange(0, offset - 1, offset - 1) for one, offset in here.items()})
    assert {(one.records, one.why) for one in found.values()} == {(None, "it lies past the log: another cluster's?")}
    assert {one.end for one in found.values()} == {offset - 1 for offset in here.values()}


def test_a_log_that_was_not_seen_says_why(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No number is told."""
    found = lags(place, monkeypatch, {}, Reason(ReasonKind.UNKNOWN, "topic x may not be seen"))
    assert {(one.start, one.end, one.records, one.why) for one in found.values()} == {
        (None, None, None, "topic x may not be seen")
    }


def test_without_a_cluster_nothing_is_asked(place: Path) -> None:
    """There is no lag then."""
    found = asyncio.run(inspecting.inspect(str(place)))
    assert (found.cluster, found.lags, found.unfinished, found.backups, found.copied) == (None, (), None, (), ())
