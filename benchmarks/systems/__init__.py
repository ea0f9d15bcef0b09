"""What is compared: each system copies the source's topic to a fresh place and cleans up after itself."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from confluent_kafka.admin import AdminClient

from anabranch.sandbox import SandboxCluster
from benchmarks.logs import TopicLog
from benchmarks.sources import Loaded

_DELETE_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Stage:
    """Both clusters, the source data, and a directory for logs and settings."""

    source: SandboxCluster
    target: SandboxCluster
    loaded: Loaded
    directory: Path


class Running(Protocol):
    """A copy under way."""

    @property
    def pid(self) -> int | None:
        """The copier's first process; None where the copier is the broker."""

    @property
    def worker(self) -> str | None:
        """The name, or an argument, of the processes whose memory is measured; None where nothing is."""

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


def delete_topic(cluster: SandboxCluster, topic: str) -> None:
    """Delete a topic and wait until the broker has renamed its directories; nothing happens if there is none."""
    delete_topics(cluster, re.escape(topic))


def delete_topics(cluster: SandboxCluster, pattern: str) -> None:
    """Delete every topic whose whole name matches, and wait as ``delete_topic`` does."""
    admin = AdminClient(cluster.client_config())
    names = [name for name in admin.list_topics(timeout=10).topics if re.fullmatch(pattern, name)]
    if names:
        for deleted in admin.delete_topics(names).values():
            deleted.result()
    for name in names:
        wait_gone(TopicLog(cluster.brokers[0].data_path, name))


def wait_gone(log: TopicLog) -> None:
    """Wait until a broker has no directory of a topic any more; raises ``TimeoutError``."""
    deadline = time.monotonic() + _DELETE_SECONDS
    while log.exists():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{log.directory}/{log.topic}-* is still there after {_DELETE_SECONDS:g} s")
        time.sleep(0.1)
