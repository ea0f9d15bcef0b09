"""The shape of a contexts file, and its two directions: to ``ClusterContext`` and from flags to a file's mapping.

Paths in the file are relative to the file.  Secrets are named by ``*_env`` or ``*_file`` only.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import Field

from anabranch.config.yaml_file import FileShape, check, refuse_secrets
from anabranch.errors import InvalidFieldError
from anabranch.model.cluster import (
    ClientCredentialsLogin,
    ClusterContext,
    Login,
    PasswordLogin,
    SaslMechanism,
    Security,
    SecurityProtocol,
    Tls,
    TokenLogin,
    parse_mechanism,
    parse_protocol,
)
from anabranch.model.home import expanded
from anabranch.model.secrets import SecretKind, SecretRef
from anabranch.model.security_fields import security_fields

T = TypeVar("T")

_PROTOCOLS: dict[str, Any] = {"enum": [p.value for p in SecurityProtocol]}
_MECHANISMS: dict[str, Any] = {"enum": [m.value for m in SaslMechanism]}


class TlsShape(FileShape):
    """PEM files; all are optional, cert_file and key_file go together."""

    ca_file: str | None = Field(
        default=None, description="Authorities that the broker's certificate is checked against."
    )
    cert_file: str | None = Field(default=None, description="Our certificate, for mTLS.")
    key_file: str | None = Field(default=None, description="Our private key, for mTLS.")
    key_password_env: str | None = Field(
        default=None, description="Environment variable with the private key's password."
    )
    key_password_file: str | None = Field(default=None, description="File with the private key's password.")


class SaslShape(FileShape):
    """Who we are: username and password, a token endpoint, or a token."""

    mechanism: str = Field(description="SASL mechanism.", json_schema_extra=_MECHANISMS)
    username: str | None = Field(default=None, description="For PLAIN and SCRAM.")
    password_env: str | None = Field(default=None, description="Environment variable with the password.")
    password_file: str | None = Field(default=None, description="File with the password.")
    token_url: str | None = Field(default=None, description="OAUTHBEARER: OAuth 2 token endpoint (client credentials).")
    client_id: str | None = Field(default=None, description="OAUTHBEARER: client id at the token endpoint.")
    client_secret_env: str | None = Field(default=None, description="Environment variable with the client secret.")
    client_secret_file: str | None = Field(default=None, description="File with the client secret.")
    scope: str | None = Field(default=None, description="OAUTHBEARER: scope to ask for.")
    token_env: str | None = Field(default=None, description="OAUTHBEARER: environment variable with a bearer token.")
    token_file: str | None = Field(
        default=None, description="OAUTHBEARER: file with a bearer token, read at each connect."
    )


class SecurityShape(FileShape):
    """How the connection is secured."""

    protocol: str = Field(default="PLAINTEXT", description="Security protocol.", json_schema_extra=_PROTOCOLS)
    tls: TlsShape | None = Field(default=None, description="For SSL and SASL_SSL.")
    sasl: SaslShape | None = Field(default=None, description="For SASL_SSL and SASL_PLAINTEXT.")


class ContextShape(FileShape):
    """One cluster."""

    bootstrap: list[str] = Field(min_length=1, description="One or more host:port.")
    security: SecurityShape = Field(default_factory=lambda: SecurityShape(protocol="PLAINTEXT"))


class ContextsShape(FileShape):
    """Clusters by the names that people use for them."""

    version: Literal[1] = Field(default=1, description="Version of this file's format.")
    target: str | None = Field(default=None, description="The context that verbs act on when no target is named.")
    service: str | None = Field(default=None, description="URL of the service that `anabranch route` asks.")
    contexts: dict[str, ContextShape] = Field(default_factory=dict)


def parse(value: dict[str, Any], path: Path) -> tuple[str | None, dict[str, ClusterContext]]:
    """The default target and the contexts of a file's mapping; raises ``ConfigError`` naming file and field."""
    shape = check(ContextsShape, value, str(path))
    contexts = {
        name: context_of(name, context, f"{path}: contexts.{name}", path.parent)
        for name, context in shape.contexts.items()
    }
    if shape.target is not None and shape.target not in contexts:
        problem = f"there is no context {shape.target!r}"
        raise InvalidFieldError(str(path), "target", problem, f"use one of {', '.join(contexts) or '(none yet)'}")
    return shape.target, contexts


