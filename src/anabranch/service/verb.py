"""What the service can be asked to change: a verb of :mod:`anabranch.operations`, with what a request for it holds."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from anabranch.model.accounts import Role
from anabranch.model.plans import Plan
from anabranch.service.reach import Reach

Name = Annotated[str, StringConstraints(min_length=1, max_length=249, pattern=r"^[^\x00-\x1f\x7f]+$")]
"""Of a context, a link, a topic, a group."""


Rate = Annotated[str, StringConstraints(min_length=1, max_length=30, pattern=r"^[0-9A-Za-z./ ]+$")]
"""Bytes a second, as ``50MB/s``."""
Place = Annotated[str, StringConstraints(min_length=1, max_length=2000, pattern=r"^[^\x00-\x1f\x7f]+$")]
"""A path or URI below what the service was given."""
Start = Annotated[str, StringConstraints(min_length=1, max_length=300, pattern=r"^[^@\x00-\x1f\x7f][^\x00-\x1f\x7f]*$")]
"""A start position; not one that names a file, which would be one of the service's machine."""
Offset = Annotated[int, Field(ge=0, lt=2**63)]
"""Of a partition, or a producer id."""


class Request(BaseModel):
    """What all requests share: nothing is in them that is not meant."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class LinkRequest(Request):
    """A link on its target."""

    target: Name
    link: Name


R = TypeVar("R", bound=Request)
P = TypeVar("P", bound=Plan)


@dataclass(frozen=True, slots=True)
class Verb(Generic[R, P]):
    """``name`` is ``NOUN.VERB``; ``role`` may apply a plan, while an operator may make one.

    ``subject`` says what a request is about, as the audit has it; ``command`` is the same on the command line, without
    what applies it (``execute``), and ``files`` are those that it reads, by the names that it has for them.  A request
    that is not ``is_shown_first`` is applied at once by the command line, without ``execute``.  Plans and operations of
    a ``private`` verb are shown to who asked for them, and to admins alone.  ``goes_on`` is the command that shows what
    an operation began where that goes on without the service; empty where nothing does.
    """

    name: str
    summary: str
    role: Role
    request: type[R]
    planned: type[P]
    report: type
    subject: Callable[[R], str]
    command: Callable[[R], str]
    plan: Callable[[Reach, R], Awaitable[P]]
    apply: Callable[[Reach, R, P], Awaitable[Any]]
    execute: str = "--execute"
    is_shown_first: Callable[[R], bool] = lambda _: True
    files: Callable[[R], Mapping[str, str]] = lambda _: {}
    private: bool = False
    goes_on: Callable[[R], str] = lambda _: ""

    def typed(self, request: R) -> str:
        """The whole command that applies what a request asks for."""
        execute = self.execute if self.is_shown_first(request) else ""
        return " ".join(part for part in (self.command(request), execute) if part)

    @property
    def noun(self) -> str:
        """The noun."""
        return self.name.partition(".")[0]

    @property
    def word(self) -> str:
        """The verb alone."""
        return self.name.partition(".")[2]
