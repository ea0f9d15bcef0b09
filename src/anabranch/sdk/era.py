"""A client's time on one cluster, until it goes on to another one: what was said there counts there alone.

Invariants
    U3  a message, or a number, of before a change of cluster is never taken for an offset of the one after it; nor is
        one of a topic that was called otherwise there: that is another log.  Which messages say by their offset of
        which cluster they are is in ``floors``.
    U8  a cluster that is reached by other servers is the same one only where it has the same id.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import KafkaException

from anabranch.model.routing import Route
from anabranch.model.topics import TopicPartition
from anabranch.sdk.floors import Floors
from anabranch.sdk.known import KnownOffsets
from anabranch.sdk.message import RoutedMessage
from anabranch.sdk.names import Names, Place, place_of


@dataclass(slots=True)
class Era:
    """``number`` counts them, from 1; before the first client there is none.

    ``started`` is where partitions begin in which nothing is committed, ``known`` the offsets that may be named, and
    ``committed`` what the cluster is known to have committed.  All are by the names there.  ``topics`` are what topics
    of the application are called there, ``renamed`` those of them that were called otherwise before.  ``id`` is the
    cluster's own, empty as long as it has not told it.
    """

    number: int = 0
    cluster: str = ""
    started: Mapping[Place, int] = field(default_factory=dict)
    known: KnownOffsets = field(default_factory=KnownOffsets)
    committed: dict[Place, int] = field(default_factory=dict)
    servers: tuple[str, ...] = ()
    id: str = ""
    topics: dict[str, str] = field(default_factory=dict)
    renamed: set[str] = field(default_factory=set)

    @property
    def is_plain(self) -> bool:
        """Whether messages and numbers can be of nothing else, so that they are given out and taken as they are."""
        return self.number <= 1 and not self.renamed

    def at(self, target: Route, starts: Mapping[str, int], id_there: Callable[[], str]) -> Era | None:
        """The era of a client that connects to ``target``: this one, or the next one.

        None where the cluster does not say by its id whether it is the one of this era (U8).
        """
        is_other = target.cluster != self.cluster
        if not is_other and self.id and target.bootstrap != self.servers:
            there = id_there()
            if not there:
                return None
            is_other = there != self.id
        if not is_other:
            self.servers = target.bootstrap
            return self
        started = {place_of(TopicPartition.parse(name)): offset for name, offset in starts.items()}
        return Era(self.number + 1, target.cluster, started, servers=target.bootstrap)

    def saw(self, inner: Any) -> None:
        """Remember the id of the cluster, as far as its client has heard it."""
        with contextlib.suppress(KafkaException):
            self.id = inner.cluster_id(0) or self.id

    def called(self, topics: Mapping[str, str]) -> None:
        """Remember what topics are called there; of the log of one that is called otherwise now nothing is known."""
        for topic, there in topics.items():
            if self.topics.get(topic, there) != there:
                self.renamed.add(topic)
                self.known.forget(there)
            self.topics[topic] = there

    def wrapped(self, raw: Any, names: Names) -> RoutedMessage:
        """A message that was read in this era, by the application's name."""
        topic = raw.topic()
        if raw.error() is None:
            self.known.delivered((topic, raw.partition()), raw.offset())
        return RoutedMessage(raw, self.number, names.here.get(topic, topic))

    def raw_of(self, message: Any, names: Names, floors: Floors) -> Any:
        """The client's own message of one that was given out in this era, or None."""
        topic = message.topic()
        if isinstance(message, RoutedMessage):
            is_ours, raw = message.era == self.number, message.raw
        else:
            is_ours, raw = floors.is_beyond((topic, message.partition()), message.offset()) and self.number > 0, message
        return raw if is_ours and raw.topic() == names.there.get(topic, topic) else None

    def takes(self, one: Any, names: Names) -> bool:
        """Whether a partition's number is an offset of this cluster; on the first one each is."""
        is_first = self.number <= 1 and one.topic not in self.renamed
        return is_first or self.known.is_known(place_of(names.to(one)), one.offset)

    def noted(self, committed: list[Any] | None) -> None:
        """Remember what the cluster has committed."""
        for one in committed or ():
            if one.error is None and one.offset >= 0:
                self.committed[place_of(one)] = one.offset
