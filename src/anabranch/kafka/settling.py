"""Topics that were made just now.

The controller answers CreateTopics before its brokers have read of the topic (KIP-631: they follow its log), and each
of them shows it in its metadata before it leads its partitions: until then it answers 3, 5 or 6.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection

from anabranch.errors import AnabranchError
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.ends import ends
from anabranch.kafka.errors import UNKNOWN_TOPIC, PermissionDeniedError, passing
from anabranch.model.topics import TopicPartition

SETTLE_S = 30.0
_PAUSE_S = 0.05


async def until_led(cluster: Cluster, topics: Collection[str]) -> None:
    """Return when the leaders of all partitions of these topics answer for them; raises what was said last, after 30 s.

    Who may not ask returns at once: what comes next says what is not allowed.
    """
    deadline = time.monotonic() + SETTLE_S
    while topics:
        try:
            found = (await cluster.metadata(topics)).topics
            for name in topics:
                lacks = 0 if found[name].partitions else UNKNOWN_TOPIC
                cluster.check(found[name].error or lacks, "Describe", f"topic {name}")
            await ends(cluster, [TopicPartition(name, number) for name in topics for number in found[name].partitions])
            return
        except PermissionDeniedError:
            return
        except AnabranchError as error:
            if not passing(error) or time.monotonic() > deadline:
                raise
        await asyncio.sleep(_PAUSE_S)
