"""Consumer groups: what they are, what they committed, and whether anyone reads in them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from anabranch.model.topics import TopicPartition


class GroupKind(StrEnum):
    """What keeps a group's position, and so who may move it.

    ``classic`` consumers (JoinGroup) and ``consumer`` ones (KIP-848) commit offsets and are moved alike, as is a
    ``simple`` group, which commits without members.  ``share`` groups (KIP-932) keep a state for each record,
    ``streams`` applications (either protocol), ``connect`` workers and ``schemas`` registries keep positions
    or contents in topics of their own: those are listed with advice, and never moved blindly.
    """

    CLASSIC = "classic"
    CONSUMER = "consumer"
    SIMPLE = "simple"
    SHARE = "share"
    STREAMS = "streams"
    CONNECT = "connect"
    SCHEMAS = "schemas"

    @property
    def is_movable(self) -> bool:
        """Whether its committed offsets are all of its position."""
        return self in (GroupKind.CLASSIC, GroupKind.CONSUMER, GroupKind.SIMPLE)


class GroupState(StrEnum):
    """A group's state as brokers name it, in one spelling for all protocols (GroupState.java)."""

    EMPTY = "empty"
    DEAD = "dead"
    STABLE = "stable"
    PREPARING_REBALANCE = "preparing_rebalance"
    COMPLETING_REBALANCE = "completing_rebalance"
    ASSIGNING = "assigning"
    RECONCILING = "reconciling"
    NOT_READY = "not_ready"
    UNKNOWN = "unknown"

    @property
    def is_active(self) -> bool:
        """Whether someone reads in it, or may: what is not known to be empty is active."""
        return self not in (GroupState.EMPTY, GroupState.DEAD)


@dataclass(frozen=True, slots=True)
class Commit:
    """What a group committed for one partition: the next offset to read, and what the application noted with it.

    ``leader_epoch`` is of the cluster where it was committed, -1 where unknown; it means nothing on another one and
    is never written there.
    """

    offset: int
    metadata: str = ""
    leader_epoch: int = -1


@dataclass(frozen=True, slots=True)
class Member:
    """One member of a group, as its coordinator tells."""

    id: str
    client_id: str
    host: str


@dataclass(frozen=True, slots=True)
class Group:
    """One group of one cluster: its kind and state, its members, and its commits by partition."""

    name: str
    kind: GroupKind
    state: GroupState
    members: tuple[Member, ...] = ()
    commits: Mapping[TopicPartition, Commit] = field(default_factory=dict, hash=False)
