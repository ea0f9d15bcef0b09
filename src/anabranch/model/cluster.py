"""How a cluster is reached: bootstrap servers and security, with secrets as references only.

What is supported is listed here and nowhere else; any other protocol or mechanism is refused by its name
(``UnsupportedSecurityError``) before a connection is tried.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import StrEnum

from anabranch.errors import ConfigError, InvalidFieldError
from anabranch.model.secrets import SecretRef

_CONTEXT_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
_ADDRESS = re.compile(r"(\[[0-9a-fA-F:.]+\]|[^\s:/\[\]]+):(\d{1,5})")


class SecurityProtocol(StrEnum):
    """Kafka's listener protocols."""

    PLAINTEXT = "PLAINTEXT"
    SSL = "SSL"
    SASL_PLAINTEXT = "SASL_PLAINTEXT"
    SASL_SSL = "SASL_SSL"

    @property
    def encrypted(self) -> bool:
        """Whether the connection is TLS."""
        return self in (SecurityProtocol.SSL, SecurityProtocol.SASL_SSL)

    @property
    def authenticated(self) -> bool:
        """Whether a SASL exchange follows the connect."""
        return self in (SecurityProtocol.SASL_PLAINTEXT, SecurityProtocol.SASL_SSL)


class SaslMechanism(StrEnum):
    """The SASL mechanisms that are supported."""

    PLAIN = "PLAIN"
    SCRAM_SHA_256 = "SCRAM-SHA-256"
    SCRAM_SHA_512 = "SCRAM-SHA-512"
    OAUTHBEARER = "OAUTHBEARER"


@dataclass(eq=False)
class UnsupportedSecurityError(ConfigError):
    """A security protocol or SASL mechanism that Anabranch does not speak, by its name."""

    kind: str
    name: str
    supported: tuple[str, ...]
    where: str = ""

    @property
    def message(self) -> str:
        place = f"{self.where}: " if self.where else ""
        return f"{place}{self.kind} {self.name!r} is not supported"

    @property
    def hint(self) -> str:
        return f"use one of {', '.join(self.supported)}"


def parse_protocol(name: str, where: str = "") -> SecurityProtocol:
    """The protocol of that name in any case; raises ``UnsupportedSecurityError``."""
    try:
        return SecurityProtocol(name.upper())
    except ValueError:
        supported = tuple(p.value for p in SecurityProtocol)
        raise UnsupportedSecurityError("security protocol", name, supported, where) from None


def parse_mechanism(name: str, where: str = "") -> SaslMechanism:
    """The mechanism of that name in any case; raises ``UnsupportedSecurityError``."""
    try:
        return SaslMechanism(name.upper())
    except ValueError:
        supported = tuple(m.value for m in SaslMechanism)
        raise UnsupportedSecurityError("SASL mechanism", name, supported, where) from None


@dataclass(frozen=True, slots=True)
class Tls:
    """PEM files of a TLS connection; a certificate and its key together make it mTLS.

    The broker's certificate and host name are always checked; without ``ca_file`` the system's authorities
    are.
    """

    ca_file: str | None = None
    cert_file: str | None = None
    key_file: str | None = None
    key_password: SecretRef | None = None

    def __post_init__(self) -> None:
        if (self.cert_file is None) != (self.key_file is None):
            missing = "key_file" if self.key_file is None else "cert_file"
            raise InvalidFieldError("tls", missing, "missing", "mTLS needs cert_file and key_file together")


@dataclass(frozen=True, slots=True)
class PasswordLogin:
    """PLAIN or SCRAM: a user name and a reference to its password."""

    mechanism: SaslMechanism
    username: str
    password: SecretRef

    def __post_init__(self) -> None:
        if self.mechanism is SaslMechanism.OAUTHBEARER:
            raise InvalidFieldError("sasl", "mechanism", "OAUTHBEARER takes no password", "give token_url or token_env")


@dataclass(frozen=True, slots=True)
class ClientCredentialsLogin:
    """OAUTHBEARER: tokens are asked for at ``token_url`` with the OAuth 2 client-credentials grant (KIP-768)."""

    token_url: str
    client_id: str
    client_secret: SecretRef
    scope: str | None = None

    @property
    def mechanism(self) -> SaslMechanism:
        """Always OAUTHBEARER."""
        return SaslMechanism.OAUTHBEARER


@dataclass(frozen=True, slots=True)
class TokenLogin:
    """OAUTHBEARER: a bearer token that something else keeps fresh; read again at each connect."""

    token: SecretRef

    @property
    def mechanism(self) -> SaslMechanism:
        """Always OAUTHBEARER."""
        return SaslMechanism.OAUTHBEARER


Login = PasswordLogin | ClientCredentialsLogin | TokenLogin


@dataclass(frozen=True, slots=True)
class Security:
    """A protocol with what it needs: ``tls`` where it encrypts, ``login`` where it authenticates, else None."""

    protocol: SecurityProtocol = SecurityProtocol.PLAINTEXT
    tls: Tls | None = None
    login: Login | None = None

    def __post_init__(self) -> None:
        if self.tls is not None and not self.protocol.encrypted:
            raise InvalidFieldError("security", "tls", f"{self.protocol} is not encrypted", "use SSL or SASL_SSL")
        if self.protocol.authenticated != (self.login is not None):
            problem = f"{self.protocol} {'needs' if self.protocol.authenticated else 'takes no'} sasl settings"
            fix = "use SASL_SSL or SASL_PLAINTEXT with a sasl section"
            if self.protocol.authenticated:
                fix = (
                    "say how to log in: --mechanism SCRAM-SHA-512 --username USER --password-env VARIABLE, "
                    "or security.sasl in the file"
                )
            raise InvalidFieldError("security", "sasl", problem, fix)
        if self.protocol.encrypted and self.tls is None:
            object.__setattr__(self, "tls", Tls())


@dataclass(frozen=True, slots=True)
class ClusterContext:
    """A cluster by the name that people use for it; holds no secret, so it may be stored, sent and shown.

    ``name`` is lower case letters, digits, ``-`` and ``_``; ``bootstrap`` is one or more ``host:port``.
    """

    name: str
    bootstrap: tuple[str, ...]
    security: Security = field(default_factory=Security)

    def __post_init__(self) -> None:
        where = f"context {self.name!r}"
        if not _CONTEXT_NAME.fullmatch(self.name):
            fix = "use lower case letters, digits, - and _, at most 63"
            raise InvalidFieldError(where, "name", "not a legal context name", fix)
        if not self.bootstrap:
            raise InvalidFieldError(where, "bootstrap", "empty", "name at least one host:port")
        for address in self.bootstrap:
            match = _ADDRESS.fullmatch(address)
            if match is None or not 0 < int(match[2]) < 65536:
                raise InvalidFieldError(where, "bootstrap", f"{address!r} is not host:port", "write it as host:9092")
