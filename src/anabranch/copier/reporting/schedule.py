"""Of which lanes progress is due in a round, a second each.

It is due at once of lanes whose state or reason changed.  Where only offsets and counts did it is due each second
while the target's links have up to ``MANY`` lanes.  With more, as everybody reads what each persists, lanes wait for
their turn: a share of them every ``STRIDE`` rounds, for few records together compress badly, and all of them within
``SPACING``.  The lanes that stand still are due in turn, too: at least one each time, for that an owner is heard of is
what tells others that it lives.  What somebody else has overwritten is due again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from anabranch.copier.lane.lane import Lane
from anabranch.model.lane import KNOWN_S
from anabranch.state.topics.control import Progress

ROUNDS = 12
"""Rounds, a second each, within which every lane is persisted, changed or not: in less than ``LANE_TIMEOUT_S``."""
MANY = 625
SPACING = 8
"""The most rounds for which changed offsets and counts wait: within ``KNOWN_S``, for which a lag counts as known."""
STRIDE = 2
"""Rounds between two times that something is persisted of thousands of lanes: within ``TIMEOUT_S`` of a handover."""


class _Mark(NamedTuple):
    """What a report is made of, but for what cannot change alone; ``figures`` None: they change with the time."""

    state: tuple[object, ...]
    figures: tuple[object, ...] | None


class ReportSchedule:
    """What was persisted last of the lanes of one worker, ``owner``, and whose turn it is."""

    def __init__(self, owner: str, progress: Progress) -> None:
        self._owner = owner
        self._progress = progress
        self._turn = self._round = 0
        self._spacing = 1
        self._marks: dict[Lane, _Mark] = {}
        self.is_overwritten = False
        """Whether somebody else had persisted progress of one of the lanes when it was last looked for what is due."""

    def begin_round(self, everything: bool) -> None:
        """A round begins; with ``everything`` nothing waits for a later one."""
        self._round += 1
        self._spacing = 1
        if not everything:
            wanted = min(SPACING, -(-len(self._progress.lanes) // MANY))
            self._spacing = 1 if wanted <= 1 else -(-wanted // STRIDE) * STRIDE

    @property
    def is_settled(self) -> bool:
        """Whether after this round nothing waits that was changed before it."""
        return self._round % self._spacing == 0

    def forget(self) -> None:
        """What was to be persisted may not have been: all is due again."""
        self._marks = {}

    def due(self, lanes: Sequence[Lane], paused: bool) -> list[Lane]:
        """The lanes whose progress is to be persisted now, of those that are this owner's to tell of."""
        share = -(-len(lanes) // ROUNDS)
        first, self._turn = self._turn % max(1, len(lanes)), self._turn + share
        self.is_overwritten = False
        in_turn = {(first + at) % len(lanes) for at in range(share)}
        others = self._progress.overwritten(self._owner)
        before, self._marks = self._marks, {}
        due, later = [], []
        is_turn, shares = self._spacing == 1 or self._round % STRIDE == 0, max(1, self._spacing // STRIDE)
        for at, lane in enumerate(lanes):
            mark = _mark(lane, paused)
            told = before.get(lane, mark)
            is_overwritten = bool(others) and lane.assignment.lane in others
            self.is_overwritten |= is_overwritten
            changed = mark.figures is None or told.figures != mark.figures
            if (
                lane not in before
                or told.state != mark.state
                or (is_turn and changed and (at + self._round // STRIDE) % shares == 0)
                or (not changed and at in in_turn)
                or is_overwritten
            ):
                due.append(lane)
                self._marks[lane] = mark
            else:
                later.append(lane)
                self._marks[lane] = told
        if is_turn and not due and later:  # of an owner something is heard each round
            due.append(later[first % len(later)])
        return due


def _mark(lane: Lane, paused: bool) -> _Mark:
    source, copied, status, fetched = lane.source, lane.copied, lane.status, lane.fetched
    state = (
        lane.phase,
        status.mode,
        status.mode_reason,
        status.foreign_writer,
        status.held_by,
        status.waiting,
        source.doubt,
        lane.stopped,
        paused,
        source.silence() > KNOWN_S,
    )
    figures = (
        copied.position,
        fetched.fetch_offset,
        copied.target_end,
        lane.known_to(),
        source.log_start,
        source.stable,
        source.high_watermark,
        copied.tally.records,
        copied.tally.bytes_per_s,
        lane.drained,
    )
    return _Mark(state, None if fetched.batches else figures)
