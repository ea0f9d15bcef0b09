"""Kafka in memory: brokers that answer the wire protocol as the real ones do, for tests that real ones make slow.

One simulation for every use.  It stands below the connection: it is given the bytes of requests and gives the bytes of
responses, whether they come over a socket (:mod:`anabranch.kafka.simulated.server`) or from a simulated network.  Time
is what its ``Timers`` say, so that a month may pass within a second, and a day is a day where it is a real clock's.

What it claims to do, it does as brokers do: the contract tests hold it to the same facts as each version of the real
one, and differential tests to the same answers.  What it does not do, it refuses by ending the connection, and keeps in
``SimulatedCluster.unanswered``.
"""

from anabranch.kafka.simulated.cluster import ClusterPlan, SimulatedCluster
from anabranch.kafka.simulated.versions import VERSIONS

__all__ = ["VERSIONS", "ClusterPlan", "SimulatedCluster"]
