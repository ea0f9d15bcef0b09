"""How long a broker takes for small requests, and for how long it says that a quota holds this client up.

A metadata request for no topic costs a broker next to nothing: what it takes is the network, and the queue before the
broker's threads.  A quota for writing is told in each answer to Produce while it is exceeded, also where nothing is
written.  One for reading is not told to a Fetch of nothing: brokers do not count a read that they refuse, so that all
who read stay just below it.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from kafka.protocol.metadata import MetadataRequest

from anabranch.kafka import produce
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
    times: list[float] = []
    throttle_ms = 0.0
    while len(times) < _TIMES and not throttle_ms:
        began = time.perf_counter()
        answer = await connection.call(request, _ANSWER_S, cap=12)
        times.append((time.perf_counter() - began) * 1000)
        throttle_ms = float(answer.throttle_time_ms or 0)
    if role is ClusterRole.TARGET and not throttle_ms:
        throttle_ms = 1000 * await _told_to_writers(connection)
    if not throttle_ms:
        return RoundTrips(tuple(times), 0.0)
    # A broker reads nothing more from it for so long: who asks there next would take it for silent.
    connection.abort("a quota holds it up")
    return RoundTrips((), throttle_ms)


async def _told_to_writers(connection: Connection) -> float:
    frame = await produce.submit(connection, [], timeout_ms=1_000, margin=_ANSWER_S)
    try:
        return produce.parse_with_throttle(frame, produce.version_for(connection))[0]
    finally:
        frame.release()
