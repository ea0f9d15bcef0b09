"""Accounts and tokens, on each database."""

from __future__ import annotations

import pytest
from sqlalchemy import text

from anabranch.model.accounts import Role
from anabranch.store.accounts import (
    ENDED_MS,
    SESSION,
    USED_EVERY_MS,
    AccountExistsError,
    Accounts,
    LastAdminError,
    NoAccountError,
    SessionNameError,
    UnknownTokenError,
)
from anabranch.store.catalog import StoredCatalog
from anabranch.store.database import Database

pytestmark = pytest.mark.test

NOW = 1_000_000


def test_a_token_is_its_accounts_until_it_ends(database: Database) -> None:
    """It expires, is revoked, or its account is disabled; and an account may come back."""
    accounts = Accounts(database)
    accounts.add("ada", Role.OPERATOR, NOW)
    short, _ = accounts.issue("ada", "laptop", NOW, NOW + 100)
    long, kept = accounts.issue("ada", "robot", NOW, None)
    found = accounts.of_token(short, NOW + 99)
    assert found is not None
    assert (found[0].name, found[0].role, found[1].name) == ("ada", Role.OPERATOR, "laptop")
    assert accounts.of_token(short, NOW + 100) is None
    ended = accounts.expired(short, NOW + 100)
    assert ended is not None and (ended.account, ended.expires_at) == ("ada", NOW + 100)
    assert accounts.expired(short, NOW + 99) is None and accounts.expired("anb_nobody", NOW) is None
    accounts.set("ada", NOW, disabled=True)
    assert accounts.of_token(long, NOW) is None
    assert accounts.expired(short, NOW + 100) is None, "it is not for its time alone"
    accounts.set("ada", NOW, disabled=False)
    assert accounts.of_token(long, NOW) is not None
    accounts.revoke(kept.id, NOW + 5)
    assert accounts.of_token(long, NOW) is None
    assert accounts.revoke(kept.id, NOW + 9).revoked_at == NOW + 5
    assert accounts.expired(long, 2**62) is None
    assert accounts.of_token("anb_nobody", NOW) is None


def test_tokens_that_ended_are_forgotten_some_time_later(database: Database) -> None:
    """With the next one that is made: a list does not grow with each login; what still is taken stays for good."""
    accounts = Accounts(database)
    accounts.add("ada", Role.OPERATOR, NOW)
    lasting, _ = accounts.issue("ada", "robot", NOW, None)
    accounts.issue("ada", "laptop", NOW, NOW + 100)
    revoked = accounts.issue("ada", "lost", NOW, None)[1]
    accounts.revoke(revoked.id, NOW + 200)
    accounts.begin_session("ada", NOW, NOW + 300)

    def after(wait: int) -> list[str]:
        accounts.issue("ada", f"after {wait}", NOW + wait, NOW + wait + 10 * ENDED_MS)
        return sorted(one.name for one in accounts.tokens() if not one.name.startswith("after"))

    assert after(ENDED_MS + 99) == ["browser", "laptop", "lost", "robot"]
    assert after(ENDED_MS + 100) == ["browser", "lost", "robot"]
    assert after(ENDED_MS + 200) == ["browser", "robot"]
    assert after(ENDED_MS + 300) == ["robot"]
    assert accounts.of_token(lasting, NOW + 100 * ENDED_MS) is not None


def test_no_token_is_called_what_those_of_logins_are(database: Database) -> None:
    """A sign-out would end it."""
    accounts = Accounts(database)
    accounts.add("ada", Role.VIEWER, NOW)
    with pytest.raises(SessionNameError):
        accounts.issue("ada", SESSION, NOW, None)
    assert accounts.tokens() == []
    assert accounts.begin_session("ada", NOW, NOW + 1)[1].name == SESSION
    with pytest.raises(NoAccountError):
        accounts.begin_session("nobody", NOW, NOW + 1)


def test_no_token_is_kept(database: Database) -> None:
    """Only its digest: whoever reads the store can use none."""
    accounts = Accounts(database)
    accounts.add("ada", Role.VIEWER, NOW)
    token, _ = accounts.issue("ada", "laptop", NOW, None)
    with database.begin() as connection:
        for table in ("accounts", "tokens"):
            assert token not in str(connection.execute(text(f"SELECT * FROM {table}")).all())


