"""Errors as answers: ``application/problem+json`` (RFC 9457), with the hint of the error."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from anabranch.config.contexts import UnknownContextError
from anabranch.errors import AnabranchError, ClusterError, ConfigError, InvalidFieldError, ProtocolError, RefusedError
from anabranch.model.link import UnknownLinkError
from anabranch.operations.offsets.ranges import NoLaneError
from anabranch.service.errors import (
    CrossSiteError,
    LoginRefusedError,
    NotBytesError,
    NotItsAccountError,
    NotJsonError,
    NotPermittedError,
    NotReadYetError,
    NotSignedInError,
    PathNotOpenError,
    TooLargeError,
    TooManyRequestsError,
    UnknownClientError,
    WrongHostError,
)
from anabranch.service.trial_errors import NoTrialError, ScriptDeniedError, ScriptRefusedError, TooManyTrialsError
from anabranch.store.accounts import NoAccountError, UnknownTokenError
from anabranch.store.catalog import NoEntryError
from anabranch.store.errors import StoreError, StoreFullError
from anabranch.store.routes import NoVersionError
from anabranch.store.works import NoOperationError, NoPlanError
from anabranch.streams.artifacts.errors import NoArtifactError, NoArtifactVersionError
from anabranch.streams.errors import ScriptError
from anabranch.streams.grants import DeniedError
from anabranch.streams.kept import NoStreamError, NoStreamVersionError

MEDIA = "application/problem+json"
EXPECTED = "see /api/v1/openapi.json for what is expected"
_LONG, _KEPT, _LONGEST = re.compile(r"\S{2500,}"), 100, 50_000
"""A path has at most 2,000 characters; a text may name some thousands of topics, with why each is refused."""
_STATUS: Mapping[type[AnabranchError], int] = {
    NotSignedInError: 401,
    NotPermittedError: 403,
    CrossSiteError: 403,
    LoginRefusedError: 403,
    PathNotOpenError: 403,
    NotItsAccountError: 403,
    WrongHostError: 421,
    NotJsonError: 415,
    NotBytesError: 415,
    TooLargeError: 413,
    TooManyRequestsError: 429,
    TooManyTrialsError: 429,
    StoreFullError: 507,
    StoreError: 503,
    NotReadYetError: 503,
    UnknownContextError: 404,
    NoTrialError: 404,
    NoStreamError: 404,
    NoStreamVersionError: 404,
    UnknownLinkError: 404,
    NoLaneError: 404,
    NoPlanError: 404,
    NoOperationError: 404,
    NoAccountError: 404,
    UnknownTokenError: 404,
    NoVersionError: 404,
    NoEntryError: 404,
    NoArtifactError: 404,
    NoArtifactVersionError: 404,
    DeniedError: 403,
    ScriptDeniedError: 403,
    UnknownClientError: 404,
    ConfigError: 422,
    RefusedError: 409,
    ClusterError: 502,
    ProtocolError: 502,
}
"""By the nearest class above."""


@dataclass(frozen=True, slots=True)
class ScriptPlace:
    """Where in a script something is wrong; None where that has no place, ``excerpt`` is the line with a caret."""

    statement: int | None
    line: int | None
    column: int | None
    excerpt: str


@dataclass(frozen=True, slots=True)
class Problem:
    """Why something was not done.  ``type`` names the kind for programs, ``detail`` and ``hint`` are for people.

    ``exit_code`` is what the command line would end with.  ``field`` is what is wrong with the request, if it is one,
    and ``place`` where a script is wrong.
    """

    type: str
    title: str
    status: int
    detail: str
    hint: str
    retryable: bool
    exit_code: int
    field: str | None = None
    place: ScriptPlace | None = None

    def __post_init__(self) -> None:
        for name in ("detail", "hint", "field"):
            said = getattr(self, name)
            if said is not None:
                object.__setattr__(self, name, _cut(said))


def _cut(text: str) -> str:
    """A text without what only repeats a value of a request that is longer than any that is right."""
    words = _LONG.sub(lambda found: f"{found[0][:_KEPT]}… ({len(found[0])} characters)", text)
    return words if len(words) <= _LONGEST else f"{words[:_LONGEST]}… ({len(words)} characters)"


def problem_of(error: AnabranchError) -> Problem:
    """The answer for an error."""
    kind = type(error)
    status = next((_STATUS[one] for one in kind.__mro__ if one in _STATUS), 500)
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", kind.__name__.removesuffix("Error")).lower()
    return Problem(
        type=f"urn:anabranch:problem:{words.replace(' ', '-')}",
        title=words,
        status=status,
        detail=error.message,
        hint=error.hint or (EXPECTED if isinstance(error, ConfigError) else ""),
        retryable=error.retryable,
        exit_code=error.exit_code,
        field=error.field or None if isinstance(error, InvalidFieldError) else None,
        place=_place_of(error),
    )


def _place_of(error: AnabranchError) -> ScriptPlace | None:
    if isinstance(error, ScriptError):
        return ScriptPlace(error.number or None, error.line or None, error.column or None, error.excerpt)
    if isinstance(error, ScriptRefusedError):
        found = error.found
        return ScriptPlace(found.statement or None, found.line, found.column, found.excerpt)
    return None


def unexpected() -> Problem:
    """The answer for what nobody foresaw: its words go to the log, not out."""
    return Problem(
        "urn:anabranch:problem:unexpected",
        "unexpected",
        500,
        "the service failed in a way that it does not know",
        "its log has the details; please report them",
        retryable=False,
        exit_code=1,
    )


def invalid(where: str, field: str, problem: str) -> Problem:
    """The answer for a request of the wrong shape."""
    return Problem(
        "urn:anabranch:problem:invalid-field",
        "invalid field",
        422,
        f"{where}: {field}: {problem}" if field else f"{where}: {problem}",
        EXPECTED,
        retryable=False,
        exit_code=2,
        field=field or None,
    )


def of_status(status: int, detail: str) -> Problem:
    """The answer of the framework itself: no such address, no such method."""
    title = detail.lower()
    return Problem(
        f"urn:anabranch:problem:{title.replace(' ', '-')}",
        title,
        status,
        detail,
        "see /api/v1/openapi.json for what there is",
        retryable=False,
        exit_code=2,
    )


def headers_of(error: AnabranchError) -> dict[str, str]:
    """What HTTP wants to be told beside the body."""
    if isinstance(error, NotSignedInError):
        return {"WWW-Authenticate": "Bearer"}
    if isinstance(error, TooManyRequestsError):
        return {"Retry-After": str(error.wait_s)}
    return {}
