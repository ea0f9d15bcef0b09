"""``anabranch account`` and ``token``: who may use the service, changed in its store on this machine."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from anabranch.cli.output import Format, FormatOption, emit
from anabranch.cli.render import grid
from anabranch.cli.serve import FileOption, StoreOption, need_service, store_address
from anabranch.cli.words import moment
from anabranch.errors import InvalidFieldError
from anabranch.model.accounts import NAMES, Account, Role
from anabranch.model.clock import DAY_MS, now_ms

if TYPE_CHECKING:
    from anabranch.store.accounts import Accounts, Token
    from anabranch.store.database import Database

accounts = typer.Typer(help="Accounts of the service, in its store.", no_args_is_help=True)
tokens = typer.Typer(help="Tokens of the service's accounts, in its store.", no_args_is_help=True)
_Name = Annotated[str, typer.Argument(metavar="ACCOUNT", help="The account's name.", show_default=False)]
_Role = Annotated[str, typer.Option(help="client, viewer, operator, approver or admin.", show_default=False)]


@contextmanager
def _opened(store: str | None, file: Path | None) -> Iterator[tuple[Database, Accounts]]:
    need_service()
    from anabranch.store.accounts import Accounts
    from anabranch.store.database import open_database

    database = open_database(store_address(store, file))
    try:
        yield database, Accounts(database)
    finally:
        database.close()


def _role(word: str) -> Role:
    try:
        return Role.of(word)
    except ValueError as error:
        raise InvalidFieldError("account", "--role", str(error)) from None


def _audited(database: Database, verb: str, subject: str, detail: str) -> None:
    """A change on the machine itself is audited as one of its user."""
    import getpass

    from anabranch.store.audit import Audit, AuditEntry, Outcome

    who = f"{getpass.getuser()} (command line)"
    Audit(database).add(AuditEntry(now_ms(), who, "admin", "", verb, subject, Outcome.DONE, detail))


@accounts.command("list")
def list_accounts(file: FileOption = None, store: StoreOption = None, output: FormatOption = Format.TABLE) -> None:
    """List the accounts."""
    with _opened(store, file) as (_, known):
        _emit_accounts(known.all(), output)


@accounts.command("add")
def add(
    name: _Name,
    role: _Role,
    file: FileOption = None,
    store: StoreOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Make an account."""
    if not re.fullmatch(NAMES, name):
        fix = "use letters, digits and . _ @ + -, a letter or digit first, at most 200"
        raise InvalidFieldError("account", "ACCOUNT", f"{name!r} cannot be an account's name", fix)
    chosen = _role(role)
    with _opened(store, file) as (database, known):
        made = known.add(name, chosen, now_ms())
        _audited(database, "account.add", f"account {name}", role)
    _emit_accounts([made], output)


@accounts.command("set")
def set_(
    name: _Name,
    role: Annotated[
        str | None, typer.Option(help="client, viewer, operator, approver or admin.", show_default=False)
    ] = None,
    disabled: Annotated[
        bool | None, typer.Option("--disable/--enable", help="No token of it is taken, or again.", show_default=False)
    ] = None,
    file: FileOption = None,
    store: StoreOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Change an account's role, disable it, or enable it again."""
    if role is None and disabled is None:
        raise InvalidFieldError("account set", "flags", "nothing to change was given", "--role ROLE, or --disable")
    chosen = None if role is None else _role(role)
    with _opened(store, file) as (database, known):
        made = known.set(name, now_ms(), role=chosen, disabled=disabled)
        detail = ", ".join(
            part for part in (role or "", {True: "disabled", False: "enabled", None: ""}[disabled]) if part
        )
        _audited(database, "account.set", f"account {name}", detail)
    _emit_accounts([made], output)


@tokens.command("list")
def list_tokens(
    account: Annotated[str | None, typer.Option(help="Of one account alone.", show_default=False)] = None,
    file: FileOption = None,
    store: StoreOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """List the tokens; their texts are kept nowhere."""
    with _opened(store, file) as (_, known):
        _emit_tokens(known.tokens(account), output)


@tokens.command("create")
def create(
    account: _Name,
    name: Annotated[str, typer.Option(help="What it is for.")] = "command line",
    days: Annotated[int, typer.Option(min=1, max=366, help="How long it is taken.")] = 90,
    file: FileOption = None,
    store: StoreOption = None,
) -> None:
    """Make a token and print it, this once: send it as `Authorization: Bearer TOKEN`."""
    now = now_ms()
    with _opened(store, file) as (database, known):
        text, made = known.issue(account, name, now, now + days * DAY_MS)
        _audited(database, "token.create", f"account {account}", f"{name}, {made.id}")
    typer.echo(text)


@tokens.command("revoke")
def revoke(
    token_id: Annotated[str, typer.Argument(metavar="ID", help="The token's id, not its text.", show_default=False)],
    file: FileOption = None,
    store: StoreOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """End a token at once."""
    with _opened(store, file) as (database, known):
        ended = known.revoke(token_id, now_ms())
        _audited(database, "token.revoke", f"account {ended.account}", f"{ended.name}, {ended.id}")
    _emit_tokens([ended], output)


def _emit_accounts(found: Sequence[Account], output: Format) -> None:
    table = grid("NAME", "ROLE", "PROVIDER", "MADE", "STATE")
    for one in found:
        state = Text("disabled", style="red") if one.disabled_at is not None else Text("enabled")
        table.add_row(one.name, one.role.word, one.issuer, moment(one.created_at), state)
    emit(found, table, output)


def _emit_tokens(found: Sequence[Token], output: Format) -> None:
    table = grid("ID", "ACCOUNT", "NAME", "MADE", "ENDS", "USED")
    for one in found:
        ends = (
            "revoked" if one.revoked_at is not None else "never" if one.expires_at is None else moment(one.expires_at)
        )
        table.add_row(
            one.id,
            one.account,
            one.name,
            moment(one.created_at),
            ends,
            "" if one.used_at is None else moment(one.used_at),
        )
    emit(found, table, output)
