"""Who asks, and how a browser signs in and out."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter
from pydantic import StringConstraints
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response

from anabranch import __version__
from anabranch.model.clock import now_ms
from anabranch.service.answers import LoginWays, Me, answered
from anabranch.service.caller import Caller
from anabranch.service.errors import LoginRefusedError
from anabranch.service.identity import COOKIE, SESSION_S, check_site
from anabranch.service.instance import Instance
from anabranch.service.oidc import LOGIN_S
from anabranch.service.verb import Request as Body
from anabranch.service.web import AsClient, Here, address_of, answer, body_of, expects
from anabranch.store.accounts import SESSION, AccountExistsError

router = APIRouter(prefix="/api/v1", tags=["session"])
LOGIN_COOKIE = "anabranch_login"
LOGIN_PATH = "/api/v1/login"


class Login(Body):
    """A token that somebody types into the page."""

    token: Annotated[str, StringConstraints(min_length=1, max_length=300)]


@router.get("/me", responses=answered(Me))
async def me(here: Here, caller: AsClient) -> JSONResponse:
    """Who I am here, and whether this instance acts."""
    account = caller.account
    acting = here.acting
    return answer(
        Me(account.name, account.role.word, __version__, here.name, acting.acts, acting.holder, here.settings.roots)
    )


@router.get("/login/ways", responses=answered(LoginWays))
async def ways(here: Here) -> JSONResponse:
    """How one can sign in."""
    return answer(LoginWays(None if here.oidc is None else here.oidc.settings.label))


@router.post("/session", status_code=204, responses=answered(None, 204, "Signed in"), openapi_extra=expects(Login))
async def sign_in(request: Request, here: Here) -> Response:
    """Sign a browser in with a token, which it keeps in a cookie that no script can read."""
    # Also where there is no cookie yet: it might be signed in as an account of somebody else's.
    check_site(request.headers, here.origin(request.headers), must_say=False)
    body = await body_of(request, Login)
    caller = await here.identity.of_token(body.token.strip(), address_of(request))
    await here.acting.note(caller, "session.begin", f"account {caller.account.name}")
    return _signed_in(Response(status_code=204), here, body.token.strip())


@router.delete("/session", status_code=204, responses=answered(None, 204, "Signed out"))
async def sign_out(here: Here, caller: AsClient) -> Response:
    """Sign this browser out: a session that a login began ends, a token that somebody typed stays what it was."""
    session = caller.token
    if session is not None and session.name == SESSION:
        await here.stored.ask(lambda: here.stored.accounts.revoke(session.id, now_ms()))
    await here.acting.note(caller, "session.end", f"account {caller.account.name}")
    answer_ = Response(status_code=204)
    answer_.delete_cookie(COOKIE, path="/", secure=_is_tls(here), httponly=True, samesite="strict")
    return answer_


@router.get("/login", responses=answered(None, 303, "To the provider"))
async def begin(here: Here, request: Request) -> Response:
    """Begin to sign in through the provider."""
    if here.oidc is None:
        raise LoginRefusedError("no provider is configured")
    begun = await here.oidc.begin(_redirect(here, request))
    answer_ = RedirectResponse(begun.location, 303)
    # The provider sends the browser back from another site, so a strict cookie would not come with it.
    answer_.set_cookie(
        LOGIN_COOKIE,
        begun.cookie,
        max_age=LOGIN_S,
        path=LOGIN_PATH,
        secure=_is_tls(here),
        httponly=True,
        samesite="lax",
    )
    return answer_


@router.get("/login/done", responses=answered(None, 303, "To the first page"))
async def finish(here: Here, request: Request) -> Response:
    """Come back from the provider."""
    if here.oidc is None:
        raise LoginRefusedError("no provider is configured")
    cookie = request.cookies.get(LOGIN_COOKIE, "")
    found = await here.oidc.finish(_redirect(here, request), cookie, dict(request.query_params))
    accounts, now = here.stored.accounts, now_ms()
    issuer = here.oidc.settings.issuer
    try:
        account = await here.stored.ask(lambda: accounts.vouched(found.name, found.role, issuer, now, found.groups))
    except AccountExistsError as error:
        raise LoginRefusedError(f"the account {error.name} is not the provider's") from error
    if account.disabled_at is not None:
        raise LoginRefusedError(f"the account {account.name} is disabled")
    text, _ = await here.stored.ask(lambda: accounts.begin_session(account.name, now, now + SESSION_S * 1000))
    await here.acting.note(Caller(account, address_of(request)), "session.begin", f"account {account.name}")
    answer_ = _signed_in(RedirectResponse("/", 303), here, text)
    answer_.delete_cookie(LOGIN_COOKIE, path=LOGIN_PATH, secure=_is_tls(here), httponly=True, samesite="lax")
    return answer_


def _signed_in(answer_: Response, here: Instance, token: str) -> Response:
    answer_.set_cookie(
        COOKIE, token, max_age=SESSION_S, path="/", secure=_is_tls(here), httponly=True, samesite="strict"
    )
    return answer_


def _is_tls(here: Instance) -> bool:
    return (here.addresses.public or f"{here.addresses.scheme}:").startswith("https:")


def _redirect(here: Instance, request: Request) -> str:
    return f"{here.origin(request.headers)}{LOGIN_PATH}/done"
