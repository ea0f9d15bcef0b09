"""How messages are given out: as confluent-kafka's own where their offsets say of which cluster they are.

Any other is one that knows its cluster, and costs more (see ``floors``).
"""

from __future__ import annotations

import contextlib
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

from confluent_kafka import KafkaException, TopicPartition

from anabranch.model.routing import ClientRole
from anabranch.sdk.config import Settings
from anabranch.sdk.era import Era
from anabranch.sdk.floors import Floors
from anabranch.sdk.message import RoutedMessage
from anabranch.sdk.names import Names, Place, place_of
from anabranch.sdk.orders import Phase
from anabranch.sdk.partitions import Partitions
from anabranch.sdk.routed import RoutedClient

_IDLE_S = 0.5
"""How long the cluster is asked what is committed where nothing has come yet."""


class GivingReader(RoutedClient):
    """A client that has read messages, on this cluster and on earlier ones."""

    def __init__(self, settings: Settings, given: Mapping[str, Any], group: str) -> None:
        super().__init__(settings, given, ClientRole.CONSUMER, (), group)
        self._era, self._names = Era(), Names()
        self._plain = self._as_is = self._due = True
        self._leaves = False
        self._auto_commits = str(self._given.get("enable.auto.commit", True)).lower() not in ("false", "0", "no")
        by_itself = str(self._given.get("enable.auto.offset.store", True)).lower() in ("false", "0", "no")
        self._commits_itself = by_itself
        self._partitions, self._floors = Partitions(self._given), Floors()

    @abstractmethod
    def _heed(self) -> None:
        """Have the next call look at the orders, and at how messages are given out; under the lock."""

    def _is_as_is(self, inner: Any) -> bool:
        """Whether what this client has just read is given out as it is: it was read before anybody asks how far."""
        return self._as_is and not self._due and inner is self._inner

    def given(self, message: Any, era: Era, names: Names) -> Any:
        """A message as it is given out: the client's own where that will do (M1, M2), else one that knows its cluster.

        Another thread may be leaving the cluster, or have gone on, since it was read: then nothing says it.
        """
        if isinstance(message, RoutedMessage):
            return message
        with self._changed:
            stays = era is self._era and self._orders.phase is Phase.OPEN and not self._leaves
            if stays and self._plain:
                return message
            if not stays or not self._are_told_apart():
                return era.wrapped(message, names)
            if message.error() is not None:
                return message
            place, offset = (message.topic(), message.partition()), message.offset()
            if not self._floors.saw(place, offset):
                return era.wrapped(message, names)
            era.known.delivered(place, offset)
            if not self._floors.open:
                self._heed()
            is_due = self._floors.is_due
        if is_due:
            self._ask_where_idle_ones_begin()
        return message

    def _are_told_apart(self) -> bool:
        """Whether offsets can say of which cluster messages are: each topic has had one name."""
        return self._names.are_plain and not self._era.renamed

    def _is_by_commits(self) -> bool:
        """Whether the application says what it has done with, rather than have all committed that it was given."""
        return self._commits_itself or not self._auto_commits

    def _begins(self, partitions: list[Any]) -> None:
        """The client has been given these, by the names there, where they say, or where it has noted.

        Where only the cluster knows where that is, it is asked for an application that may not have committed anything
        by the time when that cluster is lost.
        """
        inner = self._inner
        if inner is not None and self._given.get("group.id") and self._is_by_commits():
            with contextlib.suppress(KafkaException, RuntimeError):
                self._partitions.learn(inner, partitions)
        with self._changed:
            began = self._partitions.began(partitions)
            for place in map(place_of, partitions):
                self._begins_at(place, began.get(place))
            self._heed()

    def _begins_at(self, place: Place, at: int | None) -> None:
        self._floors.begin(place, at)
        if at is not None and not self._plain:
            self._era.known.began(place, at)

    def _ends(self, inner: Any, partitions: list[Any]) -> None:
        """The client reads these, by the names there, no more, or from elsewhere."""
        self._note(inner.position(partitions))
        with self._changed:
            self._floors.end(map(place_of, partitions))
            self._heed()

    def _note(self, stood: list[Any]) -> None:
        """So far the client has read, by the names there; below 0 it has read nothing."""
        with self._changed:
            for one in stood:
                self._floors.read_to(place_of(one), one.offset)
                self._era.known.reached(place_of(one), one.offset)

    def _ask_where_idle_ones_begin(self) -> None:
        """A partition of which nothing has come would keep all messages from being given out as they are."""
        with self._changed:
            inner, open_ = self._inner, [TopicPartition(*place) for place in self._floors.open]
            began = self._partitions.began(open_)
        if inner is None or not self._given.get("group.id"):
            return
        with contextlib.suppress(KafkaException, RuntimeError):
            found = inner.position([one for one in open_ if place_of(one) not in began])
            idle = [one for one in found if one.offset < 0]
            begins = self._partitions.begin_where(inner, idle, _IDLE_S) if idle else {}
            with self._changed:
                for place, at in begins.items() if inner is self._inner else ():
                    if place in self._floors.open:
                        self._begins_at(place, at)
                self._heed()
