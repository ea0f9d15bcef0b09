"""Kafka's own follower replication: the physical anchor, brokers copying to each other without any client."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.logs import TopicLog
from benchmarks.systems import Stage, wait_gone

NAME = "follower"
_MAIN_CLASS = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"


@dataclass(slots=True)
class Reassignment:
    """A reassignment that a tool has been told to make; the brokers copy without it."""

    failure: list[Exception] = field(default_factory=list)
    pid: int | None = None
    worker: str | None = None

    def check(self) -> None:
        """Raise if the tool failed."""
        if self.failure:
            raise self.failure[0]


@dataclass(frozen=True, slots=True)
class FollowerSystem:
    """The source cluster's second broker becomes a replica of every partition, without a throttle."""

    @property
    def name(self) -> str:
        """As in the table."""
        return NAME

    @property
    def settings(self) -> Mapping[str, str]:
        """All defaults of Kafka."""
        return {"num.replica.fetchers": "1", "replica.fetch.max.bytes": str(1 << 20), "throttle": "none"}

    def place(self, stage: Stage, number: int) -> TopicLog:  # noqa: ARG002  (every round the same)
        """The same topic on the source cluster's second broker."""
        return TopicLog(stage.source.brokers[1].data_path, stage.loaded.topic)

    @contextmanager
    def copy(self, stage: Stage, number: int) -> Iterator[Reassignment]:
        """Add the replica; take it away in the end."""
        first, second = (broker.node_id for broker in stage.source.brokers)
        running = Reassignment()

        def add() -> None:
            try:
                self._assign(stage, [first, second], stage.directory / f"follower-{number}.json")
            except Exception as error:  # handed to the thread that watches
                running.failure.append(error)

        # The copy begins before the tool has ended, and must be seen from its first byte.
        tool = threading.Thread(target=add, name="reassignment")
        tool.start()
        try:
            yield running
        finally:
            tool.join()
            self._assign(stage, [first], stage.directory / f"follower-{number}-undo.json")
            wait_gone(self.place(stage, number))

    def _assign(self, stage: Stage, replicas: Sequence[int], path: Path) -> None:
        topic = stage.loaded.topic
        partitions = [
            {"topic": topic, "partition": number, "replicas": list(replicas)}
            for number in range(stage.loaded.partitions)
        ]
        path.write_text(json.dumps({"version": 1, "partitions": partitions}))
        stage.source.run_tool(_MAIN_CLASS, ["--reassignment-json-file", str(path), "--execute"])
