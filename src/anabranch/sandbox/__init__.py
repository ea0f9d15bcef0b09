"""Real Kafka clusters on this machine, for the demo, the tests and the benchmarks.

``ClusterSpec`` says what is wanted, ``Cluster.start`` brings it up, ``start_replay`` feeds it from a process of its
own.  Nothing here is needed to run a link.
"""

from anabranch.sandbox.broker import BrokerProcess
from anabranch.sandbox.cluster import SandboxCluster, start_clusters
from anabranch.sandbox.proxy import Proxy, ProxyState
from anabranch.sandbox.replay_plan import ReplayPlan, ReplayReport
from anabranch.sandbox.replay_process import ReplayProcess, start_replay
from anabranch.sandbox.spec import VERSIONS, ClusterSpec, ListenerSecurity

__all__ = [
    "VERSIONS",
    "BrokerProcess",
    "ClusterSpec",
    "ListenerSecurity",
    "Proxy",
    "ProxyState",
    "ReplayPlan",
    "ReplayProcess",
    "ReplayReport",
    "SandboxCluster",
    "start_clusters",
    "start_replay",
]
