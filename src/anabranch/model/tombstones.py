"""Tombstones that the source may drop before a lane comes to them: the key they delete stays alive on the target.

A cleaner drops a tombstone once it has lain cleaned for ``delete.retention.ms``.  A lane that is further behind than
that, and has copied an earlier record of the key, never sees it.  How far a lane is behind is told by the age of what
it has to copy next, or by how long its source was not asked, so that this says "may".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from anabranch.model.lane import LaneProgress
from anabranch.model.link import MirroredTopic
from anabranch.model.reasons import Reason, Severity

POLICY, SETTING = "cleanup.policy", "delete.retention.ms"
DEFAULT_MS = 86_400_000


def retention_ms(configs: Mapping[str, str | None]) -> int | None:
    """For how long the tombstones of a topic with these configs stay; None where no cleaner drops any."""
    if "compact" not in (configs.get(POLICY) or ""):
        return None
    return int(configs.get(SETTING) or DEFAULT_MS)


def retentions_ms(topics: Iterable[MirroredTopic]) -> dict[str, int]:
    """The same of each compacted source topic, as its configs are stored on the target."""
    found = {topic.source: retention_ms(topic.configs) for topic in topics}
    return {name: retention for name, retention in found.items() if retention is not None}


def outlived(
    link: str, lanes: Iterable[LaneProgress], retentions_ms: Mapping[str, int], now_ms: int
) -> tuple[Reason, ...]:
    """A finding for each topic that has lanes further behind than its tombstones stay, by source topic."""
    late: dict[str, list[str]] = {}
    for lane in lanes:
        retention = retentions_ms.get(lane.source.topic)
        if retention is not None and _behind_ms(lane, now_ms) > retention:
            late.setdefault(lane.source.topic, []).append(str(lane.source))
    return tuple(
        Reason.found(
            Severity.WARNING,
            f"topic {topic}: {', '.join(sorted(names))} behind by more than {SETTING} of the source "
            f"({retentions_ms[topic] / 3_600_000:,.1f} h): a tombstone may be gone there before it is copied, "
            "and its key stays on the target",
            f"once it has caught up, find such keys: anabranch verify start {link} --fresh",
        )
        for topic, names in sorted(late.items())
    )


def _behind_ms(lane: LaneProgress, now_ms: int) -> float:
    """For how long at least what is to be copied next may have lain there."""
    if lane.source_seen_ms is None or not lane.position:
        return 0.0
    unasked = now_ms - lane.source_seen_ms
    if lane.position >= lane.stable:
        return unasked
    return max(unasked, 1000 * (lane.lag_seconds or 0.0))
