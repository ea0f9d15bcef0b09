"""Why a client does not go on, typed.

Those that an application meets where confluent-kafka has errors of its own are these as well: what handles
``KafkaException`` or ``BufferError`` handles them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from confluent_kafka import KafkaError, KafkaException

from anabranch.errors import ClusterError, ConfigError, ProtocolError, RefusedError


@dataclass(eq=False)
class UnknownSettingError(ConfigError):
    """A setting that begins as ours do, and is none of ours."""

    name: str
    known: tuple[str, ...]

    _message = "there is no setting {name!r}"

    @property
    def hint(self) -> str:
        return f"use one of {', '.join(self.known)}"


@dataclass(eq=False)
class TwoClustersError(ConfigError):
    """A configuration with a cluster code and with bootstrap servers."""

    code: str
    other: str

    _message = "cluster.code ({code}) and {other} are both given"
    _hint = "remove {other}: the route of the code has the servers"


@dataclass(eq=False)
class SettingError(ConfigError):
    """A setting of ours that is missing or holds what it may not."""

    name: str
    problem: str
    fix: str

    _message = "{name}: {problem}"
    _hint = "{fix}"


@dataclass(eq=False)
class ServiceDownError(ClusterError):
    """The route service does not answer."""

    retryable: ClassVar[bool] = True
    url: str
    why: str

    _message = "the route service at {url} does not answer: {why}"
    _hint = "start it (`anabranch serve`), or correct route.service"


@dataclass(eq=False)
class NoRouteError(ClusterError):
    """The route service does not answer, and no route of it is kept on this machine."""

    retryable: ClassVar[bool] = True
    code: str
    why: str

    _message = (
        "cluster code {code}: {why}, and no earlier route is kept here for this role, group, client.id, topics and "
        "parameters"
    )
    _hint = "start the route service (`anabranch serve`), or correct route.service"


@dataclass(eq=False)
class RouteProblemError(RefusedError):
    """What the route service refused, in its own words; ``kind`` is its type for programs."""

    status: int
    kind: str
    detail: str
    fix: str = ""

    _message = "{detail}"
    _hint = "{fix}"


@dataclass(eq=False)
class MalformedRouteError(ProtocolError):
    """The service answered something else than a route."""

    what: str
    problem: str

    _message = "{what}: {problem}"
    _hint = "client and service are of versions that do not know each other: use newer ones of both"


@dataclass(eq=False)
class _KafkaRefusal(RefusedError, KafkaException):
    """A refusal in a place where applications expect errors of Kafka: its first argument is one."""

    code: ClassVar[int] = KafkaError._INVALID_ARG

    def __post_init__(self) -> None:
        self.args = (KafkaError(self.code, f"{self.message}; {self.hint}"),)

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (type(self), dict(vars(self)))


def _again(kind: type[_KafkaRefusal], state: dict[str, Any]) -> _KafkaRefusal:
    error = kind.__new__(kind)
    error.__dict__.update(state)
    error.__post_init__()
    return error


@dataclass(eq=False)
class MayNotError(_KafkaRefusal):
    """The route does not allow what the client is for."""

    code: ClassVar[int] = KafkaError.TOPIC_AUTHORIZATION_FAILED
    verb: str
    cluster_code: str
    cluster: str
    rule: str

    @property
    def message(self) -> str:
        by = f"rule {self.rule}" if self.rule else "the code itself"
        return f"clients of {self.cluster_code} may not {self.verb} on cluster {self.cluster}: {by} says so"

    _hint = "see which rule decides: `anabranch route explain {cluster_code}`"


@dataclass(eq=False)
class StaleMessageError(_KafkaRefusal):
    """A message of before a switch stands for no offset of the cluster where the client is now."""

    topic: str
    partition: int
    offset: int
    cluster: str

    _message = "offset {offset:,} of {topic}-{partition} is of before the switch, and is no offset of cluster {cluster}"
    _hint = "go on: the group goes on after what was committed before the switch, and reads this record again"


@dataclass(eq=False)
class StaleOffsetError(_KafkaRefusal):
    """An offset, given as a number after a switch, that this client was not told on the cluster where it is now."""

    topic: str
    partition: int
    offset: int
    cluster: str

    _message = (
        "offset {offset:,} of {topic}-{partition} was not told by cluster {cluster}: it may be of before the switch"
    )
    _hint = "commit by message; or ask for the offset first: position(), offsets_for_times(), get_watermark_offsets()"


@dataclass(eq=False)
class PartedTransactionError(_KafkaRefusal):
    """A transaction on one cluster is to commit offsets of a consumer that reads on another one."""

    cluster: str
    other: str

    _message = "the transaction is on cluster {cluster}, and the consumer of its offsets reads on {other}"
    _hint = "abort it, seek to what is committed, and have both led to one cluster: `anabranch route clients`"


@dataclass(eq=False)
class UndoneMessagesError(_KafkaRefusal):
    """The first transaction after a switch, before which the consumer had delivered messages that were in none."""

    before: str
    cluster: str

    _message = "messages of cluster {before} were in no transaction at the switch: {cluster} gives them again"
    _hint = "abort this transaction, and seek to what is committed: they come again from there"


@dataclass(eq=False)
class LostAssignmentError(_KafkaRefusal):
    """A consumer that was given its partitions by hand was led elsewhere, where nothing says how far it had read."""

    code: ClassVar[int] = KafkaError._NO_OFFSET
    partitions: str
    cluster: str

    _message = "the route leads to cluster {cluster} now, and nothing says where to begin there in {partitions}"
    _hint = "assign() again with offsets of that cluster"


@dataclass(eq=False)
class SwitchingError(ClusterError, BufferError):
    """A switch to another cluster has lasted longer than calls are held back; nothing was sent."""

    retryable: ClassVar[bool] = True
    waited_s: float
    why: str

    _message = "held back for {waited_s:g} s: {why}"
    _hint = "try again, as when the queue is full; route.block.max.ms says how long calls wait"
