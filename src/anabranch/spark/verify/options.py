"""A cluster context as the options of Spark's Kafka source; secrets stay references, resolved where a client connects.

``${env:NAME}`` and ``${dir:DIRECTORY:FILE}`` are read by Kafka's own configuration providers in each process
(KIP-297, KIP-421, KIP-887), so that no secret is in a plan, a log or the event history of Spark.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from anabranch.errors import ConfigError
from anabranch.model.cluster import ClientCredentialsLogin, ClusterContext, PasswordLogin, SaslMechanism, Tls
from anabranch.model.home import expanded
from anabranch.model.secrets import SecretKind, SecretRef

_PROVIDERS = "org.apache.kafka.common.config.provider"
_PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
_SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
_OAUTH = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
_OAUTH_CALLBACK = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler"
TUNED = {
    # Spark asks for the log's ends twice at each poll: large polls make that cheap (measured: 367k to 904k records/s).
    "kafka.max.poll.records": "20000",
    "kafka.max.partition.fetch.bytes": str(8 << 20),
    "kafka.fetch.max.bytes": str(32 << 20),
    "kafka.receive.buffer.bytes": str(1 << 20),
}


@dataclass(eq=False)
class UnreadableByJvmError(ConfigError):
    """A context that Kafka's Java client cannot be given as it is."""

    context: str
    problem: str
    fix: str

    _message = "context {context!r}: {problem}"
    _hint = "{fix}"


_TRADITIONAL = re.compile(rb"-----BEGIN (?:RSA|EC|DSA) PRIVATE KEY-----")
"""What openssl wrote before its version 3, and still writes on request."""


def options(context: ClusterContext) -> dict[str, str]:
    """The options that lead to a cluster; raises UnreadableByJvmError."""
    security = context.security
    found = {
        **TUNED,
        "kafka.bootstrap.servers": ",".join(context.bootstrap),
        "kafka.security.protocol": security.protocol.value,
        "kafka.config.providers": "env,dir",
        "kafka.config.providers.env.class": f"{_PROVIDERS}.EnvVarConfigProvider",
        "kafka.config.providers.dir.class": f"{_PROVIDERS}.DirectoryConfigProvider",
    }
    if security.tls is not None:
        found |= _tls(context.name, security.tls)
    if security.login is not None:
        found |= _sasl(context)
    return found


def _tls(name: str, tls: Tls) -> dict[str, str]:
    found: dict[str, str] = {}
    if tls.ca_file is not None:
        found |= {
            "kafka.ssl.truststore.type": "PEM",
            "kafka.ssl.truststore.location": tls.ca_file,
        }
    if tls.cert_file is not None and tls.key_file is not None:
        _check_key(name, Path(tls.key_file))
        found |= {
            "kafka.ssl.keystore.type": "PEM",
            "kafka.ssl.keystore.certificate.chain": _file(tls.cert_file),
            "kafka.ssl.keystore.key": _file(tls.key_file),
        }
        if tls.key_password is not None:
            found["kafka.ssl.key.password"] = _reference(name, tls.key_password)
    return found


def _check_key(name: str, path: Path) -> None:
    """Refuse a key that Java would not read, before a task fails at it; one that is elsewhere is not looked at."""
    if path.is_file() and _TRADITIONAL.search(path.read_bytes()):
        raise UnreadableByJvmError(
            name,
            f"Kafka's Java client takes PKCS #8 keys alone, and {path} is an older kind",
            f"openssl pkcs8 -topk8 -nocrypt -in {path} -out NEW, and name NEW as key_file",
        )


def _sasl(context: ClusterContext) -> dict[str, str]:
    login = context.security.login
    assert login is not None
    found = {"kafka.sasl.mechanism": login.mechanism.value}
    if isinstance(login, PasswordLogin):
        module = _PLAIN if login.mechanism is SaslMechanism.PLAIN else _SCRAM
        password = _reference(context.name, login.password)
        found["kafka.sasl.jaas.config"] = f'{module} required username="{login.username}" password="{password}";'
        return found
    if isinstance(login, ClientCredentialsLogin):
        scope = f' scope="{login.scope}"' if login.scope else ""
        secret = _reference(context.name, login.client_secret)
        found |= {
            "kafka.sasl.oauthbearer.token.endpoint.url": login.token_url,
            "kafka.sasl.login.callback.handler.class": _OAUTH_CALLBACK,
            "kafka.sasl.jaas.config": (
                f'{_OAUTH} required clientId="{login.client_id}" clientSecret="{secret}"{scope};'
            ),
        }
        return found
    raise UnreadableByJvmError(
        context.name,
        "Kafka's Java client takes no bearer token that something else keeps fresh",
        "give the context token_url, client_id and a client secret instead of a token",
    )


def _reference(name: str, secret: SecretRef) -> str:
    if secret.kind is SecretKind.ENV:
        return f"${{env:{secret.name}}}"
    path = expanded(secret.name)
    if path.is_file() and path.read_bytes().endswith((b"\n", b"\r")):
        raise UnreadableByJvmError(
            name,
            f"secret file {path} ends with a line break, which Kafka's Java client takes for a part of the secret",
            f'printf %s "$(cat {path})" > {path}.new && mv {path}.new {path}',
        )
    return _file(str(path))


def _file(path: str) -> str:
    if not os.path.dirname(path):  # sent along: it is in the working directory of each process, whose path is its own
        return f"${{dir:.:{path}}}"
    directory, name = os.path.split(os.path.abspath(path))
    return f"${{dir:{directory}:{name}}}"
