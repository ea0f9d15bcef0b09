"""Accounts, their tokens, and the audit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query
from pydantic import Field, StringConstraints
from starlette.requests import Request
from starlette.responses import JSONResponse

from anabranch.errors import InvalidFieldError
from anabranch.model.accounts import NAMES, Account, Role
from anabranch.model.clock import DAY_MS, now_ms
from anabranch.service.answers import IssuedToken, answered
from anabranch.service.caller import need
from anabranch.service.verb import Request as Body
from anabranch.service.web import AsAdmin, AsViewer, Here, answer, body_of, expects
from anabranch.store.accounts import Token
from anabranch.store.audit import AuditEntry

router = APIRouter(prefix="/api/v1", tags=["accounts"])
AccountName = Annotated[str, StringConstraints(pattern=NAMES)]
RoleWord = Literal["client", "viewer", "operator", "approver", "admin"]


class NewAccount(Body):
    """An account for a person or a program."""

    name: AccountName
    role: RoleWord


class ChangedAccount(Body):
    """What becomes of an account; what is None stays."""

    role: RoleWord | None = None
    disabled: bool | None = None


class NewToken(Body):
    """A token, for ``days``; one of an account other than one's own is made by an admin."""

    account: AccountName
    name: Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]+$")]
    days: Annotated[int, Field(ge=1, le=366)] = 90


@router.get("/accounts", responses=answered(Sequence[Account]))
async def accounts(here: Here, _: AsAdmin) -> JSONResponse:
    """Every account."""
    return answer(await here.stored.ask(here.stored.accounts.all))


@router.post("/accounts", status_code=201, responses=answered(Account, 201), openapi_extra=expects(NewAccount))
async def add(here: Here, request: Request, caller: AsAdmin) -> JSONResponse:
    """Make an account."""
    body = await body_of(request, NewAccount)
    made = await here.stored.ask(lambda: here.stored.accounts.add(body.name, Role.of(body.role), now_ms()))
    await here.acting.note(caller, "account.add", f"account {made.name}", detail=body.role)
    return answer(made, 201)


@router.patch("/accounts/{name}", responses=answered(Account), openapi_extra=expects(ChangedAccount))
async def change(
    here: Here, name: Annotated[str, Path(max_length=200)], request: Request, caller: AsAdmin
) -> JSONResponse:
    """Change an account's role, or disable it."""
    body = await body_of(request, ChangedAccount)
    if body.role is None and body.disabled is None:
        raise InvalidFieldError("body", "role", "nothing to change was given", "give role or disabled")
    role = None if body.role is None else Role.of(body.role)
    made = await here.stored.ask(lambda: here.stored.accounts.set(name, now_ms(), role=role, disabled=body.disabled))
    detail = ", ".join(f"{field} {value}" for field, value in body.model_dump(exclude_none=True).items())
    await here.acting.note(caller, "account.set", f"account {name}", detail=detail)
    return answer(made)


@router.get("/tokens", responses=answered(Sequence[Token]))
async def tokens(here: Here, caller: AsViewer) -> JSONResponse:
    """One's own tokens; an admin's answer has all."""
    account = caller.account
    own = None if account.role is Role.ADMIN else account.name
    return answer(await here.stored.ask(lambda: here.stored.accounts.tokens(own)))


@router.post("/tokens", status_code=201, responses=answered(IssuedToken, 201), openapi_extra=expects(NewToken))
async def issue(here: Here, request: Request, caller: AsViewer) -> JSONResponse:
    """Make a token; its text is in this answer and nowhere else."""
    body = await body_of(request, NewToken)
    if body.account != caller.account.name:
        need(caller, Role.ADMIN)
    now = now_ms()
    text, made = await here.stored.ask(
        lambda: here.stored.accounts.issue(body.account, body.name, now, now + body.days * DAY_MS)
    )
    await here.acting.note(caller, "token.create", f"account {made.account}", detail=f"{made.name}, {made.id}")
    return answer(IssuedToken(made.id, made.account, made.name, text, made.expires_at), 201)


@router.delete("/tokens/{token_id}", responses=answered(Token))
async def revoke(
    here: Here, token_id: Annotated[str, Path(pattern=r"^[0-9a-f]{32}$")], caller: AsViewer
) -> JSONResponse:
    """End a token at once."""
    account = caller.account
    own = None if account.role is Role.ADMIN else account.name
    ended = await here.stored.ask(lambda: here.stored.accounts.revoke(token_id, now_ms(), own))
    await here.acting.note(caller, "token.revoke", f"account {ended.account}", detail=f"{ended.name}, {ended.id}")
    return answer(ended)


@router.get("/audit", responses=answered(Sequence[AuditEntry]))
async def audit(
    here: Here,
    _: AsViewer,
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
    before: Annotated[int | None, Query(ge=0, lt=2**31)] = None,
    account: Annotated[str | None, Query(max_length=200)] = None,
    verb: Annotated[str | None, Query(max_length=60)] = None,
) -> JSONResponse:
    """Who did what, with which plan, and how it went; the newest first."""
    return answer(
        await here.stored.ask(lambda: here.stored.audit.entries(limit, before=before, account=account, verb=verb))
    )
