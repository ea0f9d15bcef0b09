"""What is told of groups that were moved while the cluster went away."""

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any, cast

import pytest

from anabranch.groups.undo import UndoRecord
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.connection import Transport
from anabranch.kafka.errors import ConnectionLostError
from anabranch.model.groups import Commit
from anabranch.model.topics import TopicPartition
from anabranch.operations.groups import commits
from anabranch.state.topics.positions import Positions

pytestmark = pytest.mark.unit

AT = TopicPartition("t", 0)


class Store:
    """Undo records in memory."""

    def __init__(self) -> None:
        self.records: list[UndoRecord] = []

    async def put_undo(self, records: Iterable[UndoRecord]) -> None:
        """Store them."""
        self.records += records


def test_groups_that_cannot_be_read_back_are_named_with_what_undoes_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """They were written: an error of the whole would say that nothing was done, and keep the undo record's name."""
    written: dict[str, Mapping[TopicPartition, Commit]] = {}

    async def commit(_: Cluster, group: str, commits: Mapping[TopicPartition, Commit]) -> None:
        written[group] = commits

    async def committed(*_: Any) -> Any:
        raise ConnectionLostError("c", "1", "gone")

    monkeypatch.setattr(commits.kafka_groups, "commit", commit)
    monkeypatch.setattr(commits.kafka_groups, "committed", committed)
    records = [UndoRecord("u1", name, False, {AT: None}, {AT: Commit(5)}, 0, "groups sync l") for name in "ab"]
    cluster, store = Cluster(Transport("c", "User:ANONYMOUS"), []), Store()
    failed = asyncio.run(commits.move(cluster, cast(Positions, store), records))
    assert (list(written), store.records) == (["a", "b"], records)
    assert list(failed) == ["a", "b"]
    assert all("read back" in why and "anabranch groups undo u1" in why for why in failed.values())
