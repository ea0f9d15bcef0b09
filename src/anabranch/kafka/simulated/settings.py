"""The settings of topics and brokers: defaults, and what was set."""

from __future__ import annotations

from collections.abc import Mapping

from anabranch.kafka.simulated.versions import BrokerVersion

NEVER = 9_223_372_036_854_775_807
TOPIC_DEFAULTS: Mapping[str, str] = {
    "cleanup.policy": "delete",
    "compression.gzip.level": "-1",
    "compression.lz4.level": "9",
    "compression.type": "producer",
    "compression.zstd.level": "3",
    "delete.retention.ms": "86400000",
    "file.delete.delay.ms": "60000",
    "flush.messages": str(NEVER),
    "flush.ms": str(NEVER),
    "follower.replication.throttled.replicas": "",
    "index.interval.bytes": "4096",
    "leader.replication.throttled.replicas": "",
    "local.retention.bytes": "-2",
    "local.retention.ms": "-2",
    "max.compaction.lag.ms": str(NEVER),
    "max.message.bytes": "1048588",
    "message.timestamp.after.max.ms": "3600000",
    "message.timestamp.before.max.ms": str(NEVER),
    "message.timestamp.type": "CreateTime",
    "min.cleanable.dirty.ratio": "0.5",
    "min.compaction.lag.ms": "0",
    "min.insync.replicas": "1",
    "preallocate": "false",
    "remote.log.copy.disable": "false",
    "remote.log.delete.on.disable": "false",
    "remote.storage.enable": "false",
    "retention.bytes": "-1",
    "retention.ms": "604800000",
    "segment.bytes": "1073741824",
    "segment.index.bytes": "10485760",
    "segment.jitter.ms": "0",
    "segment.ms": "604800000",
    "unclean.leader.election.enable": "false",
}
# A broker's setting that is the default of a topic's.
_OF_BROKER: Mapping[str, str] = {
    "max.message.bytes": "message.max.bytes",
    "min.insync.replicas": "min.insync.replicas",
    "unclean.leader.election.enable": "unclean.leader.election.enable",
    "message.timestamp.after.max.ms": "log.message.timestamp.after.max.ms",
    "message.timestamp.before.max.ms": "log.message.timestamp.before.max.ms",
    "message.timestamp.type": "log.message.timestamp.type",
    "retention.ms": "log.retention.ms",
    "segment.bytes": "log.segment.bytes",
}
BROKER_DEFAULTS: Mapping[str, str] = {
    "auto.create.topics.enable": "false",
    "broker.session.timeout.ms": "3000",
    "compression.type": "producer",
    "connections.max.idle.ms": "600000",
    "connections.max.reauth.ms": "0",
    "default.replication.factor": "1",
    "group.initial.rebalance.delay.ms": "0",
    "log.cleaner.backoff.ms": "15000",
    "log.retention.check.interval.ms": "300000",
    "max.incremental.fetch.session.cache.slots": "1000",
    "message.max.bytes": "1048588",
    "min.insync.replicas": "1",
    "num.partitions": "1",
    "offset.metadata.max.bytes": "4096",
    "producer.id.expiration.check.interval.ms": "600000",
    "producer.id.expiration.ms": "86400000",
    "replica.lag.time.max.ms": "30000",
    "request.timeout.ms": "30000",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "10000",
    "transaction.max.timeout.ms": "900000",
    "transactional.id.expiration.ms": "604800000",
    "unclean.leader.election.enable": "false",
}
# Settings of brokers that are 32-bit numbers.
INTEGERS = frozenset({"message.max.bytes", "min.insync.replicas", "producer.id.expiration.ms"})
DYNAMIC: Mapping[str, int] = {
    "log.cleaner.backoff.ms": 0,
    "message.max.bytes": 0,
    "min.insync.replicas": 1,
    "producer.id.expiration.ms": 1,
}
"""What may be changed while a broker runs, with the least that each may be."""


class TopicSettings:
    """What is set on one topic, over what its broker has, over the defaults."""

    def __init__(self, version: BrokerVersion, broker: Mapping[str, str], own: Mapping[str, str]) -> None:
        self.own = dict(own)
        self._version = version
        self._broker = broker
        self._found: dict[str, str] = {}

    def value(self, name: str) -> str:
        """The setting's value as a text; raises KeyError for one that does not exist."""
        if name in self.own:
            return self.own[name]
        of_broker = self._broker.get(_OF_BROKER.get(name, ""))
        if of_broker is not None:
            return of_broker
        if name == "message.timestamp.after.max.ms":
            return str(self._version.after_max_ms)
        return TOPIC_DEFAULTS[name]

    def number(self, name: str) -> int:
        """The value of a number."""
        return int(self.value(name))

    @property
    def policy(self) -> frozenset[str]:
        """``delete``, ``compact``, or both."""
        return frozenset(part for part in self.value("cleanup.policy").split(",") if part)
