"""Reports about MirrorMaker 2 as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from anabranch.cli import render
from anabranch.cli.words import count, duration
from anabranch.mirrormaker.names import checkpoints_topic
from anabranch.mirrormaker.report import Evidence, JudgedPosition, MirrorReport

if TYPE_CHECKING:
    from anabranch.operations.mirrormaker.publish import Published, PublishPlan


def report(found: MirrorReport) -> RenderableType:
    """One row a position, the worst first, and a line with the sums."""
    right = ("COMMITTED", "SEEN", "ANSWER", "NEXT", "EXACT", "READ AGAIN")
    columns = ["GROUP", "PARTITION", "COMMITTED", "SEEN", "ANSWER", "NEXT", "EXACT", "READ AGAIN", "BY"]
    with_link = any(row.ours is not None for row in found.rows)
    grid = render.grid(*columns, *(["LINK"] if with_link else []), "NOTE", right=right)
    for row in sorted(found.rows, key=_worst):
        ours = [f"{row.ours[0]}: {count(row.ours[1])}" if row.ours else ""] if with_link else []
        numbers = (row.committed, row.upstream, row.downstream, row.stored, row.exact)
        by = row.evidence.value if row.evidence is not Evidence.NONE else ""
        texts = ["-" if number is None else count(number) for number in numbers]
        grid.add_row(row.group, str(row.source), *texts, _again(row), by, *ours, row.note)
    beat = "no heartbeat" if found.heartbeat_ms is None else f"heartbeat {duration(found.heartbeat_ms / 1000)} ago"
    answered = len(found.rows) - found.unanswered
    text = Text(f"{found.source_alias}->{found.target_alias}: {count(found.syncs)} offset syncs, {beat}", style="bold")
    unknown = f", and it is not known for {count(found.unbounded)} positions" if found.unbounded else ""
    total = Text(
        f"{count(answered)} of {count(len(found.rows))} positions have an answer, {count(found.exact)} exact; "
        f"moved now, the groups read at most {count(found.most_read_again)} records again{unknown}"
    )
    return Group(text, grid, total, *(Text(note, style="yellow") for note in found.notes))


def _worst(row: JudgedPosition) -> tuple[bool, int, str, str]:
    return row.is_answered, -(row.most or 0), row.group, str(row.source)


def _again(row: JudgedPosition) -> str:
    if row.least is None:
        return "-"
    if row.most is None:
        return "not known"
    if row.least == row.most:
        return count(row.most) if row.most >= 0 else f"skips {count(-row.most)}"
    return f"at most {count(row.most)}"


def publishing(found: PublishPlan) -> RenderableType:
    """What would be written, then what would not and why."""
    return Group(*_checkpoints(found), _total(found, "for", found.separator))


def published(found: Published, separator: str, shown: bool = False) -> RenderableType:
    """The same of what was written; only how much it is where that was ``shown`` just before."""
    total = _total(found, "written to", separator)
    return total if shown else Group(*_checkpoints(found), total)


def _checkpoints(found: PublishPlan | Published) -> list[RenderableType]:
    grid = render.grid("GROUP", "PARTITION", "UPSTREAM", "DOWNSTREAM", right=("UPSTREAM", "DOWNSTREAM"))
    for one in found.checkpoints:
        grid.add_row(one.group, str(one.partition), count(one.upstream), count(one.downstream))
    parts: list[RenderableType] = [grid]
    parts += [Text(f"no answer for {one.group}, {one.source}: {one.reason}", style="yellow") for one in found.left_out]
    parts += [Text(note, style="yellow") for note in found.notes]
    return parts


def _total(found: PublishPlan | Published, verb: str, separator: str) -> Text:
    number = len(found.checkpoints)
    what = "1 checkpoint" if number == 1 else f"{number:,} checkpoints"
    return Text(f"{what} {verb} {checkpoints_topic(found.source_alias, separator)}", style="bold")
