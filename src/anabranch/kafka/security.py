"""From a cluster context to what a connection needs: TLS settings and the SASL conversation.

Secrets are resolved here, late, and live only in the objects that the TLS and SASL libraries need.
"""

from __future__ import annotations

import json
import ssl
import time
import urllib.error
import urllib.parse
import urllib.request
from base64 import b64encode
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from kafka.net.sasl import get_sasl_mechanism
from kafka.net.sasl.oauth import AbstractTokenProvider

from anabranch.errors import InvalidFieldError
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.connection import Sasl, Transport
from anabranch.kafka.errors import AuthenticationError, NoTokenError
from anabranch.model.cluster import ClientCredentialsLogin, ClusterContext, Login, PasswordLogin, Tls

_ASKED_AT_ONCE = 4
_TOKEN_TIMEOUT_S = 10.0
_TOKEN_MARGIN_S = 30.0
_SERVER_ERROR = 500
_NO_TIME = frozenset({408, 425, 429})
"""Request Timeout, Too Early, Too Many Requests: nothing is said of the client."""


def open_cluster(context: ClusterContext, *, was_let_in: bool = False) -> Cluster:
    """A client of the context's cluster; nothing is connected yet.  Raises ConfigError for missing secrets or files.

    ``was_let_in``: somebody has logged in by this context before, so a login that is refused is waited for.
    """
    return Cluster(transport_of(context), addresses(context), was_let_in)


def addresses(context: ClusterContext) -> tuple[tuple[str, int], ...]:
    """The bootstrap servers as (host, port)."""
    pairs = (server.rpartition(":") for server in context.bootstrap)
    return tuple((host.strip("[]"), int(port)) for host, _, port in pairs)


def transport_of(context: ClusterContext) -> Transport:
    """The security of one context, ready for connections."""
    security = context.security
    tls = _tls(context.name, security.tls) if security.tls is not None else None
    sasl = _sasl(context.name, security.login, encrypted=tls is not None) if security.login is not None else None
    return Transport(context.name, principal_of(context), tls, sasl)


def principal_of(context: ClusterContext) -> str:
    """Who the brokers take us for, as ACLs name it; for mTLS the certificate decides and its file is named."""
    login = context.security.login
    if isinstance(login, PasswordLogin):
        return f"User:{login.username}"
    if isinstance(login, ClientCredentialsLogin):
        return f"User:{login.client_id}"
    if login is not None:
        return "the bearer token's subject"
    tls = context.security.tls
    if tls is not None and tls.cert_file is not None:
        return f"the subject of {tls.cert_file}"
    return "User:ANONYMOUS"


def _tls(cluster: str, tls: Tls) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=tls.ca_file)
    except (OSError, ssl.SSLError) as error:
        raise InvalidFieldError(
            f"context {cluster!r}",
            "ca_file",
            f"{tls.ca_file}: {error}",
            "give a readable PEM file of authorities",
        ) from error
    if tls.cert_file is not None:
        password = tls.key_password.resolve().reveal() if tls.key_password is not None else None
        try:
            context.load_cert_chain(tls.cert_file, tls.key_file, password)
        except (OSError, ssl.SSLError) as error:
            raise InvalidFieldError(
                f"context {cluster!r}",
                "cert_file",
                f"{tls.cert_file} with {tls.key_file}: {error}",
                "give a PEM certificate and its own PEM key",
            ) from error
    return context


def _sasl(cluster: str, login: Login, *, encrypted: bool) -> Sasl:
    mechanism = str(login.mechanism)
    make = get_sasl_mechanism(mechanism)
    settings: dict[str, Any] = {
        "sasl_mechanism": mechanism,
        "security_protocol": "SASL_SSL" if encrypted else "SASL_PLAINTEXT",
    }
    if isinstance(login, PasswordLogin):
        settings["sasl_plain_username"] = login.username
        login.password.resolve()  # one that is missing is told before anything is connected

        def conversation(host: str) -> Any:
            # At each connect: whoever copies for weeks must find a password that was changed.
            return make(host=host, **settings, sasl_plain_password=login.password.resolve().reveal())

        return Sasl(mechanism, conversation)
    if isinstance(login, ClientCredentialsLogin):
        settings["sasl_oauth_token_provider"] = _ClientCredentials(cluster, login)
        asking = ThreadPoolExecutor(_ASKED_AT_ONCE, thread_name_prefix=f"token of {cluster}")
        return Sasl(mechanism, lambda host: make(host=host, **settings), asking)
    settings["sasl_oauth_token_provider"] = _StoredToken(lambda: login.token.resolve().reveal())
    return Sasl(mechanism, lambda host: make(host=host, **settings))


class _StoredToken(AbstractTokenProvider):  # type: ignore[misc]  # the base is untyped
    """A token that something else keeps fresh, read at each connect."""

    def __init__(self, read: Callable[[], str]) -> None:
        self._read = read

    def token(self) -> str:
        """The bearer token."""
        return self._read()

    def extensions(self) -> dict[str, str]:
        """No SASL extensions."""
        return {}


class _ClientCredentials(_StoredToken):
    """Tokens by the client-credentials grant (RFC 6749, 4.4), kept until shortly before they expire."""

    def __init__(self, cluster: str, login: ClientCredentialsLogin) -> None:
        super().__init__(self._fresh)
        self._cluster = cluster
        self._login = login
        self._token = ""
        self._until = 0.0

    def _fresh(self) -> str:
        if time.monotonic() < self._until:
            return self._token
        login = self._login
        form = {"grant_type": "client_credentials"} | ({"scope": login.scope} if login.scope else {})
        pair = f"{urllib.parse.quote(login.client_id)}:{urllib.parse.quote(login.client_secret.resolve().reveal())}"
        request = urllib.request.Request(
            login.token_url,
            urllib.parse.urlencode(form).encode(),
            {"Authorization": "Basic " + b64encode(pair.encode()).decode(), "Accept": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=_TOKEN_TIMEOUT_S) as response:
                answer = json.load(response)
            self._token = str(answer["access_token"])
            self._until = time.monotonic() + max(0.0, float(answer.get("expires_in") or 0) - _TOKEN_MARGIN_S)
        except urllib.error.HTTPError as error:
            if error.code >= _SERVER_ERROR or error.code in _NO_TIME:
                raise NoTokenError(self._cluster, login.token_url, str(error)) from error
            raise AuthenticationError(
                self._cluster, f"User:{login.client_id}", "OAUTHBEARER", f"no token from {login.token_url}: {error}"
            ) from error
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise NoTokenError(self._cluster, login.token_url, str(error) or type(error).__name__) from error
        return self._token
