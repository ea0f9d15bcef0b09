"""Links as jobs beside streams: in which state of a stream a link is, and which verbs of streams it has not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from anabranch.errors import RefusedError
from anabranch.model.lane import LaneState
from anabranch.model.reports import LinkStatus
from anabranch.model.totals import Totals
from anabranch.streams.states import StreamState

_SHOW = "see how it goes: `anabranch link show {link} --target {target}`"
_SET = "change what it copies: `anabranch link set {link} --target {target}`"
INSTEAD: Mapping[str, str] = {
    "edit": _SET,
    "publish": _SET,
    "rollback": _SET,
    "delete": "forget it: `anabranch link delete {link} --target {target}`",
    "preview": "compare what it has copied: `anabranch verify start {link} --target {target}`",
}
"""By verb of streams, what there is of links in its place; the others look at it."""


@dataclass(eq=False)
class NotOfLinkError(RefusedError):
    """Something is asked of a link that only streams with versions have."""

    link: str
    target: str
    verb: str

    _message = "{link!r} is a link to {target}, and `stream {verb}` is for scripts and PySpark files"

    @property
    def hint(self) -> str:
        return INSTEAD.get(self.verb, _SHOW).format(link=self.link, target=self.target)


@dataclass(eq=False)
class NameOfLinkError(RefusedError):
    """A stream would have the name of a link."""

    link: str
    target: str

    _message = "there is a link {link!r} to {target}, and a stream of its name would be taken for it"
    _hint = "give the stream another name"


@dataclass(eq=False)
class NameOfStreamError(RefusedError):
    """A link would have the name of a stream."""

    link: str

    _message = "there is a stream {link!r}, and a link of its name would be taken for it"
    _hint = "give the link another id: --id ID, `id` in its file"


@dataclass(eq=False)
class SeveralLinksError(RefusedError):
    """Links of several targets have the name that was given."""

    link: str
    targets: tuple[str, ...]

    @property
    def message(self) -> str:
        return f"there are links {self.link!r} to {' and '.join(self.targets)}"

    _hint = "say which: --target NAME"


@dataclass(eq=False)
class OnlyStreamsBeginError(RefusedError):
    """A start of a link is asked to begin otherwise than where the link stands."""

    link: str
    target: str

    _message = "{link!r} is a link to {target}: it goes on exactly at its positions, and nowhere else"
    _hint = "leave out --from, --from-checkpoint, --new-state and --keep-state; a new link has `start` in its file"


def state_of_link(status: LinkStatus, sums: Totals) -> tuple[StreamState, str]:
    """The state of a stream that a link is in, and why.

    ``degraded`` runs, and has lanes that do not go on; ``failed`` ended without being asked.
    """
    plan = status.plan
    if not status.running:
        if plan is None and not status.lanes:
            return StreamState.DRAFT, ""
        if plan is None or plan.ends:
            return StreamState.STOPPED, ""
        return StreamState.FAILED, "its run has ended without being asked, or was killed; a start goes on exactly there"
    if status.ending:
        return StreamState.STOPPING, ""
    held = [
        f"{sums.of(state):,} of {sums.lanes:,} lanes {words}"
        for state, words in (
            (LaneState.STOPPED, "have stopped"),
            (LaneState.UNREACHABLE, "do not reach a cluster"),
        )
        if sums.of(state)
    ]
    if held:
        return StreamState.DEGRADED, "; ".join(held)
    if status.wanted.paused:
        return StreamState.RUNNING, "paused: its lanes read nothing until `link resume`"
    return StreamState.RUNNING if sums.lanes else StreamState.STARTING, ""
