"""What advice rests on, in sentences with numbers."""

from __future__ import annotations

from collections.abc import Sequence

from anabranch.checkpoints.advice.conditions import plural
from anabranch.checkpoints.advice.facts import Facts, LaneFacts
from anabranch.checkpoints.job import CheckpointFormat
from anabranch.model.lane import LaneMode


def observations(facts: Facts) -> tuple[str, ...]:
    """The sources and their state, the lanes, the lag, the group."""
    found = [_sources(facts)]
    state = [one.state_bytes for one in facts.stateful() if one.state_bytes is not None]
    if facts.stateful():
        size = f" with {sum(state):,} bytes of state" if state else ""
        found.append(f"{plural(len(facts.stateful()), 'stateful operator')}{size}")
    if facts.page.uncommitted is not None:
        found.append(f"batch {facts.page.uncommitted} has begun and was not committed")
    if facts.lanes:
        moving = {one.partition for one in facts.positions}
        lanes = [lane for at, lane in facts.lanes.items() if at in moving]
        kept = sum(lane.mode is LaneMode.IDENTITY for lane in lanes)
        found.append(f"{kept:,} of {plural(len(lanes), 'lane')} keep offsets; {_not_copied(lanes)}")
    found += _old_cluster(facts)
    found += _group(facts)
    if facts.page.format is CheckpointFormat.FLINK and facts.uids_why:
        found.append(f"uids: {facts.uids_why}")
    return tuple(found)


def _not_copied(lanes: Sequence[LaneFacts]) -> str:
    unknown = sum(lane.lag is None for lane in lanes)
    if unknown:
        return f"how much is not copied yet is not known of {unknown:,}: see `anabranch link show {lanes[0].link}`"
    return f"{sum(lane.lag or 0 for lane in lanes):,} records are not copied yet"


def _sources(facts: Facts) -> str:
    sources = sorted({one.source for one in facts.positions})
    if facts.unread:
        return f"{plural(len(sources), 'source')} with positions; {facts.unread[0].location}: {facts.unread[0].what}"
    topics = ", ".join(facts.topics()[:5]) + (", ..." if len(facts.topics()) > 5 else "")
    return f"{plural(len(sources), 'source')}, {plural(len(facts.reading()), 'position')} in {topics or 'no topic'}"


def _old_cluster(facts: Facts) -> list[str]:
    lag = facts.lag()
    if lag is None:
        return []
    written, drain = facts.written_per_s(), facts.drain_s()
    text = f"{lag:,} records of {facts.source or 'the old cluster'} come after the checkpoint"
    if written is not None:
        text += f", {written:,.0f} a second are added"
    if drain:
        text += f"; reading all takes the job about {drain:,.0f} s"
    return [text]


def _group(facts: Facts) -> list[str]:
    group = facts.group
    if group is None:
        return []
    if not group.commits:
        return [f"group {group.name} has committed nothing on {facts.source or 'the old cluster'}"]
    ahead = behind = 0
    for one in facts.reading():
        commit = group.commits.get(one.partition)
        if commit is not None and isinstance(one.offset, int):
            ahead += max(0, commit - one.offset)
            behind += max(0, one.offset - commit)
    text = f"group {group.name} has committed {plural(len(group.commits), 'position')}"
    text += (
        f": {behind:,} records before the checkpoint, {ahead:,} past it" if ahead or behind else ", as the checkpoint"
    )
    if group.per_s is not None:
        text += f"; it reads {group.per_s:,.0f} a second"
    return [text]
