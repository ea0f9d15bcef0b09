"""`anabranch catalog` against a service, as it is typed: each verb shows its plan and does what it showed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from qa.service import Served, serving, until
from tests.integration.console import Run, console, named_command

SQL = """CREATE DATABASE shop COMMENT 'the shop';
CREATE TABLE shop.orders (id BIGINT COMMENT 'its number', name STRING) USING rate OPTIONS (rowsPerSecond '1');
CREATE VIEW shop.large AS SELECT * FROM shop.orders WHERE id > 10;
CREATE FUNCTION shop.twice(x INT) RETURNS INT RETURN x * 2;
"""


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    """A service without clusters."""
    with serving(str(tmp_path / "store.db"), {}, tmp_path) as made:
        until(lambda: made.instance.acting.acts)
        yield made


@pytest.fixture
def run(served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """The console script as an admin."""
    monkeypatch.setenv("ANABRANCH_SERVICE", f"http://127.0.0.1:{served.port}")
    monkeypatch.setenv("ANABRANCH_TOKEN", served.tokens["admin"])
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shop.sql").write_text(SQL, encoding="utf-8")
    (tmp_path / "mine").mkdir()
    return console({}, tmp_path / "mine", monkeypatch, capsys, "catalog")


@pytest.mark.test
def test_what_is_shown_is_what_is_done(run: Run) -> None:
    """From a file of SQL to grants, and gone again."""
    code, out, err = run("create", "shop.sql")
    assert code == 0 and "spark_catalog.shop.orders" in out, err
    code, out, err = run(*named_command(err, "Apply with: ")[1:])
    assert code == 0 and "done: spark_catalog.shop, spark_catalog.shop.orders" in out, err
    code, out, _ = run("list", "shop", "--search", "ORD")
    assert code == 0 and "shop.orders" in out and "shop.large" not in out
    code, out, _ = run("show", "shop.orders")
    assert code == 0 and "its number" in out and "rowsPerSecond = 1" in out
    for name, text in (("shop.large", "WHERE id > 10"), ("shop.twice", "RETURN x * 2"), ("shop", "the shop")):
        assert text in run("show", name)[1]
    assert "id BIGINT" in run("versions", "shop.orders")[1]
    for verb in ("grant", "revoke"):
        code, out, err = run(verb, "read", "shop.orders", "group:shop", "--execute")
        assert code == 0 and "group:shop" in out, err
    assert run("grant", "manage", "shop", "user:viewer", "--on", "database", "--execute")[0] == 0
    assert "user:viewer" in run("grants")[1]
    assert "viewer" in run("group", "team", "--add", "viewer", "--execute")[1]
    assert "team" in run("groups")[1]
    assert "of viewer: new" in run("set", "shop.orders", "--owner", "viewer", "--description", "new", "--execute")[1]
    code, out, _ = run("drop", "shop.orders")
    assert code == 0 and "views and functions that have its name: spark_catalog.shop.large" in out
    assert run("drop", "shop.orders", "--execute")[0] == 0
    assert "shop.orders" not in json.dumps(run("list", "-o", "json")[1])


@pytest.mark.full
def test_what_is_refused_says_why_and_what_to_do(run: Run, tmp_path: Path) -> None:
    """With the place in the file, and the exit code of its kind."""
    assert run("create", "shop.sql", "--execute")[0] == 0
    code, _, err = run("create", "shop.sql")
    assert code == 3 and "there is a database spark_catalog.shop already" in err and "CREATE OR REPLACE" in err
    (tmp_path / "shop.sql").write_text("CREATE TABLE shop.orders (\n  id LONGER) USING rate", encoding="utf-8")
    code, _, err = run("create", "shop.sql")
    assert code == 2 and "line 2" in err and "LONGER" in err
    (tmp_path / "shop.sql").write_text("CREATE OR REPLACE TABLE shop.orders (id BIGINT) USING rate", encoding="utf-8")
    code, _, err = run("create", "shop.sql")
    assert code == 3 and "column name goes" in err and "--accept-breaking" in err
    assert run("create", "gone.sql")[0] == 2
    code, _, err = run("show", "shop.nothing")
    assert code == 3 and "anabranch catalog list" in err
    code, _, err = run("drop", "shop", "--kind", "database")
    assert code == 3 and "has 3 objects" in err
    code, _, err = run("drop", "shop.orders", "--topic", "--execute")
    assert code == 2 and "--confirm shop.orders" in err
    assert run("set", "shop.orders")[0] == 2 and run("group", "team")[0] == 2
    assert run("grant", "read", "shop.orders", "mei")[0] == 2
