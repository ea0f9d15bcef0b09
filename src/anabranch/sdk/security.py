"""A route's security as settings of librdkafka; secrets are read here, on the machine that connects, and not before.

Invariants
    S1  a setting that the application has given is never replaced, and the secret that it stands for is not read.
    S2  a secret is in the result alone, which goes to confluent-kafka and nowhere else.
"""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Callable, Mapping
from typing import Any

from anabranch.model.cluster import ClientCredentialsLogin, Login, PasswordLogin, Security, Tls
from anabranch.model.secrets import SecretRef

_TOKEN_S = 300.0
"""How long a token is taken to be good that does not say so itself: then it is read again."""


def librdkafka(security: Security, given: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that the application has not given itself; raises MissingSecretError."""
    settings: dict[str, Any] = {}
    if "security.protocol" not in given:
        settings["security.protocol"] = security.protocol.value
    if security.tls is not None:
        settings |= _tls(security.tls, given)
    if security.login is not None:
        settings |= _login(security.login, given)
    return settings


def _has(given: Mapping[str, Any], *beginnings: str) -> bool:
    return any(name.startswith(beginnings) for name in given)


def _tls(tls: Tls, given: Mapping[str, Any]) -> dict[str, Any]:
    settings: dict[str, Any] = {}
    if tls.ca_file is not None and not _has(given, "ssl.ca."):
        settings["ssl.ca.location"] = tls.ca_file
    if tls.cert_file is not None and not _has(given, "ssl.certificate.", "ssl.key.", "ssl.keystore."):
        settings |= {"ssl.certificate.location": tls.cert_file, "ssl.key.location": tls.key_file}
        if tls.key_password is not None:
            settings["ssl.key.password"] = tls.key_password.resolve().reveal()
    return settings


def _login(login: Login, given: Mapping[str, Any]) -> dict[str, Any]:
    if _has(given, "sasl.") or "oauth_cb" in given:
        return {}
    settings: dict[str, Any] = {"sasl.mechanisms": login.mechanism.value}
    if isinstance(login, PasswordLogin):
        return settings | {"sasl.username": login.username, "sasl.password": login.password.resolve().reveal()}
    if isinstance(login, ClientCredentialsLogin):
        settings |= {
            "sasl.oauthbearer.method": "oidc",
            "sasl.oauthbearer.token.endpoint.url": login.token_url,
            "sasl.oauthbearer.client.id": login.client_id,
            "sasl.oauthbearer.client.secret": login.client_secret.resolve().reveal(),
        }
        return settings if login.scope is None else settings | {"sasl.oauthbearer.scope": login.scope}
    login.token.resolve()  # a missing one is told at once, and not in the background
    return settings | {"oauth_cb": _reader(login.token)}


def _reader(token: SecretRef) -> Callable[[Any], tuple[str, float]]:
    """What confluent-kafka asks whenever the token that it has grows old."""

    def read(_: Any) -> tuple[str, float]:
        value = token.resolve().reveal()
        return value, _ends(value)

    return read


def _ends(token: str) -> float:
    """When it ends, in seconds since 1970, by its own words if it is a JSON web token."""
    try:
        part = token.split(".")[1]
        return float(json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))["exp"])
    except (IndexError, KeyError, TypeError, ValueError):
        return time.time() + _TOKEN_S
