"""Plan a rewrite: read the checkpoint and the clusters, and name every change and every refusal.

Nothing is written. The hash covers what the plan was made from and what it would write. It does not cover the ends of
the target's logs, which rise all the time: they are read again when the plan is applied.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from anabranch.checkpoints.job import Checkpoint
from anabranch.checkpoints.plan import Rewrite, RewriteSpec
from anabranch.checkpoints.recognise import open_checkpoint
from anabranch.checkpoints.reports import FileChange, FileEffect
from anabranch.errors import ProtocolError
from anabranch.kafka.clusters import Clusters
from anabranch.model.clock import now_ms
from anabranch.model.plans import plan_hash
from anabranch.model.reasons import Reason, ReasonKind
from anabranch.operations.checkpoints.blocking import in_thread
from anabranch.operations.checkpoints.errors import UnfinishedCopyError, UnfinishedRewriteError
from anabranch.operations.checkpoints.live import read_route
from anabranch.operations.checkpoints.manifest import COPYING, RewriteState, manifests, unfinished, written_since
from anabranch.operations.checkpoints.paths import files_at
from anabranch.operations.checkpoints.plans import RewritePlan, RewriteRequest
from anabranch.operations.checkpoints.routes import LiveRoute, MapRoute
from anabranch.storage.files import StoredFiles

PLAN_COMMAND = "anabranch checkpoint plan"


@dataclass(frozen=True, slots=True)
class PreparedRewrite:
    """A plan with what it was made from."""

    files: StoredFiles
    checkpoint: Checkpoint
    route: LiveRoute
    rewrite: Rewrite
    planned: RewritePlan

    def allow(self) -> None:
        """Raise ValueError for a plan with refusals, which must never be applied."""
        if self.planned.refusals or self.rewrite.refusals:
            raise ValueError("a plan with refusals is never applied")


async def build_plan(clusters: Clusters, request: RewriteRequest) -> PreparedRewrite:
    """Plan again; raises what opening the checkpoint raises, UnknownLinkError, ClusterError, ConfigError."""
    files = files_at(request.path)
    checkpoint = await in_thread(partial(opened, files))
    route, notes = await read_route(clusters, request.translation, checkpoint.positions())
    return await in_thread(partial(prepare, files, checkpoint, request, route, notes))


def opened(files: StoredFiles) -> Checkpoint:
    """The checkpoint; raises UnfinishedCopyError, UnfinishedRewriteError, and what opening one raises."""
    if files.stat(COPYING) is not None:
        raise UnfinishedCopyError(files.root)
    try:
        return open_checkpoint(files)
    except ProtocolError as error:
        begun = unfinished(files)
        if begun is None:
            raise
        raise UnfinishedRewriteError(files.root, begun.id) from error


def prepare(
    files: StoredFiles, checkpoint: Checkpoint, request: RewriteRequest, route: LiveRoute, notes: tuple[str, ...] = ()
) -> PreparedRewrite:
    """The plan by a route that was read."""
    rewrite_spec, by = request.spec, str(request.translation)
    rewrite = checkpoint.rewrite(rewrite_spec, route)
    refusals = rewrite.refusals
    begun = unfinished(files)
    if begun is not None:
        what = f"rewrite {begun.id} has begun here and did not end: some files are old, some new"
        fix = f"take it back: anabranch checkpoint undo {files.root} --execute"
        refusals = (Reason(ReasonKind.UNFINISHED, what, fix), *refusals)
    elif isinstance(route, MapRoute):  # given positions are the same, however often they are given
        refusals = (*refusals, *_moved_already(files, rewrite, by))
    moved = [one.moved for one in rewrite.changes if one.moved is not None]
    planned = RewritePlan(
        request,
        files.root,
        checkpoint.format,
        checkpoint.number,
        by,
        _hash(rewrite, refusals, rewrite_spec),
        rewrite.changes,
        refusals,
        (*notes, *(() if refusals else rewrite.notes)),  # how to start is no matter of what is refused
        () if refusals else tuple(_files(files, rewrite.writes)),
        rewrite.untouched,
        sum(one.repeated or 0 for one in moved),
        sum(one.skipped or 0 for one in moved),
        sum(one.repeated is None for one in moved),
        checkpoint.newest_write_ms(),
        now_ms(),
        checkpoint.names(),
    )
    return PreparedRewrite(files, checkpoint, route, rewrite, planned)


def _moved_already(files: StoredFiles, rewrite: Rewrite, by: str) -> Iterator[Reason]:
    """Sources that this route has moved: their offsets are the target's, and would be taken for the source's again.

    Nothing in the bytes tells them apart where topics keep their names. Files that were brought back by hand are old.
    """
    wanted = {
        (one.old.source, one.old.partition.topic)
        for one in rewrite.changes
        if one.moved is not None and isinstance(one.old.offset, int) and one.moved.offset != one.old.offset
    }
    for done in reversed([one for one in manifests(files) if one.state in (RewriteState.DONE, RewriteState.COPIED)]):
        again = wanted & done.moved
        wanted -= again
        if not again or done.route != by or any(one.old == files.digest(one.path) for one in done.files):
            continue
        names = ", ".join(f"{topic} of source {source}" for source, topic in sorted(again))
        if done.of:
            fix = f"start the job from it; to make it again rewrite {done.of}"
        elif written_since(files, done):
            fix = "nothing is left to be done: the job has gone on from there since"
        else:
            fix = f"start the job; or take that rewrite back first: anabranch checkpoint undo {files.root} --execute"
        yield Reason(
            ReasonKind.MOVED,
            f"rewrite {done.id} has moved {names} by {by} already: its offsets are those of the target",
            fix,
        )


def _hash(rewrite: Rewrite, refusals: tuple[Reason, ...], rewrite_spec: RewriteSpec) -> str:
    """The hash of all that a plan rests on and would do."""
    value = {
        "reads": dict(rewrite.reads),
        "writes": {path: _digest(data) for path, data in rewrite.writes.items()},
        "changes": [
            [
                one.old.source,
                str(one.old.partition),
                one.old.role,
                one.old.offset,
                None if one.moved is None else [str(one.moved.partition), one.moved.offset, one.moved.cluster],
            ]
            for one in rewrite.changes
        ],
        "refusals": sorted({(one.why.value, one.location) for one in refusals}),
        "wish": _plain(rewrite_spec),
    }
    return plan_hash(value)


def _files(files: StoredFiles, writes: Mapping[str, bytes | None]) -> list[FileChange]:
    found = []
    for path, data in writes.items():
        old = files.stat(path)
        effect = FileEffect.REMOVE if data is None else FileEffect.ADD if old is None else FileEffect.CHANGE
        found.append(FileChange(path, effect, None if old is None else old.size, None if data is None else len(data)))
    return found


def _digest(data: bytes | None) -> str | None:
    return None if data is None else hashlib.sha256(data).hexdigest()


def _plain(rewrite_spec: RewriteSpec) -> dict[str, object]:
    return {
        "sources": None if rewrite_spec.sources is None else sorted(rewrite_spec.sources),
        "split": [[one.source, [sorted(part) for part in one.parts], list(one.names)] for one in rewrite_spec.split],
        "merge": [list(one) for one in rewrite_spec.merge],
        "drop": sorted(rewrite_spec.drop),
        "uncommitted": rewrite_spec.uncommitted.value,
        "transactions": rewrite_spec.transactions.value,
        "stop_savepoint": rewrite_spec.stop_savepoint.value,
        "clusters": {old: list(new) for old, new in rewrite_spec.renamed_clusters.items()},
    }
