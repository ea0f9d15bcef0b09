"""What is read from one broker: which lanes, each from which source offset on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from anabranch.copier.lane.active import ActiveOwnership
from anabranch.copier.lane.lane import Lane, LanePhase
from anabranch.kafka import fetch
from anabranch.kafka.connection import Connection
from anabranch.kafka.session import FetchSession, Key


@dataclass(slots=True)
class BrokerReads:
    """A fetch session with a broker; ``at`` is what ``lanes`` and ``wanted`` were made of."""

    session: FetchSession
    connection: Connection
    at: list[tuple[Lane, fetch.PartitionFetch]] = field(default_factory=list)
    lanes: dict[Key, Lane] = field(default_factory=dict)
    wanted: dict[Key, fetch.PartitionFetch] = field(default_factory=dict)

    def want(self, ready: Sequence[Lane], by_id: bool) -> None:
        """Say what is to be read; where nothing has changed since the last time, the same objects say it."""
        at = [(lane, lane.next_fetch) for lane in ready]
        if at == self.at:
            return
        lanes: dict[Key, Lane] = {}
        wanted: dict[Key, fetch.PartitionFetch] = {}
        for lane, next_fetch in at:
            key = (next_fetch.topic_id if by_id else next_fetch.topic, next_fetch.partition)
            lanes[key] = lane
            wanted[key] = next_fetch
            if not lane.source.answered_at and key in self.session.held:
                self.session.lost()  # of a lane that is new here, the broker thinks that all has been told
        self.at, self.lanes, self.wanted = at, lanes, wanted

    def asker(self, lane: Lane, answer: fetch.Fetched) -> ActiveOwnership | None:
        """The ownership that asked for this; None where the lane was taken over again meanwhile: these bytes belong to
        an ownership that is over."""
        if lane.phase is not LanePhase.RUNNING:
            return None
        if lane.next_fetch != self.wanted[answer.topic, answer.partition]:
            return None
        return lane.active
