"""How many bytes the answers of source brokers may bring: what bounds the memory of a worker that reads many."""

from __future__ import annotations

from anabranch.copier.lane.lane import LANE_BYTES

ANSWER_BYTES = 8 << 20
"""What one answer may bring at most."""
ANSWERS_BYTES = 16 << 20
"""What the answers of all brokers may bring at once, beyond the budget that was kept when they were asked."""
AROUND_BYTES = 64 << 10
"""Left for what stands around the records of an answer, so that it fits a frame of a power of two."""


def answer_bytes(brokers: int, awaited: int = 0) -> int:
    """The frame that the next answer of one of so many brokers may fill, where others were asked for ``awaited`` bytes.

    Answers lie in frames of powers of two, so each share is one: any other would be kept in the next larger frame.
    All shares together are at most ANSWERS_BYTES, or LANE_BYTES for each broker where there are more than that allows.
    """
    # Whoever was asked before there were so many brokers has a larger share until it answers.
    share = min(ANSWER_BYTES, ANSWERS_BYTES // max(1, brokers), max(0, ANSWERS_BYTES - awaited))
    return 1 << (max(LANE_BYTES, share).bit_length() - 1)
