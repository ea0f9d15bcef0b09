"""Who asks is who connects; the word of a proxy is taken where the service's file names it, and nobody else's."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer

from anabranch.cli import serve
from anabranch.config import serve_file
from anabranch.errors import ConfigError
from qa.service import Served, serving, until

pytestmark = pytest.mark.unit

FILE = "version: 1\nproxies: [10.1.2.3, 10.9.0.0/16, '::1']\n"


def address_told(served: Served, *forwarded: str) -> str:
    """The address that the audit has of an account that is made by a request with such headers."""
    known = len(served.get("/api/v1/audit"))
    headers = {"X-Forwarded-For": ", ".join(forwarded), "X-Forwarded-Proto": "https", "Forwarded": "for=192.0.2.99"}
    made = {"name": f"robot-{known}", "role": "viewer"}
    assert served.ask("POST", "/api/v1/accounts", made, role="admin", headers=headers).status == 201
    return str(served.get("/api/v1/audit")[0]["address"])


def test_nobody_says_of_himself_where_he_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither from this machine, nor where an environment that is none of ours would have uvicorn believe it."""
    monkeypatch.setenv("FORWARDED_ALLOW_IPS", "*")
    for proxies in ((), ("192.0.2.7", "198.51.100.0/24")):
        with serving(str(tmp_path / f"{len(proxies)}.db"), {}, tmp_path, proxies=proxies) as served:
            until(lambda made=served: made.instance.acting.acts)  # type: ignore[misc]
            assert address_told(served, "203.0.113.5") == "127.0.0.1"
            for number in range(25):
                wrong = {"Authorization": "Bearer anb_no", "X-Forwarded-For": f"203.0.113.{number}"}
                last = served.ask("GET", "/api/v1/me", role=None, headers=wrong).status
            assert last == 429, "another address each time, or so it says"


def test_a_proxy_that_is_named_says_who_asks(tmp_path: Path) -> None:
    """The last address that no proxy of ours has; what its client wrote before that is nobody's word."""
    with serving(str(tmp_path / "store.db"), {}, tmp_path, proxies=("127.0.0.1/32", "10.0.0.0/8")) as served:
        until(lambda: served.instance.acting.acts)
        assert address_told(served, "203.0.113.5") == "203.0.113.5"
        assert address_told(served, "192.0.2.1", "203.0.113.5") == "203.0.113.5"
        assert address_told(served, "192.0.2.1", "203.0.113.5", "10.3.3.3") == "203.0.113.5"
        for at in range(25):
            wrong = {"Authorization": "Bearer anb_no", "X-Forwarded-For": "203.0.113.5"}
            last = served.ask("GET", "/api/v1/me", role=None, headers=wrong).status
            other = served.ask("GET", "/api/v1/me", role=None, headers={**wrong, "X-Forwarded-For": f"192.0.2.{at}"})
            assert other.status == 401, "each address has a limit of its own"
        assert last == 429


def test_the_services_file_names_proxies(tmp_path: Path) -> None:
    """Addresses and networks; a name, or whoever there is, is refused by its field."""
    file = tmp_path / "serve.yaml"
    file.write_text(FILE)
    context = typer.Context(typer.main.get_command(typer.Typer(callback=lambda: None)))
    flags: dict[str, str | int | None] = {"host": None, "port": None, "master": None}
    settings = serve._settings(context, serve_file.load(file), tmp_path, flags, "store.db", None, None, None)
    assert settings.proxies == ("10.1.2.3/32", "10.9.0.0/16", "::1/128")
    for wrong in ("'*'", "proxy.example.com", "10.1.2.3/8"):
        file.write_text(f"version: 1\nproxies: [{wrong}]\n")
        with pytest.raises(ConfigError, match="proxies"):
            serve_file.load(file)
