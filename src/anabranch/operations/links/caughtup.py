"""What a link has to have copied to be caught up, and whether the target still has it, whether the link runs or not."""

from __future__ import annotations

from dataclasses import dataclass

from anabranch.errors import RefusedError
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.ends import ends
from anabranch.kafka.log_ends import log_ends
from anabranch.kafka.same_cluster import check_cluster
from anabranch.model.caughtup import Goal, SourceLog
from anabranch.model.clock import now_ms
from anabranch.model.filters import load, select
from anabranch.model.reasons import errors
from anabranch.model.reports import LinkStatus
from anabranch.model.topics import TopicId, TopicPartition
from anabranch.operations.links.status import stored
from anabranch.state.topics.recreated import ControlTopicsRecreatedError, recreated, topic_ids


@dataclass(eq=False)
class CopyGoneError(RefusedError):
    """What was persisted as copied is not, or not all, on the target any more."""

    link: str
    partition: str
    more: int
    why: str

    @property
    def message(self) -> str:
        others = f" and {self.more:,} more" if self.more else ""
        return f"link {self.link!r}: target partition {self.partition}{others} {self.why}: what was copied is not there"

    _hint = "`anabranch link show {link}` says what its lanes make of it, once it runs: `anabranch link run {link}`"


async def check_held(target: Cluster, status: LinkStatus) -> None:
    """Raise CopyGoneError unless the target has the topics that lanes copied into, up to where they copied.

    Persisted positions tell of a topic that was deleted, made again or truncated only once the link has run since.
    Raises ControlTopicsRecreatedError where the positions themselves are not the link's, and ClusterError.
    """
    if errors(status.findings):
        others = tuple(status.record.control_topics)
        raise ControlTopicsRecreatedError(status.spec.id, target.name, await _recreated(target, status) or others)
    links, _ = await stored(target, status.spec.id)
    ids = {topic.target: topic.target_id for topic in links.topics_of(status.spec.id)}
    answer = await target.metadata(sorted({lane.target.topic for lane in status.lanes}))
    found = await log_ends(target, [lane.target for lane in status.lanes])
    gone: dict[str, str] = {}
    for lane in status.lanes:
        at = lane.target
        topic = answer.topics[at.topic]
        if at not in found:
            gone[str(at)] = "is not there"
        elif at.topic in ids and topic.id.int and ids[at.topic] != TopicId(topic.id):
            gone[str(at)] = "was made again"
        elif found[at].end < lane.target_end:
            gone[str(at)] = f"ends at {found[at].end:,}, not at {lane.target_end:,}"
    if gone:
        first, why = next(iter(gone.items()))
        raise CopyGoneError(status.spec.id, first, len(gone) - 1, why)


async def _recreated(target: Cluster, status: LinkStatus) -> tuple[str, ...]:
    return await recreated(target, status.record.control_topics, await topic_ids(target))


async def goal(source: Cluster, target: Cluster, link_id: str) -> Goal:
    """The source's logs as they are now; raises UnknownLinkError, ClusterError where either cluster is not reached."""
    _, record = await stored(target, link_id)
    read_at = now_ms()
    answer = await source.metadata(None)
    check_cluster(source.name, record.wanted.spec.source.cluster_id, answer)
    there = {topic.name: topic for topic in answer.topics.values() if not topic.internal}
    topics = [there[name] for name in select(load(record.wanted.spec.filter), list(there))]
    for topic in topics:
        source.check(topic.error, "Describe", f"topic {topic.name}")
    found = await ends(source, [TopicPartition(t.name, index) for t in topics for index in t.partitions], stable=True)
    ids = {topic.name: TopicId(topic.id) for topic in topics}
    logs = {at: SourceLog(ids[at.topic], start, end) for at, (start, end) in sorted(found.items())}
    return Goal(link_id, read_at, logs)
