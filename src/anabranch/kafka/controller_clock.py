"""The clock of a cluster's active controller, beside that of this machine.

Brokers of a KRaft cluster tell it from 3.3 on (KIP-836): of the leader of the metadata log, which is the active
controller, ``DescribeQuorum`` says when it has read last, and of a leader that is the moment of the question.  So it is
known within the time that the question takes.  The clocks of other brokers are not told.
"""

from __future__ import annotations

from kafka.protocol.admin import DescribeQuorumRequest

from anabranch.kafka.cluster import Cluster
from anabranch.kafka.errors import UnsupportedApiError
from anabranch.model.clock import now_ms
from anabranch.model.skew import ClockSkew, skew

_TRIES = 3
_LOG = "__cluster_metadata"


async def clock_skew(cluster: Cluster) -> ClockSkew | None:
    """How far the clock here is ahead of the controller's, by the quickest of some answers; None where it is not told.

    Needs DESCRIBE on the cluster.  Raises PermissionDeniedError, ClusterError.
    """
    found: ClockSkew | None = None
    topic = DescribeQuorumRequest.TopicData
    partition = topic.PartitionData(partition_index=0)
    for _ in range(_TRIES):
        request = DescribeQuorumRequest(topics=[topic(topic_name=_LOG, partitions=[partition])])
        asked = now_ms()
        try:
            response = await cluster.call(request)
        except UnsupportedApiError:
            return None
        answered = now_ms()
        cluster.check(response.error_code, "Describe", "cluster")
        for told in (one for each in response.topics for one in each.partitions):
            cluster.check(told.error_code, "Describe", "cluster")
            for voter in told.current_voters:
                if voter.replica_id == told.leader_id and (voter.last_fetch_timestamp or 0) > 0:
                    one = skew(asked, voter.last_fetch_timestamp, answered)
                    found = one if found is None or one.within_ms < found.within_ms else found
    return found
