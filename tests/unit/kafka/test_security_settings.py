"""From a context to a login: who we are to the brokers, which files are read, and which token is told."""

from __future__ import annotations

import io
import json
import urllib.parse
import urllib.request
from base64 import b64decode
from pathlib import Path
from typing import Any

import pytest

from anabranch.errors import AnabranchError, InvalidFieldError
from anabranch.kafka import security
from anabranch.kafka.errors import NoTokenError, passing
from anabranch.kafka.security import addresses, principal_of, transport_of
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
)
from anabranch.model.secrets import SecretKind, SecretRef
from tests.unit.clock import Clock

pytestmark = pytest.mark.unit

SECRET = SecretRef(SecretKind.ENV, "ANABRANCH_SETTINGS_SECRET")
PASSWORD = PasswordLogin(SaslMechanism.PLAIN, "me", SECRET)
CLIENT = ClientCredentialsLogin("https://tokens/give", "a client", SECRET, "read write")
TOKEN = TokenLogin(SECRET)


@pytest.fixture(autouse=True)
def _secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANABRANCH_SETTINGS_SECRET", "s3cret/+")


def context(login: Login | None = None, tls: Tls | None = None) -> ClusterContext:
    """A cluster with that security."""
    protocol = {
        (False, False): SecurityProtocol.PLAINTEXT,
        (True, False): SecurityProtocol.SASL_PLAINTEXT,
        (False, True): SecurityProtocol.SSL,
        (True, True): SecurityProtocol.SASL_SSL,
    }[login is not None, tls is not None]
    return ClusterContext("c", ("h:1", "[::1]:9093"), Security(protocol, tls, login))


@pytest.mark.parametrize(
    ("login", "tls", "who"),
    [
        (None, None, "User:ANONYMOUS"),
        (None, Tls(), "User:ANONYMOUS"),
        (PASSWORD, None, "User:me"),
        (CLIENT, None, "User:a client"),
        (TOKEN, None, "the bearer token's subject"),
        (None, Tls(None, "me.pem", "me.key"), "the subject of me.pem"),
        (PASSWORD, Tls(None, "me.pem", "me.key"), "User:me"),
    ],
)
def test_who_we_are_to_the_brokers_is_told_by_the_login(login: Login | None, tls: Tls | None, who: str) -> None:
    """By the certificate only where there is no login."""
    assert principal_of(context(login, tls)) == who


def test_addresses_are_hosts_and_ports() -> None:
    """Also of the newer protocol of the internet."""
    assert addresses(context()) == (("h", 1), ("::1", 9093))


def test_a_cluster_without_security_has_neither_tls_nor_a_login() -> None:
    """And one with either has that."""
    plain, guarded, closed = (transport_of(context(*one)) for one in ((), (PASSWORD,), (None, Tls())))
    assert (plain.tls, plain.sasl, plain.cluster) == (None, None, "c")
    assert guarded.tls is None and guarded.sasl is not None and guarded.sasl.mechanism == "PLAIN"
    assert closed.tls is not None and closed.sasl is None


@pytest.mark.parametrize("text", [None, "no certificate"])
@pytest.mark.parametrize("field", ["ca_file", "cert_file"])
def test_a_file_that_is_no_certificate_is_named(field: str, text: str | None, tmp_path: Path) -> None:
    """With the field of the context, before anything is connected."""
    path = tmp_path / "file.pem"
    if text is not None:
        path.write_text(text)
    tls = Tls(str(path)) if field == "ca_file" else Tls(None, str(path), str(path))
    with pytest.raises(InvalidFieldError) as refused:
        transport_of(context(None, tls))
    assert refused.value.field == field
    assert str(path) in refused.value.message


def test_a_secret_that_is_missing_is_told_before_anything_is_connected(monkeypatch: pytest.MonkeyPatch) -> None:
    """And one that was changed since is the one that is told at the next connect."""
    made = transport_of(context(PASSWORD)).sasl
    assert made is not None and made.asking is None
    monkeypatch.setenv("ANABRANCH_SETTINGS_SECRET", "changed")
    assert made.conversation("h").auth_bytes().split(b"\0")[-2:] == [b"me", b"changed"]
    monkeypatch.delenv("ANABRANCH_SETTINGS_SECRET")
    with pytest.raises(AnabranchError):
        transport_of(context(PASSWORD))


