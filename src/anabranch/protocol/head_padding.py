"""Whether the head of an identity lane's target log can be padded up to the lane's start."""

from __future__ import annotations

PAD_LIMIT = 50_000_000
"""Offsets that are padded at most: some 15 s and 80 MB of a partition's first segment (measured: 3.4 million offsets a
second on two busy cores, 1.6 bytes each), until that segment is rolled and deleted."""


def barred(topic: str, start: int, end: int, may_delete: bool, policy: str | None) -> str:
    """Why the head of a log that ends at ``end`` cannot be padded up to ``start``; empty where it can."""
    if start > PAD_LIMIT:
        return (
            f"the lane starts at source offset {start:,}, and the target log's head is padded by {PAD_LIMIT:,} "
            "offsets at most"
        )
    if not may_delete:
        return f"the lane starts at source offset {start:,}: padding needs DELETE on target topic {topic}"
    if policy != "delete":
        return f"the lane starts at source offset {start:,}: padding needs cleanup.policy=delete, {topic} has {policy}"
    if end:
        return f"the lane starts at source offset {start:,}, and the target log is not empty: it ends at {end:,}"
    return ""
