"""How a cluster is reached, as fields of a contexts file and of the service's answers: with references, no secret."""

from __future__ import annotations

from typing import Any

from anabranch.model.cluster import Login, PasswordLogin, Security, TokenLogin
from anabranch.model.secrets import SecretRef


def security_fields(security: Security) -> dict[str, Any]:
    """The field ``security`` of a context."""
    fields: dict[str, Any] = {"protocol": security.protocol.value}
    tls = security.tls
    if tls is not None:
        files = {"ca_file": tls.ca_file, "cert_file": tls.cert_file, "key_file": tls.key_file}
        fields["tls"] = {
            **{name: value for name, value in files.items() if value is not None},
            **_reference_fields("key_password", tls.key_password),
        }
    login = security.login
    if login is not None:
        fields["sasl"] = {"mechanism": login.mechanism.value, **_login_fields(login)}
    return fields


def _login_fields(login: Login) -> dict[str, str]:
    if isinstance(login, PasswordLogin):
        return {"username": login.username, **_reference_fields("password", login.password)}
    if isinstance(login, TokenLogin):
        return _reference_fields("token", login.token)
    return {
        "token_url": login.token_url,
        "client_id": login.client_id,
        **_reference_fields("client_secret", login.client_secret),
        **({"scope": login.scope} if login.scope is not None else {}),
    }


def _reference_fields(name: str, reference: SecretRef | None) -> dict[str, str]:
    return {} if reference is None else {f"{name}_{reference.kind}": reference.name}
