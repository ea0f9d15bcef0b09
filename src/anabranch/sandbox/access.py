"""How a client reaches a cluster: the settings of confluent-kafka and an entry of a contexts file.

Passwords and tokens are written to files that only this user reads, below the cluster's root; environment variables
that carry them have names of their own for each cluster and user.
"""

from __future__ import annotations

import base64
import json
import time
from pathlib import Path
from typing import Any

from anabranch.errors import InvalidFieldError
from anabranch.sandbox.layout import ClusterLayout
from anabranch.sandbox.spec import ListenerSecurity

_TOKEN_SECONDS = 7 * 24 * 3600


def secret_variable(cluster: str, user: str, kind: str) -> str:
    """The environment variable with a user's ``password`` or ``token``: ``ANABRANCH_OLD_ADMIN_PASSWORD``."""
    return f"ANABRANCH_{cluster}_{user}_{kind}".upper().replace("-", "_")


def unsigned_token(user: str) -> str:
    """A JSON web token that names the user and is signed by nobody, as Kafka's unsecured validator takes it."""
    now = int(time.time())
    # A minute back, because the validator refuses a token from the future of its clock.
    claims = {"sub": user, "iat": now - 60, "exp": now + _TOKEN_SECONDS}
    parts = (json.dumps(part).encode() for part in ({"alg": "none"}, claims))
    return ".".join(base64.urlsafe_b64encode(part).decode().rstrip("=") for part in parts) + "."


class UserCredentials:
    """The credentials of a cluster's users."""

    def __init__(self, layout: ClusterLayout) -> None:
        self._layout = layout
        self._listener = layout.spec.listener
        self._kind = "token" if self._listener is ListenerSecurity.OAUTHBEARER else "password"
        self._tokens: dict[str, str] = {}

    @property
    def directory(self) -> Path:
        """The directory with certificates and secrets."""
        return self._layout.root / "access"

    def write_secrets(self) -> None:
        """Write each user's password or token to its file; nothing to write without SASL."""
        if not self._listener.sasl:
            return
        self.directory.mkdir(parents=True, exist_ok=True)
        for user in self._layout.spec.users:
            path = self.directory / f"{user}.secret"
            path.touch(mode=0o600)
            path.write_text(self.secret(user))  # without a line break: Java takes that for a part of it

    def secret(self, user: str) -> str:
        """The user's password, or with OAUTHBEARER a token; raises ``InvalidFieldError`` for an unknown user."""
        password = self._layout.spec.users.get(user)
        if password is None:
            known = ", ".join(self._layout.spec.users)
            where = f"sandbox cluster {self._layout.spec.name!r}"
            raise InvalidFieldError(where, "user", f"{user!r} is not one of its users", f"use one of {known}")
        if self._listener is ListenerSecurity.OAUTHBEARER:
            return self._tokens.setdefault(user, unsigned_token(user))
        return password

    def environment(self) -> dict[str, str]:
        """The environment variables that the contexts name, with the secrets; empty without SASL."""
        if not self._listener.sasl:
            return {}
        name = self._layout.spec.name
        return {secret_variable(name, user, self._kind): self.secret(user) for user in self._layout.spec.users}

    def client_config(self, user: str) -> dict[str, Any]:
        """The settings of a confluent-kafka client that logs in as ``user``."""
        secret = self.secret(user)
        config: dict[str, Any] = {
            "bootstrap.servers": self._layout.bootstrap,
            "security.protocol": self._listener.protocol,
        }
        if self._listener.encrypted:
            config["ssl.ca.location"] = str(self.directory / "ca.pem")
        if self._listener is ListenerSecurity.MTLS:
            config["ssl.certificate.location"] = str(self.directory / f"{user}.pem")
            config["ssl.key.location"] = str(self.directory / f"{user}-key.pem")
        if self._listener.sasl:
            config["sasl.mechanism"] = self._listener.value
        if self._listener is ListenerSecurity.OAUTHBEARER:
            config["enable.sasl.oauthbearer.unsecure.jwt"] = True
            config["sasl.oauthbearer.config"] = f"principal={user}"
        elif self._listener.sasl:
            config |= {"sasl.username": user, "sasl.password": secret}
        return config

    def context(self, user: str, *, secret_files: bool = False) -> dict[str, Any]:
        """An entry of a contexts file.

        Secrets are named by environment variable, or with ``secret_files`` by file, for processes that do not inherit
        this one's environment.
        """
        self.secret(user)
        tls: dict[str, str] = {}
        sasl: dict[str, str] = {}
        if self._listener.encrypted:
            tls["ca_file"] = str(self.directory / "ca.pem")
        if self._listener is ListenerSecurity.MTLS:
            tls["cert_file"] = str(self.directory / f"{user}.pem")
            tls["key_file"] = str(self.directory / f"{user}-key.pem")
        if self._listener.sasl:
            sasl["mechanism"] = self._listener.value
            if self._kind == "password":
                sasl["username"] = user
            if secret_files:
                sasl[f"{self._kind}_file"] = str(self.directory / f"{user}.secret")
            else:
                sasl[f"{self._kind}_env"] = secret_variable(self._layout.spec.name, user, self._kind)
        security: dict[str, Any] = {"protocol": self._listener.protocol}
        security |= {name: part for name, part in (("tls", tls), ("sasl", sasl)) if part}
        return {"bootstrap": self._layout.bootstrap.split(","), "security": security}
