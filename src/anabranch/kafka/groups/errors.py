"""Why a coordinator would not tell or move a group's position."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from anabranch.errors import ClusterError, RefusedError
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.errors import code_name
from anabranch.model.groups import Commit
from anabranch.model.topics import TopicPartition

_SHOWN = 3
_INVALID_GROUP_ID = 24


def _some(names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


@dataclass(eq=False)
class IllegalGroupNameError(RefusedError):
    """A name that the brokers take for no group's, as the empty one."""

    cluster: str
    group: str

    _message = "cluster {cluster} takes {group!r} for no name of a group"
    _hint = "name a group by at least one letter; `kafka-consumer-groups --list` shows those that are there"


def check_group(cluster: Cluster, code: int, operation: str, group: str, detail: str | None = None) -> None:
    """Raise what a code about a group as a whole means: IllegalGroupNameError, or as ``Cluster.check``."""
    if code == _INVALID_GROUP_ID:
        raise IllegalGroupNameError(cluster.name, group)
    cluster.check(code, operation, f"group {group}", detail)


@dataclass(eq=False)
class GroupActiveError(RefusedError):
    """Someone reads in the group, so that only its members may commit, and nobody may delete it."""

    cluster: str
    group: str
    wanted: str

    _message = "group {group} on cluster {cluster} has members: {wanted} was refused"
    _hint = "stop its consumers, see them with `anabranch groups show LINK {group}`"


@dataclass(eq=False)
class OtherKindError(RefusedError):
    """A group of that name exists and keeps no committed offsets, as share groups don't (KIP-932)."""

    cluster: str
    group: str

    _message = "group {group} on cluster {cluster} is of a kind that has no committed offsets"
    _hint = "see its kind with `anabranch groups show LINK {group}`"


@dataclass(eq=False)
class PartitionsRefusedError(RefusedError):
    """The coordinator refused some partitions of a request and did the rest: ``done`` is what it did."""

    cluster: str
    group: str
    wanted: str
    refused: Mapping[TopicPartition, int]
    done: tuple[TopicPartition, ...]

    @property
    def message(self) -> str:
        named = [f"{partition} ({code_name(code)})" for partition, code in self.refused.items()]
        total = len(named) + len(self.done)
        return (
            f"cluster {self.cluster} refused the {self.wanted} of group {self.group} "
            f"for {len(named):,} of {total:,} partitions: {_some(named)}"
        )


@dataclass(eq=False)
class MetadataTooLargeError(PartitionsRefusedError):
    """What the application noted with its commits is larger than the other cluster's brokers take."""

    _hint = "raise offset.metadata.max.bytes on the brokers of cluster {cluster}"


@dataclass(eq=False)
class UnstableCommitsError(ClusterError):
    """Transactions that hold commits of these groups did not end in time: their positions are not decided.

    ``read`` has the commits of all the other groups that were asked for, so that who can do without these goes on.
    """

    cluster: str
    pending: Mapping[str, tuple[TopicPartition, ...]]
    read: Mapping[str, Mapping[TopicPartition, Commit]] = field(default_factory=dict, repr=False)
    retryable: ClassVar[bool] = True

    @property
    def message(self) -> str:
        named = [f"{group} ({_some([str(one) for one in partitions])})" for group, partitions in self.pending.items()]
        return f"cluster {self.cluster}: transactions with commits of a group are still open: {_some(named)}"

    _hint = "wait until the application ends its transaction, or until transaction.timeout.ms ends it"
