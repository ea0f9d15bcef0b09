"""Given start offsets held against a source, before a link with them is stored.

A lane that begins beyond its log makes a target log that begins there too, and stops; what
names a partition that the link does not copy is never looked at.  Both are a person's slip, found here at once.
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
    source: Cluster, start: StartPosition, topics: Sequence[TopicPlan], there: Iterable[str]
) -> list[Reason]:
    """An error for each given offset at which no lane can begin; ``there`` are the source's topics that we may see.

    Raises BrokerRefusedError for a partition without a leader, ClusterError.
    """
    unused = strangers(start.offsets, topics, frozenset(there), source.name, source.transport.principal)
    partitions = [partition for partition in start.offsets if partition not in unused]
    found = dict(unused)
    try:
        await look_up(source, start, partitions)
    except OutsideLogError as error:
        found |= outside(error)
    return [found[partition] for partition in sorted(found)]


def strangers(
    given: Iterable[TopicPartition],
    topics: Sequence[TopicPlan],
    there: frozenset[str],
    cluster: str,
    principal: str,
) -> dict[TopicPartition, Reason]:
    """Those of the given partitions that no lane of the link reads, and why."""
    copied = {topic.source: topic.partitions for topic in topics}
    found = {}
    for partition in given:
        name, number = partition.topic, copied.get(partition.topic)
        if number is not None and partition.partition < number:
            continue
        if name not in there:
            what = f"{cluster} has no topic {name} that {principal} may see"
            fix = f"mend the name, or leave {partition} out of --start"
        elif number is None:
            what = f"topic {name} is not among those that the link copies"
            fix = f"let the filter match it (--include, --exclude), or leave {partition} out of --start"
        else:
            what = f"topic {name} of {cluster} has {number:,} partition{'' if number == 1 else 's'}, from 0 on"
            fix = f"mend the partition's number, or leave {partition} out of --start"
        found[partition] = Reason.found(Severity.ERROR, f"a start offset is given for {partition}: {what}", fix)
    return found


def outside(error: OutsideLogError) -> dict[TopicPartition, Reason]:
    """A finding for each offset that its log does not have."""
    return {
        partition: Reason.found(
            Severity.ERROR,
            f"start offset {given:,} of {partition} is outside of the log of {error.cluster}, {start:,} to {end:,}",
            f"give an offset from {start:,} to {end:,}, or none: {partition} then begins at its earliest record",
        )
        for partition, (given, start, end) in error.outside.items()
    }
