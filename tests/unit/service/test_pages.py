"""The pages' addresses: what is built is served, what is not says how to build it, and programs get no page."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from anabranch.service import pages
from qa.service import Served

pytestmark = pytest.mark.unit


@pytest.fixture
def built(unchanged: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A build of one page and one asset, which the service serves."""
    directory = tmp_path / "static"
    (directory / "assets").mkdir(parents=True)
    (directory / "index.html").write_text("<!doctype html><title>Pages</title>")
    (directory / "assets" / "index-1a2b.js").write_text("1")
    (directory / "theme.js").write_text("2")
    (tmp_path / "secret").write_text("not for them")
    monkeypatch.setattr(_route(unchanged), "_built", directory.resolve())
    return directory


def _route(served: Served) -> pages.PagesRoute:
    return next(one for one in served.app.router.routes if isinstance(one, pages.PagesRoute))


def test_every_address_but_those_for_programs_answers_the_page(unchanged: Served, built: Path) -> None:
    """It is never kept by a browser, its assets always are."""
    for path in ("/", "/links/new/old-new", "/links/new/a.b/lanes/orders.x-0", "/x?y=1"):
        found = unchanged.ask("GET", path, role=None)
        assert (found.status, found.headers["content-type"]) == (200, "text/html; charset=utf-8"), path
        assert found.headers["cache-control"] == "no-store"
        assert "default-src 'self'" in found.headers["content-security-policy"]
    asset = unchanged.ask("GET", "/assets/index-1a2b.js", role=None)
    assert asset.headers["content-type"].startswith("text/javascript")
    assert "immutable" in asset.headers["cache-control"]
    assert unchanged.ask("GET", "/theme.js", role=None).headers["cache-control"] == "no-store"
    assert unchanged.ask("GET", "/assets/index-0000.js", role=None).status == 404


@pytest.mark.parametrize(
    "path", ["/../secret", "/%2e%2e/secret", "/assets/../../secret", "/assets/%2e%2e/%2e%2e/secret"]
)
def test_no_address_leads_out_of_the_build(unchanged: Served, built: Path, path: str) -> None:
    """Neither plainly nor encoded."""
    assert b"not for them" not in unchanged.ask("GET", path, role=None).body


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/api/v1/nothing", 404),
        ("GET", "/api", 404),
        ("POST", "/api/v1/nothing", 404),
        ("POST", "/api/v1/links", 405),
        ("DELETE", "/api/v1/links", 405),
        ("POST", "/", 405),
    ],
)
def test_programs_get_no_page(unchanged: Served, built: Path, method: str, path: str, status: int) -> None:
    """What is not there stays a problem."""
    found = unchanged.ask(method, path, {}, role=None)
    assert (found.status, found.headers["content-type"]) == (status, "application/problem+json")
    assert json.loads(found.body)["status"] == status


def test_pages_that_are_not_built_say_how_to_build_them(unchanged: Served, built: Path) -> None:
    """In plain words, never as an error of the service."""
    (built / "index.html").unlink()
    found = unchanged.ask("GET", "/", role=None)
    assert found.status == 503
    assert "make web" in found.body.decode()
    assert found.headers["content-type"].startswith("text/plain")
