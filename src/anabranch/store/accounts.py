"""Accounts and their tokens.  A token is told once, when it is made; what is kept is its digest.

Invariant
    S19  the groups that a provider claims of an account are those of its last login; neither a login nor a provider
         changes who is in a group by an admin's word.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, delete, func, insert, or_, select, update
from sqlalchemy.exc import IntegrityError

from anabranch.errors import RefusedError
from anabranch.model.accounts import Account, Role
from anabranch.model.clock import DAY_MS
from anabranch.store.database import Database
from anabranch.store.tables import ACCOUNT_GROUPS, ACCOUNTS, TOKENS

PREFIX = "anb_"
"""By which a token is recognized where it should not be, for example in a repository."""
_BYTES = 32
_TEXT = re.compile(re.escape(PREFIX) + r"[A-Za-z0-9_-]{43}")
SESSION = "browser"
"""What the tokens that logins make are called, and no other: they end when their browser signs out."""
ENDED_MS = 7 * DAY_MS
"""For how long a token that has expired or was revoked is still shown."""
USED_EVERY_MS = 60_000
"""How often the last use is noted: not at each request."""


@dataclass(frozen=True, slots=True)
class Token:
    """What is kept of a token; times in ms, ``expires_at`` None where it never does."""

    id: str
    account: str
    name: str
    created_at: int
    expires_at: int | None
    used_at: int | None
    revoked_at: int | None


@dataclass(eq=False)
class NoAccountError(RefusedError):
    """There is no account of this name."""

    name: str

    _message = "there is no account {name}"
    _hint = "list them: `anabranch account list`"


@dataclass(eq=False)
class UnknownTokenError(RefusedError):
    """There is no token with this id."""

    id: str

    _message = "there is no token {id}"
    _hint = "list them: `anabranch token list`"


@dataclass(eq=False)
class SessionNameError(RefusedError):
    """A token is to be called what those of logins are."""

    name: str

    _message = "tokens that logins make are called {name}: they end when their browser signs out"
    _hint = "give the token another name"


@dataclass(eq=False)
class AccountExistsError(RefusedError):
    """An account of this name exists."""

    name: str

    _message = "there is an account {name} already"
    _hint = "change it: `anabranch account set {name} --role ROLE`"


@dataclass(eq=False)
class LastAdminError(RefusedError):
    """Without this account nobody could manage accounts any more."""

    name: str

    _message = "{name} is the last account with the role admin"
    _hint = "give another account that role first"


class Accounts:
    """The accounts of a store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    # -- accounts --------------------------------------------------------------------------------------

    def all(self) -> Sequence[Account]:
        """Every account, by name."""
        with self._database.begin() as connection:
            return [_account(row) for row in connection.execute(select(ACCOUNTS).order_by(ACCOUNTS.c.name))]

    def add(self, name: str, role: Role, now_ms: int, issuer: str = "") -> Account:
        """Make an account; raises AccountExistsError."""
        made = Account(uuid.uuid4().hex, name, role, issuer, now_ms)
        with self._database.begin() as connection:
            if _find(connection, name) is not None:
                raise AccountExistsError(name)
            _insert(connection, made)
        return made

    def first(self, name: str, now_ms: int) -> Account | None:
        """Make the first account of all, which is an admin; None where there is one already."""
        made = Account(uuid.uuid4().hex, name, Role.ADMIN, "", now_ms)
        with self._database.begin() as connection:
            if connection.execute(select(func.count()).select_from(ACCOUNTS)).scalar_one():
                return None
            _insert(connection, made)
        return made

    def vouched(self, name: str, role: Role, issuer: str, now_ms: int, groups: Sequence[str] = ()) -> Account:
        """The account of somebody whom a provider vouches for, made at the first login, with role and groups of now.

        Groups that an admin has put the account in stay (S19).  Raises AccountExistsError where the name belongs to
        somebody that this provider does not vouch for.
        """
        try:
            with self._database.begin() as connection:
                found = _find(connection, name)
                if found is None:
                    found = Account(uuid.uuid4().hex, name, role, issuer, now_ms)
                    _insert(connection, found)
                elif found.issuer != issuer:
                    raise AccountExistsError(name)
                elif found.role is not role:
                    connection.execute(update(ACCOUNTS).where(ACCOUNTS.c.id == found.id).values(role=role.word))
                    found = _account(connection.execute(select(ACCOUNTS).where(ACCOUNTS.c.id == found.id)).one())
                _claim(connection, name, groups)
                return found
        except IntegrityError:  # the same login, twice at once
            return self.vouched(name, role, issuer, now_ms, groups)

    def set(self, name: str, now_ms: int, *, role: Role | None = None, disabled: bool | None = None) -> Account:
        """Change an account; raises NoAccountError, LastAdminError."""
        with self._database.begin() as connection:
            found = _find(connection, name)
            if found is None:
                raise NoAccountError(name)
            values: dict[str, Any] = {}
            if role is not None:
                values["role"] = role.word
            if disabled is not None:
                values["disabled_at"] = now_ms if disabled else None
            if values:
                connection.execute(update(ACCOUNTS).where(ACCOUNTS.c.id == found.id).values(**values))
            admins = select(ACCOUNTS.c.id).where(ACCOUNTS.c.role == Role.ADMIN.word, ACCOUNTS.c.disabled_at.is_(None))
            if found.role is Role.ADMIN and connection.execute(admins).first() is None:
                raise LastAdminError(name)
            return _account(connection.execute(select(ACCOUNTS).where(ACCOUNTS.c.id == found.id)).one())

    # -- tokens ----------------------------------------------------------------------------------------

    def issue(self, name: str, token: str, now_ms: int, expires_at: int | None) -> tuple[str, Token]:
        """A new token of an account, whose text is told here alone; raises NoAccountError, SessionNameError.

        Tokens that ended ``ENDED_MS`` ago go: no list grows with each login.
        """
        if token == SESSION:
            raise SessionNameError(SESSION)
        return self._issue(name, token, now_ms, expires_at)

    def begin_session(self, name: str, now_ms: int, expires_at: int) -> tuple[str, Token]:
        """A token of a login, which its browser's sign-out ends; raises NoAccountError."""
        return self._issue(name, SESSION, now_ms, expires_at)

    def _issue(self, name: str, token: str, now_ms: int, expires_at: int | None) -> tuple[str, Token]:
        text = PREFIX + secrets.token_urlsafe(_BYTES)
        ended = or_(TOKENS.c.expires_at <= now_ms - ENDED_MS, TOKENS.c.revoked_at <= now_ms - ENDED_MS)
        with self._database.begin() as connection:
            connection.execute(delete(TOKENS).where(ended))
            found = _find(connection, name)
            if found is None:
                raise NoAccountError(name)
            made = Token(uuid.uuid4().hex, found.name, token, now_ms, expires_at, None, None)
            connection.execute(
                insert(TOKENS).values(
                    id=made.id,
                    account=found.id,
                    name=token,
                    digest=digest_of(text),
                    created_at=now_ms,
                    expires_at=expires_at,
                )
            )
        return text, made

    def tokens(self, name: str | None = None) -> Sequence[Token]:
        """The tokens of an account, or of all, the newest first."""
        asked = _TOKEN.order_by(TOKENS.c.created_at.desc(), TOKENS.c.id)
        if name is not None:
            asked = asked.where(ACCOUNTS.c.name == name)
        with self._database.begin() as connection:
            return [Token(*row) for row in connection.execute(asked)]

    def revoke(self, token_id: str, now_ms: int, name: str | None = None) -> Token:
        """End a token, of this account where one is named; raises UnknownTokenError."""
        with self._database.begin() as connection:
            row = connection.execute(_TOKEN.where(TOKENS.c.id == token_id)).first()
            if row is None or (name is not None and row.account != name):
                raise UnknownTokenError(token_id)
            at = row.revoked_at or now_ms
            connection.execute(update(TOKENS).where(TOKENS.c.id == token_id).values(revoked_at=at))
            return Token(*row[:-1], at)

    def of_token(self, text: str, now_ms: int) -> tuple[Account, Token] | None:
        """Whose token this is; None where it is nobody's, has expired or was revoked, or the account is disabled."""
        with self._database.read() as connection:
            row = connection.execute(_TOKEN_OF.where(TOKENS.c.digest == digest_of(text))).first()
        if row is None:
            return None
        token = Token(*row[: len(_TOKEN_COLUMNS)])
        account = _account(row[len(_TOKEN_COLUMNS) :])
        ended = token.expires_at is not None and token.expires_at <= now_ms
        if ended or token.revoked_at is not None or account.disabled_at is not None:
            return None
        if now_ms - (token.used_at or 0) >= USED_EVERY_MS:
            with self._database.begin() as connection:
                connection.execute(update(TOKENS).where(TOKENS.c.id == token.id).values(used_at=now_ms))
        return account, token

    def expired(self, text: str, now_ms: int) -> Token | None:
        """A token that is nobody's any more for its time alone; None where it was revoked, or its account disabled."""
        with self._database.read() as connection:
            row = connection.execute(_TOKEN_OF.where(TOKENS.c.digest == digest_of(text))).first()
        if row is None:
            return None
        token, account = Token(*row[: len(_TOKEN_COLUMNS)]), _account(row[len(_TOKEN_COLUMNS) :])
        is_ended = token.expires_at is not None and token.expires_at <= now_ms
        return token if is_ended and token.revoked_at is None and account.disabled_at is None else None


