"""What of a configuration is ours, and what wins where a route meets it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.errors import ConfigError
from anabranch.model.cluster import (
    ClientCredentialsLogin,
    Login,
    PasswordLogin,
    SaslMechanism,
    Security,
    SecurityProtocol,
    Tls,
    TokenLogin,
)
from anabranch.model.routing import Route
from anabranch.model.secrets import MissingSecretError, SecretKind, SecretRef
from anabranch.sdk.config import OURS, merged, split
from anabranch.sdk.errors import SettingError, TwoClustersError, UnknownSettingError
from anabranch.sdk.wire import route_fields, route_of
from tests.chance import examples

pytestmark = pytest.mark.unit
HERE = {"ANABRANCH_SERVICE": "http://127.0.0.1:8420"}
PASSWORD = PasswordLogin(SaslMechanism.SCRAM_SHA_512, "shop", SecretRef(SecretKind.ENV, "SHOP_PASSWORD"))
SECRET = ClientCredentialsLogin("https://idp/token", "shop", SecretRef(SecretKind.FILE, "/run/secret"), "kafka")
TOKEN = TokenLogin(SecretRef(SecretKind.ENV, "SHOP_TOKEN"))


def route(security: Security | None = None, **topics: str) -> Route:
    """A route."""
    made = security or Security()
    return Route("orders", "old", ("a:9092", "b:9092"), made, topics, True, True, "", 1, 1)


def secured(login: Login, tls: Tls | None = None) -> Security:
    """Over TLS, with this login."""
    return Security(SecurityProtocol.SASL_SSL, tls, login)


def test_what_is_not_ours_stays_as_it_is() -> None:
    """Callbacks and settings of librdkafka are handed on."""
    given = {"group.id": "g", "error_cb": print, "client.id": "c"}
    settings, rest = split({"cluster.code": "orders", "route.parameters": {"site": "north"}, **given}, HERE)
    assert rest == given
    assert (settings.code, settings.service, dict(settings.parameters)) == (
        "orders",
        "http://127.0.0.1:8420",
        {"site": "north"},
    )
    assert str(settings.token) == "env:ANABRANCH_TOKEN"


@pytest.mark.parametrize("name", ["bootstrap.servers", "metadata.broker.list"])
def test_a_code_and_servers_together_are_refused(name: str) -> None:
    """Which of them counts would be a guess."""
    with pytest.raises(TwoClustersError, match=name):
        split({"cluster.code": "orders", name: "a:9092"}, HERE)


@pytest.mark.parametrize("name", ["route.servce", "route.token", "cluster.codes"])
def test_a_setting_of_ours_that_nobody_knows_is_refused(name: str) -> None:
    """With those that there are."""
    with pytest.raises(UnknownSettingError) as told:
        split({"cluster.code": "orders", name: "x"}, HERE)
    assert "route.token.env" in told.value.hint


@pytest.mark.parametrize(
    ("more", "what"),
    [
        ({"cluster.code": ""}, "cluster.code: missing"),
        ({"cluster.code": 7}, "cluster.code: not a text"),
        ({"route.service": "ftp://x"}, "not the URL"),
        ({"route.service": "http://[::1"}, "not a URL"),
        ({"route.service": "http://example.com"}, "unencrypted"),
        ({"route.service": "https://me:secret@example.com"}, "a user or a password"),
        ({"route.token.env": "A", "route.token.file": "b"}, "given too"),
        ({"route.parameters": {"job": 7}}, "not texts by name"),
        ({"route.topics": "orders"}, "not a list"),
        ({"route.block.max.ms": -1}, "not a number"),
    ],
)
def test_a_setting_that_cannot_be_is_refused_with_its_name(more: dict[str, Any], what: str) -> None:
    """Before anything is asked; a password in a URL is not repeated."""
    with pytest.raises(SettingError, match=what) as told:
        split({"cluster.code": "orders", **more}, HERE)
    assert "secret" not in str(told.value)


def test_the_token_is_the_settings_then_the_environments_then_of_the_file_that_it_names() -> None:
    """As the command line has it."""
    both = {**HERE, "ANABRANCH_TOKEN": "t", "ANABRANCH_TOKEN_FILE": "/run/t"}
    named = {**HERE, "ANABRANCH_TOKEN_FILE": "/run/t"}
    cases = [
        ({"route.token.env": "MINE"}, both, "env:MINE"),
        ({"route.token.file": "/mine"}, both, "file:/mine"),
        ({}, both, "env:ANABRANCH_TOKEN"),
        ({}, named, "file:/run/t"),
        ({}, {**HERE, "ANABRANCH_TOKEN_FILE": "~/t"}, f"file:{Path('~/t').expanduser()}"),
        ({}, HERE, "env:ANABRANCH_TOKEN"),
    ]
    for more, environ, found in cases:
        assert str(split({"cluster.code": "orders", **more}, environ)[0].token) == found


def test_the_service_must_be_said() -> None:
    """By a setting or the environment."""
    with pytest.raises(SettingError, match=r"route\.service: missing"):
        split({"cluster.code": "orders"}, {})


def test_the_cache_is_where_the_user_keeps_caches() -> None:
    """XDG_CACHE_HOME, where it is absolute."""
    config = {"cluster.code": "orders"}
    assert split(config, {**HERE, "XDG_CACHE_HOME": "/var/tmp/c"})[0].cache == Path("/var/tmp/c/anabranch/routes")
    assert split(config, {**HERE, "XDG_CACHE_HOME": "c"})[0].cache == Path("~/.cache/anabranch/routes").expanduser()


def test_a_password_is_read_where_it_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """And is missed there, by its reference."""
    monkeypatch.delenv("SHOP_PASSWORD", raising=False)
    with pytest.raises(MissingSecretError, match="env:SHOP_PASSWORD"):
        merged({}, route(secured(PASSWORD)))
    monkeypatch.setenv("SHOP_PASSWORD", "hunter2")
    found = merged({}, route(secured(PASSWORD, Tls("/ca.pem"))))
    assert found == {
        "bootstrap.servers": "a:9092,b:9092",
        "security.protocol": "SASL_SSL",
        "ssl.ca.location": "/ca.pem",
        "sasl.mechanisms": "SCRAM-SHA-512",
        "sasl.username": "shop",
        "sasl.password": "hunter2",
    }


def test_an_application_with_a_login_of_its_own_needs_none_of_the_routes(monkeypatch: pytest.MonkeyPatch) -> None:
    """S1: the secret that the route names is not even looked for."""
    monkeypatch.delenv("SHOP_PASSWORD", raising=False)
    own = {"sasl.mechanism": "PLAIN", "sasl.username": "me", "sasl.password": "mine"}
    found = merged(own, route(secured(PASSWORD)))
    assert {name: found[name] for name in own} == own
    assert "sasl.mechanisms" not in found


def test_tokens_come_from_where_the_route_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A token of a file or variable is read again by a callback; client credentials are librdkafka's matter."""
    monkeypatch.setenv("SHOP_TOKEN", "a.eyJleHAiOiAxMjM0fQ.b")
    reader = merged({}, route(secured(TOKEN)))["oauth_cb"]
    assert reader("") == ("a.eyJleHAiOiAxMjM0fQ.b", 1234.0)
    monkeypatch.setenv("SHOP_TOKEN", "opaque")
    assert reader("")[0] == "opaque"
    (tmp_path / "secret").write_text("s\n")
    login = ClientCredentialsLogin("https://idp/token", "shop", SecretRef(SecretKind.FILE, str(tmp_path / "secret")))
    found = merged({}, route(secured(login)))
    assert (found["sasl.oauthbearer.method"], found["sasl.oauthbearer.client.secret"]) == ("oidc", "s")


