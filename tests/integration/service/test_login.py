"""Signing in through a real provider, as a browser does it."""

from __future__ import annotations

import html
import http.client
import re
import urllib.parse
from collections.abc import Iterator
from http.cookies import SimpleCookie
from pathlib import Path

import pytest

from anabranch.model.accounts import Role
from anabranch.model.secrets import SecretKind, SecretRef
from anabranch.service.settings import OidcSettings
from qa.keycloak import CLIENT, SECRET, Keycloak, keycloak
from qa.service import Answered, Served, serving, until
from qa.timeouts import TIMEOUT_S

pytestmark = pytest.mark.test

USERS = {"mei": ["kafka-oncall", "engineering"], "vis": ["visitors"]}
ROLES = {"kafka-oncall": Role.APPROVER, "engineering": Role.VIEWER}


class Browser:
    """Follows redirects, and keeps each host's cookies."""

    def __init__(self) -> None:
        self.cookies: dict[str, dict[str, str]] = {}

    def ask(self, method: str, url: str, fields: dict[str, str] | None = None) -> tuple[str, Answered]:
        """The last address and its answer."""
        for _ in range(10):
            found = self._once(method, url, fields)
            if found.status not in (302, 303):
                return url, found
            url = urllib.parse.urljoin(url, found.headers["location"])
            method, fields = "GET", None
        raise AssertionError(f"{url} redirects for ever")

    def once(self, url: str) -> Answered:
        """One answer, wherever it leads."""
        return self._once("GET", url, None)

    def _once(self, method: str, url: str, fields: dict[str, str] | None) -> Answered:
        parts = urllib.parse.urlsplit(url)
        jar = self.cookies.setdefault(parts.netloc, {})
        headers = {"Cookie": "; ".join(f"{name}={value}" for name, value in jar.items())}
        body = None
        if fields is not None:
            body = urllib.parse.urlencode(fields)
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        connection = http.client.HTTPConnection(parts.netloc, timeout=TIMEOUT_S)
        try:
            path = parts.path + (f"?{parts.query}" if parts.query else "")
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            for name, value in answer.getheaders():
                if name.lower() == "set-cookie":
                    for key, morsel in SimpleCookie(value).items():
                        if morsel["max-age"] == "0":
                            jar.pop(key, None)
                        else:
                            jar[key] = morsel.value
            return Answered(answer.status, {n.lower(): v for n, v in answer.getheaders()}, answer.read())
        finally:
            connection.close()

    def sign_in(self, served: Served, name: str, password: str) -> tuple[str, Answered]:
        """Through the provider's own form."""
        where, page = self.ask("GET", f"http://127.0.0.1:{served.port}/api/v1/login")
        action = re.search(r'action="([^"]+)"', page.body.decode())
        assert action is not None, page.body
        return self.ask(
            "POST", urllib.parse.urljoin(where, html.unescape(action[1])), {"username": name, "password": password}
        )


@pytest.fixture(scope="module")
def provider(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Keycloak]:
    """One provider for all."""
    with keycloak(tmp_path_factory.mktemp("provider"), USERS) as running:
        yield running


