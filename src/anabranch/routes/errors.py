"""Why a client is not led anywhere, and why a table is not published."""

from __future__ import annotations

from dataclasses import dataclass

from anabranch.errors import ConfigError, RefusedError
from anabranch.model.reasons import Reason


@dataclass(eq=False)
class UnknownCodeError(RefusedError):
    """A cluster code that the route table does not have."""

    code: str
    known: tuple[str, ...]

    @property
    def message(self) -> str:
        known = f"the route table has {', '.join(self.known)}" if self.known else "the route table has none"
        return f"there is no cluster code {self.code!r}: {known}"

    _hint = "correct cluster.code, or add the code: `anabranch route apply -f FILE`"


@dataclass(eq=False)
class SplitTopicsError(RefusedError):
    """The topics of one client lead to two clusters, and a client has one."""

    first: str
    cluster: str
    second: str
    other: str

    _message = "topic {first!r} leads to cluster {cluster}, topic {second!r} to {other}: one client has one cluster"
    _hint = "use a client for each, or change the rules: `anabranch route explain CODE --topic {second}`"


@dataclass(eq=False)
class PatternTopicsError(RefusedError):
    """A client subscribes by a regular expression, and rules go by topic."""

    pattern: str
    rule: str

    _message = "the subscription {pattern!r} is a regular expression, and rule {rule!r} goes by topic or renames topics"
    _hint = "subscribe to topics by their names, or have the rule go by group or client id"


@dataclass(eq=False)
class RouteLoopError(RefusedError):
    """Codes that lead to each other; a table that has such a loop is not published."""

    codes: tuple[str, ...]

    @property
    def message(self) -> str:
        return f"the cluster codes {' -> '.join(self.codes)} lead to each other"

    _hint = "have one of them name a cluster"


@dataclass(eq=False)
class InvalidTableError(ConfigError):
    """A route table that cannot be published, with every reason."""

    place: str
    reasons: tuple[Reason, ...]

    @property
    def message(self) -> str:
        count = len(self.reasons)
        if count == 1:
            return f"{self.place}: {self.reasons[0].what}"
        told = [f"{reason.what}{f' ({reason.fix})' if reason.fix else ''}" for reason in self.reasons]
        return "\n  ".join([f"{self.place}: {count} faults:", *told])

    @property
    def hint(self) -> str:
        return self.reasons[0].fix if len(self.reasons) == 1 else "correct all of them, and plan again"
