"""Topics of a link that one broker's metadata leaves out, or has under another id: a plan must not lose them by that.

The other brokers are asked.  While it is not certain that a topic is gone, it stays in the plan as it was last seen.
It is gone once every broker has said so at each asking for ``GONE_S``: where they could not be asked meanwhile, that
time begins again.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping

from anabranch.kafka.cluster import Cluster, ClusterMetadata, TopicMeta
from anabranch.kafka.presence import Absence, Presence, ask_all
from anabranch.model.reasons import Reason, Severity


class RememberedTopics:
    """What is remembered of one cluster's topics from plan to plan."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._seen: dict[str, TopicMeta] = {}
        self._absences: dict[str, Absence] = {}
        self._gone: set[tuple[str, uuid.UUID]] = set()

    async def put_back(
        self, metadata: ClusterMetadata, wanted: Mapping[str, uuid.UUID]
    ) -> tuple[list[Reason], frozenset[str]]:
        """Add to the answer of one broker what it lacks of topics known by these ids, and say what is in doubt.

        The names are those of topics that are there from memory only: no broker that answers can tell more of them.
        Raises ClusterError.
        """
        missing = {}
        for name, topic_id in wanted.items():
            meta = metadata.topics.get(name)
            if meta is not None and (meta.id == topic_id or meta.error):
                self._saw(name, meta)
            elif (name, topic_id) not in self._gone:
                missing[name] = topic_id
        self._absences = {name: self._absences.get(name, Absence()) for name in missing}
        if not missing:
            return [], frozenset()
        findings, remembered = [], set()
        for name, presence in (await ask_all(self._cluster, missing)).items():
            found = presence.there or (presence.other if presence.is_made_again else None)
            if found is not None:
                self._saw(name, found)
                metadata.topics[name] = found
            elif not self._is_gone(presence, missing[name]) and not presence.refusing:
                if name in self._seen and self._seen[name].id == missing[name]:
                    metadata.topics[name] = self._seen[name]
                    remembered.add(name)
                findings.append(Reason.found(Severity.WARNING, f"{self._cluster.name}: {presence.told}"))
        return findings, frozenset(remembered)

    def begin_again(self) -> None:
        """The brokers could not be asked: what they said before does not count as said all the time."""
        self._absences.clear()

    def _saw(self, name: str, meta: TopicMeta) -> None:
        if not meta.error:
            self._seen[name] = meta
            self._absences.pop(name, None)
            self._gone.discard((name, meta.id))

    def _is_gone(self, presence: Presence, topic_id: uuid.UUID) -> bool:
        lasts = self._absences[presence.topic].lasts(presence.is_gone)
        if not presence.is_gone or (presence.topic in self._seen and not lasts):
            return False
        self._gone.add((presence.topic, topic_id))
        return True
