"""How a group of the newer protocol (KIP-848) settles soon, once its members have gone over.

Its members hear what they are to have, and to give up, in answers to their heartbeats, which brokers have them send
every five seconds; of twenty that join at once the first has all partitions until its next one.  The client sends a
heartbeat at once where it is asked to subscribe.  So a member subscribes again, to the same, for some seconds: brokers
change nothing by that, and it waits for nothing longer than an eighth of the time since it has connected.

Invariants
    J1  what the application has taken back, or asked for otherwise, is not subscribed to again.
    J2  a member subscribes again only once it knows the ids of its topics, or has been given partitions.  One whose
        group gives it partitions of a topic that it has to look up first says, where it is asked to subscribe
        meanwhile, that it has none; a broker that is to take one of them away gives it to another member at once, and
        both read it (librdkafka 2.16, rdkafka_cgrp.c: rd_kafka_cgrp_consumer_serve sends a full request before a first
        assignment; Kafka, CurrentAssignmentBuilder.ownsRevokedPartitions).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from confluent_kafka import KafkaException

from anabranch.model.clock import monotonic

_SHORTEST_S, _PART, _SPAN_S = 0.1, 8, 15.0
_MOST_TOPICS, _ASK_S = 20, 2.0
"""Of how many topics ids are asked for, and for how long each: the application waits as long."""


class Settling:
    """Of one consumer; ``is_on`` while it has gone over some seconds ago at most."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        self._may = str(given.get("group.protocol", "")).lower() == "consumer"
        self._lock = threading.Lock()
        self._began = self._next = 0.0
        self._knows = False
        self.is_on = False

    def prepare(self, inner: Any, topics: Sequence[str]) -> None:
        """Have a client that is about to subscribe know these topics (J2), some of which may be regular expressions."""
        self._knows = self._may and _known(inner, topics)

    def assigned(self) -> None:
        """It has been given partitions, whose topics it knows by now."""
        self._knows = True

    def begin(self) -> None:
        """It has just connected, and subscribed."""
        if self._may:
            with self._lock:
                self._began, self.is_on = monotonic(), True
                self._next = self._began + _SHORTEST_S

    def end(self) -> None:
        """It subscribes to nothing again (J1): once this has returned none is on its way, either."""
        with self._lock:
            self.is_on = False

    def beat(self, subscribe: Callable[[], None]) -> bool:
        """Have it subscribe again where that is due; whether that was the last time."""
        with self._lock:
            now = monotonic()
            if not self.is_on or now < self._next or not self._knows:
                return False
            passed = now - self._began
            self._next = now + max(_SHORTEST_S, passed / _PART)
            self.is_on = passed < _SPAN_S
            subscribe()
            return not self.is_on


def _known(inner: Any, topics: Sequence[str]) -> bool:
    """Whether a client knows the ids of these topics once it has asked for them."""
    if len(topics) > _MOST_TOPICS or any(topic.startswith("^") for topic in topics):
        return False
    try:
        found = [inner.list_topics(topic, _ASK_S).topics.get(topic) for topic in topics]
    except KafkaException:
        return False
    return all(one is not None and one.error is None for one in found)
