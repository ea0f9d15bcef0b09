"""The quorum of controllers, of which there is one here.

Source: ``KafkaRaftClient.handleDescribeQuorumRequest`` and ``LeaderState.describeReplicaState``, KIP-836: the leader
has read its own log at the moment of the question.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kafka.protocol.admin import DescribeQuorumRequest, DescribeQuorumResponse

from anabranch.kafka.simulated.access import CLUSTER, CLUSTER_NAME, DESCRIBE
from anabranch.kafka.simulated.apis.common import may
from anabranch.kafka.simulated.broker import ClientSession, Handler

_Reply = Callable[[Any], None]
_CONTROLLER = 1


def describe(session: ClientSession, request: Any, version: int, reply: _Reply) -> None:
    """DescribeQuorum of the metadata log; who may not is told so of the whole question."""
    code, now = may(session, DESCRIBE, CLUSTER, CLUSTER_NAME), session.broker.cluster.timers.wall_ms()
    topic = DescribeQuorumResponse.TopicData
    partition = topic.PartitionData
    leader = partition.ReplicaState(
        replica_id=_CONTROLLER, log_end_offset=0, last_fetch_timestamp=now, last_caught_up_timestamp=now
    )
    told = partition(
        partition_index=0,
        error_code=0,
        error_message=None,
        leader_id=_CONTROLLER,
        leader_epoch=1,
        high_watermark=0,
        current_voters=[leader],
        observers=[],
    )
    topics = [] if code else [topic(topic_name=one.topic_name, partitions=[told]) for one in request.topics]
    reply(DescribeQuorumResponse(error_code=code, error_message=None, topics=topics, nodes=[]))


APIS = (Handler(DescribeQuorumRequest, describe),)
