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
Outlived = Mapping[str, int | None]
"""Lanes that were late, by key: the source offset at which each was so no more, None while it is late."""


def retention_ms(configs: Mapping[str, str | None]) -> int | None:
    """For how long the tombstones of a topic with these configs stay; None where no cleaner drops any."""
    if "compact" not in (configs.get(POLICY) or ""):
        return None
    return int(configs.get(SETTING) or DEFAULT_MS)


def retentions_ms(topics: Iterable[MirroredTopic]) -> dict[str, int]:
    """The same of each compacted source topic, as its configs are stored on the target."""
    found = {topic.source: retention_ms(topic.configs) for topic in topics}
    return {name: retention for name, retention in found.items() if retention is not None}


def followed(
    before: Outlived, lanes: Iterable[LaneProgress], retentions_ms: Mapping[str, int], now_ms: int
) -> dict[str, int | None]:
    """What is outlived now of these lanes, where ``before`` was.

    A lane that is late no more has passed all of it once it is where the source's log ends now.
    """
    found: dict[str, int | None] = {}
    for lane in lanes:
        key, retention = str(lane.lane), retentions_ms.get(lane.source.topic)
        if retention is not None and _behind_ms(lane, now_ms) > retention:
            found[key] = None
        elif key in before:
            passed = before[key]
            found[key] = lane.stable if passed is None else passed
    return found


def unchecked(outlived: Outlived, compared_to: Mapping[str, int]) -> dict[str, int | None]:
    """What no comparison has looked at: each began at the lane's start, and came as far as ``compared_to`` says."""
    return {lane: until for lane, until in outlived.items() if until is None or compared_to.get(lane, -1) < until}


def findings(
    link: str, outlived: Outlived, lanes: Iterable[LaneProgress], retentions_ms: Mapping[str, int]
) -> tuple[Reason, ...]:
    """A finding for each topic of whose lanes something is outlived, by source topic."""
    late: dict[str, list[str]] = {}
    for lane in lanes:
        if str(lane.lane) in outlived:
            late.setdefault(lane.source.topic, []).append(str(lane.source))
    found = []
    for topic, names in sorted(late.items()):
        retention = retentions_ms.get(topic)
        hours = "" if retention is None else f" ({retention / 3_600_000:,.1f} h)"
        found.append(
            Reason.found(
                Severity.WARNING,
                f"topic {topic}: {', '.join(sorted(names))} {'has' if len(names) == 1 else 'have'} been behind by more "
                f"than {SETTING} of the source{hours}: a tombstone may have gone there before it was copied, "
                "and its key stays on the target",
                f"once it has caught up, find such keys: anabranch verify start {link} --fresh",
            )
        )
    return tuple(found)


def _behind_ms(lane: LaneProgress, now_ms: int) -> float:
    """For how long at least what is to be copied next may have lain there."""
    if lane.source_seen_ms is None or not lane.position:
        return 0.0
    unasked = now_ms - lane.source_seen_ms
    if lane.position >= lane.stable:
        return unasked
    return max(unasked, 1000 * (lane.lag_seconds or 0.0))
