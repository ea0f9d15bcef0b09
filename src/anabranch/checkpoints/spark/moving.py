"""The rewrite: the last two files of offsets/ and the beginnings in sources/, with nothing else touched.

Only Kafka's offsets change: not the query's id, a batch's number, the line of the configuration, commits/ or state/.
Batch L's file decides where the next batch begins. The file before it counts where L was not committed (and for the
old source of Spark 2, at every start), sources/ where L is the first; where they do not count and cannot be moved
exactly, they say what the next batch's start says: an empty batch, which is true of any target.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from anabranch.checkpoints.plan import PositionChange, Rewrite, RewriteSpec, Uncommitted
from anabranch.checkpoints.position import OffsetRole, SymbolicOffset
from anabranch.checkpoints.route import PositionRoute
from anabranch.checkpoints.spark.compose import Composed, cluster_refusal, compose, missing_partitions
from anabranch.checkpoints.spark.contents import Contents, LoggedBatch
from anabranch.checkpoints.spark.new_files import NewLine, writes
from anabranch.checkpoints.spark.restart import STARTS, order_refusals, stored
from anabranch.checkpoints.spark.shape import Line, SourceShape, shape_of, twins_of
from anabranch.checkpoints.spark.translate import (
    Translated,
    counted_once,
    fill_starts,
    is_required,
    range_refusals,
    stay,
    translate,
)
from anabranch.model.reasons import Reason, ReasonKind
from anabranch.model.topics import TopicPartition


@dataclass(slots=True)
class _Findings:
    """What came up on the way."""

    refusals: list[Reason] = field(default_factory=list)
    changes: list[PositionChange] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def rewrite(contents: Contents, rewrite_spec: RewriteSpec, route: PositionRoute) -> Rewrite:
    """What a move means: every change, every reason against it, and the files if there is none."""
    found = _Findings(list(order_refusals(contents)))
    if contents.last is None:
        return Rewrite((), tuple(found.refusals), reads=contents.reads)
    moving = _moving(contents, rewrite_spec, found)
    shape, refusals = shape_of(contents, rewrite_spec)
    found.refusals += refusals
    if contents.uncommitted is not None and rewrite_spec.uncommitted is Uncommitted.REFUSE:
        found.refusals.append(_uncommitted(contents.last))
    translated = _translate(contents, moving, rewrite_spec, route, found)
    lines = tuple(_new_line(contents, line, translated, route, found) for line in shape.lines)
    new = {} if found.refusals else dict(writes(contents, shape, lines))
    if not new and not found.refusals:
        found.notes.append("nothing changes: every position is the same on the target")
    untouched = [source.source for source in contents.last.file.sources if source.source not in moving]
    return Rewrite(
        tuple(found.changes),
        _once(found.refusals),
        tuple(dict.fromkeys((*found.notes, *_notes(contents, shape, lines)))),
        new,
        contents.reads,
        tuple(untouched),
    )


def _moving(contents: Contents, rewrite_spec: RewriteSpec, found: _Findings) -> frozenset[str]:
    """The sources that are to move."""
    kafka = {each.source for each in stored(contents)}
    there = contents.last.file.by_id if contents.last is not None else {}
    refuse = found.refusals.append
    if not kafka:
        refuse(Reason(ReasonKind.UNSUPPORTED, "no source of this query has offsets of Kafka", "", "offsets"))
    for source in sorted(rewrite_spec.sources or ()):
        if source not in there:
            known = ", ".join(there)
            refuse(Reason(ReasonKind.UNKNOWN, f"there is no source {source}", f"sources are {known}", "offsets"))
        elif source not in kafka:
            refuse(
                Reason(ReasonKind.UNSUPPORTED, f"source {source} has no offsets of Kafka", "leave it out", "offsets")
            )
    if rewrite_spec.drop:
        what = "sources can be dropped from savepoints of Flink only"
        refuse(Reason(ReasonKind.UNSUPPORTED, what, "leave --drop-source away"))
    chosen = frozenset(kafka if rewrite_spec.sources is None else kafka & rewrite_spec.sources)
    for sources in sorted(set(twins_of(contents).values())):
        if chosen & set(sources) and not chosen >= set(sources):
            what = f"sources {', '.join(sources)} are one source that the query uses more than once"
            refuse(Reason(ReasonKind.AMBIGUOUS, what, "move all of them or none", "offsets"))
    return chosen


def _uncommitted(last: LoggedBatch) -> Reason:
    return Reason(
        ReasonKind.UNCOMMITTED,
        f"batch {last.number} has begun and was not committed: Spark runs it again, with the same number and the same "
        "records, and its sink may have it already",
        "finish it on the old cluster (start the query once with trigger(once=True), or give --finish-command), or "
        "run it again on the new one with --uncommitted translate",
        last.path,
    )


def _translate(
    contents: Contents, moving: frozenset[str], rewrite_spec: RewriteSpec, route: PositionRoute, found: _Findings
) -> dict[tuple[str, OffsetRole], Translated]:
    """Every stored offset by source and role; refusals of those that a restart depends on."""
    made: dict[tuple[str, OffsetRole], Translated] = {}
    for each in stored(contents):
        made[each.source, each.role] = translate(each, route) if each.source in moving else stay(each)
    for source in dict.fromkeys(source for source, _ in made):
        start, end = made.get((source, OffsetRole.BATCH_START)), made.get((source, OffsetRole.BATCH_END))
        if start is not None and end is not None:
            if source in moving:
                start = made[source, OffsetRole.BATCH_START] = fill_starts(start, end, route)
            found.refusals += range_refusals(start, end, route, rewrite_spec.uncommitted)
    for one in made.values():
        if is_required(one):
            found.refusals += one.refusals
            found.changes += map(counted_once, one.changes.values())
    return made


def _new_line(
    contents: Contents,
    line: Line,
    translated: Mapping[tuple[str, OffsetRole], Translated],
    route: PositionRoute,
    found: _Findings,
) -> NewLine:
    """One source of the rewritten query."""
    start = _composed(line, translated, STARTS, found)
    end = _composed(line, translated, frozenset({OffsetRole.BATCH_END}), found)
    if start is None:
        return NewLine(line, None, end, None, None)
    location = contents.last.path if contents.last is not None else ""
    of_line = {part.source for part in line.parts}
    new: dict[TopicPartition, int | SymbolicOffset] = {}
    if not any(each.refusals for each in translated.values() if is_required(each) and each.stored.source in of_line):
        for answer in missing_partitions(end or start, route, location):
            if isinstance(answer, Reason):
                found.refusals.append(answer)
            elif answer.moved is not None and answer.moved.offset is not None:
                found.changes.append(answer)
                found.notes.append(
                    f"{answer.moved.partition} is put in, which the checkpoint does not know; a query that is given "
                    "its partitions by assign, without this one, would stop at it"
                )
                new[answer.moved.partition] = answer.moved.offset
    start = start.filled(new)
    return NewLine(
        line,
        start,
        end.filled(new) if end is not None else None,
        _hygiene(line, translated, OffsetRole.PREVIOUS, start, found),
        _hygiene(line, translated, OffsetRole.INITIAL, start, found),
    )


def _composed(
    line: Line, translated: Mapping[tuple[str, OffsetRole], Translated], roles: frozenset[OffsetRole], found: _Findings
) -> Composed | None:
    """What a line becomes in a file that counts; None where no part of it has an offset there."""
    parts = [
        next((translated[part.source, role] for role in sorted(roles) if (part.source, role) in translated), None)
        for part in line.parts
    ]
    known = [part for part in parts if part is not None]
    if not known:
        return None
    if len(known) < len(parts) or len({part.stored.path.partition("/")[0] for part in known}) > 1:
        what = f"sources {', '.join(part.source for part in line.parts)}: one has no offset yet"
        found.refusals.append(Reason(ReasonKind.AMBIGUOUS, what, "merge them when all have offsets", "offsets"))
        return None
    composed = compose(line, known)
    found.refusals += composed.collisions
    mixed = cluster_refusal(line, composed)
    if mixed is not None:
        found.refusals.append(mixed)
    return composed


def _hygiene(
    line: Line,
    translated: Mapping[tuple[str, OffsetRole], Translated],
    role: OffsetRole,
    start: Composed,
    found: _Findings,
) -> Composed | None:
    """What a line becomes in a file that nothing depends on: exact if that can be had, else its own start."""
    parts = [translated.get((part.source, role)) for part in line.parts]
    known = [part for part in parts if part is not None]
    if not known:
        return None
    if len(known) == len(parts) and not any(part.refusals for part in known):
        composed = compose(line, known)
        if composed.unchanged and start.unchanged:
            return composed
        fits = composed.positions and all(
            isinstance(offset, int) and isinstance(until := start.positions.get(at), int) and offset <= until
            for at, offset in composed.positions.items()
        )
        if fits and not composed.collisions:
            found.changes += map(counted_once, composed.changes)
            return composed.filled(start.positions)
    path = known[0].stored.path
    found.notes.append(f"{path}: where it leads is not known exactly and nothing depends on it; it gets the new start")
    return start


def _notes(contents: Contents, shape: SourceShape, lines: tuple[NewLine, ...]) -> Iterator[str]:
    """What the user has to know and do beside."""
    if shape.changed:
        order = "; ".join(f"{new.line.source}: {', '.join(_topics(new)) or 'as before'}" for new in lines)
        yield f"the query must have these sources, in this order of its plan: {order}"
    if contents.layout.has_gaps:
        yield "batches are missing between others (asynchronous progress): what ran after the last one runs again"
    for new in lines:
        if new.start is not None and not new.start.positions:
            yield f"source {new.line.source} has seen no partition yet: it reads each that it finds from its beginning"


def _topics(new: NewLine) -> tuple[str, ...]:
    return () if new.start is None else tuple(dict.fromkeys(at.topic for at in new.start.positions))


def _once(refusals: list[Reason]) -> tuple[Reason, ...]:
    return tuple(dict.fromkeys(refusals))
