"""What a sandbox cluster shall be: version, brokers, security and settings, checked when it is written."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from anabranch.errors import InvalidFieldError

ADMIN = "admin"
DEFAULT_USERS: Mapping[str, str] = {ADMIN: "admin-secret", "alice": "alice-secret"}
# C1 alone and the serial collector bring a broker up in 2.1 s instead of 3.0 s (4.3.1, two cores), and leave more of
# the machine to what is being tested.  A benchmark gives its own jvm_options, which replace these.
QUICK_JVM = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")


class ListenerSecurity(StrEnum):
    """What guards the listener that clients use; SASL always runs over TLS."""

    PLAINTEXT = "PLAINTEXT"
    SSL = "SSL"
    MTLS = "MTLS"
    PLAIN = "PLAIN"
    SCRAM_SHA_256 = "SCRAM-SHA-256"
    SCRAM_SHA_512 = "SCRAM-SHA-512"
    OAUTHBEARER = "OAUTHBEARER"

    @classmethod
    def _missing_(cls, value: object) -> ListenerSecurity | None:
        aliases = {"TLS": cls.SSL, "SASL_SSL": cls.SCRAM_SHA_512, "SCRAM": cls.SCRAM_SHA_512}
        name = str(value).upper()
        return aliases.get(name) or cls.__members__.get(name.replace("-", "_"))

    @property
    def encrypted(self) -> bool:
        """Whether the listener speaks TLS."""
        return self is not ListenerSecurity.PLAINTEXT

    @property
    def scram(self) -> bool:
        """Whether the users' passwords are SCRAM credentials in the cluster's metadata."""
        return self in (ListenerSecurity.SCRAM_SHA_256, ListenerSecurity.SCRAM_SHA_512)

    @property
    def sasl(self) -> bool:
        """Whether a SASL exchange follows the TLS handshake; the member's value is then the mechanism."""
        return self.scram or self in (ListenerSecurity.PLAIN, ListenerSecurity.OAUTHBEARER)

    @property
    def protocol(self) -> str:
        """Kafka's name of the listener's security protocol."""
        if self.sasl:
            return "SASL_SSL"
        return "SSL" if self.encrypted else "PLAINTEXT"


@dataclass(frozen=True, slots=True)
class KafkaVersion:
    """A Kafka version that the sandbox runs, and how it keeps its metadata."""

    number: str
    runtime: str
    kraft: bool


VERSIONS: Mapping[str, KafkaVersion] = {
    number: KafkaVersion(number, f"kafka-{number}", kraft=number != "2.8.2")
    for number in ("4.3.1", "4.0.0", "3.9.1", "2.8.2")
}
DEFAULT_VERSION = "4.3.1"


@dataclass(frozen=True, slots=True)
class ClusterSpec:
    """A wanted cluster.

    ``overrides`` are server properties that win over the sandbox's; ``users`` maps names to passwords (``admin`` is
    always the super user); ``heap_mb`` is each broker's maximum heap; ``jvm_options`` replace the defaults, which are
    tuned for a quick start and not for throughput.  Raises ``InvalidFieldError``.
    """

    name: str
    version: str = DEFAULT_VERSION
    brokers: int = 1
    security: str = ListenerSecurity.PLAINTEXT
    overrides: Mapping[str, str] = field(default_factory=dict)
    proxied: bool = False
    authorizer: bool = False
    heap_mb: int = 512
    jvm_options: tuple[str, ...] = QUICK_JVM
    users: Mapping[str, str] = field(default_factory=lambda: dict(DEFAULT_USERS))

    def __post_init__(self) -> None:
        where = f"sandbox cluster {self.name!r}"
        if not _NAME.fullmatch(self.name):
            fix = "use lower case letters, digits, - and _, at most 63"
            raise InvalidFieldError(where, "name", "not a legal name", fix)
        if self.version not in VERSIONS:
            raise InvalidFieldError(
                where, "version", f"{self.version!r} is not supported", f"use one of {', '.join(VERSIONS)}"
            )
        if not 1 <= self.brokers <= 3:
            raise InvalidFieldError(where, "brokers", f"{self.brokers} is not 1, 2 or 3", "use 1, 2 or 3")
        try:
            security = ListenerSecurity(self.security)
        except ValueError:
            names = ", ".join(ListenerSecurity)
            raise InvalidFieldError(
                where, "security", f"{self.security!r} is not supported", f"use one of {names}"
            ) from None
        object.__setattr__(self, "security", security)
        if self.authorizer and not (security.sasl or security is ListenerSecurity.MTLS):
            raise InvalidFieldError(
                where, "authorizer", f"{security} knows no users", "use MTLS, PLAIN, SCRAM-SHA-512 or OAUTHBEARER"
            )
        if ADMIN not in self.users:
            object.__setattr__(self, "users", {ADMIN: DEFAULT_USERS[ADMIN], **self.users})

    @property
    def listener(self) -> ListenerSecurity:
        """``security`` as the checked member."""
        return ListenerSecurity(self.security)

    @property
    def kafka(self) -> KafkaVersion:
        """The facts of ``version``."""
        return VERSIONS[self.version]
