"""Translate one committed offset of the source to the target: an offset, or the reason why there is none."""

from __future__ import annotations

from anabranch.groups.snapshot import PartitionMapping
from anabranch.model.groups import Commit
from anabranch.model.reasons import Reason, ReasonKind
from anabranch.offsets.translate import After, Before, Exact, to_source, to_target


def translate_commit(mapping: PartitionMapping, commit: Commit, link: str) -> int | Reason:
    """The target offset from which a reader sees exactly the records that it has not read, or the reason for none.

    If both logs have lost the next records to retention, it is the first offset that the target kept: an offset
    before a log's start would trigger the reader's ``auto.offset.reset``.  If only the target has lost them, the
    commit is refused.  Invariant: the offset is never past the target's high watermark, so no lag is negative.
    """
    position = to_target(mapping.ranges, commit.offset)
    if isinstance(position, After):
        return Reason(
            ReasonKind.NOT_COPIED,
            f"offset {commit.offset:,} is committed, the link has copied up to {position.end:,}",
            f"wait for the link: anabranch link show {link}",
        )
    if isinstance(position, Before):
        if mapping.source_start < position.start:
            unread = position.start - max(commit.offset, mapping.source_start)
            return Reason(
                ReasonKind.BEFORE_START,
                f"offset {commit.offset:,} is committed, the link has copied from {position.start:,} on: the source "
                f"still has up to {unread:,} records that were not read",
                "make a link that starts earlier, or let the group read to the link's start on the source first",
            )
        offset = position.translated
    else:
        offset = position.offset
    if offset < mapping.target_start:
        kept = to_source(mapping.ranges, mapping.target_start)
        kept_from = kept.offset if isinstance(kept, Exact) else kept.translated
        if mapping.source_start < kept_from:
            return Reason(
                ReasonKind.EXPIRED,
                f"offset {commit.offset:,} is {offset:,} on the target, whose log begins at {mapping.target_start:,}: "
                "it lost records there that were not read",
                f"copy the topic again; `anabranch groups create` begins at {mapping.target_start:,} and gives them up",
            )
        offset = mapping.target_start
    if offset > mapping.target_end:
        return Reason(
            ReasonKind.NOT_COPIED,
            f"offset {commit.offset:,} is {offset:,} on the target, whose log ends at {mapping.target_end:,}",
            f"wait for the link: anabranch link show {link}",
        )
    return offset


def units(metadata: str) -> int:
    """The length of metadata as brokers count it against ``offset.metadata.max.bytes``: UTF-16 units, not bytes."""
    return len(metadata.encode("utf-16-le")) // 2
