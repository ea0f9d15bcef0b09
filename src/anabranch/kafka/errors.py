"""What a cluster can answer, as errors that name the cluster, the resource and the next command."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from kafka.errors import for_code

from anabranch.errors import AnabranchError, ClusterError

UNKNOWN_TOPIC = 3
"""UNKNOWN_TOPIC_OR_PARTITION: the broker that answers knows none of that name, or not that partition of it."""
AUTHORIZATION_CODES = {
    29: "topic",
    30: "group",
    31: "cluster",
    53: "transactional id",
    65: "delegation token",
}


def code_name(code: int) -> str:
    """The protocol's own name of an error code, e.g. ``NOT_LEADER_OR_FOLLOWER`` for 6."""
    if code == 0:
        return "NONE"
    return str(getattr(for_code(code), "message", f"error {code}"))


def refusal(code: int, detail: str | None) -> str:
    """Why one part of a request was refused, in words: the code's name and number, and what the broker says of it."""
    return f"{code_name(code)} ({code})" + (f": {detail}" if detail else "")


@dataclass(eq=False)
class UnreachableError(ClusterError):
    """No broker of the cluster answered; ``attempts`` says what happened at each address."""

    cluster: str
    attempts: tuple[str, ...]
    retryable: ClassVar[bool] = True

    @property
    def message(self) -> str:
        return f"cluster {self.cluster} cannot be reached: " + "; ".join(self.attempts)

    _hint = "check addresses and protocol (PLAINTEXT, SSL, SASL_SSL, ...) with `anabranch context show {cluster}`"


@dataclass(eq=False)
class AuthenticationError(ClusterError):
    """The cluster refused who we say we are."""

    cluster: str
    principal: str
    mechanism: str
    reason: str

    _message = "cluster {cluster} refused {principal} ({mechanism}): {reason}"

    @property
    def hint(self) -> str:
        if self.mechanism == "TLS":
            return f"check cert_file and key_file with `anabranch context show {self.cluster}`"
        return f"check the user and its secret's variable with `anabranch context show {self.cluster}`"


@dataclass(eq=False)
class LoginLostError(AuthenticationError):
    """The cluster refused who it had let in before: a broker that cannot look a user up says the same for a while."""

    retryable: ClassVar[bool] = True


@dataclass(eq=False)
class NoTokenError(ClusterError):
    """The server that gives out tokens could not be asked, or gave none."""

    cluster: str
    url: str
    reason: str

    retryable: ClassVar[bool] = True

    _message = "no token for cluster {cluster} from {url}: {reason}"
    _hint = "check that the token server answers; what waits for it goes on by itself"


@dataclass(eq=False)
class UntrustedClusterError(AuthenticationError):
    """A broker's certificate was not accepted by us: an authority that is not known, another host's, or too old."""

    _message = "cluster {cluster} is not trusted: {reason}"

    @property
    def hint(self) -> str:
        if "mismatch" in self.reason or "not valid for" in self.reason:
            return "use an address that the certificate names"
        if "expired" in self.reason or "not yet valid" in self.reason:
            return "renew the broker's certificate, or set this machine's clock"
        return (
            f"give the authorities that signed it: --ca-file FILE of `anabranch context add {self.cluster} --replace`, "
            f"or ca_file below security.tls; `anabranch context show {self.cluster}` shows what is used"
        )


@dataclass(eq=False)
class PermissionDeniedError(ClusterError):
    """The authorizer refused an operation; names operation, resource and principal."""

    cluster: str
    principal: str
    operation: str
    resource: str

    _message = "cluster {cluster}: {principal} may not {operation} on {resource}"

    @property
    def hint(self) -> str:
        verb = self.operation.split()[0]
        return f"grant it: kafka-acls --add --allow-principal {self.principal} --operation {verb} ({self.resource})"


@dataclass(eq=False)
class BrokerRefusedError(ClusterError):
    """A broker answered a request with an error code that the caller does not handle."""

    cluster: str
    request: str
    resource: str
    code: int
    detail: str = ""

    @property
    def name(self) -> str:
        """The protocol's name of the code."""
        return code_name(self.code)

    @property
    def message(self) -> str:
        tail = f": {self.detail}" if self.detail else ""
        return (
            f"cluster {self.cluster} answered {self.request} for {self.resource} with {self.name} ({self.code}){tail}"
        )


@dataclass(eq=False)
class UnsupportedApiError(ClusterError):
    """The broker does not offer a version of a request that Anabranch needs."""

    cluster: str
    request: str
    needed: str
    offered: str

    _message = "cluster {cluster} offers {request} {offered}; Anabranch needs {needed}"
    _hint = "brokers from 2.8 on can be a source; from 3.0 on a target"


@dataclass(eq=False)
class ConnectionLostError(ClusterError):
    """A connection ended, or a request ran out of time, with its outcome unknown."""

    cluster: str
    node: str
    reason: str
    retryable: ClassVar[bool] = True

    _message = "cluster {cluster}: connection to {node} lost: {reason}"


def check(code: int, *, cluster: str, principal: str, request: str, resource: str, detail: str | None = "") -> None:
    """Raise the fitting error for a response's code; return for 0."""
    if code == 0:
        return
    if code in AUTHORIZATION_CODES:
        raise PermissionDeniedError(cluster, principal, request, resource)
    raise BrokerRefusedError(cluster, request, resource, code, detail or "")


def passing(error: AnabranchError) -> bool:
    """Whether an error may pass by itself: lost connections, and codes that brokers answer for a while."""
    return error.retryable or isinstance(error, BrokerRefusedError)
