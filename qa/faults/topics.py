"""The topics that are written to: what kinds of logs a link must copy, and how such logs come to be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from qa import brokers

if TYPE_CHECKING:
    from anabranch.sandbox import SandboxCluster


class TopicKind(StrEnum):
    """Kinds of logs.

    ``PLAIN``: idempotent producers alone.  ``TRANSACTIONAL``: transactions that commit, abort and hang, interleaved,
    with plain records between.  ``COMPACTED``: few keys, tombstones, segments that are cleaned while they are copied;
    ``BOTH_COMPACTED``: the target's cleaner works too.  ``SINGLE``: batches of one record.  ``APPEND_TIME``: the
    source's broker stamps the records.
    """

    PLAIN = "plain"
    TRANSACTIONAL = "transactional"
    COMPACTED = "compacted"
    BOTH_COMPACTED = "compacted on both sides"
    SINGLE = "single"
    APPEND_TIME = "append time"


_COMPACT: Mapping[str, str] = {
    "cleanup.policy": "compact",
    "segment.ms": "500",  # which a target does not take over: its cleaner leaves the newest segment alone, the only one
    "min.cleanable.dirty.ratio": "0.01",
    "delete.retention.ms": "600000",
}
_CONFIGS: Mapping[TopicKind, Mapping[str, str]] = {
    TopicKind.COMPACTED: _COMPACT,
    TopicKind.BOTH_COMPACTED: {**_COMPACT, "max.compaction.lag.ms": "1000"},
    TopicKind.APPEND_TIME: {"message.timestamp.type": "LogAppendTime"},
}

#: What brokers need for these kinds: a cleaner that looks often and, at the source, an end of what hangs.
CLEANER_SETTINGS: Mapping[str, str] = {"log.cleaner.backoff.ms": "300"}
SOURCE_SETTINGS: Mapping[str, str] = {
    **CLEANER_SETTINGS,
    "transaction.max.timeout.ms": "20000",  # after which what no coordinator knows counts as hanging
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
}


@dataclass(frozen=True, slots=True)
class LoadTopic:
    """A topic that is written to.

    ``old`` gives its records times of 2013.  ``unclean``: on a target of three brokers it has two replicas, of which
    one suffices, and may lose what was acknowledged.
    """

    name: str
    partitions: int
    old: bool
    kind: TopicKind = TopicKind.PLAIN
    unclean: bool = False

    @property
    def compacted(self) -> bool:
        """Whether the source's cleaner takes records away."""
        return self.kind in {TopicKind.COMPACTED, TopicKind.BOTH_COMPACTED}

    @property
    def configs(self) -> dict[str, str]:
        """The settings of the topic at the source; no record leaves it but by the cleaner."""
        return {"retention.ms": "-1", **_CONFIGS.get(self.kind, {})}


def create_topics(cluster: SandboxCluster, topics: Sequence[LoadTopic]) -> None:
    """Make the topics that are written to, and wait until they can be; raises what the client raises."""
    from confluent_kafka.admin import NewTopic

    brokers.create_topics(cluster, [NewTopic(topic.name, topic.partitions, config=topic.configs) for topic in topics])
