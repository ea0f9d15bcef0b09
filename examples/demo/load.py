"""The data of the demo: topics on ``old``, the flights of 2013 as history, and producers that go on."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from confluent_kafka.admin import AdminClient, NewTopic

from anabranch.sandbox import SandboxCluster
from anabranch.sandbox.replay import replay
from anabranch.sandbox.replay_plan import ReplayPlan
from anabranch.sandbox.replay_process import ReplayProcess, start_replay

PARTITIONS = {"flights": 4, "weather": 2, "planes": 1}
RATES = {"flights": 1500.0, "weather": 300.0, "planes": 100.0}
_SECONDS = 180.0


def make_topics(config: Mapping[str, Any]) -> None:
    """Make the topics and return when the broker shows them whole; raises ``KafkaException``, ``TimeoutError``."""
    admin = AdminClient(dict(config))
    kept = {"retention.ms": "-1", "message.timestamp.before.max.ms": str(2**63 - 1)}
    wanted = [NewTopic(topic, partitions, 1, config=kept) for topic, partitions in PARTITIONS.items()]
    for made in admin.create_topics(wanted).values():
        made.result(_SECONDS)
    deadline = time.monotonic() + _SECONDS
    while time.monotonic() < deadline:
        shown = admin.list_topics(timeout=_SECONDS).topics
        if all(topic in shown and len(shown[topic].partitions) == n for topic, n in PARTITIONS.items()):
            return
        time.sleep(0.05)
    raise TimeoutError(f"the topics were not shown within {_SECONDS:.0f} s")


def load_history(old: SandboxCluster) -> dict[str, int]:
    """The whole data set once, as fast as it goes; returns the records of each topic."""
    make_topics(old.client_config())
    return replay(old.internal_bootstrap, ReplayPlan(topics=tuple(PARTITIONS))).records


def start_producers(old: SandboxCluster, scratch: Path) -> list[ReplayProcess]:
    """One process a topic, which begins anew at the end of the data."""
    return [
        start_replay(old, ReplayPlan(topics=(topic,), rate=rate, loop=True), scratch / f"{topic}.log")
        for topic, rate in RATES.items()
    ]
