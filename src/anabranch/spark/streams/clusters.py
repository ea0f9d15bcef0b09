"""Where a cluster code leads a stream's job: by the contexts of its specification, or by the route service."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from anabranch.errors import ConfigError
from anabranch.model.cluster import ClusterContext
from anabranch.model.routing import ClientRole
from anabranch.spark.routes import lead
from anabranch.spark.verify.options import TUNED, options
from anabranch.streams.connectors import nearest


@dataclass(eq=False)
class UnknownClusterError(ConfigError):
    """A table names a cluster that nobody knows."""

    code: str
    known: tuple[str, ...]

    _message = "no cluster {code!r}"

    @property
    def hint(self) -> str:
        names = f"there is {', '.join(self.known)}" if self.known else "there is none"
        return nearest(self.code, self.known) or f"{names}: anabranch context add {self.code} --bootstrap HOST:PORT"


@dataclass(frozen=True, slots=True)
class LedTable:
    """How the cluster of a table is reached, and what its topics are called there."""

    context: ClusterContext
    topics: tuple[str, ...]

    def options(self, role: ClientRole) -> dict[str, str]:
        """As Spark's source or sink takes them; raises UnreadableByJvmError."""
        found = options(self.context)
        if role is ClientRole.PRODUCER:
            found = {name: value for name, value in found.items() if name not in TUNED}
        return found


class ClusterCodes(Protocol):
    """Whom a job asks where a code leads."""

    def lead(self, code: str, topics: Iterable[str], role: ClientRole, /) -> LedTable:
        """Where it leads; raises ConfigError, and what the route service refuses."""


@dataclass(frozen=True, slots=True)
class ContextClusters:
    """Codes are names of contexts, and topics keep their names."""

    contexts: Mapping[str, ClusterContext]

    def lead(self, code: str, topics: Iterable[str], _role: ClientRole) -> LedTable:
        """As the protocol has it."""
        context = self.contexts.get(code)
        if context is None:
            raise UnknownClusterError(code, tuple(self.contexts))
        return LedTable(context, tuple(topics))


@dataclass(frozen=True, slots=True)
class RoutedClusters:
    """The route service is asked, as for a client that registers and takes itself off the list again."""

    service: str
    application: str

    def lead(self, code: str, topics: Iterable[str], role: ClientRole) -> LedTable:
        """As the protocol has it; raises what ``lead`` of the routes raises."""
        settings = {"route.service": self.service, "route.application": self.application}
        route = lead(code, role, topics=tuple(topics), settings=settings).route
        return LedTable(ClusterContext(route.cluster, route.bootstrap, route.security), tuple(route.topics.values()))


@dataclass(frozen=True, slots=True)
class UnaskedClusters:
    """For a look at a script that connects to nothing: any code leads to an address where nobody is."""

    def lead(self, _code: str, topics: Iterable[str], _role: ClientRole) -> LedTable:
        """As the protocol has it."""
        return LedTable(ClusterContext("unasked", ("127.0.0.1:1",)), tuple(topics))
