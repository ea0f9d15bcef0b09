"""What the service and its clients send each other, as JSON: routes, with references to secrets and no secret."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from anabranch.errors import ConfigError
from anabranch.model.cluster import (
    ClientCredentialsLogin,
    Login,
    PasswordLogin,
    SaslMechanism,
    Security,
    Tls,
    TokenLogin,
    parse_mechanism,
    parse_protocol,
)
from anabranch.model.routing import ClientFacts, ClientReport, Route, RouteQuery
from anabranch.model.secrets import SecretKind, SecretRef
from anabranch.model.security_fields import security_fields
from anabranch.sdk.errors import MalformedRouteError

T = TypeVar("T")
_WHAT = "route"


def query_fields(query: RouteQuery, facts: ClientFacts) -> dict[str, Any]:
    """The body of a registration; the service sees the address itself."""
    return {
        "code": query.code,
        "role": query.role.value,
        "topics": list(query.topics),
        "group": query.group,
        "client_id": query.client_id,
        "parameters": dict(query.parameters),
        "facts": {"application": facts.application, "host": facts.host, "pid": facts.pid, "sdk": facts.sdk},
    }


def report_fields(report: ClientReport) -> dict[str, Any]:
    """The body of a report."""
    return {
        "version": report.version,
        "records": report.records,
        "bytes": report.bytes,
        "errors": report.errors,
        "lag": report.lag,
        "positions": dict(report.positions),
        "last_error": report.last_error,
    }


def route_of(fields: Any) -> Route:
    """The route in an answer; raises MalformedRouteError."""
    if not isinstance(fields, dict):
        raise MalformedRouteError(_WHAT, "it is no object")
    topics = get(fields, "topics", dict)
    bootstrap = get(fields, "bootstrap", list)
    if not bootstrap or not all(isinstance(one, str) for one in (*bootstrap, *topics, *topics.values())):
        raise MalformedRouteError(_WHAT, "topics and bootstrap are not names")
    try:
        security = _security(get(fields, "security", dict))
    except ConfigError as error:
        raise MalformedRouteError(_WHAT, error.message) from error
    return Route(
        get(fields, "code", str),
        get(fields, "cluster", str),
        tuple(bootstrap),
        security,
        topics,
        get(fields, "may_read", bool),
        get(fields, "may_write", bool),
        get(fields, "rule", str),
        get(fields, "since", int),
        get(fields, "version", int),
    )


def route_fields(route: Route) -> dict[str, Any]:
    """What `route_of` reads as this route."""
    return {
        "code": route.code,
        "cluster": route.cluster,
        "bootstrap": list(route.bootstrap),
        "security": security_fields(route.security),
        "topics": dict(route.topics),
        "may_read": route.may_read,
        "may_write": route.may_write,
        "rule": route.rule,
        "since": route.since,
        "version": route.version,
    }


def get(fields: Mapping[str, Any], name: str, kind: type[T]) -> T:
    """A field of that kind; raises MalformedRouteError."""
    value = fields.get(name)
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise MalformedRouteError(_WHAT, f"its {name} is no {kind.__name__}")
    return value


def _security(fields: Mapping[str, Any]) -> Security:
    tls, sasl = fields.get("tls"), fields.get("sasl")
    return Security(
        parse_protocol(get(fields, "protocol", str)),
        None if tls is None else _tls(get(fields, "tls", dict)),
        None if sasl is None else _login(get(fields, "sasl", dict)),
    )


def _tls(fields: Mapping[str, Any]) -> Tls:
    files = {name: _text(fields, name) for name in ("ca_file", "cert_file", "key_file")}
    return Tls(**files, key_password=_reference(fields, "key_password"))


def _login(fields: Mapping[str, Any]) -> Login:
    mechanism = parse_mechanism(get(fields, "mechanism", str))
    if mechanism is not SaslMechanism.OAUTHBEARER:
        return PasswordLogin(mechanism, get(fields, "username", str), _needed(fields, "password"))
    token = _reference(fields, "token")
    if token is not None:
        return TokenLogin(token)
    url, client = get(fields, "token_url", str), get(fields, "client_id", str)
    return ClientCredentialsLogin(url, client, _needed(fields, "client_secret"), _text(fields, "scope"))


def _text(fields: Mapping[str, Any], name: str) -> str | None:
    return None if fields.get(name) is None else get(fields, name, str)


def _needed(fields: Mapping[str, Any], name: str) -> SecretRef:
    found = _reference(fields, name)
    if found is None:
        raise MalformedRouteError(_WHAT, f"it has no {name}_env and no {name}_file")
    return found


def _reference(fields: Mapping[str, Any], name: str) -> SecretRef | None:
    for kind in SecretKind:
        place = _text(fields, f"{name}_{kind}")
        if place:
            return SecretRef(kind, place)
    return None
