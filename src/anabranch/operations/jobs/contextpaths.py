"""The paths that a context names: certificates, and files with secrets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from anabranch.model.cluster import ClientCredentialsLogin, ClusterContext, Login, PasswordLogin, Tls
from anabranch.model.secrets import SecretKind, SecretRef

Renaming = Callable[[str], str]


def paths(context: ClusterContext) -> tuple[str, ...]:
    """All of them."""
    found: list[str] = []

    def note(path: str) -> str:
        found.append(path)
        return path

    with_paths(context, note)
    return tuple(found)


def with_paths(context: ClusterContext, path: Renaming) -> ClusterContext:
    """The same context with other paths."""
    security = context.security
    tls, login = security.tls, security.login
    new = replace(
        security,
        tls=None if tls is None else _tls(tls, path),
        login=None if login is None else _login(login, path),
    )
    return replace(context, security=new)


def _tls(tls: Tls, path: Renaming) -> Tls:
    files = (tls.ca_file, tls.cert_file, tls.key_file)
    ca, cert, key = (None if file is None else path(file) for file in files)
    return Tls(ca, cert, key, None if tls.key_password is None else _reference(tls.key_password, path))


def _login(login: Login, path: Renaming) -> Login:
    if isinstance(login, PasswordLogin):
        return replace(login, password=_reference(login.password, path))
    if isinstance(login, ClientCredentialsLogin):
        return replace(login, client_secret=_reference(login.client_secret, path))
    return replace(login, token=_reference(login.token, path))


def _reference(secret: SecretRef, path: Renaming) -> SecretRef:
    return secret if secret.kind is not SecretKind.FILE else replace(secret, name=path(secret.name))
