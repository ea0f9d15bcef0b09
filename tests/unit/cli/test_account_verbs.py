"""``anabranch account`` and ``token``, on a store of this machine."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from anabranch.model.accounts import Role
from anabranch.model.clock import DAY_MS, now_ms
from anabranch.store.accounts import Accounts
from anabranch.store.audit import Audit, AuditEntry
from anabranch.store.database import Database, open_database
from tests.integration.console import Run, console

pytestmark = pytest.mark.test


@pytest.fixture
def store(tmp_path: Path) -> str:
    """Where the store is."""
    return str(tmp_path / "store.db")


@pytest.fixture
def run(store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """A verb on it."""
    call = console({}, tmp_path, monkeypatch, capsys)
    return lambda *words: call(*words, "--store", store)


@pytest.fixture
def database(store: str) -> Iterator[Database]:
    """The store."""
    made = open_database(store)
    try:
        yield made
    finally:
        made.close()


def answered(made: tuple[int, str, str]) -> Any:
    """What a verb that went well says as JSON."""
    code, out, err = made
    assert (code, err) == (0, "")
    return json.loads(out)


def audited(database: Database) -> list[AuditEntry]:
    """What was audited, the oldest first."""
    return list(reversed(Audit(database).entries(10)))


def test_an_account_is_made_changed_and_listed_and_each_change_is_audited(run: Run, database: Database) -> None:
    """As one of the machine's user."""
    [made] = answered(run("account", "add", "mei", "--role", "operator", "-o", "json"))
    assert (made["name"], made["disabled_at"]) == ("mei", None)
    assert Accounts(database).all()[0].role is Role.OPERATOR
    code, out, _ = run("account", "set", "mei", "--role", "viewer", "--disable")
    assert (code, out.splitlines()[1].split()[:2], out.split()[-1]) == (0, ["mei", "viewer"], "disabled")
    code, out, _ = run("account", "set", "mei", "--enable")
    assert (code, out.splitlines()[1].split()[:2], out.split()[-1]) == (0, ["mei", "viewer"], "enabled")
    run("account", "set", "mei", "--role", "admin")
    code, out, _ = run("account", "list")
    assert (code, out.splitlines()[1].split()[:2]) == (0, ["mei", "admin"])
    entries = audited(database)
    assert [(one.verb, one.subject, one.detail) for one in entries] == [
        ("account.add", "account mei", "operator"),
        ("account.set", "account mei", "viewer, disabled"),
        ("account.set", "account mei", "enabled"),
        ("account.set", "account mei", "admin"),
    ]
    assert all(one.account.endswith("(command line)") for one in entries)


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("account", "set", "mei"), 2, "nothing to change was given"),
        (("account", "add", "mei", "--role", "king"), 2, "king"),
        (("account", "set", "mei", "--role", "king"), 2, "king"),
        (("account", "set", "nobody", "--disable"), 3, "nobody"),
        (("token", "create", "nobody"), 3, "nobody"),
        (("token", "revoke", "nothing"), 3, "nothing"),
    ],
)
def test_what_is_wrong_or_not_there_changes_nothing(
    run: Run, database: Database, words: tuple[str, ...], code: int, said: str
) -> None:
    """It is told, with its exit code."""
    found, out, err = run(*words)
    assert (found, out, err.startswith("error: "), said in err) == (code, "", True, True)
    assert Accounts(database).all() == [] and audited(database) == []


def test_a_token_is_printed_once_and_taken_until_it_ends_or_is_revoked(run: Run, database: Database) -> None:
    """Its text is kept nowhere; of one account alone where that is asked for."""
    run("account", "add", "mei", "--role", "operator")
    run("account", "add", "jo", "--role", "viewer")
    code, text, err = run("token", "create", "mei", "--name", "ci", "--days", "2")
    assert (code, err, text.count("\n")) == (0, "", 1)
    run("token", "create", "jo")
    known, began = Accounts(database), now_ms()
    of_token = known.of_token(text.strip(), began)
    assert of_token is not None
    assert (of_token[0].name, of_token[1].name) == ("mei", "ci")
    assert known.of_token(text.strip(), began + DAY_MS) is not None
    assert known.of_token(text.strip(), began + 2 * DAY_MS + 1) is None
    everyone = answered(run("token", "list", "-o", "json"))
    assert sorted(one["account"] for one in everyone) == ["jo", "mei"]
    [mine] = answered(run("token", "list", "--account", "mei", "-o", "json"))
    assert text.strip() not in json.dumps(everyone)
    code, out, _ = run("token", "revoke", mine["id"])
    assert (code, out.splitlines()[1].split()[:3]) == (0, [mine["id"], "mei", "ci"])
    assert "revoked" in out
    assert known.of_token(text.strip(), began) is None
    assert [one.verb for one in audited(database)][-2:] == ["token.create", "token.revoke"]
    assert f"ci, {mine['id']}" in {one.detail for one in audited(database)}


@pytest.mark.parametrize("name", ["a b", "<b>", "é", "a\nb", "ada\n", "", "a" * 201])
def test_a_name_that_the_service_would_refuse_is_refused(run: Run, database: Database, name: str) -> None:
    """An account has the same names here and there; nothing is made."""
    code, _, err = run("account", "add", name, "--role", "viewer")
    assert code == 2 and "cannot be an account's name" in err and "use letters" in err
    assert Accounts(database).all() == [] and audited(database) == []
