"""Where the service is that a verb asks, and the token that it sends, which is never an option."""

from __future__ import annotations

import ipaddress
import os
import urllib.parse
from collections.abc import Mapping
from dataclasses import dataclass

import typer

from anabranch.cli.located import contexts
from anabranch.errors import ConfigError, InvalidFieldError
from anabranch.model.home import expanded

SERVICE_FLAG = "--service"
SERVICE_ENV = "ANABRANCH_SERVICE"
TOKEN_ENV, TOKEN_FILE_ENV = "ANABRANCH_TOKEN", "ANABRANCH_TOKEN_FILE"
DEFAULT = "http://127.0.0.1:8420"
NEW_TOKEN = f"anabranch token create ACCOUNT; then export {TOKEN_ENV}=..., or {TOKEN_FILE_ENV}=FILE"
ELSEWHERE = f"or name another: {SERVICE_FLAG} URL, {SERVICE_ENV}, or service in the contexts file"


@dataclass(eq=False)
class NoServiceTokenError(ConfigError):
    """A verb asks the service, and has no token."""

    why: str

    _message = "no token for the service: {why}"
    _hint = NEW_TOKEN


@dataclass(frozen=True, slots=True)
class ServiceAddress:
    """Where the service is, from a URL such as ``https://anabranch.example.com:8420``."""

    url: str
    scheme: str
    host: str
    port: int | None
    path: str

    @classmethod
    def of(cls, text: str, where: str) -> ServiceAddress:
        """The address in a text that stands ``where``; raises InvalidFieldError.

        A token goes to another machine over TLS alone.
        """

        def wrong(problem: str) -> InvalidFieldError:
            return InvalidFieldError(where, "service", problem, f"write it as {DEFAULT} or https://HOST:PORT")

        try:
            parts = urllib.parse.urlsplit(text)
            port = parts.port
        except ValueError:
            raise wrong("it is not a URL") from None
        if parts.username is not None or parts.password is not None:
            raise wrong("a URL with a user or a password in it is not taken")
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
            raise wrong(f"{text!r} is not the URL of a service")
        if parts.scheme == "http" and not _is_here(parts.hostname):
            raise wrong(f"{text} is another machine, and a token would go there unencrypted")
        return cls(text.rstrip("/"), parts.scheme, parts.hostname, port, parts.path.rstrip("/"))


def _is_here(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def address_of(ctx: typer.Context, flag: str | None) -> ServiceAddress:
    """The flag's service, then the environment's, then the contexts file's, then this machine's.

    Raises ConfigError.
    """
    if flag:
        return ServiceAddress.of(flag, SERVICE_FLAG)
    if named := os.environ.get(SERVICE_ENV):
        return ServiceAddress.of(named, SERVICE_ENV)
    found = contexts(ctx)
    return ServiceAddress.of(found.service or DEFAULT, str(found.location.path))


def token_of(environ: Mapping[str, str]) -> str:
    """The token of the environment, or of the file that it names; raises NoServiceTokenError."""
    token, where = environ.get(TOKEN_ENV, ""), TOKEN_ENV
    if not token and (file := environ.get(TOKEN_FILE_ENV)):
        where = file
        try:
            token = expanded(file).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
            raise NoServiceTokenError(f"cannot read {file}, which {TOKEN_FILE_ENV} names: {reason}") from None
    token = token.strip()
    if not token:
        empty = f"neither {TOKEN_ENV} nor {TOKEN_FILE_ENV} is set" if where == TOKEN_ENV else f"{where} is empty"
        raise NoServiceTokenError(empty)
    if not (token.isascii() and token.isprintable()) or " " in token:
        raise NoServiceTokenError(f"what {where} holds is not a token")  # and is not repeated: it may be a secret
    return token
