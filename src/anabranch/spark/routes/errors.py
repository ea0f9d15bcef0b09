"""Why a Spark job gets no options, where the client SDK has no word for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from anabranch.errors import ClusterError, RefusedError
from anabranch.model.positions import AnswerKind

_SHOWN = 3


@dataclass(eq=False)
class HeldBySwitchError(ClusterError):
    """A switch is under way, and only its end says where the job belongs."""

    retryable: ClassVar[bool] = True
    code: str
    switch: str

    _message = "cluster code {code}: switch {switch} is under way, and only its end says where this leads"
    _hint = "start the job again when the switch has ended"


@dataclass(frozen=True, slots=True)
class Untranslated:
    """A position without an exact one on the other cluster."""

    partition: str
    offset: int
    kind: AnswerKind
    why: str

    def __str__(self) -> str:
        return f"{self.partition} at {self.offset:,}: {self.kind}: {self.why}"


@dataclass(eq=False)
class NotTranslatedError(RefusedError):
    """Positions of which one or more have no exact place on the cluster of the route; none is given."""

    link: str
    cluster: str
    total: int
    refused: tuple[Untranslated, ...]
    reverse: bool = False

    @property
    def message(self) -> str:
        more = len(self.refused) - _SHOWN
        shown = "; ".join(map(str, self.refused[:_SHOWN])) + (f"; and {more:,} more" if more > 0 else "")
        return (
            f"{len(self.refused):,} of {self.total:,} positions have no exact place on cluster {self.cluster}: {shown}"
        )

    @property
    def hint(self) -> str:
        if not self.reverse and all(one.kind is AnswerKind.AFTER for one in self.refused):
            return f"ask again when the link has copied that far: anabranch link wait {self.link} --caught-up"
        first, way = self.refused[0], " --reverse" if self.reverse else ""
        return f"see what is near: anabranch offsets translate {self.link} {first.partition}:{first.offset}{way}"


@dataclass(eq=False)
class OtherLinkError(RefusedError):
    """A link that does not lie between the cluster of the positions and that of the route."""

    link: str
    cluster: str
    other: str

    _message = "link {link} does not copy between cluster {cluster}, whose positions are given, and {other}"
    _hint = "name the link between them: `anabranch link list --target {other}`"


@dataclass(eq=False)
class OtherTopicsError(RefusedError):
    """Positions lead to other topics than the route."""

    cluster: str
    route: tuple[str, ...]
    positions: tuple[str, ...]

    @property
    def message(self) -> str:
        led, given = ", ".join(self.route), ", ".join(self.positions)
        return f"on cluster {self.cluster} the route has the topics {led}, and the positions are of {given}"

    _hint = (
        "give a position for each partition of just the topics that are asked for; `anabranch route explain` has names"
    )
