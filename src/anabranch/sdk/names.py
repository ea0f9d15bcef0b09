"""By which names partitions go: those of the application, and those of the cluster where it is.

Invariant: a topic's name there leads back to the topic, where no two topics of a route have one name there; and what a
route does not rename has one name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from confluent_kafka import TopicPartition

from anabranch.model.routing import Route

Place = tuple[str, int]
"""A topic's name, and the number of a partition."""


def place_of(one: Any) -> Place:
    """Of a partition of confluent-kafka, or of the model."""
    return one.topic, one.partition


def renamed(one: Any, topic: str) -> Any:
    """A partition under another name; what has an error stays as it is, since none can be made that has."""
    if topic == one.topic or one.error is not None:
        return one
    more = {"metadata": one.metadata, "leader_epoch": one.leader_epoch}
    return TopicPartition(
        topic, one.partition, one.offset, **{name: value for name, value in more.items() if value is not None}
    )


@dataclass(frozen=True, slots=True)
class Names:
    """Of topics that are called otherwise there: ``there`` by the application's name, ``here`` by the one there."""

    there: Mapping[str, str] = field(default_factory=dict)
    here: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, route: Route) -> Self:
        """As a route names its topics."""
        there = {topic: name for topic, name in route.topics.items() if topic != name}
        return cls(there, {name: topic for topic, name in there.items()})

    @property
    def are_plain(self) -> bool:
        """Whether every topic has one name."""
        return not self.there

    def to(self, one: Any) -> Any:
        """A partition by the name there."""
        return renamed(one, self.there.get(one.topic, one.topic))

    def back(self, one: Any) -> Any:
        """A partition by the application's name."""
        return renamed(one, self.here.get(one.topic, one.topic))