_TOKEN_COLUMNS = (
    TOKENS.c.id,
    ACCOUNTS.c.name.label("account"),
    TOKENS.c.name,
    TOKENS.c.created_at,
    TOKENS.c.expires_at,
    TOKENS.c.used_at,
    TOKENS.c.revoked_at,
)
_OF_ACCOUNT = ACCOUNTS.c.id == TOKENS.c.account
_TOKEN = select(*_TOKEN_COLUMNS).join(ACCOUNTS, _OF_ACCOUNT)
_TOKEN_OF = select(*_TOKEN_COLUMNS, *ACCOUNTS.columns).join(ACCOUNTS, _OF_ACCOUNT)
"""With its account, in one question: each request asks it."""


def is_token(text: str) -> bool:
    """Whether a text has the form of a token; one that has not is nobody's."""
    return _TEXT.fullmatch(text) is not None


def digest_of(text: str) -> str:
    """What is kept of a token: it has 256 random bits, so nothing needs to be slow about it."""
    return hashlib.sha256(text.encode()).hexdigest()


def _find(connection: Connection, name: str) -> Account | None:
    row = connection.execute(select(ACCOUNTS).where(ACCOUNTS.c.name == name)).first()
    return None if row is None else _account(row)


def _insert(connection: Connection, account: Account) -> None:
    connection.execute(
        insert(ACCOUNTS).values(
            id=account.id,
            name=account.name,
            role=account.role.word,
            issuer=account.issuer,
            created_at=account.created_at,
        )
    )


def _claim(connection: Connection, account: str, groups: Sequence[str]) -> None:
    """Have an account in these groups by the word of its provider, and in no others."""
    claimed = ACCOUNT_GROUPS.c.account == account, ACCOUNT_GROUPS.c.is_claimed
    connection.execute(delete(ACCOUNT_GROUPS).where(*claimed))
    for one in dict.fromkeys(groups):
        connection.execute(insert(ACCOUNT_GROUPS).values(group=one, account=account, is_claimed=True))


def _account(row: Sequence[Any]) -> Account:
    """Of the columns of the table, in their order."""
    made_id, name, role, *rest = row
    return Account(made_id, name, Role.of(role), *rest)
