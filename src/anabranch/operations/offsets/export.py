"""All maps of a link, to translate without its clusters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from anabranch.errors import RefusedError
from anabranch.kafka.cluster import Cluster
from anabranch.model.lane import LaneKey
from anabranch.model.positions import LaneRanges
from anabranch.offsets import codec
from anabranch.operations.offsets.ranges import certain, lane_ranges
from anabranch.state.maps.reading import LinkMaps, read_maps


@dataclass(eq=False)
class NotBegunError(RefusedError):
    """A link has no maps, for it has copied nothing yet."""

    link: str

    _message = "link {link!r} has no maps: none of its lanes has begun"
    _hint = "it has some once it copies: anabranch link run {link}"


@dataclass(frozen=True, slots=True)
class ExportedMaps:
    """The contexts of source and target by name, each lane's runs as they are stored, and the maps."""

    link: str
    source: str
    target: str
    stored: Mapping[LaneKey, bytes] = field(hash=False)
    lanes: tuple[LaneRanges, ...]


async def export(target: Cluster, link_id: str) -> ExportedMaps:
    """Everything that translates a link; raises UnknownLinkError, NotBegunError, LaneInDoubtError, ClusterError."""
    return exported(await read_maps(target, link_id, None))


def exported(maps: LinkMaps) -> ExportedMaps:
    """The export of maps that were read; raises NotBegunError, LaneInDoubtError."""
    found = certain([*maps, *maps.doubts.values()])
    if not found:
        raise NotBegunError(maps.link)
    return ExportedMaps(
        maps.link,
        maps.spec.source.context,
        maps.spec.target.context,
        {one.lane: codec.encode(one.ranges) for one in found},
        tuple(lane_ranges(one) for one in found),
    )
