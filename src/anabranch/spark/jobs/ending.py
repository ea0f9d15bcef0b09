"""Why a link's job ends where it was not told to."""

from __future__ import annotations

from dataclasses import dataclass

from anabranch.errors import AnabranchError, ProtocolError, RefusedError


@dataclass(eq=False)
class LinkDeletedError(RefusedError):
    """The link is not there any more: somebody deleted it while it ran."""

    link: str

    _message = "link {link!r} was deleted while it ran; nothing more is copied"
    _hint = "target topics and their records stay; `anabranch link list` shows the links that there are"


@dataclass(eq=False)
class QueryEndedError(ProtocolError):
    """The link's query ended, and nobody told it to."""

    why: str

    _message = "the link's query ended: {why}"
    _hint = "run the link again: it goes on where it stood"


@dataclass(eq=False)
class JobFaultError(AnabranchError):
    """Something that nobody foresaw; its traceback is where Spark prints, and not on the terminal."""

    why: str

    _message = "a fault of Anabranch itself: {why}"
    _hint = "report it with the traceback, which is in Spark's log; running the link again goes on where it stood"
