"""What the target must have for a topic to be copied: it exists, is large enough, and is held open."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

from anabranch.copier.planning.pairs import TopicPair
from anabranch.kafka import admin
from anabranch.kafka.cluster import Cluster, ClusterMetadata, TopicMeta
from anabranch.kafka.errors import PermissionDeniedError
from anabranch.model import configs as rules
from anabranch.model import tombstones
from anabranch.model.link import LinkSpec, MirroredTopic
from anabranch.model.provenance import filled_by_another, second_link
from anabranch.model.reasons import Reason, Severity
from anabranch.model.topics import TopicId
from anabranch.state.topics.control import Links


def exists(metadata: ClusterMetadata, topic: str) -> bool:
    """Whether a cluster has a topic."""
    found = metadata.topics.get(topic)
    return found is not None and found.error == 0


@dataclass(frozen=True, slots=True)
class TargetTopicState:
    """A pair's topic on the target and, where the source's is compacted, for how long tombstones stay there."""

    target_id: TopicId
    tombstones_ms: int | None

    @classmethod
    def of(cls, target_id: TopicId, read: Mapping[str, admin.Config]) -> TargetTopicState:
        """By the source's configs."""
        stays = read.get(tombstones.SETTING)
        effective = {} if stays is None else {tombstones.SETTING: stays.value}
        return cls(target_id, tombstones.retention_ms({**admin.own_configs(read), **effective}))


class TargetTopics:
    """Creates, grows and configures the topics that links fill, and stores what fills which."""

    def __init__(self, target: Cluster, links: Links) -> None:
        self._target = target
        self._links = links

    async def provide(
        self,
        spec: LinkSpec,
        pair: TopicPair,
        explicit: Mapping[str, str],
        target: ClusterMetadata,
        known: MirroredTopic | None,
        configured: Mapping[str, admin.Config] | None,
    ) -> TopicId | Reason:
        """See to it that the target topic exists, is large enough and is held open; or say why it can't be used."""
        wanted = rules.wanted_configs(explicit, spec.configs)
        held = rules.held_configs(wanted)
        source_id = TopicId(pair.source.id)
        if known is not None and known.source_id != source_id:
            return Reason.found(
                Severity.ERROR,
                f"topic {pair.source.name} was deleted and made again on the source: {pair.target} holds the old one",
                f"copy the new one after it: anabranch link accept {spec.id} {pair.source.name}",
            )
        partitions = len(pair.source.partitions)
        found = target.topics.get(pair.target)
        if found is None or not exists(target, pair.target):
            if known is not None:
                return Reason.found(
                    Severity.ERROR,
                    f"topic {pair.target} was deleted on the target",
                    f"copy it again from the start: anabranch link accept {spec.id} {pair.source.name}",
                )
            await admin.create_topic(self._target, pair.target, partitions, spec.replication_factor or -1, held)
            found = await self._await_topic(pair.target)
            target.topics[pair.target] = found
        elif known is not None and known.target_id != TopicId(found.id):
            return Reason.found(
                Severity.ERROR,
                f"topic {pair.target} was deleted and made again on the target",
                f"copy into the new one from the start: anabranch link accept {spec.id} {pair.source.name}",
            )
        elif len(found.partitions) < partitions:
            if known is None:
                return Reason.found(
                    Severity.ERROR,
                    f"topic {pair.target} has {len(found.partitions):,} partitions on the target, "
                    f"{pair.source.name} has {partitions:,} on the source",
                    f"kafka-topics --alter --topic {pair.target} --partitions {partitions}",
                )
            await admin.grow_topic(self._target, pair.target, partitions)
            await self._await_topic(pair.target, partitions)
        other = filled_by_another(spec.id, TopicId(found.id), self._links.mirrored.values())
        if known is None and other is not None and not spec.shared_topics:
            return second_link(pair.source.name, pair.target, other.link, Severity.ERROR)
        topic = MirroredTopic(spec.id, pair.source.name, source_id, pair.target, TopicId(found.id), wanted)
        if known is None or known != topic or dict(known.configs) != wanted:
            await self._links.put_topic(topic)
        if configured is None:
            configured = (await admin.topic_configs(self._target, [pair.target])).get(pair.target)
        if configured is None:
            principal = self._target.transport.principal
            raise PermissionDeniedError(self._target.name, principal, "DescribeConfigs", f"topic {pair.target}")
        own = {name: config.value or "" for name, config in configured.items() if config.own}
        changes = rules.drift(own, held, spec.configs)
        if changes:
            await admin.alter_topic_configs(self._target, pair.target, changes)
        return TopicId(found.id)

    async def _await_topic(self, name: str, partitions: int = 1) -> TopicMeta:
        """The topic once the brokers know it with leaders."""
        for _ in range(100):
            topic = (await self._target.metadata([name])).topics[name]
            if topic.error == 0 and len(topic.partitions) >= partitions:
                return topic
            await asyncio.sleep(0.05)
        self._target.check(topic.error or 5, "Describe", f"topic {name}")
        return topic