@pytest.fixture
def served(provider: Keycloak, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    """The service that trusts it."""
    monkeypatch.setenv("ANABRANCH_CLIENT_SECRET", SECRET)
    secret = SecretRef(SecretKind.ENV, "ANABRANCH_CLIENT_SECRET")
    oidc = OidcSettings(provider.issuer, CLIENT, secret, "the platform", "groups", ROLES, groups_claim="groups")
    with serving(str(tmp_path / "store.db"), {}, tmp_path, oidc=oidc) as made:
        until(lambda: made.instance.acting.acts)
        yield made


def test_somebody_signs_in_with_the_highest_role_of_their_groups(served: Served) -> None:
    """The account is made at the first login, audited, and its session ends when it is told to."""
    browser = Browser()
    assert served.get("/api/v1/login/ways", role=None) == {"provider": "the platform"}
    browser.sign_in(served, "mei", "mei-password")
    home = f"http://127.0.0.1:{served.port}"
    me = browser.once(f"{home}/api/v1/me").json
    assert (me["account"], me["role"]) == ("mei", "approver")
    mine = browser.once(f"{home}/api/v1/catalog/groups").json
    assert [(one["group"], one["members"], one["claimed"]) for one in mine] == [
        (group, ["mei"], ["mei"]) for group in sorted(USERS["mei"])
    ]
    asked = {"group": "engineering", "remove": ["mei"]}
    refused = served.ask("POST", "/api/v1/catalog/group/plan", asked, role="admin")
    assert (refused.status, refused.json["title"]) == (409, "claimed member")
    again = Browser()
    again.sign_in(served, "mei", "mei-password")
    assert again.once(f"{home}/api/v1/me").json["account"] == "mei"
    accounts = {one["name"]: one for one in served.get("/api/v1/accounts", role="admin")}
    assert accounts["mei"]["issuer"].endswith("/realms/platform")
    assert [one["verb"] for one in served.get("/api/v1/audit")] == ["session.begin", "session.begin"]
    copied = {"Cookie": f"anabranch={again.cookies[urllib.parse.urlsplit(home).netloc]['anabranch']}", "Origin": home}
    assert served.ask("DELETE", "/api/v1/session", role=None, headers=copied).status == 204
    assert served.ask("GET", "/api/v1/me", role=None, headers=copied).status == 401, "nobody goes on with its cookie"
    assert browser.once(f"{home}/api/v1/me").status == 200, "the other browser's session goes on"
    assert served.ask("PATCH", "/api/v1/accounts/mei", {"disabled": True}, role="admin").status == 200
    assert browser.once(f"{home}/api/v1/me").status == 401
    _, refused = Browser().sign_in(served, "mei", "mei-password")
    assert (refused.status, "disabled" in refused.json["detail"]) == (403, True)


def test_who_has_no_role_is_not_let_in(served: Served) -> None:
    """The provider knows them; their groups give nothing, and no account is made."""
    _, refused = Browser().sign_in(served, "vis", "vis-password")
    assert refused.status == 403
    assert "has none of the values of 'groups'" in refused.json["detail"]
    assert "vis" not in {one["name"] for one in served.get("/api/v1/accounts", role="admin")}


def test_an_account_of_the_store_is_not_taken_over(served: Served) -> None:
    """A name that an admin made belongs to who has its token."""
    assert served.ask("POST", "/api/v1/accounts", {"name": "mei", "role": "viewer"}, role="admin").status == 201
    _, refused = Browser().sign_in(served, "mei", "mei-password")
    assert (refused.status, "is not the provider's" in refused.json["detail"]) == (403, True)


def test_an_answer_of_another_login_is_refused(served: Served) -> None:
    """A link that somebody else made for this browser: another state, no cookie, a code that was used."""
    browser, home = Browser(), f"http://127.0.0.1:{served.port}"
    done = f"{home}/api/v1/login/done"
    assert browser.once(f"{done}?code=x&state=y").status == 403
    browser.once(f"{home}/api/v1/login")
    refused = browser.once(f"{done}?code=x&state=y")
    assert (refused.status, "another login" in refused.json["detail"]) == (403, True)
    begun = browser.once(f"{home}/api/v1/login")
    state = urllib.parse.parse_qs(urllib.parse.urlsplit(begun.headers["location"]).query)["state"][0]
    refused = browser.once(f"{done}?code=made-up&state={state}")
    assert (refused.status, "does not take the code" in refused.json["detail"]) == (403, True)
    assert browser.once(f"{home}/api/v1/me").status == 401


def test_a_provider_that_is_away_is_named(tmp_path: Path) -> None:
    """A token signs in meanwhile."""
    oidc = OidcSettings("http://127.0.0.1:9", CLIENT, None, "away", "groups", ROLES)
    with serving(str(tmp_path / "store.db"), {}, tmp_path, oidc=oidc) as made:
        refused = made.ask("GET", "/api/v1/login", role=None)
        assert (refused.status, "127.0.0.1:9" in refused.json["detail"]) == (502, True)
        assert made.get("/api/v1/me")["account"] == "viewer"
