"""Consumer groups as tables: pure functions from values to what Rich prints."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rich.console import Group, RenderableType
from rich.text import Text

from anabranch.cli.hints import aimed, repeated, typed_target
from anabranch.cli.render import grid
from anabranch.cli.words import count, duration, moment
from anabranch.groups.create import CreatePlan, GroupCreated
from anabranch.groups.freshness import SyncRound
from anabranch.groups.mark import MarkReport, Verdict
from anabranch.groups.plan import GroupPlan, GroupsMoved, GroupsPlan, Step
from anabranch.groups.report import GroupReport, GroupsReport
from anabranch.groups.undo import GroupsUndone, GroupUndo, UndoPlan
from anabranch.model.groups import Commit
from anabranch.model.reasons import Reason

_STEP_STYLE: Mapping[Step, str] = {
    Step.MOVE: "cyan",
    Step.IN_STEP: "green",
    Step.REFUSED: "bold red",
    Step.MOVED: "green",
    Step.FAILED: "bold red",
}


def report(found: GroupsReport) -> RenderableType:
    """One line a group, and below what advice there is and how fresh the followed ones are."""
    table = grid(
        "GROUP", "KIND", "SOURCE", "TARGET", "IN LINK", "OUTSIDE", "MARK", "FOLLOWED", right=("IN LINK", "OUTSIDE")
    )
    advice = []
    for row in found.groups:
        followed = "-" if row.followed is None else row.followed.state.value
        table.add_row(
            row.group,
            row.kind.value,
            row.state.value,
            "not there" if row.target_state.value == "dead" else row.target_state.value,
            count(row.in_link),
            count(row.outside),
            "-" if row.mark is None else row.mark.value,
            followed,
        )
        if row.advice:
            advice.append(Text(row.advice, style="yellow"))
        if row.followed is not None and row.followed.why:
            age = duration((found.read_at_ms - row.followed.since_ms) / 1000)
            advice.append(Text(f"{row.group} is {followed} since {age}: {row.followed.why}"))
    return Group(
        table if found.groups else Text("no groups that we may see"), *advice, fresh(found.round, found.read_at_ms)
    )


def fresh(last: SyncRound | None, now_ms: int) -> Text:
    """How old the followed groups' positions are."""
    if last is None:
        return Text("no continuous sync has run", style="dim")
    if not last.groups:
        ago = duration(max(0, now_ms - last.ended_at_ms) / 1000)
        text = Text(f"followed: no groups; the last round was {ago} ago", style="dim")
        return text.append(f"\nit failed: {last.error}", style="red") if last.error else text
    age = last.age_ms(now_ms)
    states = ", ".join(f"{count(number)} {state.value}" for state, number in last.groups.items())
    text = Text(f"followed: {states}; ")
    text.append("never read yet" if age is None else f"positions of {duration(age / 1000)} ago")
    text.append(f", every {duration(last.interval_ms / 1000)}, the last round took {duration(last.took_ms / 1000)}")
    if last.error:
        text.append(f"\nthe last round failed: {last.error}", style="red")
    return text


def one(found: GroupReport) -> RenderableType:
    """A group on both sides, and what moving it now would mean."""
    here = found.source
    there = "not there" if found.target is None else found.target.state.value
    head = Text.assemble(
        (here.name, "bold"), f"  {here.kind.value} group, {here.state.value} on the source, {there} on the target"
    )
    parts: list[RenderableType] = [head]
    for side, group in (("source", here), ("target", found.target)):
        for member in group.members if group is not None else ():
            parts.append(Text(f"  member on the {side}: {member.client_id} at {member.host}"))
    if found.mark is not None:
        parts.append(Text(f"marked {moment(found.mark.marked_at_ms)}: {found.mark.verdict.value}"))
    if found.followed is not None:
        parts.append(Text(f"followed: {found.followed.state.value}  {found.followed.why}"))
    parts += [_moves([found.plan]), *_reasons(found.plan), fresh(found.round, found.read_at_ms)]
    return Group(*parts)


def plan(found: GroupsPlan) -> RenderableType:
    """Each partition of each group, every reason below, and the plan's hash."""
    if not found.groups:
        return Text("no group has committed anything that the link copies")
    parts: list[RenderableType] = [_moves(found.groups)]
    for group in found.groups:
        parts += _reasons(group)
    for name, number in found.left_out.items():
        commits = "1 commit is" if number == 1 else f"{number:,} commits are"
        parts.append(Text(f"{name}: {commits} left out", style="dim"))
    parts.append(_summary(found))
    return Group(*parts)


def done(found: GroupsMoved, reasons: bool = True) -> RenderableType:
    """What was carried out; without reasons where the plan was shown with them just before."""
    parts: list[RenderableType] = []
    for group in found.groups:
        if group.step is Step.FAILED:
            parts.append(Text(f"{group.group}: {group.failure}", style="red"))
        if reasons:
            parts += _reasons(group)
    parts.append(_summary(found))
    if found.undo:
        parts.append(Text(f"take it back with: {_undo_command(found.undo)}"))
    return Group(*parts)


