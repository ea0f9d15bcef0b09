"""Prove a result: read it again, and hold each of its positions against the maps and the target's log.

No manifest and no plan is believed. What a result was made from, its former place or a backup, is read as a checkpoint
of its own: each former position is translated again and must be found, at that offset or at one with no copied record
between; nothing may be left over, and nothing beside the positions may have changed. Without it each position is
translated back, which shows where it is on the old cluster, and not that this is where the job was.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from anabranch.checkpoints.flink import FlinkCheckpoint
from anabranch.checkpoints.job import Checkpoint, CheckpointFormat
from anabranch.checkpoints.plan import Rewrite, RewriteSpec
from anabranch.checkpoints.position import OffsetRole, Position, SymbolicOffset, offset_text
from anabranch.checkpoints.reports import Proof, VerificationReport
from anabranch.checkpoints.route import TranslatedPosition
from anabranch.checkpoints.spark import SparkCheckpoint
from anabranch.model.reasons import Reason
from anabranch.model.start import StartKind
from anabranch.model.topics import TopicPartition
from anabranch.offsets.translate import Exact, to_source
from anabranch.operations.checkpoints.copying import is_litter
from anabranch.operations.checkpoints.errors import WrittenSinceError
from anabranch.operations.checkpoints.manifest import some
from anabranch.operations.checkpoints.routes import LiveRoute, MappedLane, MapRoute, same_place
from anabranch.operations.checkpoints.translation_source import ByStart, TranslationSource
from anabranch.storage.files import StoredFiles

_METADATA = "_metadata"
_LOGS = ("offsets/", "sources/")
EARLIER = "verify is for the time before the job is started; see where it is now: anabranch checkpoint inspect PATH"
_MOVES_ON = "only that it lies in the log was checked: the start position itself moves on"


@dataclass(slots=True)
class _Findings:
    proofs: list[Proof] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def against(
    files: StoredFiles,
    new: Checkpoint,
    old: Checkpoint,
    was: str,
    rewrite_spec: RewriteSpec,
    translation: TranslationSource,
    route: LiveRoute,
    root: str | None = None,
) -> VerificationReport:
    """Hold a result against what it was made from; ``root`` is the original's directory where that is another one."""
    found = _Findings()
    by_source = not (rewrite_spec.split or rewrite_spec.merge)
    pool = list(new.positions())
    planned = old.rewrite(rewrite_spec, route)
    moving = _moving(old, rewrite_spec, planned)
    loose = isinstance(translation.method, ByStart) and translation.method.start.kind is not StartKind.OFFSETS
    for one in old.positions():
        if one not in moving and rewrite_spec.drop and not any(at.source == one.source for at in new.positions()):
            continue  # its entries were taken out
        answer = route.move(one) if one in moving else None
        if isinstance(answer, Reason):
            found.problems.append(f"{one.partition} at {offset_text(one.offset)} leads nowhere now: {answer.what}")
            continue
        mine = _matching(pool, one, answer, by_source)
        if mine is None:
            to = one.partition if answer is None else answer.partition
            at = f"{one.partition} at {offset_text(one.offset)}"
            found.problems.append(f"{at} ({one.role.value}): {to} has no position here")
            continue
        pool.remove(mine)
        found.proofs.append(_proof(mine, one, answer, route, loose))
    added = {one.moved.partition for one in planned.changes if one.moved is not None}
    for left in pool:
        if left.partition in added:
            found.proofs.append(_ranged(left, None, route, "a partition that the old cluster does not have"))
        else:
            found.problems.append(f"{left.partition} at {offset_text(left.offset)} comes from no former position")
    page, former = new.page(), old.page()
    if page.number != former.number:
        found.problems.append(f"it is number {page.number}, and was {former.number}")
    lost = {one.operator for one in former.operators} - {one.operator for one in page.operators}
    if lost and not rewrite_spec.drop:
        found.problems.append(f"operators are missing: {', '.join(sorted(lost))}")
    if isinstance(old, FlinkCheckpoint) and isinstance(new, FlinkCheckpoint):
        found.problems += old.unlike(new, rewrite_spec, route, root)
    if isinstance(old, SparkCheckpoint) and isinstance(new, SparkCheckpoint):
        found.problems += old.unlike(new, rewrite_spec)
    proofs, problems, notes = tuple(found.proofs), tuple(found.problems), tuple(found.notes)
    return VerificationReport(files.root, new.format, page.number, was, proofs, problems, (), notes, new.names())


def _moving(old: Checkpoint, rewrite_spec: RewriteSpec, planned: Rewrite) -> set[Position]:
    """The positions that must have been moved: all, but for sources and clusters that were not wished to be."""
    translation = {one.old for one in planned.changes if one.moved is not None}
    clusters = {source.source for source in old.page().sources if source.kind.startswith("dynamic")}
    return {
        one
        for one in old.positions()
        if one in translation or (rewrite_spec.sources is None and not rewrite_spec.drop and one.source not in clusters)
    }


def alone(
    files: StoredFiles, new: Checkpoint, rewrite_spec: RewriteSpec, route: LiveRoute, of: str = ""
) -> VerificationReport:
    """Translate a result back, where its former place was not named; ``of`` is where it is known to be from."""
    found = _Findings()
    for one in new.positions():
        if (
            rewrite_spec.sources is not None and one.source not in rewrite_spec.sources
        ) or one.partition.topic in route.stay:
            found.proofs.append(Proof(one, None, None, None, note="not moved"))
            continue
        found.proofs.append(_back(one, route))
    see = (
        f"it was made from {of}: --was {of} holds it against that"
        if of
        else "nothing tells where the job was: see --was"
    )
    found.notes.append(f"{see}; each position was only translated back, and nothing beside them was compared")
    proofs, notes = tuple(found.proofs), tuple(found.notes)
    return VerificationReport(files.root, new.format, new.number, None, proofs, (), (), notes, new.names())


