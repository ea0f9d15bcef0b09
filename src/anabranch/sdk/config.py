"""An application's configuration, split: what is ours, and what is librdkafka's and stays as it is."""

from __future__ import annotations

import ipaddress
import os
import sys
import urllib.parse
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from anabranch.model.home import expanded
from anabranch.model.routing import Route
from anabranch.model.secrets import SecretKind, SecretRef
from anabranch.sdk.errors import SettingError, TwoClustersError, UnknownSettingError
from anabranch.sdk.security import librdkafka

CODE = "cluster.code"
SERVICE, SERVICE_ENV = "route.service", "ANABRANCH_SERVICE"
TOKEN_ENV, TOKEN_FILE = "route.token.env", "route.token.file"
APPLICATION, PARAMETERS, TOPICS = "route.application", "route.parameters", "route.topics"
CACHE, CA_FILE, BLOCK_MAX_MS = "route.cache.dir", "route.ca.file", "route.block.max.ms"
OURS = (CODE, SERVICE, TOKEN_ENV, TOKEN_FILE, APPLICATION, PARAMETERS, TOPICS, CACHE, CA_FILE, BLOCK_MAX_MS)
_SERVERS = ("bootstrap.servers", "metadata.broker.list")
_DEFAULT_TOKEN, _DEFAULT_TOKEN_FILE = "ANABRANCH_TOKEN", "ANABRANCH_TOKEN_FILE"
_BLOCK_MAX_MS = 60_000


@dataclass(frozen=True, slots=True)
class Settings:
    """What is ours.  ``block_s`` is how long a call is held back at most while a switch is under way."""

    code: str
    service: str
    token: SecretRef
    application: str
    cache: Path
    parameters: Mapping[str, str] = field(default_factory=dict, hash=False)
    topics: tuple[str, ...] = ()
    ca_file: str | None = None
    block_s: float = _BLOCK_MAX_MS / 1000


def split(config: Mapping[str, Any], environ: Mapping[str, str] | None = None) -> tuple[Settings, dict[str, Any]]:
    """Ours, and the rest unchanged; raises ConfigError where a setting of ours is wrong."""
    env = os.environ if environ is None else environ
    for name in config:
        if name.startswith(("route.", "cluster.code")) and name not in OURS:
            raise UnknownSettingError(name, OURS)
    code = _text(config, CODE)
    if not code:
        raise SettingError(CODE, "missing", f"name the cluster by its code: {{'{CODE}': 'orders', ...}}")
    for name in _SERVERS:
        if name in config:
            raise TwoClustersError(code, name)
    settings = Settings(
        code,
        _service(config, env),
        _token(config, env),
        _text(config, APPLICATION) or Path(sys.argv[0] or "python").name,
        _cache(config, env),
        _parameters(config),
        _topics(config),
        _text(config, CA_FILE) or None,
        _block_s(config),
    )
    return settings, {name: value for name, value in config.items() if name not in OURS}


def merged(given: Mapping[str, Any], route: Route) -> dict[str, Any]:
    """The configuration of a client of confluent-kafka where a route leads; what the application gave wins.

    Holds secrets: it goes nowhere else.  Raises MissingSecretError.
    """
    return {"bootstrap.servers": ",".join(route.bootstrap), **librdkafka(route.security, given), **given}


def _text(config: Mapping[str, Any], name: str) -> str:
    value = config.get(name, "")
    if not isinstance(value, str):
        raise SettingError(name, "not a text", f"write it as '{name}': '...'")
    return value


def _service(config: Mapping[str, Any], env: Mapping[str, str]) -> str:
    url = (_text(config, SERVICE) or env.get(SERVICE_ENV, "")).rstrip("/")
    fix = f"set '{SERVICE}' or {SERVICE_ENV} to https://HOST:PORT"
    if not url:
        raise SettingError(SERVICE, "missing", fix)
    try:
        parts = urllib.parse.urlsplit(url)
        wrong = parts.scheme not in ("http", "https") or not parts.hostname or parts.port == 0
    except ValueError:
        raise SettingError(SERVICE, "not a URL", fix) from None
    if parts.username is not None or parts.password is not None:
        raise SettingError(SERVICE, "it has a user or a password in it", fix)
    if wrong or parts.query or parts.fragment:
        raise SettingError(SERVICE, f"{url!r} is not the URL of a service", fix)
    if parts.scheme == "http" and not _is_here(parts.hostname or ""):
        raise SettingError(SERVICE, f"{url} is another machine, and a token would go there unencrypted", fix)
    return url


def _is_here(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _token(config: Mapping[str, Any], env: Mapping[str, str]) -> SecretRef:
    variable, file = _text(config, TOKEN_ENV), _text(config, TOKEN_FILE)
    if variable and file:
        raise SettingError(TOKEN_ENV, f"{TOKEN_FILE} is given too", "keep one of them")
    if not variable and not file and not env.get(_DEFAULT_TOKEN):
        file = env.get(_DEFAULT_TOKEN_FILE, "")
    if file:
        return SecretRef(SecretKind.FILE, str(expanded(file)))
    return SecretRef(SecretKind.ENV, variable or _DEFAULT_TOKEN)


def _cache(config: Mapping[str, Any], env: Mapping[str, str]) -> Path:
    named = config.get(CACHE, "")
    if named:
        return expanded(named)
    home = env.get("XDG_CACHE_HOME", "")
    return (Path(home) if os.path.isabs(home) else expanded("~/.cache")) / "anabranch" / "routes"


def _parameters(config: Mapping[str, Any]) -> dict[str, str]:
    value = config.get(PARAMETERS, {})
    if not isinstance(value, Mapping) or not all(isinstance(one, str) for pair in value.items() for one in pair):
        raise SettingError(PARAMETERS, "not texts by name", f"write it as '{PARAMETERS}': {{'job_id': '1234'}}")
    return dict(value)


def _topics(config: Mapping[str, Any]) -> tuple[str, ...]:
    value = config.get(TOPICS, ())
    if isinstance(value, str) or not all(isinstance(one, str) and one for one in value):
        raise SettingError(TOPICS, "not a list of topics", f"write it as '{TOPICS}': ['orders']")
    return tuple(dict.fromkeys(value))


def _block_s(config: Mapping[str, Any]) -> float:
    value = config.get(BLOCK_MAX_MS, _BLOCK_MAX_MS)
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
        raise SettingError(BLOCK_MAX_MS, "not a number of milliseconds", f"write it as '{BLOCK_MAX_MS}': 60000")
    return value / 1000
