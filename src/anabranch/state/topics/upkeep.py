"""Whether the control topics still are what a link needs: looked at before it is made, and each time it is planned."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from anabranch.errors import RefusedError
from anabranch.kafka import admin
from anabranch.kafka.cluster import Cluster, ClusterMetadata, TopicMeta
from anabranch.kafka.ends import ends
from anabranch.kafka.errors import UNKNOWN_TOPIC
from anabranch.model.reasons import Reason, Severity
from anabranch.model.topics import TopicPartition
from anabranch.state.codecs import topics

SETTLE_S = 3.0
_LOOK_S = 0.2


@dataclass(eq=False)
class ControlTopicsError(RefusedError):
    """Control topics have settings under which they lose what a link needs; ``findings`` are all of them."""

    cluster: str
    findings: tuple[Reason, ...]

    @property
    def message(self) -> str:
        return f"cluster {self.cluster}: " + "; ".join(finding.what for finding in self.findings)

    @property
    def hint(self) -> str:
        return "; ".join(finding.fix for finding in self.findings)


async def look_after(cluster: Cluster, names: Sequence[str] = topics.ALL) -> list[Reason]:
    """What is wrong with the control topics that are there; errors are what loses records.  Raises ClusterError."""
    answer = await _settled(cluster, names)
    there = {name: answer.topics[name] for name in names if answer.topics[name].error == 0}
    if not there:
        return []
    configs = await admin.topic_configs(cluster, there)
    logs = await ends(cluster, [TopicPartition(name, 0) for name in there])
    # Where nothing was ever written to any of them, whoever made them was ended before all were there.
    is_used = any(end for _, end in logs.values())
    found = [_missing(name) for name in names if is_used and answer.topics[name].error == UNKNOWN_TOPIC]
    for name, topic in there.items():
        found += _shape(name, topic)
        if name not in configs:
            principal = cluster.transport.principal
            found.append(
                Reason.found(
                    Severity.WARNING,
                    f"{principal} may not DescribeConfigs on {name}: whether it keeps its records is not known",
                    f"kafka-acls --add --allow-principal {principal} --operation DescribeConfigs --topic {name}",
                )
            )
            continue
        told = {key: config.value for key, config in configs[name].items()}
        replicas = min((len(part.replicas) for part in topic.partitions.values()), default=1)
        for severity, why, wrong in (
            (Severity.ERROR, "it loses records that links need", topics.forgets(told, replicas)),
            (Severity.WARNING, "it is made with more", topics.drifts(told, replicas)),
        ):
            for key, (value, wanted) in wrong.items():
                what = f"control topic {name} has {key}={value}, and must have {wanted}: {why}"
                found.append(
                    Reason.found(severity, what, f"kafka-configs --alter --topic {name} --add-config {key}={wanted}")
                )
    return found + _shortened(logs)


async def _settled(cluster: Cluster, names: Sequence[str]) -> ClusterMetadata:
    """What the cluster says of the topics; where it does not know some, what it says a moment later.

    A topic that was made just now is not known to every broker yet.
    """
    deadline = time.monotonic() + SETTLE_S
    while True:
        answer = await cluster.metadata(list(names))
        unknown = sum(answer.topics[name].error == UNKNOWN_TOPIC for name in names)
        if unknown in {0, len(names)} or time.monotonic() >= deadline:
            return answer
        await asyncio.sleep(_LOOK_S)


def _missing(name: str) -> Reason:
    return Reason.found(
        Severity.ERROR,
        f"control topic {name} is missing, and others are there: it was deleted",
        "see what that means for each lane, then let it be made again: anabranch link accept LINK",
    )


def _shape(name: str, topic: TopicMeta) -> list[Reason]:
    if len(topic.partitions) == topics.PARTITIONS:
        return []
    what = f"control topic {name} has {len(topic.partitions):,} partitions, and must have one: only the first is read"
    return [Reason.found(Severity.WARNING, what)]


def _shortened(logs: Mapping[TopicPartition, tuple[int, int]]) -> list[Reason]:
    """Nothing moves the start of a topic that is only compacted."""
    return [
        Reason.found(
            Severity.WARNING,
            f"control topic {at.topic} begins at offset {start:,}: the records before it were deleted, by retention or "
            "by hand; a lane whose claims are gone stops",
            "`anabranch link show LINK` names such lanes, `anabranch link accept LINK` shows how each goes on",
        )
        for at, (start, _) in sorted(logs.items())
        if start > 0
    ]
