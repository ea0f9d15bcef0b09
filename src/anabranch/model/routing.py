"""Who asks for a cluster, and where a client is led: what applications and the route service tell each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from anabranch.model.cluster import Security


class ClientRole(StrEnum):
    """What a client does."""

    PRODUCER = "producer"
    CONSUMER = "consumer"


class Stragglers(StrEnum):
    """What becomes of a switch when a client that may still act has not answered in time.

    ``CANCEL`` leaves all where they are.  ``LEAVE`` goes on without those producers; a group is never moved without
    one of its consumers.
    """

    CANCEL = "cancel"
    LEAVE = "leave"


class WhenLost(StrEnum):
    """What becomes of a switch when the cluster that clients leave does not answer.

    ``WAIT`` waits for it until the switch is given up.  ``GO`` goes on without it: by what clients hand over, and by
    what was copied; what is in doubt then is told.
    """

    WAIT = "wait"
    GO = "go"


@dataclass(frozen=True, slots=True)
class RouteQuery:
    """A client that asks for a cluster by its code.

    ``topics`` are those that it reads or writes; a subscription by a regular expression begins with ``^``, as
    librdkafka takes it.  ``parameters`` are its own words, such as ``application``, ``job_id``, ``site``.
    """

    code: str
    role: ClientRole
    topics: tuple[str, ...] = ()
    group: str = ""
    client_id: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class Route:
    """Where a client is led.

    ``cluster`` is the cluster's name, ``topics`` what each topic of the query is called there, ``rule`` what decided,
    empty where no rule matched.  ``since`` is the version of the route table since which it has been so, ``version``
    the one of the answer.
    """

    code: str
    cluster: str
    bootstrap: tuple[str, ...]
    security: Security
    topics: Mapping[str, str] = field(hash=False)
    may_read: bool
    may_write: bool
    rule: str
    since: int
    version: int

    def leads_as(self, other: Route) -> bool:
        """Whether a client need not change anything to go from one to the other."""
        return (self.cluster, self.bootstrap, self.security, dict(self.topics), self.may_read, self.may_write) == (
            other.cluster,
            other.bootstrap,
            other.security,
            dict(other.topics),
            other.may_read,
            other.may_write,
        )

    def places_as(self, other: Route) -> bool:
        """Whether a place in a log by one is that place by the other: of topics of both, the logs are the same."""
        both = self.topics.keys() & other.topics.keys()
        return self.cluster == other.cluster and all(self.topics[topic] == other.topics[topic] for topic in both)


UNPLACED = "unacknowledged"
"""Under what a producer counts messages in doubt that it cannot name by their partition."""


@dataclass(frozen=True, slots=True)
class ClientFacts:
    """What a client tells of itself once: its ``application``, where it runs, and with what."""

    application: str
    host: str
    address: str
    pid: int
    sdk: str


@dataclass(frozen=True, slots=True)
class ClientReport:
    """What a client tells again and again; counts are since it began, across switches.

    ``version`` is the version of the route table that it follows, ``lag`` None where it is not known, ``positions``
    the next offset of each partition that it has, as TOPIC-PARTITION on the cluster where it is.
    """

    version: int = 0
    records: int = 0
    bytes: int = 0
    errors: int = 0
    lag: int | None = None
    positions: Mapping[str, int] = field(default_factory=dict, hash=False)
    last_error: str = ""


@dataclass(frozen=True, slots=True)
class Client:
    """A registered client; times in ms.  It is live until ``until_ms`` unless it is seen again.

    ``cluster`` is the one to which it was led last.
    """

    id: str
    facts: ClientFacts
    query: RouteQuery
    registered_ms: int
    seen_ms: int
    until_ms: int
    cluster: str = ""
    since: int = 0
    report: ClientReport = ClientReport()

    @property
    def words(self) -> str:
        """What people know it by."""
        name = self.query.client_id or self.facts.application or self.id[:8]
        return f"{self.query.role.value} {name} ({self.facts.host}, pid {self.facts.pid})"

    def is_live(self, now_ms: int) -> bool:
        """Whether its lease runs."""
        return now_ms < self.until_ms

    def led(self, cluster: str, since: int) -> Client:
        """The same one, led to a cluster since a version; written out, since ten thousand are led at once."""
        seen = self.registered_ms, self.seen_ms, self.until_ms
        return Client(self.id, self.facts, self.query, *seen, cluster, since, self.report)
