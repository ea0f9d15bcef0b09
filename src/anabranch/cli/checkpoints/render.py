"""Checkpoints as tables: pure functions from values to what Rich prints."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rich.console import Group, RenderableType
from rich.text import Text

from anabranch.checkpoints.job import CheckpointFormat, OperatorPage, Page
from anabranch.checkpoints.plan import PositionChange
from anabranch.checkpoints.position import OffsetRole, SymbolicOffset
from anabranch.checkpoints.reports import (
    FileChange,
    Inspection,
    Lag,
    Proof,
    UndoRewritePlan,
    UndoRewriteReport,
    VerificationReport,
)
from anabranch.cli.render import grid
from anabranch.cli.words import as_counted, count, duration, moment, size
from anabranch.model.counted import counted
from anabranch.model.reasons import Reason
from anabranch.operations.checkpoints.plans import RewritePlan, RewriteReport

_TIMELINE = 8

#: Positions from which an unmodified restart would read; the others bound or remember what was read.
_STARTS = frozenset({OffsetRole.NEXT, OffsetRole.BATCH_START, OffsetRole.ASSIGNED, OffsetRole.UNASSIGNED})


def page(found: Inspection) -> RenderableType:
    """The readable page of a checkpoint."""
    shown = found.page
    parts: list[RenderableType] = []
    if found.unfinished is not None:
        text = f"UNFINISHED: rewrite {found.unfinished} has begun here and did not end, some files are old and some new"
        undoing = f"  take it back: anabranch checkpoint undo {found.path} --execute"
        parts += [Text(text, style="bold red"), Text(undoing), Text()]
    parts += [_head(found), _versions(shown), Text(), _sources(found)]
    if shown.operators:
        parts += [Text(), _operators(shown.operators, shown.format)]
    if shown.timeline:
        parts += [Text(), _timeline(shown)]
    for sink in shown.sinks:
        parts.append(Text(f"sink: {sink}"))
    if found.backups:
        parts.append(Text(f"rewritten in place, can be undone: {', '.join(found.backups)}", style="dim"))
    parts += [Text(f"made by rewrite {one}", style="dim") for one in found.copied]
    parts += [Text(note, style="dim" if shown.uncommitted is None else "yellow") for note in shown.notes]
    return Group(*parts)


def plan(found: RewritePlan) -> RenderableType:
    """Every change, every file, every reason, and the hash."""
    title = Text.assemble((found.path, "bold"), f"  {found.format.value} {found.number}, by {found.route}")
    parts: list[RenderableType] = [title]
    if found.changes:
        parts += [_changes(found), Text(_restart(found))]
    if found.files:
        parts += [Text(), _files(found.files)]
    if found.untouched:
        what = "source" if found.format is CheckpointFormat.SPARK else "operator"
        names = ", ".join(f"{what} {one}" for one in found.untouched)
        parts.append(Text(f"left as they are: {names}", style="dim"))
    parts += [Text(note, style="dim") for note in found.notes]
    if found.refusals:
        return Group(*parts, Text(), *_reasons(found.refusals))
    if not found.files:
        parts.append(Text("nothing is to be changed", style="green"))
    parts.append(Text(f"plan {found.hash}", style="bold"))
    return Group(*parts)


def done(found: RewriteReport, whole: bool) -> RenderableType:
    """What was done; with ``whole`` what the plan was, too."""
    parts: list[RenderableType] = [plan(found.plan)] if whole else []
    parts += [Text(note) for note in found.notes]
    parts.append(Text(f"{found.path} was written, in {duration(found.took_ms / 1000)}", style="green"))
    if found.undo is not None:
        parts.append(Text(f"backup {found.undo}; undo with: anabranch checkpoint undo {found.path}"))
    return Group(*parts)


def refused(found: RewritePlan | UndoRewritePlan) -> RenderableType:
    """Why a plan is not applied."""
    return Group(*_reasons(found.refusals))


def proof(found: VerificationReport) -> RenderableType:
    """One line a position, and the verdict of each source."""
    against = "nothing" if found.was is None else found.was
    title = Text.assemble((found.path, "bold"), f"  {found.format.value} {found.number}, held against {against}")
    table = grid("SOURCE", "WAS", "AT", "IS", "AT", "LOG", "", right=("AT",))
    for one in sorted(found.proofs, key=lambda one: (_named(one.new.source, found.names), one.new.partition)):
        old = one.old
        table.add_row(
            _named(one.new.source, found.names),
            "-" if old is None else str(old.partition),
            "-" if old is None else _offset(old.offset),
            str(one.new.partition),
            _offset(one.new.offset),
            "-" if one.start is None or one.end is None else f"{count(one.start)} to {count(one.end)}",
            Text(one.problem, style="bold red") if one.problem else Text(one.note or "as the map says", style="green"),
        )
    parts: list[RenderableType] = [title, table]
    parts += [Text(line, style="bold red") for line in found.problems]
    if found.changed:
        parts.append(Text(f"files that differ: {', '.join(found.changed)}", style="dim"))
    parts += [Text(note, style="yellow") for note in found.notes]
    parts += list(_verdicts(found.proofs, found.names))
    return Group(*parts)


def undo(found: UndoRewritePlan) -> RenderableType:
    """What undoing a rewrite would do."""
    state = "was applied" if found.finished else "broke off"
    parts: list[RenderableType] = [Text(f"rewrite {found.id} of {moment(found.at_ms)} UTC {state}")]
    if found.files:
        parts.append(_files(found.files))
    return Group(*parts, *_reasons(found.refusals))


def undone(found: UndoRewriteReport, whole: bool) -> RenderableType:
    """That it was undone; with ``whole`` what the plan was, too."""
    parts: list[RenderableType] = [undo(found.plan)] if whole else []
    return Group(*parts, Text(f"{found.plan.path} is as it was before", style="green"))


def _head(found: Inspection) -> RenderableType:
    shown = found.page
    age = duration((found.read_at_ms - shown.written_at_ms) / 1000)
    table = grid("", "")
    table.show_header = False
    table.add_row("checkpoint", Text(found.path, style="bold"))
    table.add_row("engine", f"{shown.format.value}, {shown.engine}")
    table.add_row("job", shown.job or "-")
    table.add_row("number", str(shown.number))
    table.add_row("written", f"{moment(shown.written_at_ms)} UTC, {age} ago")
    if shown.watermark_ms is not None:
        table.add_row("watermark", f"{moment(shown.watermark_ms)} UTC" if shown.watermark_ms else "none yet")
    if found.cluster is not None:
        known = [one.records for one in found.lags if one.records is not None]
        unknown = len(found.lags) - len(known)
        more = f"; not known for {unknown:,} of {len(found.lags):,} positions" if unknown else ""
        table.add_row("lag", f"{count(sum(known))} records of {found.cluster}{more}")
    return table


def _versions(shown: Page) -> RenderableType:
    if not shown.versions:
        return Text()
    return Text(", ".join(f"{name} {version}" for name, version in shown.versions.items()), style="dim")


def _sources(found: Inspection) -> RenderableType:
    lags = {(one.source, one.partition): one for one in found.lags}
    columns = ["SOURCE", "KIND", "PARTITION", "OFFSET", "FOR"]
    columns += ["LOG", "LAG", ""] if found.cluster is not None else []
    table = grid(*columns, right=("OFFSET", "LAG"))
    for source in found.page.sources:
        name = source.source
        if source.name and source.name != name:  # people know a uid, and only machines its hash
            name = f"{source.name} ({name})" if found.page.format is CheckpointFormat.FLINK else f"{name} {source.name}"
        if not source.positions:
            table.add_row(name, source.kind)
        for one in sorted(source.positions, key=lambda one: (one.partition, one.role.value)):
            row = [name, source.kind, str(one.partition), _offset(one.offset), one.role.value]
            table.add_row(*row, *(_lag(lags.get((one.source, one.partition))) if found.cluster is not None else ()))
    return table


def _lag(lag: Lag | None) -> tuple[str, str, str]:
    if lag is None:
        return ("", "", "")
    log = "-" if lag.start is None or lag.end is None else f"{count(lag.start)} to {count(lag.end)}"
    return (log, "-" if lag.records is None else count(lag.records), lag.why)


def _operators(operators: Iterable[OperatorPage], engine: CheckpointFormat) -> RenderableType:
    names = ("NAME", "OPERATOR") if engine is CheckpointFormat.FLINK else ("OPERATOR", "NAME")
    table = grid(*names, "KIND", "PARTITIONS", "STATE", right=("PARTITIONS", "STATE"))
    for one in operators:
        state = "?" if one.state_bytes is None else size(one.state_bytes)
        both = (one.operator, one.name or "-")
        table.add_row(
            *(reversed(both) if engine is CheckpointFormat.FLINK else both), one.kind, count(one.partitions), state
        )
    return table


def _timeline(shown: Page) -> RenderableType:
    table = grid("BATCH" if shown.format.value == "spark" else "CHECKPOINT", "AT (UTC)", "", "WATERMARK")
    for one in shown.timeline[-_TIMELINE:]:
        watermark = "" if not one.watermark_ms else moment(one.watermark_ms)
        at = "?" if one.at_ms is None else moment(one.at_ms)
        state = Text("committed", style="green") if one.committed else Text("not committed", style="yellow")
        table.add_row(str(one.number), at, state, watermark)
    return table


def _changes(found: RewritePlan) -> RenderableType:
    table = grid("SOURCE", "FROM", "AT", "TO", "AT", "FOR", "UNMODIFIED RESTART", "LOCATION", "NOTE", right=("AT",))
    order = sorted(found.changes, key=lambda one: (_named(one.old.source, found.names), one.old.partition))
    for one in order:
        moved = one.moved
        table.add_row(
            _named(one.old.source, found.names),
            str(one.old.partition),
            _offset(one.old.offset),
            Text("stays", style="dim") if moved is None else str(moved.partition),
            "" if moved is None else _offset(moved.offset),
            one.old.role.value,
            _effect(one),
            one.old.location,
            "" if moved is None else moved.note,
        )
    return table


def _effect(change: PositionChange) -> Text:
    moved = change.moved
    if moved is None or change.old.role not in _STARTS:
        return Text("")
    if moved.repeated is None or moved.skipped is None:
        return Text(moved.unmodified_restart or "?", style="yellow")
    if moved.skipped:
        return Text(f"skips {count(moved.skipped)}", style="bold red")
    if moved.repeated:
        return Text(f"repeats {count(moved.repeated)}", style="yellow")
    return Text("same", style="dim")


def _restart(found: RewritePlan) -> str:
    """What an unmodified restart would do in all, and which positions that does not cover."""
    more = f"; {counted(found.uncounted, 'position')} cannot be counted" if found.uncounted else ""
    more += "; what is refused is not counted" if found.refusals else ""
    if found.repeated or found.skipped:
        done = f"repeat {count(found.repeated)} records and skip {count(found.skipped)}"
    else:
        done = f"repeat and skip nothing{', as far as that is known' if more else ''}"
    return f"the old offsets on the new cluster would {done}{more}"


def _files(files: Iterable[FileChange]) -> RenderableType:
    table = grid("FILE", "", "BYTES NOW", "BYTES THEN", right=("BYTES NOW", "BYTES THEN"))
    for one in files:
        table.add_row(
            one.path,
            one.effect.value,
            "-" if one.old_bytes is None else count(one.old_bytes),
            "-" if one.new_bytes is None else count(one.new_bytes),
        )
    return table


def _reasons(refusals: Iterable[Reason]) -> list[RenderableType]:
    """Every reason with its next step, kind by kind and in the order of partitions, under a heading."""
    reasons = list(refusals)
    heading = f"REFUSED ({counted(len(reasons), 'reason')})"
    found: list[RenderableType] = [Text(heading, style="bold red")] if reasons else []
    kinds = list(dict.fromkeys(one.why for one in reasons))
    for one in sorted(reasons, key=lambda one: (kinds.index(one.why), as_counted(one.what))):
        location = f" ({one.location})" if one.location else ""
        found.append(Text(f"{one.why.value}: {one.what}{location}", style="bold red"))
        if one.fix:
            found.append(Text(f"  {one.fix}"))
    return found


def _named(source: str, names: Mapping[str, str]) -> str:
    """A source by its uid or name; with its id where that means several."""
    name = names.get(source, source)
    return f"{name} ({source})" if list(names.values()).count(name) > 1 else name


def _verdicts(proofs: Iterable[Proof], names: Mapping[str, str]) -> Iterable[Text]:
    by_source: dict[str, list[Proof]] = {}
    for one in proofs:
        by_source.setdefault(one.new.source, []).append(one)
    for id_, mine in by_source.items():
        source = _named(id_, names)
        wrong = sum(bool(one.problem) for one in mine)
        told = all(one.old is not None for one in mine)
        if wrong:
            yield Text(
                f"source {source}: {wrong:,} of {len(mine):,} positions are not where they must be", style="bold red"
            )
        else:
            yield Text(
                f"source {source}: all {len(mine):,} positions are where the map says, inside of the target's log"
                if told
                else f"source {source}: all {len(mine):,} positions are inside of the target's log",
                style="green",
            )


def _offset(offset: int | SymbolicOffset | None) -> str:
    if offset is None:
        return "-"
    return count(offset) if isinstance(offset, int) else offset.value
