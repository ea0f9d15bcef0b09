"""How long a broker takes for small requests, and for how long it says that a quota holds this client up.

A metadata request for no topic costs a broker next to nothing: what it takes is the network, and the queue before the
broker's threads.  Quotas for reading and writing are told in answers to Fetch and Produce alone, whatever these ask
for; so are asked for nothing.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from kafka.protocol.metadata import MetadataRequest

from anabranch.kafka import fetch, produce
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.connection import Connection
from anabranch.kafka.probe import ClusterRole

_PURPOSE = "round trips"  # a connection of its own: on another one what was asked before it would be measured
_TIMES = 5
_ANSWER_S = 5.0


@dataclass(frozen=True, slots=True)
class RoundTrips:
    """How long each request took, in ms, none where a quota held us up; and for how long one does, in ms."""

    times_ms: tuple[float, ...]
    throttle_ms: float


async def round_trips(cluster: Cluster, node: int, role: ClusterRole) -> RoundTrips:
    """Ask a broker a few times, one after the other; raises ClusterError, ProtocolError."""
    connection = await cluster.connection(node, _PURPOSE)
    request = MetadataRequest(topics=[], allow_auto_topic_creation=False)
    times = []
    for _ in range(_TIMES):
        began = time.perf_counter()
        answer = await connection.call(request, _ANSWER_S, cap=12)
        times.append((time.perf_counter() - began) * 1000)
        if answer.throttle_time_ms:
            return RoundTrips((), float(answer.throttle_time_ms))
    throttle_s = await (_told_to_readers if role is ClusterRole.SOURCE else _told_to_writers)(connection)
    connection.throttled(throttle_s)
    return RoundTrips(tuple(times), throttle_s * 1000)


async def _told_to_readers(connection: Connection) -> float:
    frame = await fetch.submit(connection, [], max_wait_ms=0, max_bytes=1, min_bytes=0, timeout=_ANSWER_S)
    try:
        return fetch.throttle_of(frame)
    finally:
        frame.release()


async def _told_to_writers(connection: Connection) -> float:
    frame = await produce.submit(connection, [], timeout_ms=1_000, margin=_ANSWER_S)
    try:
        return produce.parse_with_throttle(frame, produce.version_for(connection))[0]
    finally:
        frame.release()
