"""What is told of a lane in words: its mode, and what it waits for."""

from __future__ import annotations

from dataclasses import dataclass

from anabranch.model.lane import LaneMode


@dataclass(slots=True)
class Status:
    """Sentences, empty where there is nothing to say.

    ``waiting`` is what a takeover waits for, ``held_by`` the open transaction that holds the source, ``foreign_writer``
    who else writes to the target partition.
    """

    mode: LaneMode = LaneMode.MAPPED
    mode_reason: str = ""
    waiting: str = ""
    held_by: str = ""
    foreign_writer: str = ""
