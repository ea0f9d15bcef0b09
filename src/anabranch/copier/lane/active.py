"""One ownership of a lane while it lasts: its ownership, what is in flight under it, and over which connection."""

from __future__ import annotations

from dataclasses import dataclass

from anabranch.kafka.connection import Connection
from anabranch.protocol.ownership import Ownership
from anabranch.protocol.pipeline import Pipeline


@dataclass(slots=True, eq=False)
class ActiveOwnership:
    """An ownership that was won and is not over; whoever answers late asks whether it is still the lane's.

    ``connection`` is None where it ended while nothing was under way: the ownership goes on over another.
    ``is_checking`` says that the leader is asked something before the next batch, or that a gap is filled;
    ``is_renewing`` that the claim is given back to be claimed again.
    """

    ownership: Ownership
    pipeline: Pipeline
    connection: Connection | None
    is_checking: bool = False
    is_renewing: bool = False

    @property
    def may_send(self) -> bool:
        """Whether a batch that is ready may be sent now."""
        return not self.is_checking and not self.is_renewing and self.pipeline.room() > 0

    @property
    def is_idle(self) -> bool:
        """Whether nothing is under way whose answer may still come."""
        return not (self.is_checking or self.is_renewing or self.pipeline.in_flight)

    @property
    def awaits_answers(self) -> bool:
        """Whether an answer may still come: over a connection that ended, none does."""
        if self.connection is None or self.connection.closed is not None:
            return False
        return self.is_checking or self.pipeline.in_flight > 0
