"""What is said where a context's security is not the listener's."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from typing import Any

import pytest

from anabranch.kafka.cluster import Cluster
from anabranch.kafka.connection import Transport
from anabranch.kafka.errors import AuthenticationError, UnreachableError, UntrustedClusterError

pytestmark = pytest.mark.unit


class Wire(asyncio.Transport):
    """A transport that takes all."""

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None: ...
    def write(self, data: Any) -> None: ...
    def writelines(self, parts: Any) -> None: ...
    def abort(self) -> None: ...


def told(tls: ssl.SSLContext | None, fails: BaseException | None, lost: Exception | None = None) -> Exception:
    """The error of a cluster whose only address fails to connect so, or ends each connection before any answer."""

    async def ask() -> None:
        loop = asyncio.get_running_loop()

        async def connect(factory: Callable[[], Any], *_: Any, **__: Any) -> tuple[None, Any]:
            if fails is not None:
                raise fails
            made = factory()
            made.connection_made(Wire())
            loop.call_soon(made.connection_lost, lost)
            return None, made

        loop.create_connection = connect  # type: ignore[assignment,method-assign]
        await Cluster(Transport("prod", "User:ANONYMOUS", tls), [("h", 9093)]).any_connection()

    with pytest.raises((UnreachableError, AuthenticationError)) as raised:
        asyncio.run(ask())
    return raised.value


TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


@pytest.mark.parametrize("lost", [None, ConnectionResetError()])
def test_plain_text_to_a_port_with_tls_is_said_to_be_that(lost: Exception | None) -> None:
    """The broker says nothing and ends the connection; the person must not be left with an empty reason."""
    error = told(None, None, lost)
    assert isinstance(error, UnreachableError)
    assert "before it answered anything; the port may be one with TLS" in error.message
    assert "protocol" in error.hint and "anabranch context show prod" in error.hint


@pytest.mark.parametrize("fails", [ConnectionResetError(), ssl.SSLError(1, "[SSL: WRONG_VERSION_NUMBER] wrong")])
def test_tls_to_a_port_without_it_is_said_to_be_that(fails: Exception) -> None:
    """Whatever the TLS library calls it, and where it calls it nothing."""
    error = told(TLS, fails)
    assert isinstance(error, UnreachableError)
    assert "in the TLS handshake; the port may be one without TLS" in error.message
    assert ": ," not in error.message


def test_a_port_where_nobody_listens_has_nothing_to_do_with_tls() -> None:
    """A refused connection stays one."""
    assert "TLS" not in str(told(TLS, ConnectionRefusedError(111, "refused")))


@pytest.mark.parametrize(
    ("reason", "hint"),
    [
        ("unable to get local issuer certificate", "--ca-file"),
        ("self-signed certificate in certificate chain", "--ca-file"),
        ("Hostname mismatch, certificate is not valid for 'h'.", "an address that the certificate names"),
        ("certificate has expired", "renew"),
    ],
)
def test_a_certificate_that_is_not_accepted_has_a_way_out_of_its_own(reason: str, hint: str) -> None:
    """It is not the user's password, and not the cluster that refused."""
    fails = ssl.SSLCertVerificationError(1, "verify failed")
    fails.verify_message = reason
    error = told(TLS, fails)
    assert isinstance(error, UntrustedClusterError)
    assert error.message == f"cluster prod is not trusted: certificate of h:9093: {reason}"
    assert hint in error.hint and "secret" not in error.hint