def refuse_gone_on(old: StoredFiles, former: Checkpoint, new: StoredFiles, result: Checkpoint) -> None:
    """Raise WrittenSinceError where a query has begun or committed batches at one of two places only."""
    here, there = _batches(new), _batches(old)
    if newer := sorted(here - there):
        raise WrittenSinceError(new.root, result.number, f"it was made from {old.root}", some(newer), EARLIER)
    if newer := sorted(there - here):
        fix = "stop the job for good, and make the copy again from where it is now"
        raise WrittenSinceError(old.root, former.number, f"{new.root} was made from it", some(newer), fix)


def _batches(files: StoredFiles) -> set[str]:
    """The batches that are in the logs, by path."""
    return {
        f"{log}/{entry.name}" for log in ("offsets", "commits") for entry in files.list(log) if entry.name.isdecimal()
    }


def differing(old: StoredFiles, new: StoredFiles, format_: CheckpointFormat) -> tuple[list[str], list[str]]:
    """(files that differ, what must not) between two paths; files of Spark's state are compared by name and size."""
    if format_ is CheckpointFormat.FLINK:
        there = {path for path, _ in old.walk() if not is_litter(path)}
        here = [path for path, _ in new.walk() if path in there and path != _METADATA]
        wrong = [path for path in here if old.digest(path) != new.digest(path)]
        return [_METADATA, *wrong], [f"{path} is not as it was" for path in wrong]
    sides = [{path: entry.size for path, entry in side.walk() if not is_litter(path)} for side in (old, new)]
    before, after = sides
    changed = []
    for path in sorted(before.keys() | after.keys()):
        same = before.get(path) == after.get(path)
        if same and not path.startswith("state/"):
            same = old.digest(path) == new.digest(path)
        if not same:
            changed.append(path)
    return changed, [f"{path} is not as it was" for path in changed if not path.startswith(_LOGS)]


def _matching(
    pool: list[Position], old: Position, answer: TranslatedPosition | None, by_source: bool
) -> Position | None:
    """The result's position that is to be this one; the one at the right offset where a source is used twice."""
    to = old.partition if answer is None else answer.partition
    offset = old.offset if answer is None else answer.offset
    role = OffsetRole.NEXT if old.role is OffsetRole.UNASSIGNED and offset is not None else old.role
    fitting = [
        one for one in pool if one.partition == to and one.role is role and (not by_source or one.source == old.source)
    ]
    return next((one for one in fitting if one.offset == offset), fitting[0] if fitting else None)


def _proof(new: Position, old: Position, answer: TranslatedPosition | None, route: LiveRoute, loose: bool) -> Proof:
    if answer is None:
        same = new.offset == old.offset
        problem = "" if same else f"it stays on the old cluster, where it was at {offset_text(old.offset)}"
        return Proof(new, old, None, None, problem, "stays on the old cluster")
    if answer.offset is None:
        return Proof(new, old, None, None, "" if new.offset is None else "it had no offset")
    proof = _ranged(new, old, route, _MOVES_ON if loose else answer.note)
    if proof.problem or loose or new.offset == answer.offset:
        return proof
    if old.offset is SymbolicOffset.EARLIEST and isinstance(new.offset, int) and new.offset < answer.offset:
        note = f"the old cluster's log begins later since: its first record is at {answer.offset:,} now"
        return Proof(new, old, proof.start, proof.end, "", note)
    lane = route.lanes.get(old.partition) if isinstance(route, MapRoute) else None
    if isinstance(lane, MappedLane) and isinstance(new.offset, int) and same_place(lane, new.offset, answer.offset):
        note = f"no copied record lies between it and {answer.offset:,}, to which {offset_text(old.offset)} leads now"
        return Proof(new, old, proof.start, proof.end, "", note)
    return Proof(new, old, proof.start, proof.end, f"{offset_text(old.offset)} leads to {answer.offset:,}")


def _ranged(new: Position, old: Position | None, route: LiveRoute, note: str) -> Proof:
    """Whether a position lies in its log."""
    log = route.target.log(new.partition)
    if isinstance(log, Reason):
        return Proof(new, old, None, None, log.what)
    if not isinstance(new.offset, int):
        return Proof(new, old, log.start, log.end, "it has no offset")
    inside = log.start <= new.offset <= log.end
    return Proof(new, old, log.start, log.end, "" if inside else "it lies outside of the target's log", note)


def _back(one: Position, route: LiveRoute) -> Proof:
    if not isinstance(route, MapRoute):
        given = route.offsets.get(one.partition)
        proof = _ranged(one, None, route, "")
        if proof.problem or given is None or given == one.offset:
            return proof
        return Proof(one, None, proof.start, proof.end, f"{route.what}: {given:,}")
    lane = _lane_to(one.partition, route)
    if lane is None:
        return Proof(one, None, None, None, f"{route.what} has no map that leads to {one.partition}")
    proof = _ranged(one, None, route, "")
    if proof.problem or not isinstance(one.offset, int):
        return proof
    back = to_source(lane.ranges, one.offset)
    if not isinstance(back, Exact):
        return Proof(one, None, proof.start, proof.end, f"the map of {lane.source} does not reach there")
    return Proof(one, None, proof.start, proof.end, "", f"{lane.source} at {back.offset:,}")


def _lane_to(partition: TopicPartition, route: MapRoute) -> MappedLane | None:
    lanes: Iterator[MappedLane] = (one for one in route.lanes.values() if isinstance(one, MappedLane))
    return next((one for one in lanes if one.target == partition), None)
