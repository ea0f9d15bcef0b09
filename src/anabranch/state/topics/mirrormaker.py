"""Our exact answers in MirrorMaker 2's topics, so that whatever asks its client library goes on as it is.

``RemoteClusterUtils`` and ``MirrorClient`` read positions from ``<source>.checkpoints.internal`` alone, and tell how
far a cluster is, and which there are, by the names of heartbeat topics: ``<source>.heartbeats`` is one hop.  A
MirrorMaker 2 that runs beside this under the same alias writes its own answers over ours every minute.
"""

from __future__ import annotations

from collections.abc import Iterable

from anabranch.kafka.admin import create_topic
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.log import KeyedLog
from anabranch.kafka.settling import until_led
from anabranch.mirrormaker.names import HEARTBEATS, SEPARATOR, checkpoints_topic, heartbeats_copy
from anabranch.mirrormaker.wire import Heartbeat, MirrorCheckpoint, encode_checkpoint, encode_heartbeat
from anabranch.model.clock import now_ms
from anabranch.state.topics.control import write

_BROKERS_DEFAULT = -1


async def publish(
    target: Cluster,
    source_alias: str,
    checkpoints: Iterable[MirrorCheckpoint],
    *,
    separator: str = SEPARATOR,
    replication_factor: int = _BROKERS_DEFAULT,
) -> int:
    """Write checkpoints for clients that know the source by this alias; returns how many.

    A checkpoint replaces the one before of its group and target partition, and none can be withdrawn: clients do not
    know tombstones.  Makes the topic where it is missing.  Raises ControlLostError where it is not known whether all
    are there, after which they may be written again, and ClusterError.
    """
    entries: list[tuple[bytes, bytes | None]] = [encode_checkpoint(one) for one in checkpoints]
    if not entries:
        return 0
    topic = checkpoints_topic(source_alias, separator)
    await _have(target, [topic], replication_factor)
    await write(KeyedLog(target, topic), entries)
    return len(entries)


async def beat(
    target: Cluster,
    source_alias: str,
    target_alias: str,
    *,
    separator: str = SEPARATOR,
    replication_factor: int = _BROKERS_DEFAULT,
) -> None:
    """Write one heartbeat: to the target's own topic, as MirrorMaker's heartbeat task does, and to the source's copy.

    Raises as ``publish`` does.
    """
    topics = [HEARTBEATS, heartbeats_copy(source_alias, separator)]
    await _have(target, topics, replication_factor)
    entry: tuple[bytes, bytes | None] = encode_heartbeat(Heartbeat(source_alias, target_alias, now_ms()))
    for topic in topics:
        await write(KeyedLog(target, topic), [entry])


async def _have(target: Cluster, topics: list[str], replication_factor: int) -> None:
    """Make the topics that are missing, as MirrorMaker makes them, and wait until they can be written to."""
    known = (await target.metadata(topics)).topics
    unready = [name for name in topics if known[name].error or known[name].partitions[0].leader < 0]
    for name in unready:
        if not known[name].partitions:
            await create_topic(target, name, 1, replication_factor, {"cleanup.policy": "compact"})
    await until_led(target, unready)
