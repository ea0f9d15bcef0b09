"""Whether a cluster that seems to be gone answers anywhere after all."""

from __future__ import annotations

import asyncio

from anabranch.errors import ClusterError
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.connection import Connection
from anabranch.kafka.errors import ConnectionLostError
from anabranch.model.clock import monotonic

_AGAIN_S = 0.5


async def answering(cluster: Cluster, within_s: float) -> tuple[str, ...]:
    """The bootstrap servers of a cluster that answer; none once each was asked for so many seconds in vain.

    One that refuses who we are answers, too.  It ends at the first round in which one does.
    """
    deadline = monotonic() + within_s
    while True:
        left = max(_AGAIN_S, deadline - monotonic())
        asked = cluster.addresses
        told = await asyncio.gather(*(_answers(cluster, *address, left) for address in asked))
        if found := tuple(f"{host}:{port}" for (host, port), answers in zip(asked, told, strict=True) if answers):
            return found
        if monotonic() >= deadline:
            return ()
        await asyncio.sleep(_AGAIN_S)


async def _answers(cluster: Cluster, host: str, port: int, within_s: float) -> bool:
    try:
        opened = await Connection.open(cluster.transport, f"{host}:{port}", host, port, cluster.pool, within_s)
    except ConnectionLostError:
        return False
    except ClusterError:
        return True
    opened.abort("it answered")
    return True
