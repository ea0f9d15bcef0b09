"""What the answers of several APIs have in common: where a partition is led, and who may see it."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping
from functools import lru_cache
from typing import Any

from anabranch.kafka.acl_numbers import NUMBER_OF_OPERATION
from anabranch.kafka.simulated.access import DESCRIBE, REFUSED, TOPIC
from anabranch.kafka.simulated.broker import ClientSession
from anabranch.kafka.simulated.partition import NOT_LEADER, Replica, SimulatedPartition
from anabranch.model.acls import AclOperation, ResourceType

UNKNOWN, INVALID_NAME = 3, 17
WORDS: Mapping[int, str] = {
    UNKNOWN: "This server does not host this topic-partition.",
    29: "Topic authorization failed.",
    31: "Cluster authorization failed.",
    42: "This most likely occurs because of a request being malformed by the client library or the message was sent to "
    "an incompatible broker. See the broker logs for more details.",
    100: "This server does not host this topic ID.",
}
"""What a broker says of a code where it has nothing of its own to say."""
_LONGEST_NAME = 249
_NAME = re.compile("[a-zA-Z0-9._-]+")


@lru_cache(maxsize=8192)
def encoded(response: Callable[..., Any], version: int, *said: Hashable) -> bytes:
    """The bytes of an answer that says this, of which ``response`` makes the library's object.

    Most answers are told again and again, and encoding one costs far more than all that is behind it.
    """
    return bytes(response(*said).encode(version=version))


def may(session: ClientSession, operation: AclOperation, kind: ResourceType, name: str) -> int:
    """0 where the client may do something, else the code that says what it may not."""
    allowed = session.broker.cluster.access.allows(session.principal, session.host, operation, kind, name)
    return 0 if allowed else REFUSED[kind]


def why_no_name(name: str) -> str | None:
    """Why a topic cannot be called so; None where it can."""
    if not name:
        return "Topic name is invalid: the empty string is not allowed"
    if name in {".", ".."}:
        return f"Topic name is invalid: '{name}' is not allowed"
    if len(name) > _LONGEST_NAME:
        return f"Topic name is invalid: the length of '{name}' is longer than the max allowed length {_LONGEST_NAME}"
    if not _NAME.fullmatch(name):
        return (
            f"Topic name is invalid: '{name}' contains one or more characters other than ASCII alphanumerics, '.', '_' "
            "and '-'"
        )
    return None


def operations_of(session: ClientSession, kind: ResourceType, name: str) -> set[int]:
    """What the client may do with a resource, as numbers of the protocol; nothing where it may not describe it."""
    if may(session, DESCRIBE, kind, name):
        return set()
    allowed = session.broker.cluster.access.operations(session.principal, session.host, kind, name)
    return {NUMBER_OF_OPERATION[one] for one in allowed}


def find(
    session: ClientSession, operation: AclOperation, topic: str, index: int
) -> tuple[int, SimulatedPartition | None]:
    """(code, partition) of a topic by its name, as far as the broker knows it and the client may."""
    code = may(session, operation, TOPIC, topic)
    if code:
        return code, None
    broker = session.broker
    found = broker.cluster.topics.get(topic)
    now = broker.cluster.timers.monotonic()
    if found is None or found.known[broker.node] > now or not 0 <= index < len(found.partitions):
        return UNKNOWN, None
    return 0, found.partitions[index]


def led(
    session: ClientSession, operation: AclOperation, topic: str, index: int
) -> tuple[int, SimulatedPartition | None]:
    """As ``find``, with the code for a broker that does not lead the partition, as far as it knows."""
    code, partition = find(session, operation, topic, index)
    if partition is None:
        return code, None
    if session.broker.node not in partition.replicas:
        return UNKNOWN, None
    return (0 if session.broker.leads(partition)[0] == session.broker.node else NOT_LEADER), partition


def epoch_refusal(session: ClientSession, partition: SimulatedPartition, current: int) -> int:
    """The code for a request that names another leader epoch than the one that the broker knows."""
    known = session.broker.leads(partition)[1]
    if current < 0 or current == known:
        return 0
    return 74 if current < known else 75


def mine(session: ClientSession, partition: SimulatedPartition) -> Replica:
    """The broker's own replica."""
    return partition.replicas[session.broker.node]
