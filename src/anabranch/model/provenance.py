"""Where records come from: what keeps two opposite links from looping, and refuses a ring of three.

Two links in opposite directions are fine: a topic that a link fills is known by its topic id
(``MirroredTopic``) and the opposite link leaves it out.  Over three clusters nobody sees all of the topics,
so a link whose target's records would come back to it through another cluster is refused as a whole.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from anabranch.errors import RefusedError
from anabranch.model.link import LinkRecord, MirroredTopic
from anabranch.model.topics import TopicId


@dataclass(eq=False)
class RingError(RefusedError):
    """A link would close a ring: the target's own records would come back to it."""

    link: str
    target: str
    path: tuple[str, ...]

    @property
    def message(self) -> str:
        return f"link {self.link!r} would close a ring of clusters: {' -> '.join(self.path)}"

    @property
    def hint(self) -> str:
        return f"delete one of its links, or link {self.path[0]} and {self.path[-2]} directly in both directions"


def origins(source: str, into_source: Iterable[LinkRecord]) -> tuple[str, ...]:
    """Ids of the clusters whose records a link from ``source`` may carry: the source first, the others
    sorted.

    ``into_source`` are the links stored on the source, that is those that copy into it.
    """
    upstream = {o for record in into_source for o in record.origins}
    return (source, *sorted(upstream - {source}))


def check_ring(link: str, source: str, target: str, into_source: Iterable[LinkRecord]) -> None:
    """Raise ``RingError`` if records of ``target`` reach ``source`` through a third cluster.

    All are cluster ids.  The direct opposite link (from ``target`` into ``source``) is no ring.  Origins are
    those that each link knew last, so this is asked again whenever a running link plans its lanes.
    """
    for record in into_source:
        via = record.wanted.spec.source.cluster_id
        if via != target and target in record.origins:
            raise RingError(link, target, (target, via, source, target))


def mirrored_by_opposite(
    target: str, into_source: Iterable[LinkRecord], topics: Iterable[MirroredTopic]
) -> frozenset[TopicId]:
    """Ids of the source's topics that a link from ``target`` fills: copying them back would loop."""
    opposite = {r.wanted.spec.id for r in into_source if r.wanted.spec.source.cluster_id == target}
    return frozenset(t.target_id for t in topics if t.link in opposite)
