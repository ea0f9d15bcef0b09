"""The application: routes, who may address it, what every answer carries, and the OpenAPI of it all."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import structlog
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Match, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from anabranch import __version__
from anabranch.errors import AnabranchError
from anabranch.operations.documents import plain
from anabranch.service import problems
from anabranch.service.answers import SCHEMAS
from anabranch.service.errors import WrongHostError
from anabranch.service.instance import Instance
from anabranch.service.pages import PagesRoute
from anabranch.service.problems import Problem
from anabranch.service.rest import (
    accounts,
    artifacts,
    catalog,
    checkpoints,
    clients,
    clusters,
    events,
    health,
    lineage,
    links,
    metrics,
    migrations,
    mirrormaker,
    plans,
    positions,
    routes,
    session,
    stream_alerts,
    streams,
    switches,
    trials,
)
from anabranch.service.verbs import VERBS

OPENAPI = "/api/v1/openapi.json"
_ROUTERS = (
    clients,  # looked through from the first one on, and thousands of clients report
    *(health, session, clusters, links, positions, checkpoints, mirrormaker),
    *(routes, switches, migrations, catalog, streams, stream_alerts, lineage, trials, artifacts),
    *(plans, accounts, events, metrics),
)
_ROUTES = [route for module in _ROUTERS for route in module.router.routes]
_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (
        b"content-security-policy",
        b"default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; frame-ancestors 'none'; "
        b"base-uri 'none'; form-action 'self'",
    ),
)
_UNSTORED = (b"cache-control", b"no-store")
_OPEN = {
    *(("get", path) for path in ("/healthz", "/readyz", "/api/v1/login", "/api/v1/login/done", "/api/v1/login/ways")),
    ("post", "/api/v1/session"),
}
"""What is asked without a token: a test holds it."""

log = structlog.get_logger()


def make_app(instance: Instance) -> FastAPI:
    """The application of an instance, which runs while the application does."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with instance.running():
            yield

    app = FastAPI(
        title="Anabranch",
        version=__version__,
        openapi_url=OPENAPI,
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
        redirect_slashes=False,
    )
    app.state.instance = instance
    # As they are: routes that are included are made again by each application, and a first request waits for that.
    app.router.routes.extend(_ROUTES)
    app.router.routes.append(PagesRoute())
    app.add_middleware(_Guarded, instance=instance)
    app.add_exception_handler(AnabranchError, _known)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _of_framework)
    app.add_exception_handler(ClientDisconnect, _left)
    app.add_exception_handler(Exception, _unexpected)
    app.openapi = lambda: _openapi(app)  # type: ignore[method-assign]
    return app


class _Guarded:
    """Refuses requests that address another service, and adds to every answer what browsers are to be told."""

    def __init__(self, app: ASGIApp, instance: Instance) -> None:
        self._app = app
        self._instance = instance

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        path = scope["path"]

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._instance.requests[message["status"]] += 1
                present = {name for name, _ in message["headers"]}
                added = [*_HEADERS, *([_UNSTORED] if path.startswith("/api/") else [])]
                message["headers"] = [*message["headers"], *(one for one in added if one[0] not in present)]
            await send(message)

        host = next((value for name, value in scope["headers"] if name == b"host"), b"").decode("latin-1")
        if not self._instance.is_named(host):
            await _answer(problems.problem_of(WrongHostError(host[:100] or "of no name")))(scope, receive, guarded)
            return
        await self._app(scope, receive, guarded)


def _answer(problem: Problem, headers: dict[str, str] | None = None) -> JSONResponse:
    return JSONResponse(plain(problem), problem.status, headers, media_type=problems.MEDIA)


async def _known(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, AnabranchError)
    return _answer(problems.problem_of(error), problems.headers_of(error))


async def _invalid(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    where, *field = (str(part) for part in first["loc"])
    return _answer(problems.invalid(where, ".".join(field), first["msg"]))


async def _of_framework(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    headers = dict(error.headers or {})
    if error.status_code == 405:
        headers["Allow"] = ", ".join(sorted(_methods(request)))
    return _answer(problems.of_status(error.status_code, error.detail), headers)


def _methods(request: Request) -> set[str]:
    """What an address may be asked with: the framework tells of the first of its routes alone."""
    routes = [one for one in request.app.router.routes if isinstance(one, Route)]
    known = [one for one in routes if one.matches(request.scope)[0] is not Match.NONE]
    return {method for one in known for method in one.methods or ()}


async def _left(_: Request, __: Exception) -> Response:
    """Whoever asked has gone, which thousands of clients do at once where they wait too long: it is no failure."""
    return Response(status_code=408)


async def _unexpected(request: Request, error: Exception) -> JSONResponse:
    log.error("a request failed", method=request.method, path=request.url.path, exc_info=error)
    return _answer(problems.unexpected())


def _openapi(app: FastAPI) -> dict[str, Any]:
    if app.openapi_schema is None:
        made = get_openapi(
            title="Anabranch",
            version=__version__,
            summary="Move Kafka clusters under running applications.",
            routes=app.routes,
        )
        for verb in VERBS.values():
            # Answers hold them as they are; programs that read them find their fields here, by name.
            SCHEMAS.of(verb.planned)
            SCHEMAS.of(verb.report)
        components = made.setdefault("components", {})
        schemas = {**components.get("schemas", {}), **SCHEMAS.named}
        for name in ("HTTPValidationError", "ValidationError"):
            schemas.pop(name, None)
        components["schemas"] = dict(sorted(schemas.items()))
        components["securitySchemes"] = {
            "token": {"type": "http", "scheme": "bearer"},
            "cookie": {"type": "apiKey", "in": "cookie", "name": "anabranch"},
        }
        for path, methods in made["paths"].items():
            for method, operation in methods.items():
                operation["responses"].pop("422", None)
                for told in operation["responses"].values():  # the framework's own idea of a body that is none of JSON
                    if len(told.get("content", {})) > 1:
                        told["content"].pop("application/json", None)
                if (method, path) not in _OPEN:
                    operation["security"] = [{"token": []}, {"cookie": []}]
        app.openapi_schema = made
    return app.openapi_schema
