"""``kafka.*`` options of Spark's Kafka sink as a cluster context: the way back of ``anabranch.spark.verify.options``.

Secrets are references, ``${env:NAME}`` or ``${dir:DIRECTORY:FILE}``, as Kafka's own configuration providers read them
(KIP-297): each process that connects resolves them.  An option that holds the secret itself is refused, for options are
in the plan of the query, in its page and in its event log.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from anabranch.errors import AnabranchError
from anabranch.model.cluster import (
    ClientCredentialsLogin,
    ClusterContext,
    Login,
    PasswordLogin,
    SaslMechanism,
    Security,
    SecurityProtocol,
    Tls,
    parse_mechanism,
    parse_protocol,
)
from anabranch.model.secrets import SecretKind, SecretRef
from anabranch.spark.streams.kafka_sink.errors import KafkaSinkOptionError

NAMED = frozenset(
    {
        "kafka.bootstrap.servers",
        "kafka.security.protocol",
        "kafka.sasl.mechanism",
        "kafka.sasl.jaas.config",
        "kafka.sasl.oauthbearer.token.endpoint.url",
        "kafka.sasl.login.callback.handler.class",
        "kafka.ssl.truststore.type",
        "kafka.ssl.truststore.location",
        "kafka.ssl.keystore.type",
        "kafka.ssl.keystore.certificate.chain",
        "kafka.ssl.keystore.key",
        "kafka.ssl.key.password",
        "kafka.config.providers",
        "kafka.config.providers.env.class",
        "kafka.config.providers.dir.class",
    }
)
_REFERENCE = re.compile(r"\$\{(?:env:(?P<name>[^:}]+)|dir:(?P<dir>[^:}]+):(?P<file>[^:}]+))\}")
_JAAS = re.compile(r'(\w+)\s*=\s*"((?:[^"\\]|\\.)*)"')
_BY_REFERENCE = "write ${env:NAME} or ${dir:DIRECTORY:FILE} there, which each process resolves where it connects"


def context_of_options(options: Mapping[str, str], name: str = "sink") -> ClusterContext:
    """The context that these options lead to; raises KafkaSinkOptionError."""
    servers = options.get("kafka.bootstrap.servers", "")
    if not servers:
        raise KafkaSinkOptionError(
            "kafka.bootstrap.servers", "missing", "name at least one host:port, or give `context`"
        )
    for option in ("kafka.ssl.truststore.type", "kafka.ssl.keystore.type"):
        if options.get(option, "PEM").upper() != "PEM":
            raise KafkaSinkOptionError(option, f"{options[option]} is not read", "give PEM files")
    try:
        protocol = parse_protocol(options.get("kafka.security.protocol", "PLAINTEXT").upper())
        addresses = tuple(one.strip() for one in servers.split(",") if one.strip())
        security = Security(protocol, _tls(options, protocol), _login(options, protocol))
        return ClusterContext(name, addresses, security)
    except KafkaSinkOptionError:
        raise
    except AnabranchError as error:
        raise KafkaSinkOptionError("kafka.*", error.message, error.hint) from error


def _tls(options: Mapping[str, str], protocol: SecurityProtocol) -> Tls | None:
    if not protocol.encrypted:
        return None
    password = options.get("kafka.ssl.key.password")
    return Tls(
        options.get("kafka.ssl.truststore.location"),
        _path(options, "kafka.ssl.keystore.certificate.chain"),
        _path(options, "kafka.ssl.keystore.key"),
        _secret("kafka.ssl.key.password", password) if password is not None else None,
    )


def _path(options: Mapping[str, str], option: str) -> str | None:
    text = options.get(option)
    if text is None:
        return None
    found = _REFERENCE.fullmatch(text)
    if found is None or found["dir"] is None:
        raise KafkaSinkOptionError(option, "it is no file", "write ${dir:DIRECTORY:FILE} there")
    return os.path.join(found["dir"], found["file"])


def _login(options: Mapping[str, str], protocol: SecurityProtocol) -> Login | None:
    if not protocol.authenticated:
        return None
    option = "kafka.sasl.jaas.config"
    mechanism = parse_mechanism(options.get("kafka.sasl.mechanism", ""))
    fields = dict(_JAAS.findall(options.get(option, "")))
    wanted = ("clientId", "clientSecret") if mechanism is SaslMechanism.OAUTHBEARER else ("username", "password")
    for name in wanted:
        if not fields.get(name):
            raise KafkaSinkOptionError(option, f"it has no {name}", f'write {name}="..." after the login module')
    secret = _secret(option, fields[wanted[1]])
    if mechanism is not SaslMechanism.OAUTHBEARER:
        return PasswordLogin(mechanism, fields["username"], secret)
    url = options.get("kafka.sasl.oauthbearer.token.endpoint.url", "")
    if not url:
        raise KafkaSinkOptionError(
            "kafka.sasl.oauthbearer.token.endpoint.url", "missing", "name the token server's address"
        )
    return ClientCredentialsLogin(url, fields["clientId"], secret, fields.get("scope"))


def _secret(option: str, text: str) -> SecretRef:
    found = _REFERENCE.fullmatch(text)
    if found is None:
        raise KafkaSinkOptionError(option, "a secret stands in it", _BY_REFERENCE)
    if found["name"] is not None:
        return SecretRef(SecretKind.ENV, found["name"])
    return SecretRef(SecretKind.FILE, os.path.join(found["dir"], found["file"]))
