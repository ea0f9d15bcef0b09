"""An instance from its settings: the store is opened, the socket bound, and both served until it is told to end."""

from __future__ import annotations

import gc
import ipaddress
import resource
import signal
import socket
import ssl
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

import uvicorn
from fastapi import FastAPI

from anabranch.errors import ConfigError
from anabranch.model.accounts import Account
from anabranch.model.clock import DAY_MS, now_ms
from anabranch.service.acting import LEASE, LEASE_MS, RENEW_S
from anabranch.service.app import make_app
from anabranch.service.clocks import check_clock
from anabranch.service.event_stream import StreamingProtocol
from anabranch.service.instance import Addresses, Instance
from anabranch.service.logs import log_plainly
from anabranch.service.settings import ServeSettings
from anabranch.service.stored import Stored
from anabranch.store.accounts import Accounts
from anabranch.store.database import Database, open_database
from anabranch.store.leases import InstanceLeases

CONNECTIONS = 20_000
"""Applications' clients hold one open each."""
SWITCH_S = 0.001
FIRST_ADMIN = "admin"
FIRST_DAYS = 90


@dataclass(eq=False)
class CannotListenError(ConfigError):
    """The service cannot listen where it was told to."""

    address: str
    why: str

    _message = "the service cannot listen at {address}: {why}"
    _hint = "name another one by --host and --port"


@dataclass(eq=False)
class PlainNetworkError(ConfigError):
    """Tokens would cross the network as they are."""

    host: str

    _message = "at {host} other machines could read the tokens: there is no certificate"
    _hint = "give --certificate and --key, or listen at 127.0.0.1 behind a proxy that has them"


@dataclass(eq=False)
class BadCertificateError(ConfigError):
    """The certificate and its key cannot be used."""

    certificate: str
    why: str

    _message = "the certificate {certificate} cannot be used: {why}"
    _hint = "give the chain as --certificate and its private key, without a password, as --key (PEM)"


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches an address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def first_admin(database: Database, *, with_token: bool) -> tuple[Account, str | None] | None:
    """The first account of all, and a token of it that is told once; None where there is one already."""
    accounts, now = Accounts(database), now_ms()
    made = accounts.first(FIRST_ADMIN, now)
    if made is None:
        return None
    text = accounts.issue(made.name, "first", now, now + FIRST_DAYS * DAY_MS)[0] if with_token else None
    return made, text


@dataclass(frozen=True, slots=True)
class Began:
    """That the service listens, where, and what was made as it began."""

    address: str
    admin: str | None
    token: str | None


def serve(settings: ServeSettings, told: Callable[[Began], None], *, with_token: bool) -> None:
    """Serve until SIGINT or SIGTERM; where the first admin is made, ``with_token`` makes a token, too.

    Raises CannotListenError, PlainNetworkError, BadCertificateError, ClockOffError, and what opening the store raises.
    """
    if settings.certificate is None and not is_loopback(settings.host):
        raise PlainNetworkError(settings.host)
    scheme = "http" if settings.certificate is None else "https"
    _check_certificate(settings)
    allow_connections()
    # Ten thousand clients are a million objects, and whoever asks waits while all of them are looked through.
    gc.set_threshold(100_000, 50, 100)
    # Whoever computes in a thread has the interpreter for so long after each of the loop's writes: of ten thousand
    # that a change is told to, Python's own 5 ms would make seconds.
    sys.setswitchinterval(SWITCH_S)
    log_plainly()
    database = open_database(settings.store)
    try:
        with bound(settings.host, settings.port) as listening:
            port = listening.getsockname()[1]
            name = f"{socket.gethostname()}:{port}"
            check_clock(InstanceLeases(database), LEASE, name, LEASE_MS, RENEW_S + 1, now_ms)
            admin = first_admin(database, with_token=with_token)
            instance = Instance(settings, Stored(database), name, addresses_of(settings, scheme, port))
            shown = f"[{settings.host}]" if ":" in settings.host else settings.host
            account, token = (None, None) if admin is None else (admin[0].name, admin[1])
            told(Began(settings.public_url or f"{scheme}://{shown}:{port}", account, token))
            Server(config_of(make_app(instance), settings), instance).run(sockets=[listening])
    finally:
        database.close()


def config_of(app: FastAPI, settings: ServeSettings) -> uvicorn.Config:
    """How it serves.

    Who asks is who connects, unless that is one of ``proxies``: uvicorn by itself believes the X-Forwarded-For of
    whoever connects from this machine, so that any user of it could have the audit name another's address, and guess
    tokens under a new one each time.
    """
    return uvicorn.Config(
        app,
        http=StreamingProtocol,
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=True,
        proxy_headers=bool(settings.proxies),
        forwarded_allow_ips=list(settings.proxies),
        ssl_certfile=settings.certificate,
        ssl_keyfile=settings.key,
        timeout_graceful_shutdown=5,
        timeout_keep_alive=75,
        h11_max_incomplete_event_size=64 * 1024,
        limit_concurrency=CONNECTIONS,
    )


class Server(uvicorn.Server):
    """Ends cleanly when it is told to: whoever listens to events is told first, and the process exits with 0."""

    def __init__(self, config: uvicorn.Config, instance: Instance) -> None:
        super().__init__(config)
        self._instance = instance

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Handle SIGINT and SIGTERM meanwhile; uvicorn's own raises them again at the end."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the event streams, which would hold the end up, then all else."""
        self._instance.end_streams()
        await super().shutdown(sockets)


def bound(host: str, port: int) -> socket.socket:
    """A socket that is bound and not yet listened at; raises CannotListenError."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        # Named, or asyncio does not know its connections as TCP's, and leaves Nagle's algorithm on: 40 ms an answer.
        listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
    except OSError as error:
        raise CannotListenError(f"{host}:{port}", error.strerror or str(error)) from error
    return listening


def allow_connections() -> None:
    """Have the system let this process open as many files as its administrator allows, if that is not enough."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = CONNECTIONS + 1000
    if soft != resource.RLIM_INFINITY and soft < wanted:
        most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def _check_certificate(settings: ServeSettings) -> None:
    if settings.certificate is None:
        return
    try:
        ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(
            settings.certificate, settings.key, password=lambda: ""
        )
    except (OSError, ssl.SSLError) as error:
        raise BadCertificateError(str(settings.certificate), str(error)) from error


def addresses_of(settings: ServeSettings, scheme: str, port: int) -> Addresses:
    """By which names it may be asked: where it listens for this machine alone, those of this machine."""
    public = None if settings.public_url is None else settings.public_url.rstrip("/")
    hosts: set[str] = set()
    if public is not None:
        hosts.add(urlsplit(public).netloc.lower())
    if is_loopback(settings.host):
        hosts |= {f"{name}:{port}" for name in ("localhost", "127.0.0.1", "[::1]")}
    return Addresses(scheme, frozenset(hosts), public)
