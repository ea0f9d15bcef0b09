"""How many there are of something, in a sentence."""

from __future__ import annotations


def counted(number: int, of: str) -> str:
    """``1 topic``, ``2 topics``, ``2,000 topics``."""
    return f"{number:,} {of}{'' if number == 1 else 's'}"
