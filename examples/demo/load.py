"""The topics of the demo on ``old``: the flights of 2013 as history, and logs that retention has shortened."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from anabranch.sandbox import SandboxCluster
from anabranch.sandbox.replay import replay
from anabranch.sandbox.replay_plan import ReplayPlan
from examples.demo import desk, shop
from qa.brokers import create_topics

HISTORY = "flights"
PARTITIONS: Mapping[str, int] = {HISTORY: 2, shop.TOPIC: 2, desk.TOPIC: 2}
_RECORDS = 100_000
_GONE = 1_000
_SECONDS = 120.0


def fill(old: SandboxCluster) -> int:
    """Make the topics, and feed the history; returns its records.

    Orders and payments of last year are gone, so their logs begin where those on another cluster will not: no offset
    there is the same.
    """
    made = replay(old.internal_bootstrap, ReplayPlan((HISTORY,), PARTITIONS[HISTORY], limit=_RECORDS)).records[HISTORY]
    living = {name: count for name, count in PARTITIONS.items() if name != HISTORY}
    create_topics(old, [NewTopic(name, count, 1) for name, count in living.items()])
    config: dict[str, Any] = {**old.client_config(), "enable.idempotence": True}
    producer = Producer(config)
    places = [(name, part) for name, count in living.items() for part in range(count)]
    for name, part in places:
        for number in range(_GONE + 100 * part):
            producer.produce(name, b"of last year", partition=part)
            if number % 500 == 0:
                producer.poll(0)
    producer.flush(_SECONDS)
    gone = [TopicPartition(name, part, _GONE + 100 * part) for name, part in places]
    admin = AdminClient({**old.client_config(), "log_level": 0})
    for done in admin.delete_records(gone).values():
        done.result(_SECONDS)
    return made
