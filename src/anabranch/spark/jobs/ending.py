"""How a link's job ends where it was not told to: an error and a hint, as every verb prints them."""

from __future__ import annotations

import sys
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


def tell(error: AnabranchError) -> int:
    """Print an error and its hint on standard error; returns its exit code."""
    lines = [f"error: {error.message}", *([f"hint: {error.hint}"] if error.hint else [])]
    print("\n".join(lines), file=sys.stderr, flush=True)
    return error.exit_code
