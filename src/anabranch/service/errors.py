"""What the service itself refuses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from anabranch.errors import RefusedError


@dataclass(eq=False)
class NotSignedInError(RefusedError):
    """A request without a token that is somebody's."""

    why: str

    _message = "not signed in: {why}"
    _hint = "send a token: `Authorization: Bearer TOKEN`; an admin makes one by `anabranch token create`"


@dataclass(eq=False)
class NotPermittedError(RefusedError):
    """The account's role does not allow it."""

    account: str
    role: str
    needed: str

    _message = "{account} has the role {role}; this needs {needed}"
    _hint = "ask somebody with the role {needed}, or an admin for that role"


@dataclass(eq=False)
class CrossSiteError(RefusedError):
    """A browser sent it for a page of another site."""

    origin: str

    _message = "a page of {origin} asked for this in the name of who is signed in"
    _hint = "open the service's own page"


@dataclass(eq=False)
class TooManyRequestsError(RefusedError):
    """Somebody asks more often than the service answers."""

    retryable: ClassVar[bool] = True
    who: str
    wait_s: int

    _message = "{who} has asked too often"
    _hint = "ask again in {wait_s} s"


@dataclass(eq=False)
class TooLargeError(RefusedError):
    """The body of a request is larger than any that is meant."""

    most: int

    _message = "the body of the request has more than {most:,} bytes"
    _hint = "send less at once"


@dataclass(eq=False)
class NotActingError(RefusedError):
    """Another instance acts on this link."""

    retryable: ClassVar[bool] = True
    what: str
    holder: str

    _message = "{what} is in the hands of the instance {holder}"
    _hint = "ask that instance, or wait until it gives it back"