def test_a_token_that_is_kept_fresh_elsewhere_is_read_at_each_connect(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a bearer token."""
    made = transport_of(context(TOKEN)).sasl
    assert made is not None and made.mechanism == "OAUTHBEARER"
    assert b"auth=Bearer s3cret/+\x01" in made.conversation("h").auth_bytes()
    monkeypatch.setenv("ANABRANCH_SETTINGS_SECRET", "newer")
    assert b"auth=Bearer newer\x01" in made.conversation("h").auth_bytes()


class Server:
    """Gives out tokens; each answer is the next of these."""

    def __init__(self, *answers: Any) -> None:
        self.asked: list[urllib.request.Request] = []
        self._answers = list(answers)

    def __call__(self, request: urllib.request.Request, timeout: float) -> Any:
        self.asked.append(request)
        answer = self._answers.pop(0)
        return io.BytesIO(answer if isinstance(answer, bytes) else json.dumps(answer).encode())


def tokens(
    monkeypatch: pytest.MonkeyPatch, server: Server, times: list[float], login: ClientCredentialsLogin = CLIENT
) -> list[str]:
    """The tokens that are told at these times."""
    clock = Clock()
    monkeypatch.setattr(security.urllib.request, "urlopen", server)
    monkeypatch.setattr(security.time, "monotonic", clock)
    made = transport_of(context(login)).sasl
    assert made is not None and made.asking is not None
    told = []
    for clock.now in times:
        words = made.conversation("h").auth_bytes().decode()
        told.append(words.partition("Bearer ")[2].partition("\x01")[0])
    return told


def test_a_token_is_asked_for_with_the_clients_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the grant's standard writes it; its scope is asked for where the context gives one."""
    server = Server({"access_token": "one", "expires_in": 0}, {"access_token": "two", "expires_in": 0})
    assert tokens(monkeypatch, server, [1.0]) == ["one"]
    (asked,) = server.asked
    assert asked.full_url == "https://tokens/give"
    assert isinstance(asked.data, bytes)
    form = urllib.parse.parse_qs(asked.data.decode())
    assert form == {"grant_type": ["client_credentials"], "scope": ["read write"]}
    scheme, _, pair = str(asked.get_header("Authorization")).partition(" ")
    who, _, secret = b64decode(pair).decode().partition(":")
    assert (scheme, urllib.parse.unquote(who), urllib.parse.unquote(secret)) == ("Basic", "a client", "s3cret/+")
    without = ClientCredentialsLogin(CLIENT.token_url, CLIENT.client_id, SECRET)
    assert tokens(monkeypatch, server, [1.0], without) == ["two"]
    assert server.asked[1].data == b"grant_type=client_credentials"


def test_a_token_is_told_until_shortly_before_it_expires(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half a minute; then another one is asked for.  One that says nothing of its end is told once."""
    server = Server(
        {"access_token": "one", "expires_in": 100},
        {"access_token": "two"},
        {"access_token": "three", "expires_in": 20},
        {"access_token": "four", "expires_in": None},
        {"access_token": "five", "expires_in": 100},
    )
    told = tokens(monkeypatch, server, [10.0, 79.9, 80.0, 80.1, 80.2, 80.3])
    assert told == ["one", "one", "two", "three", "four", "five"]


@pytest.mark.parametrize(
    "answer", [b"<html>", {"error": "no"}, {"access_token": "x", "expires_in": "soon"}, b"[]", b"7"]
)
def test_an_answer_without_a_token_is_no_refusal(answer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server is not well, and is asked again; a token that was not understood whole is not told later."""
    server = Server(answer, {"access_token": "good", "expires_in": 100})
    with pytest.raises(NoTokenError) as failed:
        tokens(monkeypatch, server, [1.0])
    assert (failed.value.cluster, failed.value.url) == ("c", "https://tokens/give")
    assert passing(failed.value)