def test_the_last_use_is_noted_once_a_minute(database: Database) -> None:
    """A write at each request would cost more than the request."""
    accounts = Accounts(database)
    accounts.add("ada", Role.VIEWER, NOW)
    token, _ = accounts.issue("ada", "laptop", NOW, None)
    used = []
    for at in (NOW, NOW + USED_EVERY_MS - 1, NOW + USED_EVERY_MS):
        accounts.of_token(token, at)
        used.append(accounts.tokens("ada")[0].used_at)
    assert used == [NOW, NOW, NOW + USED_EVERY_MS]


def test_there_is_always_an_admin(database: Database) -> None:
    """The last one can neither be disabled nor become less."""
    accounts = Accounts(database)
    assert accounts.first("root", NOW) is not None
    assert accounts.first("another", NOW) is None
    with pytest.raises(LastAdminError):
        accounts.set("root", NOW, role=Role.VIEWER)
    with pytest.raises(LastAdminError):
        accounts.set("root", NOW, disabled=True)
    assert [(one.name, one.role, one.disabled_at) for one in accounts.all()] == [("root", Role.ADMIN, None)]
    accounts.add("ada", Role.ADMIN, NOW)
    assert accounts.set("root", NOW, disabled=True).disabled_at == NOW


def test_who_a_provider_vouches_for_has_the_role_of_now(database: Database) -> None:
    """But it vouches for nobody whose name is another's."""
    accounts = Accounts(database)
    made = accounts.vouched("ada@example.org", Role.VIEWER, "https://id.example.org", NOW)
    assert accounts.vouched("ada@example.org", Role.APPROVER, "https://id.example.org", NOW).role is Role.APPROVER
    assert accounts.vouched("ada@example.org", Role.APPROVER, "https://id.example.org", NOW).id == made.id
    accounts.add("root", Role.ADMIN, NOW)
    for issuer in ("https://id.example.org", "https://evil.example.org"):
        with pytest.raises(AccountExistsError):
            accounts.vouched("root" if issuer.startswith("https://id") else "ada@example.org", Role.ADMIN, issuer, NOW)


def test_groups_that_a_provider_claims_are_those_of_the_last_login(database: Database) -> None:
    """S19: whatever an admin has said of the same account stays, and the other way round."""
    accounts, catalog = Accounts(database), StoredCatalog(database)
    issuer = "https://id.example.org"
    catalog.set_members("shop", ["mei", "jo"], [])
    accounts.vouched("mei", Role.VIEWER, issuer, NOW, ("shop", "analysts"))
    assert catalog.groups() == {"analysts": ("mei",), "shop": ("jo", "mei")}
    assert catalog.assigned() == {"shop": ("jo", "mei")}
    catalog.set_members("shop", [], ["mei"])
    assert catalog.groups_of("mei") == {"shop", "analysts"}
    accounts.vouched("mei", Role.VIEWER, issuer, NOW, ("emea",))
    assert catalog.groups() == {"emea": ("mei",), "shop": ("jo",)}
    accounts.vouched("mei", Role.VIEWER, issuer, NOW)
    assert catalog.groups() == catalog.assigned() == {"shop": ("jo",)}
    with pytest.raises(AccountExistsError):
        accounts.vouched("mei", Role.VIEWER, "https://evil.example.org", NOW, ("shop",))
    assert catalog.groups_of("mei") == frozenset()


def test_what_is_not_there_is_refused(database: Database) -> None:
    """By its name; nobody revokes the token of somebody else."""
    accounts = Accounts(database)
    accounts.add("ada", Role.VIEWER, NOW)
    accounts.add("eve", Role.VIEWER, NOW)
    with pytest.raises(AccountExistsError):
        accounts.add("ada", Role.ADMIN, NOW)
    with pytest.raises(NoAccountError):
        accounts.set("nobody", NOW, role=Role.ADMIN)
    with pytest.raises(NoAccountError):
        accounts.issue("nobody", "laptop", NOW, None)
    _, token = accounts.issue("ada", "laptop", NOW, None)
    with pytest.raises(UnknownTokenError):
        accounts.revoke(token.id, NOW, "eve")
    with pytest.raises(UnknownTokenError):
        accounts.revoke("nothing", NOW)
