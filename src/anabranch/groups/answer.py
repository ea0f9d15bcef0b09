"""Where on the target one commit of the source stands: an offset, or why there is none."""

from __future__ import annotations

from anabranch.groups.world import Route
from anabranch.model.groups import Commit
from anabranch.model.reasons import Reason, ReasonKind
from anabranch.offsets.translate import After, Before, Exact, to_source, to_target


def answer(route: Route, commit: Commit, link: str) -> int | Reason:
    """The target offset from which a reader sees exactly the records that it has not read, or why that cannot be said.

    Where both logs have lost the next records to retention, it is the first offset that the target kept: a position
    before a log's start would hand the reader over to its ``auto.offset.reset``.  Where only the target lost
    them it is a refusal.  Invariant: an answer never lies behind the target's high watermark, so no lag is negative.
    """
    position = to_target(route.runs, commit.offset)
    if isinstance(position, After):
        return Reason(
            ReasonKind.NOT_COPIED,
            f"offset {commit.offset:,} is committed, the link has copied up to {position.end:,}",
            f"wait for the link: anabranch link show {link}",
        )
    if isinstance(position, Before):
        if route.source_start < position.start:
            unread = position.start - max(commit.offset, route.source_start)
            return Reason(
                ReasonKind.BEFORE_START,
                f"offset {commit.offset:,} is committed, the link has copied from {position.start:,} on: the source "
                f"still has up to {unread:,} records that were not read",
                "make a link that starts earlier, or let the group read to the link's start on the source first",
            )
        offset = position.translated
    else:
        offset = position.offset
    if offset < route.target_start:
        kept = to_source(route.runs, route.target_start)
        kept_from = kept.offset if isinstance(kept, Exact) else kept.translated
        if route.source_start < kept_from:
            return Reason(
                ReasonKind.EXPIRED,
                f"offset {commit.offset:,} is {offset:,} on the target, whose log begins at {route.target_start:,}: "
                "it lost records there that were not read",
                f"copy the topic anew; `anabranch groups create` begins at {route.target_start:,} and gives them up",
            )
        offset = route.target_start
    if offset > route.target_end:
        return Reason(
            ReasonKind.NOT_COPIED,
            f"offset {commit.offset:,} is {offset:,} on the target, whose log ends at {route.target_end:,}",
            f"wait for the link: anabranch link show {link}",
        )
    return offset


def units(metadata: str) -> int:
    """The length of metadata as brokers count it against ``offset.metadata.max.bytes``: UTF-16 units, not bytes."""
    return len(metadata.encode("utf-16-le")) // 2
