"""Consumer groups as tables: pure functions from values to what Rich prints."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from anabranch.cli.hints import aimed, repeated, typed_target
from anabranch.cli.render import grid
from anabranch.cli.words import count, duration, moment
from anabranch.groups.baseline import BaselineReport, Coverage
from anabranch.groups.create import CreatePlan, GroupCreated
from anabranch.groups.freshness import SyncRound
from anabranch.groups.plan import GroupPlan, GroupsMoved, GroupsPlan, GroupStep
from anabranch.groups.report import GroupReport, GroupsReport
from anabranch.groups.undo import GroupsUndone, GroupUndo, MoveSummary, UndoPlan
from anabranch.model.groups import Commit
from anabranch.model.reasons import Reason

_STEP_STYLE: Mapping[GroupStep, str] = {
    GroupStep.MOVE: "cyan",
    GroupStep.IN_SYNC: "green",
    GroupStep.REFUSED: "bold red",
    GroupStep.MOVED: "green",
    GroupStep.FAILED: "bold red",
}


def report(found: GroupsReport) -> RenderableType:
    """One line a group, and below what advice there is and how fresh continuous sync is."""
    table = grid(
        "GROUP", "KIND", "SOURCE", "TARGET", "IN LINK", "OUTSIDE", "BASELINE", "SYNC", right=("IN LINK", "OUTSIDE")
    )
    advice = []
    for row in found.groups:
        sync = "-" if row.sync is None else row.sync.state.value
        table.add_row(
            row.group,
            row.kind.value,
            row.state.value,
            "absent" if row.target_state.value == "dead" else row.target_state.value,
            count(row.in_link),
            count(row.outside),
            "-" if row.baseline is None else row.baseline.value,
            sync,
        )
        if row.advice:
            advice.append(Text(row.advice, style="yellow"))
        if row.sync is not None and row.sync.why:
            age = duration((found.read_at_ms - row.sync.since_ms) / 1000)
            advice.append(Text(f"{row.group} is {sync} since {age}: {row.sync.why}"))
    return Group(
        table if found.groups else Text("no groups that we may see"), *advice, fresh(found.round, found.read_at_ms)
    )


def fresh(last: SyncRound | None, now_ms: int) -> Text:
    """How old the positions of continuous sync are."""
    if last is None:
        return Text("no continuous sync has run", style="dim")
    if not last.groups:
        ago = duration(max(0, now_ms - last.ended_at_ms) / 1000)
        text = Text(f"continuous sync: no groups; the last round was {ago} ago", style="dim")
        return text.append(f"\nit failed: {last.error}", style="red") if last.error else text
    age = last.age_ms(now_ms)
    states = ", ".join(f"{count(number)} {state.value}" for state, number in last.groups.items())
    text = Text(f"continuous sync: {states}; ")
    text.append("never read yet" if age is None else f"positions of {duration(age / 1000)} ago")
    text.append(f", every {duration(last.interval_ms / 1000)}, the last round took {duration(last.took_ms / 1000)}")
    if last.error:
        text.append(f"\nthe last round failed: {last.error}", style="red")
    return text


def one(found: GroupReport) -> RenderableType:
    """A group on both clusters, and the plan to move it now."""
    source = found.source
    target_state = "absent" if found.target is None else found.target.state.value
    head = Text.assemble(
        (source.name, "bold"),
        f"  {source.kind.value} group, {source.state.value} on the source, {target_state} on the target",
    )
    parts: list[RenderableType] = [head]
    for side, group in (("source", source), ("target", found.target)):
        for member in group.members if group is not None else ():
            parts.append(Text(f"  member on the {side}: {member.client_id} at {member.host}"))
    if found.baseline is not None:
        parts.append(Text(f"baseline of {moment(found.baseline.taken_at_ms)}: {found.baseline.coverage.value}"))
    if found.sync is not None:
        parts.append(Text(f"sync: {found.sync.state.value}  {found.sync.why}"))
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
    """What was applied; without reasons if the plan was shown with them just before."""
    parts: list[RenderableType] = []
    for group in found.groups:
        if group.step is GroupStep.FAILED:
            parts.append(Text(f"{group.group}: {group.failure}", style="red"))
        if reasons:
            parts += _reasons(group)
    parts.append(_summary(found))
    if found.undo:
        parts.append(Text(f"undo with: {_undo_command(found.undo)}"))
    return Group(*parts)


def baselines(found: BaselineReport) -> RenderableType:
    """One line a group, and the partitions that the link does not hold."""
    if not found.baselines:
        return Text("no group has committed anything that the link copies; no baseline was stored")
    table = grid("GROUP", "KIND", "PARTITIONS", "BASELINE", right=("PARTITIONS",))
    for baseline in found.baselines:
        table.add_row(
            baseline.group, baseline.kind.value, count(len(baseline.partitions)), _coverage(baseline.coverage)
        )
    lines = []
    for baseline in found.baselines:
        for part in baseline.partitions:
            if part.coverage is Coverage.BEFORE:
                at, begin = count(part.commit.offset), count(part.begin)
                what = f"has committed {at}, the link begins at {begin}: records are lost to it"
                lines.append(Text(f"{baseline.group}: {part.source} {what}", style="red"))
            elif part.coverage in (Coverage.UNKNOWN, Coverage.NOT_IN_LINK):
                lines.append(Text(f"{baseline.group}: {part.source} {part.coverage.value}", style="yellow"))
    return Group(table, *lines)


def undo(found: UndoPlan | GroupsUndone) -> RenderableType:
    """Each partition that is restored or deleted, and every refusal."""
    table = grid("GROUP", "PARTITION", "COMMITTED", "RESTORED TO", right=("COMMITTED", "RESTORED TO"))
    lines: list[RenderableType] = []
    for group in found.groups:
        record = group.record
        for at in sorted({*group.restore, *group.delete}):
            back = group.restore.get(at)
            table.add_row(record.group, str(at), _at(record.wrote[at]), "nothing" if back is None else _at(back))
        lines += _refusals(group.refusals)
        if group.delete_group:
            gone = "was" if group.done else "is"
            lines.append(Text(f"{record.group} did not exist before, and {gone} deleted"))
        elif group.empty and not group.refusals:
            lines.append(Text(f"{record.group} needs no undo"))
    return Group(table, *lines)


def moves(found: Sequence[MoveSummary], cluster: str) -> RenderableType:
    """The changes of groups' positions that can be taken back, the newest first."""
    if not found:
        return Text(f"no group was moved on {cluster} yet")
    table = grid("ID", "AT", "WHAT", "GROUPS", "TAKEN BACK")
    for one in found:
        taken = "" if not one.undone else "all" if one.undone == one.groups else ", ".join(one.undone)
        table.add_row(one.id, moment(one.made_at_ms), one.what, ", ".join(one.groups), taken)
    return table


def undone(found: GroupsUndone, shown: bool = False) -> RenderableType:
    """What was undone; where the plan was ``shown`` just before, only what failed since."""
    number = sum(group.done for group in found.groups)
    total = Text(f"done: {'1 group has its' if number == 1 else f'{number:,} groups have their'} former commits")
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
    """Where it begins, unless that was ``shown`` just before, and how to undo it."""
    done = Text(f"done; undo with: {_undo_command(found.undo)}")
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
        "TARGET NOW",
        "LAG LEFT",
        right=("COMMITTED", "ANSWER", "TARGET NOW", "LAG LEFT"),
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
    numbers = ", ".join(f"{count(len(found.of(step)))} {step.value}" for step in GroupStep if found.of(step))
    return Text(f"{numbers or 'no groups'}; plan {found.hash}, {duration(found.took_ms / 1000)}")


def _coverage(coverage: Coverage) -> Text:
    style = "bold red" if coverage is Coverage.BEFORE else "green" if coverage is Coverage.COVERED else "yellow"
    return Text(coverage.value, style=style)


def _at(commit: Commit | None) -> str:
    return "-" if commit is None else count(commit.offset)
