"""Why the links of waves do not copy, by what an instance has last read of their clusters."""

from __future__ import annotations

from dataclasses import dataclass

from anabranch.errors import AnabranchError
from anabranch.migration.standing import WaveStanding, WaveState
from anabranch.migration.standstill import why_not_copied
from anabranch.model.link import UnknownLinkError
from anabranch.service.board import Board

_COPIES = (WaveState.COPYING, WaveState.PARTLY, WaveState.SWITCHED)


@dataclass(frozen=True, slots=True)
class WaveLinks:
    """The links of waves, as the board has them."""

    board: Board

    def why_not_copied(self, stands: WaveStanding, over_ms: int | None) -> str:
        """Why the link that copies from where a wave's producers are does not copy all that it should, in a sentence.

        Empty where it does, or is not meant to: before it is made, and where a cluster is lost.  ``over_ms`` is when
        the last run for the wave ended, None where one goes on: what was read before that is too old to tell.
        """
        if stands.state not in _COPIES or stands.lost is not None or stands.is_gone:
            return ""
        leg, goes_on = stands.copies, stands.open is not None
        try:
            cluster, seen = self.board.link(leg.there, leg.link)
        except UnknownLinkError as error:
            read_ms = self.board.cluster(leg.there).read_at_ms or 0
            return "" if goes_on or read_ms <= (over_ms or 0) else error.message
        except AnabranchError as error:
            return error.message
        if cluster.problem is not None:
            return f"what link {leg.link} does now is not known: {cluster.problem.detail}"
        if not goes_on and seen.status.read_at_ms <= (over_ms or 0):
            return ""
        why = why_not_copied(seen.status, may_pause=goes_on)
        return f"link {leg.link}: {why}" if why else ""