_NAMES = st.sampled_from(
    ["security.protocol", "ssl.ca.location", "ssl.key.password", "sasl.username", "sasl.mechanisms", "linger.ms"]
)


@examples(200)
@given(st.dictionaries(_NAMES, st.text(max_size=3)), st.sampled_from([None, PASSWORD]))
def test_whatever_the_application_gives_is_what_is_used(own: dict[str, str], login: Login | None) -> None:
    """S1 for any of them, and nothing of ours is ever handed on."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SHOP_PASSWORD", "hunter2")
        found = merged(own, route(Security() if login is None else secured(login, Tls("/ca.pem"))))
    assert {name: found[name] for name in own} == own
    assert not set(found) & set(OURS)


@pytest.mark.parametrize(
    "security",
    [
        Security(),
        Security(SecurityProtocol.SSL, Tls("/ca", "/cert", "/key", SecretRef(SecretKind.FILE, "/pass"))),
        secured(PASSWORD),
        secured(SECRET),
        secured(TOKEN),
    ],
)
def test_a_route_is_read_as_it_was_written(security: Security) -> None:
    """With every kind of security."""
    made = route(security, a="old.a")
    assert route_of(route_fields(made)) == made


def test_what_is_no_route_is_refused_with_what_is_wrong() -> None:
    """Each field by its name, and a kind of security that is not known by its own."""
    whole = route_fields(route())
    for name in whole:
        with pytest.raises((ConfigError, Exception), match=name if name != "security" else "security"):
            route_of({**whole, name: None})
    with pytest.raises(Exception, match="GSSAPI"):
        route_of({**whole, "security": {"protocol": "SASL_SSL", "sasl": {"mechanism": "GSSAPI"}}})
