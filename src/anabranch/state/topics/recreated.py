"""Whether the control topics are those that a link was begun with, by their ids.

Whoever reads a topic notices that it was deleted and made again meanwhile; what was done while nobody read shows only
here.  Such a topic is empty: where claims, runs and progress are, a lane would begin again and copy everything twice.
A topic whose id was not told when the link was begun, or is not told now, is not compared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from anabranch.errors import RefusedError
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.presence import locate
from anabranch.model.reasons import Reason, Severity
from anabranch.model.topics import TopicId
from anabranch.state.codecs import topics


@dataclass(eq=False)
class ControlTopicsRecreatedError(RefusedError):
    """Control topics are others than those that the link was begun with: what these told of its lanes is lost."""

    link: str
    cluster: str
    topics: tuple[str, ...]

    @property
    def message(self) -> str:
        return f"cluster {self.cluster}: {_what(self.link, self.topics)}"

    @property
    def hint(self) -> str:
        return _fix(self.link)


def finding(link: str, recreated: Sequence[str]) -> Reason:
    """The same, as ``link show`` says it."""
    return Reason.found(Severity.ERROR, _what(link, recreated), _fix(link))


async def topic_ids(cluster: Cluster) -> dict[str, TopicId]:
    """The ids of the control topics that are there, as far as the cluster tells them; raises ClusterError."""
    answer = await cluster.metadata(list(topics.ALL))
    found = {name: answer.topics[name] for name in topics.ALL}
    return {name: TopicId(topic.id) for name, topic in found.items() if topic.error == 0 and topic.id.int}


async def recreated(cluster: Cluster, begun: Mapping[str, TopicId], now: Mapping[str, TopicId]) -> tuple[str, ...]:
    """The topics that were ``begun`` with another id than they have ``now``, as all brokers say.

    Raises ClusterError where a broker does not say and none knows the topic under its former id.
    """
    found = []
    for name, topic_id in sorted(begun.items()):
        if now.get(name, topic_id) != topic_id:
            _, part = await locate(cluster, name, 0, topic_id.uuid)
            if part is None:
                found.append(name)
    return tuple(found)


def _what(link: str, recreated: Sequence[str]) -> str:
    names = ", ".join(recreated)
    were = f"topics {names} were" if len(recreated) > 1 else f"topic {names} was"
    return f"control {were} deleted and made again since link {link!r} was begun: what stood there of its lanes is lost"


def _fix(link: str) -> str:
    return f"end every run, see what that means for each lane, then accept it: anabranch link accept {link}"
