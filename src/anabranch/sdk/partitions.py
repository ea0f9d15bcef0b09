"""Which partitions a consumer has asked for, which of them it has, and how it begins them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import (
    OFFSET_BEGINNING,
    OFFSET_END,
    OFFSET_INVALID,
    OFFSET_STORED,
    KafkaException,
    TopicPartition,
)

from anabranch.sdk.beginning import beginnings
from anabranch.sdk.names import Place, place_of
from anabranch.sdk.standing import ASK_S, committed_by

_AT_END = ("latest", "largest", "end")
_WHERE_COMMITTED = (OFFSET_INVALID, OFFSET_STORED)


@dataclass
class Subscribed:
    """What the application asked for: topics, or partitions by hand."""

    topics: tuple[str, ...] = ()
    callbacks: Mapping[str, Any] = field(default_factory=dict)
    by_hand: list[Any] | None = None


class Partitions:
    """Those that a group has given a client, by the names there, as was last told; ``last`` is of such as it lost.

    Each began at an offset, and has another one (``since``) from where on what it gave out may not be committed: before
    the first one where the client has gone on after a switch that was given up.

    The client itself is not asked: where its cluster does not answer it stops the whole process until the group's
    session is over.
    """

    def __init__(self, given: Mapping[str, Any]) -> None:
        self._is_cooperative = (
            "cooperative" in str(given.get("partition.assignment.strategy", ""))
            or str(given.get("group.protocol", "")).lower() == "consumer"
        )
        more = given.get("default.topic.config")
        reset = given.get("auto.offset.reset", more.get("auto.offset.reset") if isinstance(more, Mapping) else None)
        self._begins_at_end = str(reset or "latest").lower() in _AT_END
        self._places: dict[Place, None] = {}
        self._resumed: dict[Place, int] = {}
        self._undone: dict[Place, int] = {}
        self._began: dict[Place, int] = {}
        self._since: dict[Place, int] = {}
        self.last: dict[Place, int] = {}

    def listed(self) -> list[Any]:
        """Each without an offset."""
        return [TopicPartition(*place) for place in self._places]

    def resume(self, positions: Mapping[Place, int], since: Mapping[Place, int]) -> None:
        """The client has just connected where it gave out what lies before these positions, uncommitted ``since``."""
        self._resumed, self._undone = dict(positions), dict(since)

    def begun(
        self, inner: Any, partitions: list[Any], before: Mapping[Place, int], started: Mapping[Place, int]
    ) -> list[Any]:
        """Partitions with the offsets at which they begin (see ``beginnings``), where that is not what is committed.

        Raises KafkaException where the cluster does not say what that is.
        """
        resumed = self._resumed
        unclear = [one for one in partitions if place_of(one) in resumed or place_of(one) in started]
        if not unclear:
            return partitions
        committed = committed_by(inner, unclear)
        self._undone |= {place: at for place, at in committed.items() if at >= 0}
        found = beginnings(committed, before, resumed, started)
        return [
            TopicPartition(one.topic, one.partition, found[place_of(one)]) if place_of(one) in found else one
            for one in partitions
        ]

    def placed(self, inner: Any, partitions: list[Any]) -> list[Any]:
        """Partitions as the client is to begin them, which is noted.

        Where that is the end, since nothing is committed, it is asked for: so it is known where the client stands as
        long as it has read nothing.
        """
        found = partitions
        if self._begins_at_end and (open_ := [one for one in partitions if one.offset == OFFSET_INVALID]):
            ends = _ends(inner, open_)
            found = [
                TopicPartition(one.topic, one.partition, ends[place_of(one)]) if place_of(one) in ends else one
                for one in partitions
            ]
        self.begins(found)
        return found

    def begin_where(self, inner: Any, partitions: list[Any], timeout_s: float) -> dict[Place, int]:
        """Where the client begins these by itself, as far as the cluster says it; raises KafkaException."""
        committed = {place_of(one): one.offset for one in inner.committed(partitions, timeout_s) if one.error is None}
        found = {place: at for place, at in committed.items() if at >= 0}
        bare = [TopicPartition(*place, OFFSET_BEGINNING) for place, at in committed.items() if at < 0]
        if bare and not self._begins_at_end:  # else it was asked where the end is
            starts = inner.offsets_for_times(bare, timeout_s)
            found |= {place_of(one): one.offset for one in starts if one.error is None and one.offset >= 0}
        return found

    def begins(self, partitions: list[Any]) -> None:
        """The client begins these, by the names there, where they say, or nobody knows (see ``learn``)."""
        for one in partitions:
            place = place_of(one)
            self._began.pop(place, None)
            self._since.pop(place, None)
            if one.offset < 0:
                continue
            self._began[place] = one.offset
            if self._resumed.get(place) != one.offset:
                self._since[place] = one.offset
            elif place in self._undone:
                self._since[place] = self._undone[place]

    def learn(self, inner: Any, partitions: list[Any]) -> None:
        """Ask where the client begins those of which nobody knows it; raises KafkaException."""
        asked = [one for one in partitions if one.offset in _WHERE_COMMITTED and place_of(one) not in self._began]
        if asked:
            found = self.begin_where(inner, asked, ASK_S)
            self._began |= found
            self._since |= found

    def began(self, partitions: list[Any]) -> dict[Place, int]:
        """Where it began of these what it has, as far as that is known."""
        ours = {place_of(one) for one in partitions}
        return {place: at for place, at in self._began.items() if place in ours}

    def since(self, partitions: list[Any]) -> dict[Place, int]:
        """From where on what it gave out of these may not be committed, as far as that is known."""
        ours = {place_of(one) for one in partitions}
        return {place: at for place, at in self._since.items() if place in ours}

    def stood(self, inner: Any, partitions: list[Any]) -> list[Any]:
        """The client's positions in these; where it has read nothing, where it began."""
        found, began = inner.position(partitions), self.began(partitions)
        return [
            TopicPartition(*place, began[place])
            if one.offset < 0 and one.error is None and (place := place_of(one)) in began
            else one
            for one in found
        ]

    def come(self, partitions: list[Any]) -> None:
        """The group gives these; all that the client has from then on, unless its members hand over in steps."""
        if not self._is_cooperative:
            self._places.clear()
            self._began.clear()
            self._since.clear()
        self.last.clear()
        self._places |= {place_of(one): None for one in partitions}

    def assign(self, inner: Any, partitions: list[Any]) -> None:
        """Have the client read what the group gives."""
        found = self.placed(inner, partitions)
        (inner.incremental_assign if self._is_cooperative else inner.assign)(found)

    def go(self, inner: Any, partitions: list[Any]) -> None:
        """The group takes these away; where the client has read on, that is not where it goes on any more."""
        for one in partitions:
            self._places.pop(place_of(one), None)
            self._began.pop(place_of(one), None)
            self._since.pop(place_of(one), None)
        if self._resumed:
            for one in inner.position(partitions):
                if one.offset >= 0:
                    self._resumed.pop(place_of(one), None)

    def lose(self, stood: Mapping[Place, int]) -> None:
        """The group's session is over, with these last positions; they are known until it gives something again.

        Its cluster may have been stopped, so that nobody has read on there.
        """
        self.last |= stood

    def clear(self) -> None:
        """The client is given up, with all that it has."""
        self._places.clear()
        self._began.clear()
        self._since.clear()
        self.last.clear()


def _ends(inner: Any, partitions: list[Any]) -> dict[Place, int]:
    """Where logs end of which nothing is committed; none of those of which no broker says it."""
    try:
        places = [place for place, committed in committed_by(inner, partitions).items() if committed < 0]
        asked = [TopicPartition(*place, OFFSET_END) for place in places]
        found = inner.offsets_for_times(asked, ASK_S) if asked else ()
    except KafkaException:
        return {}
    return {place_of(one): one.offset for one in found if one.error is None and one.offset >= 0}


def nowhere(inner: Any, begun: list[Any], in_group: bool) -> list[Any]:
    """Of partitions that are read by hand those that begin nowhere: without a start, and nothing is committed."""
    found = [one for one in begun if one.offset < 0]
    if not found or not in_group:
        return found
    answers = inner.committed(found, ASK_S)
    committed = {place_of(one): one.offset for one in answers if one.error is None}
    return [one for one in found if committed.get(place_of(one), OFFSET_INVALID) < 0]
