"""Whether a topic that was there is still there, as all brokers say: one broker alone may answer from old metadata.

A broker that has just started may know no topics yet, and one that lost its controller goes on with what it knew.  So
what one broker says of a topic that is missing, or that has another id, is asked of every broker:

    some broker knows the topic under its id      it is there: that answer counts
    all answer, and some know another id          it was recreated: an id is never given twice
    all answer that they know none of this name   it is gone, once they have said so for ``GONE_S``
    else                                          a broker did not answer: nothing is known yet
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass

from anabranch.kafka.cluster import Cluster, ClusterMetadata, PartitionMeta, TopicMeta, told_by
from anabranch.kafka.errors import UNKNOWN_TOPIC, BrokerRefusedError

GONE_S = 15.0
"""For how long all brokers must say that they know no such topic: all may have started at the same time."""
TOPIC_AUTHORIZATION_FAILED = 29


@dataclass(frozen=True, slots=True)
class Presence:
    """What brokers say of one topic: ``there`` under the id that was asked for, ``other`` under another one.

    ``unaware`` are the brokers that know no topic of the name, ``silent`` those that did not say, ``refusing`` those of
    them that may not tell us.
    """

    topic: str
    there: TopicMeta | None = None
    other: TopicMeta | None = None
    unaware: tuple[int, ...] = ()
    silent: tuple[int, ...] = ()
    refusing: tuple[int, ...] = ()

    @property
    def is_made_again(self) -> bool:
        """Whether the name is another topic's now."""
        return self.there is None and self.other is not None and not self.silent

    @property
    def is_gone(self) -> bool:
        """Whether every broker says that there is no such topic."""
        return self.there is None and self.other is None and not self.silent and bool(self.unaware)

    @property
    def told(self) -> str:
        """What the brokers say, as a sentence's end."""
        said = []
        if self.unaware:
            said.append(f"unknown to {_brokers(self.unaware)}")
        if self.other is not None:
            said.append(f"known under id {self.other.id} now")
        if self.silent:
            said.append(f"{_brokers(self.silent)} did not say")
        return f"topic {self.topic}: {'; '.join(said)}"


@dataclass(slots=True)
class Absence:
    """For how long every broker has said, whenever they were asked, that there is no such topic."""

    since: float = 0.0

    def lasts(self, is_gone: bool) -> bool:
        """Note what they say now; whether they have said for ``GONE_S`` that it is gone."""
        if not is_gone:
            self.end()
            return False
        self.since = self.since or time.monotonic()
        return time.monotonic() - self.since >= GONE_S

    def end(self) -> None:
        """It is there, or they could not be asked: what was said before is not said all the time."""
        self.since = 0.0


def judged(topic: str, wanted: uuid.UUID, answers: Mapping[int, TopicMeta | None]) -> Presence:
    """What the answers of brokers mean together; None is that of one that did not answer."""
    there = other = None
    unaware, silent, refusing = [], [], []
    for node, meta in sorted(answers.items()):
        if meta is not None and meta.error == UNKNOWN_TOPIC:
            unaware.append(node)
        elif meta is None or meta.error:
            silent.append(node)
            if meta is not None and meta.error == TOPIC_AUTHORIZATION_FAILED:
                refusing.append(node)
        elif meta.id == wanted:
            there = meta
        else:
            other = meta
    return Presence(topic, there, other, tuple(unaware), tuple(silent), tuple(refusing))


async def ask_all(cluster: Cluster, wanted: Mapping[str, uuid.UUID]) -> dict[str, Presence]:
    """What all brokers say of topics, by name, that were known by these ids; raises ClusterError where none answers."""
    answers: dict[int, ClusterMetadata | None] = {}
    nodes = set((await cluster.metadata([])).brokers)
    while left := sorted(nodes - set(answers)):  # each may name brokers that the others do not
        told = await asyncio.gather(*(told_by(cluster, node, sorted(wanted)) for node in left))
        answers |= zip(left, told, strict=True)
        nodes |= {node for answer in answers.values() if answer is not None for node in answer.brokers}
    return {
        name: judged(name, topic_id, {node: one.topics.get(name) if one else None for node, one in answers.items()})
        for name, topic_id in wanted.items()
    }


async def locate(
    cluster: Cluster, topic: str, index: int, topic_id: uuid.UUID
) -> tuple[TopicMeta, PartitionMeta | None]:
    """The topic with this id and one of its partitions; where it was recreated, what has its name now, and None.

    Raises ``UnknownTopicError`` while no broker that answers knows it, BrokerRefusedError while it has no leader.
    """
    try:
        meta, part = await cluster.partition(topic, index)
    except BrokerRefusedError as error:
        if error.code != UNKNOWN_TOPIC:
            raise
    else:
        if meta.id == topic_id:
            return meta, part
    found = (await ask_all(cluster, {topic: topic_id}))[topic]
    if found.is_made_again and found.other is not None:
        return found.other, None
    if found.there is None:
        raise UnknownTopicError(cluster.name, "Metadata", f"topic {topic}", UNKNOWN_TOPIC, found.told, found.is_gone)
    led = found.there.partitions.get(index)
    if led is None or led.leader < 0:
        cluster.check(UNKNOWN_TOPIC if led is None else 5, "Metadata", f"partition {topic}-{index}")
    return found.there, led


@dataclass(eq=False)
class UnknownTopicError(BrokerRefusedError):
    """No broker that answered knows the topic; ``by_all``: and every broker answered."""

    by_all: bool = False


def _brokers(nodes: tuple[int, ...]) -> str:
    return f"broker{'s' * (len(nodes) > 1)} {', '.join(map(str, nodes))}"
