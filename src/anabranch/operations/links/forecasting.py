"""What a link would do with its lanes and its target topics, forecast before it is created.

The mode of each lane is chosen by the rules that its first owner goes by, on what both clusters say now.  What shows
itself only while a lane copies is not foreseen: offset gaps that cannot be filled, or a foreign writer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from anabranch.errors import AnabranchError, ProtocolError, RefusedError
from anabranch.kafka import admin
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.errors import BrokerRefusedError, PermissionDeniedError
from anabranch.kafka.headers import header_at
from anabranch.kafka.partitions import EARLIEST, LATEST
from anabranch.kafka.start import ask_offsets, look_up
from anabranch.model import configs as rules
from anabranch.model.clock import now_ms
from anabranch.model.counted import counted
from anabranch.model.lane import LaneMode
from anabranch.model.link import LinkSpec, ModePolicy
from anabranch.model.reasons import Reason, Severity
from anabranch.model.reports import ClusterFacts, LaneForecast, TopicPlan
from anabranch.model.topics import TopicPartition
from anabranch.protocol import head_padding
from anabranch.protocol.guard import DEFAULT_EXPIRATION_MS, barred

POLICY = "cleanup.policy"
_AT_ONCE = 32
Configs = Mapping[str, Mapping[str, admin.Config]]


async def forecast(
    source: Cluster, target: Cluster, spec: LinkSpec, topics: Sequence[TopicPlan], facts: ClusterFacts
) -> tuple[tuple[TopicPlan, ...], list[Reason]]:
    """The topics with the mode of each lane, and what changes on target topics that exist.

    Where that cannot be found out, a finding says why, and the topics are as they were.
    """
    if not topics:
        return tuple(topics), []
    try:
        source_configs = await admin.topic_configs(source, [topic.source for topic in topics])
        target_configs = await admin.topic_configs(target, [topic.target for topic in topics if topic.exists])
        snapshot = await _Snapshot.take(source, target, spec, topics, facts, source_configs, target_configs)
        lanes = await asyncio.gather(*(snapshot.lanes(topic) for topic in topics))
    except AnabranchError as error:
        what = f"which lanes would keep offsets could not be found out: {error.message}"
        return tuple(topics), [Reason.found(Severity.WARNING, what, error.hint)]
    changes = [
        finding
        for topic in topics
        if topic.exists
        for finding in _changed(spec, topic, _own(source_configs, topic.source), target_configs)
    ]
    held = [] if spec.shared_topics else [told for topic in topics if (told := snapshot.held(topic)) is not None]
    return tuple(replace(topic, lanes=one) for topic, one in zip(topics, lanes, strict=True)), changes + held


@dataclass(frozen=True, slots=True)
class _Snapshot:
    """What was asked of both clusters once for all lanes."""

    source: Cluster
    spec: LinkSpec
    by_coordinator: bool
    expiration_ms: int | None
    starts: Mapping[TopicPartition, int]
    firsts: Mapping[TopicPartition, int]
    ends: Mapping[TopicPartition, int]
    undeletable: frozenset[str]
    source_configs: Configs
    target_configs: Configs
    at_once: asyncio.Semaphore

    @classmethod
    async def take(
        cls,
        source: Cluster,
        target: Cluster,
        spec: LinkSpec,
        topics: Sequence[TopicPlan],
        facts: ClusterFacts,
        source_configs: Configs,
        target_configs: Configs,
    ) -> _Snapshot:
        denied = {one.operation for one in facts.permissions if one.resource == "cluster" and one.granted is False}
        partitions = [TopicPartition(topic.source, index) for topic in topics for index in range(topic.partitions)]
        existing = [TopicPartition(t.target, index) for t in topics if t.exists for index in range(t.partitions)]
        return cls(
            source,
            spec,
            bool(denied & {"ALTER", "DESCRIBE"}),
            await _expiration(target),
            (await look_up(source, spec.start, partitions)).offsets,
            await ask_offsets(target, dict.fromkeys(existing, EARLIEST)),
            await ask_offsets(target, dict.fromkeys(existing, LATEST), isolation=0),
            frozenset(
                one.resource.removeprefix("topic ")
                for one in facts.permissions
                if one.operation == "DELETE" and one.granted is False
            ),
            source_configs,
            target_configs,
            asyncio.Semaphore(_AT_ONCE),
        )

    async def lanes(self, topic: TopicPlan) -> tuple[LaneForecast, ...]:
        found = await asyncio.gather(*(self._mapped_because(topic, index) for index in range(topic.partitions)))
        return tuple(
            LaneForecast(index, LaneMode.MAPPED if why else LaneMode.IDENTITY, why) for index, why in enumerate(found)
        )

    def held(self, topic: TopicPlan) -> Reason | None:
        """That the target topic holds records already, which nothing relates to those that are copied after them."""
        partitions = [TopicPartition(topic.target, index) for index in range(topic.partitions)]
        offsets = sum(self.ends.get(one, 0) - self.firsts.get(one, 0) for one in partitions)
        if offsets <= 0:
            return None
        held = counted(offsets, "offset")
        what = f"topic {topic.target} holds records on the target already ({held}), which no link knows as its copies"
        fix = (
            "where they are copies of the same records, all would be there twice: delete the topic, or adopt it with "
            "`anabranch link create --adopt`"
        )
        return Reason.found(Severity.WARNING, what, fix)

    async def _mapped_because(self, topic: TopicPlan, index: int) -> str:
        """Why a lane would be mapped; empty where it would keep offsets."""
        if self.spec.mode is ModePolicy.MAPPED:
            return "the link asks for mapped lanes"
        policy = _own(self.source_configs, topic.source).get(POLICY, "")
        if "compact" in policy:
            return "the source topic is compacted: under identity its first gap would shift the log"
        if why := barred(self.by_coordinator, self.expiration_ms, now_ms(), None):
            return why
        partition = TopicPartition(topic.source, index)
        start, end = self.starts[partition], self.ends.get(TopicPartition(topic.target, index), 0)
        if why := barred(
            self.by_coordinator, self.expiration_ms, now_ms(), await self._first_timestamp(partition, start)
        ):
            return why
        if end > start:
            return f"the target log holds records already: it ends at {end:,}, past the lane's start {start:,}"
        if not start:
            return ""
        configured = self.target_configs.get(topic.target, {}).get(POLICY)
        changed = rules.wanted_configs(_own(self.source_configs, topic.source), self.spec.configs).get(POLICY)
        kept = configured.value if configured is not None and configured.value else "delete"
        return head_padding.barred(topic.target, start, end, topic.target not in self.undeletable, changed or kept)

    async def _first_timestamp(self, partition: TopicPartition, start: int) -> int | None:
        """The maximum timestamp of the first batch to copy; None where there is none yet, or it cannot be read."""
        async with self.at_once:
            meta, part = await self.source.partition(partition.topic, partition.partition)
            connection = await self.source.connection(part.leader)
            try:
                _, header = await header_at(
                    connection, partition.topic, meta.id, partition.partition, start, epoch=part.leader_epoch
                )
            except (ProtocolError, RefusedError):
                return None
        return None if header is None else header.max_timestamp


async def _expiration(target: Cluster) -> int | None:
    """``producer.id.expiration.ms`` of a broker; None where we may not read it."""
    metadata = await target.metadata([])
    try:
        entry = (await admin.broker_configs(target, min(metadata.brokers))).get("producer.id.expiration.ms")
    except (PermissionDeniedError, BrokerRefusedError):
        return None
    return int(entry.value) if entry is not None and entry.value else DEFAULT_EXPIRATION_MS


def _own(configs: Configs, topic: str) -> dict[str, str]:
    """What is set on a topic itself."""
    return admin.own_configs(configs.get(topic, {}))


def _changed(spec: LinkSpec, topic: TopicPlan, source: Mapping[str, str], target_configs: Configs) -> list[Reason]:
    """What the link sets on a target topic that exists, its cleanup policy first of all."""
    if topic.target not in target_configs:
        return []  # the permission that is missing is a finding of its own
    wanted = rules.held_configs(rules.wanted_configs(source, spec.configs))
    drift = rules.drift(_own(target_configs, topic.target), wanted, spec.configs)
    changes = {name: to for name, to in drift.items() if to != _value(target_configs[topic.target].get(name))}
    if not changes:
        return []
    is_policy = POLICY in changes
    text = ", ".join(
        f"{name} {_value(target_configs[topic.target].get(name))} -> {to or 'default'}" for name, to in changes.items()
    )
    fix = (
        f"keep it as it is: configs: {{deny: ['{POLICY.replace('.', chr(92) + '.')}']}} in a link file"
        if is_policy
        else ""
    )
    severity = Severity.WARNING if is_policy else Severity.INFO
    return [Reason.found(severity, f"topic {topic.target} exists on the target and is changed: {text}", fix)]


def _value(config: admin.Config | None) -> str:
    return "default" if config is None or config.value is None else config.value