def marks(found: MarkReport) -> RenderableType:
    """One line a group, and the partitions that the link does not hold."""
    if not found.marks:
        return Text("no group has committed anything that the link copies; nothing was marked")
    table = grid("GROUP", "KIND", "PARTITIONS", "MARK", right=("PARTITIONS",))
    for mark in found.marks:
        table.add_row(mark.group, mark.kind.value, count(len(mark.partitions)), _verdict(mark.verdict))
    lines = []
    for mark in found.marks:
        for part in mark.partitions:
            if part.verdict is Verdict.BEFORE:
                at, begin = count(part.commit.offset), count(part.begin)
                what = f"has committed {at}, the link begins at {begin}: records are lost to it"
                lines.append(Text(f"{mark.group}: {part.source} {what}", style="red"))
            elif part.verdict in (Verdict.UNKNOWN, Verdict.NOT_IN_LINK):
                lines.append(Text(f"{mark.group}: {part.source} {part.verdict.value}", style="yellow"))
    return Group(table, *lines)


def undo(found: UndoPlan | GroupsUndone) -> RenderableType:
    """Each partition that is given back or deleted, and what forbids it."""
    table = grid("GROUP", "PARTITION", "STANDS AT", "GOES BACK TO", right=("STANDS AT", "GOES BACK TO"))
    lines: list[RenderableType] = []
    for group in found.groups:
        record = group.record
        for at in sorted({*group.restore, *group.delete}):
            back = group.restore.get(at)
            table.add_row(record.group, str(at), _at(record.wrote[at]), "nothing" if back is None else _at(back))
        lines += _refusals(group.refusals)
        if group.delete_group:
            gone = "was" if group.done else "is"
            lines.append(Text(f"{record.group} was not there before, and {gone} deleted"))
        elif group.empty and not group.refusals:
            lines.append(Text(f"{record.group} stands as it stood"))
    return Group(table, *lines)


def undone(found: GroupsUndone, shown: bool = False) -> RenderableType:
    """What was undone; where the plan was ``shown`` just before, only what failed since."""
    number = sum(group.done for group in found.groups)
    total = Text(f"done: {'1 group has' if number == 1 else f'{number:,} groups have'} what was there before")
    if not shown:
        return Group(undo(found), total)
    return Group(*(line for group in found.groups if _failed(group) for line in _refusals(group.refusals)), total)


def _failed(group: GroupUndo) -> bool:
    """Whether a group could be undone by the plan, and then was not."""
    return bool(group.refusals) and not group.empty


def creating(found: CreatePlan) -> RenderableType:
    """Where a group would begin."""
    return Group(*_begins(found), *_refusals(found.refusals))


def created(found: GroupCreated, shown: bool = False) -> RenderableType:
    """Where it begins, unless that was ``shown`` just before, and what takes it back."""
    done = Text(f"done; take it back with: {_undo_command(found.undo)}")
    return done if shown else Group(*_begins(found), done)


def _begins(found: CreatePlan | GroupCreated) -> list[RenderableType]:
    table = grid("PARTITION", "BEGINS AT", right=("BEGINS AT",))
    for at, commit in found.begins.items():
        table.add_row(str(at), _at(commit))
    return [Text(f"{found.group} on {found.cluster}, {found.start}", style="bold"), table]


def _undo_command(undo_id: str) -> str:
    return f"anabranch groups undo {undo_id}{repeated(typed_target.get())} --execute"


def _moves(groups: Iterable[GroupPlan]) -> RenderableType:
    table = grid(
        "GROUP",
        "STEP",
        "PARTITION",
        "COMMITTED",
        "TARGET",
        "ANSWER",
        "THERE NOW",
        "LAG LEFT",
        right=("COMMITTED", "ANSWER", "THERE NOW", "LAG LEFT"),
    )
    for group in groups:
        step = Text(group.step.value, style=_STEP_STYLE[group.step])
        if not group.moves:
            table.add_row(group.group, step, "-", "-", "-", "-", "-", "-")
        for move in group.moves:
            table.add_row(
                group.group,
                step,
                str(move.source),
                _at(move.commit),
                "-" if move.target is None else "same" if move.target == move.source else str(move.target),
                "-" if move.answer is None else count(move.answer),
                _at(move.current),
                "-" if move.lag is None else count(move.lag),
            )
    return table


def _reasons(group: GroupPlan) -> list[RenderableType]:
    return _refusals(group.reasons, f"{group.group}: ")


def _refusals(refusals: Iterable[Reason], before: str = "") -> list[RenderableType]:
    lines: list[RenderableType] = []
    for refusal in refusals:
        text = Text(f"{before}{refusal.why.value}: ", style="red")
        text.append(refusal.what, style="default")
        if refusal.fix:
            text.append(f"\n  fix: {aimed(refusal.fix)}", style="default")
        lines.append(text)
    return lines


def _summary(found: GroupsPlan | GroupsMoved) -> Text:
    numbers = ", ".join(f"{count(len(found.of(step)))} {step.value}" for step in Step if found.of(step))
    return Text(f"{numbers or 'no groups'}; plan {found.hash}, {duration(found.took_ms / 1000)}")


def _verdict(verdict: Verdict) -> Text:
    style = "bold red" if verdict is Verdict.BEFORE else "green" if verdict is Verdict.COVERED else "yellow"
    return Text(verdict.value, style=style)


def _at(commit: Commit | None) -> str:
    return "-" if commit is None else count(commit.offset)
