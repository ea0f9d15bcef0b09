"""What is asked for beside the verb, where something is to be done for a wave."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class UnknownGroups(StrEnum):
    """What becomes of groups of which nothing is known without the cluster that is left."""

    REFUSE = "refuse"
    EARLIEST = "earliest"
    LATEST = "latest"


class TailChoice(StrEnum):
    """What becomes of records that a lost cluster which is back has, and the other one has not."""

    REFUSE = "refuse"
    KEEP = "keep"
    APPEND = "append"


@dataclass(frozen=True, slots=True)
class WaveOptions:
    """What is asked for beside the verb.

    ``purge``: a cancel deletes topics.  ``lost``: a switch or a reverse goes without the cluster that is left, and this
    becomes of groups that are not known; None for one with it.  ``tail`` is for a reconcile.
    """

    purge: bool = False
    lost: UnknownGroups | None = None
    tail: TailChoice = TailChoice.REFUSE


PLAIN = WaveOptions()
