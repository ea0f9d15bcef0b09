"""Where a lane is read: the leader of its source partition, and the ends of the log that it last told."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from anabranch.kafka import fetch
from anabranch.kafka.presence import Absence


@dataclass(slots=True)
class SourceLogState:
    """The leader and its epoch, and the ends that it last told; written by what reads the source.

    ``answered_at`` is when a fetch was last answered, ``seen_at`` when the ends were last told, by whatever request;
    ``absence`` is for how long every broker says that there is no such topic, ``doubt`` what they say meanwhile.
    """

    leader: int = -1
    epoch: int = -1
    log_start: int = 0
    stable: int = 0
    high_watermark: int = 0
    answered_at: float = 0.0
    seen_at: float = 0.0
    absence: Absence = field(default_factory=Absence)
    doubt: str = ""
    made_at: float = field(default_factory=time.monotonic)

    def is_there(self) -> None:
        """A broker knows the topic, or it is to be looked for from the beginning."""
        self.absence.end()
        self.doubt = ""

    def take_ends(self, answer: fetch.Fetched) -> None:
        """A fetch was answered with records, or with none: both tell the ends."""
        self.log_start, self.stable = answer.log_start, answer.last_stable
        self.high_watermark = answer.high_watermark

    def silence(self) -> float:
        """For how many seconds the source has not told its ends; what is new here has waited since it came."""
        return time.monotonic() - (self.seen_at or self.made_at)
