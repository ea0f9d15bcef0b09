"""Why a link's job ends where it was not told to."""

from __future__ import annotations

from dataclasses import dataclass

from anabranch.errors import AnabranchError, ProtocolError, RefusedError


@dataclass(eq=False)
class LinkDeletedError(RefusedError):
    """The link is not there any more: somebody deleted it while it ran."""

    link: str

    @property
    def message(self) -> str:
        return f"link {self.link!r} was deleted while it ran; nothing more is copied"

    @property
    def hint(self) -> str:
        return "target topics and their records stay; `anabranch link list` shows the links that there are"


@dataclass(eq=False)
class QueryEndedError(ProtocolError):
    """The link's query ended, and nobody told it to."""

    why: str

    @property
    def message(self) -> str:
        return f"the link's query ended: {self.why}"

    @property
    def hint(self) -> str:
        return "run the link again: it goes on where it stood"


@dataclass(eq=False)
class JobFaultError(AnabranchError):
    """Something that nobody foresaw; its traceback is where Spark prints, and not on the terminal."""

    why: str

    @property
    def message(self) -> str:
        return f"a fault of Anabranch itself: {self.why}"

    @property
    def hint(self) -> str:
        return "report it with the traceback, which is in Spark's log; running the link again goes on where it stood"
