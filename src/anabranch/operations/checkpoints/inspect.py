"""Inspect a checkpoint, and its lag on the cluster that its job reads."""

from __future__ import annotations

from functools import partial

from anabranch.checkpoints.position import OffsetRole, Position
from anabranch.checkpoints.reports import Inspection, Lag
from anabranch.kafka.cluster import Cluster
from anabranch.model.clock import now_ms
from anabranch.model.reasons import Reason
from anabranch.operations.checkpoints.blocking import in_thread
from anabranch.operations.checkpoints.live import read_target
from anabranch.operations.checkpoints.manifest import RewriteState, manifests
from anabranch.operations.checkpoints.paths import files_at
from anabranch.operations.checkpoints.planning import opened
from anabranch.operations.checkpoints.routes import TargetSnapshot

#: Positions from which a restart reads on.
_READS = frozenset({OffsetRole.NEXT, OffsetRole.BATCH_END, OffsetRole.ASSIGNED, OffsetRole.UNASSIGNED})


async def inspect(path: str, cluster: Cluster | None = None) -> Inspection:
    """The page, and the lag against the cluster that it reads; raises what opening raises, and ClusterError."""
    files = files_at(path)
    checkpoint = await in_thread(partial(opened, files))
    positions = [one for one in checkpoint.positions() if one.role in _READS]
    lags: tuple[Lag, ...] = ()
    if cluster is not None:
        seen = await read_target(cluster, {one.partition.topic for one in positions})
        lags = tuple(_lag(one, seen) for one in positions)
    backups = manifests(files)
    return Inspection(
        files.root,
        checkpoint.page(),
        checkpoint.newest_write_ms(),
        now_ms(),
        None if cluster is None else cluster.name,
        lags,
        next((one.id for one in backups if one.state is RewriteState.BEGUN), None),
        tuple(one.id for one in backups if one.state is RewriteState.DONE),
        tuple(f"{one.id}: {one.route}, from {one.of}" for one in backups if one.state is RewriteState.COPIED),
    )


def _lag(position: Position, seen: TargetSnapshot) -> Lag:
    log = seen.log(position.partition)
    if isinstance(log, Reason):
        return Lag(position.source, position.partition, None, None, None, log.what)
    if not isinstance(position.offset, int):
        return Lag(position.source, position.partition, log.start, log.high, None, "it has no offset yet")
    why = ""
    if position.offset < log.start:
        why = f"{log.start - position.offset:,} of them have expired"
    elif position.offset > log.high:
        return Lag(
            position.source, position.partition, log.start, log.high, None, "it lies past the log: another cluster's?"
        )
    return Lag(position.source, position.partition, log.start, log.high, log.high - position.offset, why)
