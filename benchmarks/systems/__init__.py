"""What is compared: each system copies the source's topic to a fresh place and cleans up after itself."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from confluent_kafka.admin import AdminClient

from anabranch.sandbox import Cluster
from benchmarks.logs import TopicLog
from benchmarks.workload import Loaded

_DELETE_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Stage:
    """Both clusters, the source data, and a directory for logs and settings."""

    source: Cluster
    target: Cluster
    loaded: Loaded
    directory: Path


class Running(Protocol):
    """A copy under way."""

    @property
    def pid(self) -> int | None:
        """The copier's first process; None where the copier is the broker."""

    def check(self) -> None:
        """Raise if the copier has ended."""


class System(Protocol):
    """A way to copy the source's topic.  ``number`` is different for each copy of a session."""

    @property
    def name(self) -> str:
        """As in the table and the JSON file."""

    @property
    def settings(self) -> Mapping[str, str]:
        """Its configuration, as far as it is not the default."""

    def place(self, stage: Stage, number: int) -> TopicLog:
        """Where the copy will be."""

    def copy(self, stage: Stage, number: int) -> AbstractContextManager[Running]:
        """Start copying on entry; on exit end every process and delete the copy."""


def delete_topic(cluster: Cluster, topic: str) -> None:
    """Delete a topic and wait until the broker has renamed its directories; nothing happens if there is none."""
    admin = AdminClient(cluster.client_config())
    if topic not in admin.list_topics(timeout=10).topics:
        return
    admin.delete_topics([topic])[topic].result()
    wait_gone(TopicLog(cluster.brokers[0].data_path, topic))


def wait_gone(log: TopicLog) -> None:
    """Wait until a broker has no directory of a topic any more; raises ``TimeoutError``."""
    deadline = time.monotonic() + _DELETE_SECONDS
    while log.exists():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{log.directory}/{log.topic}-* is still there after {_DELETE_SECONDS:g} s")
        time.sleep(0.1)
