"""Check explicit start offsets against the source, before a link with them is stored.

A lane that starts beyond its log would make a target log that starts there too, and stop.  An offset of a partition
that the link does not copy would never be used.  Both are mistakes, and are found here at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from anabranch.kafka.cluster import Cluster
from anabranch.kafka.start import OutsideLogError, look_up
from anabranch.model.reasons import Reason, Severity
from anabranch.model.reports import TopicPlan
from anabranch.model.start import StartPosition
from anabranch.model.topics import TopicPartition


async def check(
    source: Cluster, start: StartPosition, topics: Sequence[TopicPlan], source_topics: Iterable[str]
) -> list[Reason]:
    """An error for each offset at which no lane can start; ``source_topics`` are the source's topics that we may see.

    Raises BrokerRefusedError for a partition without a leader, ClusterError.
    """
    unused = unused_offsets(start.offsets, topics, frozenset(source_topics), source.name, source.transport.principal)
    partitions = [partition for partition in start.offsets if partition not in unused]
    found = dict(unused)
    try:
        await look_up(source, start, partitions)
    except OutsideLogError as error:
        found |= outside_log(error)
    return [found[partition] for partition in sorted(found)]


def unused_offsets(
    partitions: Iterable[TopicPartition],
    topics: Sequence[TopicPlan],
    source_topics: frozenset[str],
    cluster: str,
    principal: str,
) -> dict[TopicPartition, Reason]:
    """Those of the given partitions that no lane of the link reads, and why."""
    copied = {topic.source: topic.partitions for topic in topics}
    found = {}
    for partition in partitions:
        name, number = partition.topic, copied.get(partition.topic)
        if number is not None and partition.partition < number:
            continue
        if name not in source_topics:
            what = f"{cluster} has no topic {name} that {principal} may see"
            fix = f"correct the name, or leave {partition} out of --start"
        elif number is None:
            what = f"topic {name} is not among those that the link copies"
            fix = f"let the filter match it (--include, --exclude), or leave {partition} out of --start"
        else:
            what = f"topic {name} of {cluster} has {number:,} partition{'' if number == 1 else 's'}, from 0 on"
            fix = f"correct the partition's number, or leave {partition} out of --start"
        found[partition] = Reason.found(Severity.ERROR, f"a start offset is given for {partition}: {what}", fix)
    return found


def outside_log(error: OutsideLogError) -> dict[TopicPartition, Reason]:
    """A finding for each offset that its log does not have."""
    return {
        partition: Reason.found(
            Severity.ERROR,
            f"start offset {offset:,} of {partition} is outside of the log of {error.cluster}, {start:,} to {end:,}",
            f"give an offset from {start:,} to {end:,}, or none: {partition} then begins at its earliest record",
        )
        for partition, (offset, start, end) in error.outside.items()
    }
