"""``__anabranch_access`` on a target: which access rules and quotas were made there, and for which waves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from anabranch.kafka.cluster import Cluster
from anabranch.kafka.log import KeyedLog
from anabranch.migration.access.values import Made, QuotaKey, WaveName
from anabranch.model.acls import Acl
from anabranch.state.codecs import access as codec
from anabranch.state.codecs import topics
from anabranch.state.codecs.access import AccessKey
from anabranch.state.topics.control import ensure_topics, present, write


class AccessRecord:
    """The topic as one reader and writer sees it; it is made when something is first written."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._log = KeyedLog(cluster, topics.ACCESS)
        self.made: dict[WaveName, Made] = {}

    async def sync(self) -> None:
        """Read what changed; nothing where the topic is not there."""
        if not await present(self._cluster, [topics.ACCESS]):
            return
        for entry in await self._log.read():
            owner, what = codec.decode_key(entry.key)
            before = self.made.get(owner, Made())
            if isinstance(what, Acl):
                if entry.value is not None:
                    codec.decode_rule(entry.value)
                rules = before.rules - {what} if entry.value is None else before.rules | {what}
                self.made[owner] = replace(before, rules=rules)
            else:
                quotas = {key: values for key, values in before.quotas.items() if key != what}
                if entry.value is not None:
                    quotas[what] = codec.decode_quota(entry.value)
                self.made[owner] = replace(before, quotas=quotas)

    async def put(self, wanted: Mapping[WaveName, Made]) -> None:
        """Store what has changed of some waves, all acknowledged when this returns; raises ControlLostError."""
        entries = [
            (codec.encode_key(AccessKey(owner, what)), value)
            for owner, made in wanted.items()
            for what, value in _changed(self.made.get(owner, Made()), made)
        ]
        if entries:
            await ensure_topics(self._cluster, [topics.ACCESS])
            await write(self._log, entries)
        self.made |= wanted


def _changed(before: Made, made: Made) -> Iterator[tuple[Acl | QuotaKey, bytes | None]]:
    for rule in sorted(before.rules ^ made.rules):
        yield rule, codec.encode_rule() if rule in made.rules else None
    for key in sorted({*before.quotas, *made.quotas}, key=str):
        if before.quotas.get(key) != (values := made.quotas.get(key)):
            yield key, None if values is None else codec.encode_quota(values)
