"""What a running MirrorMaker 2 has written about one flow: offset syncs, checkpoints and heartbeats."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from anabranch.errors import RefusedError
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.log import KeyedLog
from anabranch.mirrormaker.names import (
    HEARTBEATS,
    SEPARATOR,
    alias_of_offset_syncs,
    checkpoints_topic,
    offset_syncs_topic,
    source_of_checkpoints,
)
from anabranch.mirrormaker.store import OffsetSync
from anabranch.mirrormaker.wire import Heartbeat, MirrorCheckpoint, decode_checkpoint, decode_heartbeat, decode_sync
from anabranch.model.topics import TopicPartition


@dataclass(eq=False)
class NoFlowError(RefusedError):
    """The flow of MirrorMaker 2 cannot be determined: it left no topic, or several flows did."""

    cluster: str
    aliases: tuple[str, ...]

    @property
    def message(self) -> str:
        if not self.aliases:
            return f"cluster {self.cluster} has no checkpoints topic of MirrorMaker 2"
        return f"cluster {self.cluster} has checkpoints of several sources: {', '.join(self.aliases)}"

    _hint = "name the source as MirrorMaker's properties do: --source-alias ALIAS, in a request source_alias"


@dataclass(frozen=True, slots=True)
class Flow:
    """One flow, read from its topics; ``syncs`` are in the order of their topic, by *source* partition.

    ``syncs_topic`` is None where neither cluster has one: nothing of the aliases' was copied yet, or they are others.
    """

    source_alias: str
    target_alias: str
    separator: str
    syncs_topic: str | None
    syncs: Mapping[TopicPartition, tuple[OffsetSync, ...]]
    checkpoints: tuple[MirrorCheckpoint, ...]
    heartbeat: Heartbeat | None

    def source_of(self, topic: str) -> str:
        """The source's name of a copied topic: the prefix is the default policy's, and an identity policy has none."""
        original = topic.removeprefix(self.source_alias + self.separator)
        known = {partition.topic for partition in self.syncs}
        return topic if original not in known and topic in known else original

    def copy_of(self, partition: TopicPartition, topics: Collection[str]) -> TopicPartition:
        """What a source partition is called on the target, which has ``topics``."""
        prefixed = f"{self.source_alias}{self.separator}{partition.topic}"
        return TopicPartition(prefixed if prefixed in topics else partition.topic, partition.partition)


async def read_flow(
    source: Cluster,
    target: Cluster,
    source_alias: str | None = None,
    target_alias: str | None = None,
    separator: str = SEPARATOR,
) -> Flow:
    """Read a flow's topics; aliases that are not given are taken from their names.

    The offset syncs are looked for on both sides (``offset-syncs.topic.location``).  Raises NoFlowError,
    MirrorRecordError and ClusterError.
    """
    here, there = set((await source.metadata(None)).topics), set((await target.metadata(None)).topics)
    if source_alias is None:
        found = {alias for name in there if (alias := source_of_checkpoints(name, separator))}
        if len(found) != 1:
            raise NoFlowError(target.name, tuple(sorted(found)))
        (source_alias,) = found
    heartbeats = [one for one in await _heartbeats(target, there) if one.source == source_alias]
    heartbeat = max(heartbeats, key=lambda one: one.timestamp, default=None)
    target_alias = target_alias or (heartbeat.target if heartbeat else _only_target(here, separator))
    syncs_topic = None
    syncs: dict[TopicPartition, tuple[OffsetSync, ...]] = {}
    for cluster, topics, alias in ((source, here, target_alias), (target, there, source_alias)):
        name = offset_syncs_topic(alias, separator)
        if name in topics:
            syncs_topic, syncs = name, await _syncs(cluster, name)
            break
    checkpoints: dict[tuple[str, TopicPartition], MirrorCheckpoint] = {}
    name = checkpoints_topic(source_alias, separator)
    if name in there:
        for entry in await KeyedLog(target, name).read():
            if entry.value is not None:
                one = decode_checkpoint(entry.key, entry.value)
                checkpoints[one.group, one.partition] = one
    return Flow(source_alias, target_alias, separator, syncs_topic, syncs, tuple(checkpoints.values()), heartbeat)


def _only_target(topics: set[str], separator: str) -> str:
    """The alias that the source's only offset-syncs topic names; a dash if there is no such topic, or several."""
    found = [alias for name in topics if (alias := alias_of_offset_syncs(name, separator))]
    return found[0] if len(found) == 1 else "-"


async def _heartbeats(target: Cluster, topics: set[str]) -> list[Heartbeat]:
    if HEARTBEATS not in topics:
        return []
    entries = await KeyedLog(target, HEARTBEATS).read()
    return [decode_heartbeat(entry.key, entry.value) for entry in entries if entry.value is not None]


async def _syncs(cluster: Cluster, topic: str) -> dict[TopicPartition, tuple[OffsetSync, ...]]:
    found: dict[TopicPartition, list[OffsetSync]] = {}
    for entry in await KeyedLog(cluster, topic).read():
        if entry.value is not None:
            partition, sync = decode_sync(entry.key, entry.value)
            found.setdefault(partition, []).append(sync)
    return {partition: tuple(syncs) for partition, syncs in found.items()}
