"""Who a client is: SASL PLAIN and SCRAM.

Source: RFC 5802 for SCRAM.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Callable
from typing import Any

from kafka.protocol.sasl import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)

from anabranch.kafka.simulated.broker import ClientSession, Handler

MECHANISMS = {"PLAIN": "", "SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
UNSUPPORTED_MECHANISM, WRONG = 33, 58
ROUNDS = 4096
_Reply = Callable[[Any], None]


def handshake(session: ClientSession, request: Any, version: int, reply: _Reply) -> None:
    """Choose a mechanism."""
    known = request.mechanism in MECHANISMS
    if known:
        session.is_known = False  # until it has logged in, again as well (KIP-368)
        session.conversation = _Plain() if request.mechanism == "PLAIN" else _Scram(MECHANISMS[request.mechanism])
    reply(SaslHandshakeResponse(error_code=0 if known else UNSUPPORTED_MECHANISM, mechanisms=list(MECHANISMS)))


def authenticate(session: ClientSession, request: Any, version: int, reply: _Reply) -> None:
    """One step of the conversation."""
    answer, user = session.conversation.step(bytes(request.auth_bytes), session.broker.cluster.access.users)
    if answer is None:
        reply(
            SaslAuthenticateResponse(
                error_code=WRONG,
                error_message="Authentication failed: Invalid username or password",
                auth_bytes=b"",
                session_lifetime_ms=0,
            )
        )
        session.end()
        return
    lifetime_ms = 0
    if user is not None:
        session.is_known, session.principal = True, f"User:{user}"
        cluster = session.broker.cluster
        lifetime_ms = cluster.number("connections.max.reauth.ms")
        session.login_ends = cluster.timers.monotonic() + lifetime_ms / 1000 if lifetime_ms else None
    reply(
        SaslAuthenticateResponse(error_code=0, error_message=None, auth_bytes=answer, session_lifetime_ms=lifetime_ms)
    )


class _Plain:
    """RFC 4616."""

    def step(self, told: bytes, users: dict[str, str]) -> tuple[bytes | None, str | None]:
        """(answer, user) once; (None, None) for wrong credentials."""
        parts = told.split(b"\0")
        name = parts[1].decode() if len(parts) == 3 else ""
        if name in users and users[name] == parts[2].decode():
            return b"", name
        return None, None


class _Scram:
    """RFC 5802: two steps."""

    def __init__(self, algorithm: str) -> None:
        self._hash = algorithm
        self._first = self._server_first = b""
        self._name = ""

    def step(self, told: bytes, users: dict[str, str]) -> tuple[bytes | None, str | None]:
        """(answer, None), then (answer, user); (None, None) for wrong credentials."""
        fields = dict(part.split("=", 1) for part in told.decode().split(",") if "=" in part)
        if not self._first:
            self._first, self._name = told.split(b",", 2)[2], fields["n"]
            if self._name not in users:
                return None, None
            nonce = fields["r"] + hashlib.sha256(self._first).hexdigest()[:16]
            salt = base64.b64encode(self._name.encode()).decode()
            self._server_first = f"r={nonce},s={salt},i={ROUNDS}".encode()
            return self._server_first, None
        salted = hashlib.pbkdf2_hmac(self._hash, users[self._name].encode(), self._name.encode(), ROUNDS)
        client = hmac.digest(salted, b"Client Key", self._hash)
        stored = hashlib.new(self._hash, client).digest()
        without = told[: told.rindex(b",p=")]
        whole = b",".join((self._first, self._server_first, without))
        signature = hmac.digest(stored, whole, self._hash)
        proof = bytes(a ^ b for a, b in zip(client, signature, strict=True))
        if base64.b64encode(proof).decode() != told[told.rindex(b",p=") + 3 :].decode():
            return None, None
        server = hmac.digest(hmac.digest(salted, b"Server Key", self._hash), whole, self._hash)
        return b"v=" + base64.b64encode(server), self._name


APIS = (
    Handler(SaslHandshakeRequest, handshake),
    Handler(SaslAuthenticateRequest, authenticate),
)
