"""What the fine print asks of a target's brokers and topics, held against their settings; pure.

A finding is made only where something is to be said.  None of them forbids a link: they say what it costs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from anabranch.model.reasons import Reason, Severity
from anabranch.model.topics import named_topics

PRODUCER_IDS = "producer.id.expiration.ms"
TRANSACTIONAL_IDS = "transactional.id.expiration.ms"
IDLE = "connections.max.idle.ms"
IN_SYNC = "min.insync.replicas"
UNCLEAN = "unclean.leader.election.enable"
REPLICAS = "default.replication.factor"
COMPRESSION = "compression.type"
AS_SENT = "producer"
"""The compression of a topic whose batches stay as they were sent."""

_DEFAULTS_MS = {PRODUCER_IDS: 86_400_000, TRANSACTIONAL_IDS: 604_800_000, IDLE: 600_000}
SILENT_MS = 3 * 86_400_000
"""After so long nobody writes under a producer id of a coordinator any more (A4 in ``protocol/age.py``)."""
_MANY = 3


@dataclass(frozen=True, slots=True)
class TargetTopic:
    """A target topic's settings; ``replicas`` is the smallest number of any partition."""

    name: str
    replicas: int
    min_in_sync: int
    unclean: bool
    compression: str

    @classmethod
    def of(cls, name: str, replicas: int, configs: Mapping[str, str | None]) -> TargetTopic:
        """The topic from its configs by name; the brokers' defaults are among them."""
        in_sync, compression = int(configs.get(IN_SYNC) or 1), configs.get(COMPRESSION) or AS_SENT
        return cls(name, replicas, in_sync, configs.get(UNCLEAN) == "true", compression)


def of_brokers(brokers: Sequence[Mapping[str, str | None]], lease_seconds: int) -> list[Reason]:
    """Whether producer ids and transactional ids outlive a request of an owner that was fenced.

    ``brokers`` are the settings of each broker that told them: the shortest expiration and the longest idle time
    count.  Where connections are never closed, the expiration is held against what is right once they are.
    """
    if not brokers:
        what = f"no broker of the target tells its settings: {PRODUCER_IDS} and {TRANSACTIONAL_IDS} are not checked"
        return [Reason.found(Severity.INFO, what, "grant DescribeConfigs on the cluster, or look at them yourself")]
    idles = [_ms(broker, IDLE) for broker in brokers]
    idle = max(idles)
    found = []
    if min(idles) < 0:
        what = f"the target has {IDLE}={min(idles)}: connections of fenced owners are never closed"
        found.append(Reason.found(Severity.WARNING, what, _alter(IDLE, _DEFAULTS_MS[IDLE])))
        idle = max(idle, _DEFAULTS_MS[IDLE])
    late = f"{IDLE} of {idle:,}, a lease of {lease_seconds} s"
    for name, least, of, why in (
        (PRODUCER_IDS, idle + lease_seconds * 1000, late, "a late request of a fenced owner may be appended"),
        (TRANSACTIONAL_IDS, SILENT_MS, "three days", "without ALTER on the cluster, a lane may have to wait for hours"),
    ):
        shortest = min(_ms(one, name) for one in brokers)
        if shortest <= least:
            what = f"the target has {name}={shortest:,}, which must be more than {least:,} ({of}): {why}"
            found.append(Reason.found(Severity.WARNING, what, _alter(name, least + 3_600_000)))
    return found


def changed(before_ms: int, now_ms: int) -> list[Reason]:
    """That the target forgets producer ids sooner than it did when the run began."""
    if now_ms >= before_ms:
        return []
    return [
        Reason.found(
            Severity.WARNING,
            f"the target's {PRODUCER_IDS} was {before_ms:,} when the run began and is {now_ms:,} now: lanes that were "
            "claimed before rely on the longer one",
            f"set it back ({_alter(PRODUCER_IDS, before_ms)}), or end `anabranch link run` in order, so that lanes are "
            "given back, and start it again",
        )
    ]


def of_topics(topics: Iterable[TargetTopic]) -> list[Reason]:
    """What of the target topics' replication may lose records that were acknowledged, and what their compression costs;
    one finding a kind.
    """
    alone: dict[int, list[str]] = {}
    stuck: dict[tuple[int, int], list[str]] = {}
    unclean: list[str] = []
    packed: dict[str, list[str]] = {}
    for topic in topics:
        if topic.min_in_sync > topic.replicas:
            stuck.setdefault((topic.min_in_sync, topic.replicas), []).append(topic.name)
        elif topic.replicas >= _MANY and topic.min_in_sync < 2:
            alone.setdefault(topic.replicas, []).append(topic.name)
        if topic.unclean and topic.replicas > 1:
            unclean.append(topic.name)
        if topic.compression != AS_SENT:
            packed.setdefault(topic.compression, []).append(topic.name)
    found = [
        Reason.found(
            Severity.WARNING,
            f"target {named_topics(names)}: {IN_SYNC}={wanted} with {replicas} replicas: nothing can be appended",
            f"kafka-configs --alter --topic {names[0]} --add-config {IN_SYNC}={replicas}",
        )
        for (wanted, replicas), names in sorted(stuck.items())
    ]
    found += [
        Reason.found(
            Severity.WARNING,
            f"target {named_topics(names)}: {IN_SYNC}=1 with {replicas} replicas: what one broker took is lost with it",
            f"kafka-configs --alter --topic {names[0]} --add-config {IN_SYNC}=2",
        )
        for replicas, names in sorted(alone.items())
    ]
    if unclean:
        found.append(
            Reason.found(
                Severity.WARNING,
                f"target {named_topics(unclean)}: {UNCLEAN}=true: an unclean election loses acknowledged records, and "
                "a late request may be appended past the gap",
                f"kafka-configs --alter --topic {unclean[0]} --add-config {UNCLEAN}=false",
            )
        )
    return found + [
        Reason.found(
            Severity.INFO,
            f"target {named_topics(names)}: {COMPRESSION}={codec}: brokers compress batches again, at the cost of "
            "their CPU",
            f"kafka-configs --alter --topic {min(names)} --add-config {COMPRESSION}={AS_SENT}",
        )
        for codec, names in sorted(packed.items())
    ]


def shortest_ms(brokers: Sequence[Mapping[str, str | None]]) -> int | None:
    """The shortest time for which a broker remembers a producer id; None where none told."""
    return min((_ms(broker, PRODUCER_IDS) for broker in brokers), default=None)


def _ms(configs: Mapping[str, str | None], name: str) -> int:
    value = configs.get(name)
    return int(value) if value else _DEFAULTS_MS[name]


def _alter(name: str, value: int) -> str:
    if name != PRODUCER_IDS:
        return f"set {name}={value} in the brokers' configuration, and restart them one after the other"
    return f"kafka-configs --alter --entity-type brokers --entity-default --add-config {name}={value}"