def context_of(name: str, shape: ContextShape, where: str, base: Path | None) -> ClusterContext:
    """The context of one entry; ``where`` is named in errors, ``base`` is what its paths are relative to.

    Without one they stay as they are.
    """
    security = shape.security
    protocol = parse_protocol(security.protocol, f"{where}.security.protocol")
    tls = _tls(security.tls, f"{where}.security.tls", base) if security.tls is not None else None
    login = _login(security.sasl, f"{where}.security.sasl", base) if security.sasl is not None else None
    try:
        return ClusterContext(name, tuple(shape.bootstrap), Security(protocol, tls, login))
    except InvalidFieldError as error:
        raise InvalidFieldError(where, error.field, error.problem, error.fix) from error


def _tls(shape: TlsShape, where: str, base: Path | None) -> Tls:
    files = {name: _path(getattr(shape, name), base) for name in ("ca_file", "cert_file", "key_file")}
    try:
        return Tls(**files, key_password=_reference(shape, "key_password", where, base))
    except InvalidFieldError as error:
        raise InvalidFieldError(where, error.field, error.problem, error.fix) from error


def _login(shape: SaslShape, where: str, base: Path | None) -> Login:
    mechanism = parse_mechanism(shape.mechanism, f"{where}.mechanism")
    if mechanism is not SaslMechanism.OAUTHBEARER:
        _only(shape, where, mechanism, {"username", "password_env", "password_file"})
        username = _needed(shape.username, where, "username", "add username")
        password = _reference(shape, "password", where, base)
        fix = "add password_env: NAME or password_file: PATH"
        return PasswordLogin(mechanism, username, _needed(password, where, "password_env", fix))
    token = _reference(shape, "token", where, base)
    if token is not None:
        _only(shape, where, "a given token", {"token_env", "token_file"})
        return TokenLogin(token)
    allowed = {"token_url", "client_id", "client_secret_env", "client_secret_file", "scope"}
    _only(shape, where, mechanism, allowed)
    secret = _reference(shape, "client_secret", where, base)
    return ClientCredentialsLogin(
        _needed(shape.token_url, where, "token_url", "add token_url, or token_env or token_file with a bearer token"),
        _needed(shape.client_id, where, "client_id", "add client_id"),
        _needed(secret, where, "client_secret_env", "add client_secret_env: NAME or client_secret_file: PATH"),
        shape.scope,
    )


def _only(shape: SaslShape, where: str, what: str, allowed: set[str]) -> None:
    for name in sorted(shape.model_fields_set - allowed - {"mechanism"}):
        if getattr(shape, name) is not None:
            raise InvalidFieldError(where, name, f"{what} does not take it", f"remove {name}")


def _needed(value: T | None, where: str, field: str, fix: str) -> T:
    if value is None or value == "":
        raise InvalidFieldError(where, field, "missing", fix)
    return value


def _reference(shape: TlsShape | SaslShape, name: str, where: str, base: Path | None) -> SecretRef | None:
    variable: str | None = getattr(shape, f"{name}_env")
    file: str | None = getattr(shape, f"{name}_file")
    if variable and file:
        raise InvalidFieldError(where, f"{name}_env", f"{name}_file is given too", "keep one of them")
    if variable:
        return SecretRef(SecretKind.ENV, variable)
    path = _path(file, base)
    return SecretRef(SecretKind.FILE, path) if path else None


def _path(text: str | None, base: Path | None) -> str | None:
    if not text:
        return None
    return text if base is None else str(base.resolve() / expanded(text))


def read_context(name: str, fields: Mapping[str, Any], place: str) -> ClusterContext:
    """The context of one entry that stands elsewhere than in a contexts file.

    Its paths are absolute, or of the working directory of whoever opens them: Spark puts files there.
    """
    refuse_secrets(place, fields, "")
    return context_of(name, check(ContextShape, fields, place), place, None)


def context_fields(context: ClusterContext) -> dict[str, Any]:
    """The entry that ``read_context`` reads as this context; it holds references to secrets and no secret."""
    return {"bootstrap": list(context.bootstrap), "security": security_fields(context.security)}
