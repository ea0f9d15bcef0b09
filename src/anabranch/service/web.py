"""What every route shares: who asks, what a request's body holds, and how answers are written."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Annotated, Any, TypeVar

from fastapi import Depends
from pydantic import BaseModel, ValidationError
from starlette.requests import Request
from starlette.responses import JSONResponse

from anabranch.errors import InvalidFieldError
from anabranch.model.accounts import Role
from anabranch.operations.documents import plain
from anabranch.service.answers import SCHEMAS
from anabranch.service.caller import Caller, need
from anabranch.service.errors import NotJsonError, TooLargeError
from anabranch.service.instance import Instance
from anabranch.service.problems import EXPECTED

LARGEST_BODY = 1 << 20
M = TypeVar("M", bound=BaseModel)


def instance_of(request: Request) -> Instance:
    """The instance that answers."""
    found: Instance = request.app.state.instance
    return found


async def _here(request: Request) -> Instance:
    """The same for each request; what is not ``async`` the framework has a thread do."""
    return instance_of(request)


Here = Annotated[Instance, Depends(_here)]


def address_of(request: Request) -> str:
    """Where a request comes from."""
    return request.client.host if request.client is not None else ""


def _as(role: Role) -> Callable[[Request], Coroutine[Any, Any, Caller]]:
    async def caller(request: Request) -> Caller:
        here = instance_of(request)
        found = await here.identity.caller(
            request.method, request.headers, request.cookies, address_of(request), here.origin(request.headers)
        )
        need(found, role)
        return found

    return caller


AsClient = Annotated[Caller, Depends(_as(Role.CLIENT))]
AsViewer = Annotated[Caller, Depends(_as(Role.VIEWER))]
AsOperator = Annotated[Caller, Depends(_as(Role.OPERATOR))]
AsAdmin = Annotated[Caller, Depends(_as(Role.ADMIN))]


async def body_of(request: Request, model: type[M]) -> M:
    """The body as a model; raises NotJsonError, TooLargeError, InvalidFieldError.

    JSON is read as JSON, in which a number may be a key.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise NotJsonError(kind or "nothing")
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > LARGEST_BODY:
            raise TooLargeError(LARGEST_BODY)
    try:
        return model.model_validate_json(bytes(body), strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        field = ".".join(str(part) for part in first["loc"])
        raise InvalidFieldError("body", field, first["msg"].removeprefix("Value error, "), EXPECTED) from None


def expects(model: type[BaseModel]) -> dict[str, Any]:
    """How a route's body is documented."""
    schema = model.model_json_schema(ref_template="#/components/schemas/{model}")
    for name, one in {**schema.pop("$defs", {}), model.__name__: schema}.items():
        if SCHEMAS.named.setdefault(name, one) != one and "enum" not in one:  # of an enum answers tell no title
            raise TypeError(f"{name} is the name of two schemas")
    reference = {"$ref": f"#/components/schemas/{model.__name__}"}
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": reference}}}}


def answer(value: object, status: int = 200, headers: dict[str, str] | None = None) -> JSONResponse:
    """A value of the model as an answer."""
    return JSONResponse(plain(value), status, headers)
