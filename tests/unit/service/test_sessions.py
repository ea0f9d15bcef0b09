"""Tokens and sessions over HTTP: what a sign-out ends and what it does not, and tokens that have expired."""

from __future__ import annotations

import http.client

import pytest

from anabranch.model.clock import now_ms
from anabranch.service import identity
from anabranch.service.identity import COOKIE, SESSION_S
from anabranch.service.rest import events
from qa.service import Answered, Served, until
from qa.timeouts import TIMEOUT_S

pytestmark = pytest.mark.test


def as_browser(served: Served, method: str, path: str, token: str) -> Answered:
    """What a browser is answered that keeps this token."""
    headers = {"Cookie": f"{COOKIE}={token}", "Origin": f"http://127.0.0.1:{served.port}"}
    return served.ask(method, path, role=None, headers=headers)


def session(served: Served, account: str) -> str:
    """The token of a login through a provider."""
    now = now_ms()
    return served.instance.stored.accounts.begin_session(account, now, now + SESSION_S * 1000)[0]


def test_a_sign_out_ends_the_session_also_for_who_copied_the_cookie(alone: Served) -> None:
    """A session that a login began: its token is nobody's from then on, and other sessions of the account go on."""
    mine, other = session(alone, "operator"), session(alone, "operator")
    assert as_browser(alone, "GET", "/api/v1/me", mine).json["account"] == "operator"
    ended = as_browser(alone, "DELETE", "/api/v1/session", mine)
    assert ended.status == 204
    assert 'anabranch=""' in ended.headers["set-cookie"] and "Max-Age=0" in ended.headers["set-cookie"]
    assert as_browser(alone, "GET", "/api/v1/me", mine).status == 401
    assert as_browser(alone, "DELETE", "/api/v1/session", mine).status == 401
    assert alone.ask("GET", "/api/v1/me", role=None, headers={"Authorization": f"Bearer {mine}"}).status == 401
    assert as_browser(alone, "GET", "/api/v1/me", other).status == 200
    assert [one["verb"] for one in alone.get("/api/v1/audit")] == ["session.end"]


def test_a_sign_out_leaves_a_token_that_somebody_typed(alone: Served) -> None:
    """It is a program's as well, or that of another browser."""
    token = alone.tokens["viewer"]
    assert alone.ask("POST", "/api/v1/session", {"token": token}, role=None).status == 204
    assert as_browser(alone, "DELETE", "/api/v1/session", token).status == 204
    assert alone.get("/api/v1/me")["account"] == "viewer"
    assert all(one["revoked_at"] is None for one in alone.get("/api/v1/tokens", role="admin"))


def test_nobody_makes_a_token_that_a_sign_out_would_end(alone: Served) -> None:
    """The name of sessions is theirs alone."""
    refused = alone.ask("POST", "/api/v1/tokens", {"account": "viewer", "name": "browser"}, role="viewer")
    assert (refused.status, refused.json["title"]) == (409, "session name")
    assert alone.ask("POST", "/api/v1/tokens", {"account": "viewer", "name": "browsers"}, role="viewer").status == 201


def test_a_token_that_has_expired_is_refused_and_told_so_and_one_that_never_was_is_not(alone: Served) -> None:
    """With what to do; by header, by cookie, and when a page signs in with it."""
    accounts, now = alone.instance.stored.accounts, now_ms()
    token = accounts.issue("viewer", "short", now - 2_000, now - 1_000)[0]
    by_header = alone.ask("GET", "/api/v1/links", role=None, headers={"Authorization": f"Bearer {token}"})
    by_cookie = as_browser(alone, "GET", "/api/v1/links", token)
    by_page = alone.ask("POST", "/api/v1/session", {"token": token}, role=None)
    for refused in (by_header, by_cookie, by_page):
        assert (refused.status, refused.json["title"]) == (401, "not signed in")
        assert "the token of account viewer expired " in refused.json["detail"]
        assert "token create" in refused.json["hint"]
        assert refused.headers["www-authenticate"] == "Bearer"
        assert token not in refused.body.decode()
    assert "set-cookie" not in by_page.headers
    nobodys = alone.ask("GET", "/api/v1/links", role=None, headers={"Authorization": "Bearer x"})
    assert nobodys.status == 401 and "of account" not in nobodys.json["detail"]


def test_a_token_that_expires_meanwhile_ends_what_it_had_opened(alone: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is taken, then it is not; who listens by it is told and let go; what others have goes on."""
    later = [0]
    monkeypatch.setattr(events, "KNOWN_S", 0.05)
    monkeypatch.setattr(events, "QUIET_S", 0.05)
    monkeypatch.setattr(identity, "now_ms", lambda: now_ms() + later[0])
    token = session(alone, "operator")
    assert as_browser(alone, "GET", "/api/v1/me", token).status == 200
    connection = http.client.HTTPConnection("127.0.0.1", alone.port, timeout=TIMEOUT_S)
    connection.request("GET", "/api/v1/events", headers={"Cookie": f"{COOKIE}={token}"})
    stream = connection.getresponse()
    assert stream.readline() == b"event: open\n"
    later[0] = SESSION_S * 1000
    assert stream.read().decode().endswith("event: signed-out\ndata: {}\n\n")
    assert as_browser(alone, "GET", "/api/v1/me", token).status == 401
    until(lambda: len(alone.instance.hub) == 0)
    assert alone.get("/api/v1/me")["account"] == "viewer"
    connection.close()


def test_what_needs_a_token_says_so_and_refuses_without(alone: Served) -> None:
    """Each address is as OpenAPI tells of it; with no token, one that is nobody's, and an empty cookie."""
    told = alone.get("/api/v1/openapi.json", role=None)["paths"]
    opened = set()
    for path, methods in told.items():
        where = path.replace("{token_id}", "0" * 32).replace("{plan_id}", "0" * 32).replace("{work_id}", "0" * 32)
        where = where.replace("{where}", "orders-0")
        for method, operation in methods.items():
            if "security" not in operation:
                opened.add((method, path))
                continue
            for headers in ({}, {"Authorization": "Bearer anb_x"}, {"Cookie": f"{COOKIE}="}):
                alone.instance.identity._attempts._known.clear()
                sent = {"Content-Type": "application/json", "Sec-Fetch-Site": "same-origin", **headers}
                found = alone.ask(method.upper(), where, b"{}", role=None, headers=sent)
                assert (found.status, found.json["title"]) == (401, "not signed in"), (method, path, headers)
    assert opened == {
        ("get", "/healthz"),
        ("get", "/readyz"),
        ("get", "/api/v1/login"),
        ("get", "/api/v1/login/done"),
        ("get", "/api/v1/login/ways"),
        ("post", "/api/v1/session"),
    }


def test_a_method_that_an_address_has_not_is_refused_with_those_that_it_has(alone: Served) -> None:
    """All of them, also where they are of several routes."""
    for method, path, allowed in (
        ("PUT", "/api/v1/session", "DELETE, POST"),
        ("OPTIONS", "/api/v1/tokens", "GET, POST"),
        ("DELETE", "/api/v1/links", "GET"),
        ("POST", "/metrics", "GET"),
    ):
        found = alone.ask(method, path, {}, role="admin")
        assert (found.status, found.headers["allow"]) == (405, allowed)
