"""Offsets as tables: translated positions, and the ranges of lanes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from anabranch.cli.render import grid
from anabranch.cli.words import count, moment, span
from anabranch.model.counted import counted
from anabranch.model.lane import LaneMode
from anabranch.model.positions import Answered, AnswerKind, LaneRanges, OffsetPair, Translation

_STYLE: Mapping[AnswerKind, str] = {
    AnswerKind.EXACT: "green",
    AnswerKind.APPROXIMATE: "yellow",
    AnswerKind.BEFORE: "yellow",
    AnswerKind.AFTER: "yellow",
    AnswerKind.UNMAPPED: "yellow",
    AnswerKind.UNKNOWN: "bold red",
}


def translation(found: Translation) -> RenderableType:
    """One line an answer, with the nearest offsets where it is refused."""
    table = grid("PARTITION", "OFFSET", "ANSWER", "TO", "TO OFFSET", "WHY", right=("OFFSET", "TO OFFSET"))
    for one in found.answers:
        table.add_row(
            str(one.partition),
            count(one.offset),
            Text(one.kind.value, style=_STYLE[one.kind]),
            "-" if one.to is None else str(one.to),
            "-" if one.answer is None else count(one.answer),
            _why(one),
        )
    return table


def lanes(found: Sequence[LaneRanges]) -> RenderableType:
    """One line a lane."""
    if not found:
        return Text("no lane has begun")
    table = grid(
        "SOURCE", "TARGET", "MODE", "RUNS", "RECORDS", "SOURCE OFFSETS", "TARGET OFFSETS", "PERSISTED",
        right=("RUNS", "RECORDS"),
    )  # fmt: skip
    for one in found:
        table.add_row(
            str(one.source),
            str(one.target),
            one.mode.value,
            count(len(one.ranges)),
            count(one.records),
            span(one.source_start, one.source_end),
            span(one.target_start, one.target_end),
            moment(one.updated_at_ms),
        )
    return table


def ranges(found: Sequence[LaneRanges], limit: int) -> RenderableType:
    """The newest ranges of each lane, with the offsets that were passed before each."""
    if not found:
        return Text("no lane has begun")
    parts: list[RenderableType] = []
    for lane in found:
        head = Text(f"{lane.source} to {lane.target}", style="bold")
        head.append(
            f"  {lane.mode.value}, {counted(len(lane.ranges), 'range')}, {counted(lane.records, 'record')}, "
            f"source {span(lane.source_start, lane.source_end)}, target {span(lane.target_start, lane.target_end)}",
            style="not bold",
        )
        table = grid(
            "SOURCE", "TARGET", "RECORDS", "GAP BEFORE", "FOREIGN BEFORE",
            right=("SOURCE", "TARGET", "RECORDS", "GAP BEFORE", "FOREIGN BEFORE"),
        )  # fmt: skip
        first = max(0, len(lane.ranges) - limit)
        source, target = lane.source_start, lane.target_start
        if first:
            before = lane.ranges[first - 1]
            source, target = before.source + before.length, before.target + before.length
            head.append(f"\n  {counted(first, 'older range')} left out; -o json has them all", style="dim")
        for run in lane.ranges[first:]:
            # An identity lane has padded its gaps itself, and turns mapped where somebody else writes.
            foreign = 0 if lane.mode is LaneMode.IDENTITY else run.target - target
            table.add_row(
                count(run.source), count(run.target), count(run.length), count(run.source - source), count(foreign)
            )
            source, target = run.source + run.length, run.target + run.length
        parts += [head, table]
    return Group(*parts)


def _why(one: Answered) -> str:
    if one.kind is AnswerKind.APPROXIMATE:
        again = "an unknown number of" if one.most_again is None else f"at most {count(one.most_again)}"
        return f"{one.why}: {again} offsets are read again"
    near = [
        f"{name} {count(pair.asked)} is {count(pair.answer)} there"
        for name, pair in (("below:", one.below), ("above:", one.above))
        if isinstance(pair, OffsetPair)
    ]
    return "; ".join([one.why, *near] if one.why else near)
