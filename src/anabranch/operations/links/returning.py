"""The way back of a link: a second one in the other direction, which goes on where the first one's copies end.

It begins with the first link's offset map, the other way round; so each position of either cluster, before and after
the turn, is translated by one map.  The first link is paused meanwhile, or both would copy each other's records.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from anabranch.config.maps_file import StoredMap
from anabranch.errors import InvalidFieldError, RefusedError
from anabranch.kafka.cluster import Cluster, ClusterMetadata
from anabranch.model.filters import load as load_filter
from anabranch.model.filters import select
from anabranch.model.lane import LaneKey, LaneMode
from anabranch.model.link import LinkSpec
from anabranch.model.plugins import PluginSpec
from anabranch.model.reasons import Reason, Severity
from anabranch.model.topics import TopicId
from anabranch.offsets.offset_map import OffsetMap
from anabranch.operations.links.status import stored
from anabranch.operations.offsets.ranges import certain
from anabranch.state.maps.reading import LaneMap, read_maps
from anabranch.state.maps.rebuild import LogRange, has_records
from anabranch.state.maps.untold import ADOPTED, led_alike
from anabranch.state.topics.control import Links
from anabranch.state.topics.journal import Journal

_IDENTITY, _ORIGINAL = PluginSpec("identity"), "original"


@dataclass(eq=False)
class OtherWayError(RefusedError):
    """A link was to be the way back of one that leads elsewhere."""

    link: str
    back_of: str
    leads: str

    _message = "link {link!r} cannot be the way back of {back_of!r}, which leads {leads}"
    _hint = "its source is the target of the other one, and its target the source"


async def way_back(
    source: Cluster, asked: LinkSpec, here: ClusterMetadata, there: ClusterMetadata
) -> tuple[LinkSpec, tuple[StoredMap, ...], list[Reason]]:
    """The link as it would be stored, the maps that it begins with, and what forbids it now.

    ``source`` is the target of the link whose way back it is, ``here`` and ``there`` what its two clusters hold.
    Raises UnknownLinkError, OtherWayError, InvalidFieldError, LaneInDoubtError, ClusterError.
    """
    assert asked.back_of is not None
    links, record = await stored(source, asked.back_of)
    spec = record.wanted.spec
    if spec.source.cluster_id != there.cluster_id:
        leads = f"from cluster {spec.source.cluster_id} to {spec.target.cluster_id}"
        raise OtherWayError(asked.id, asked.back_of, leads)
    if asked.naming != _IDENTITY:
        raise InvalidFieldError("link", "naming", "a way back has the names of the link that it belongs to")
    topics = [topic for topic in _topics(links, spec) if topic in here.topics]
    chosen = select(load_filter(asked.filter), topics)
    made = replace(
        asked,
        filter=PluginSpec("regex", {"include": [re.escape(name) for name in chosen], "exclude": []}),
        naming=_led_back(spec),
        shared_topics=asked.shared_topics or spec.back_of is not None,  # the way there again fills what was filled
    )
    found = certain([lane for lane in await read_maps(source, spec.id, None) if lane.target.topic in chosen])
    maps = tuple(_inverse(asked.id, lane, here) for lane in found if not _is_bare(lane))
    paused = [] if record.wanted.paused else [_not_paused(spec.id)]
    return made, maps, paused + await _parted(source, spec.id, found)


async def _parted(source: Cluster, link: str, lanes: Sequence[LaneMap]) -> list[Reason]:
    """What forbids a way back that would begin behind records of others, and never copy them; raises ClusterError.

    What an adopted lane found there before it began is not looked at: the other tool may have written records twice.
    """
    claims = await Journal(source).read()
    for lane in lanes:
        adopted = (one.claim for one in claims.claims(str(lane.lane)) if one.claim.owner.startswith(ADOPTED))
        since = max((one.floor for one in adopted), default=lane.ranges.target_start)
        if (at := await first_of_others(source, lane, since)) is not None:
            what = f"{lane.target} has records at {at:,} that link {link} did not copy, before its copies end"
            fix = "its way back would leave them out: exclude the topic, or copy it by a link into an empty one"
            return [Reason.found(Severity.ERROR, what, fix)]
    return []


async def first_of_others(target: Cluster, lane: LaneMap, since: int) -> int | None:
    """Where the target first has records of others among a lane's copies from ``since`` on; raises ClusterError."""
    if lane.mode is LaneMode.IDENTITY:
        return None
    for start, end in _gaps(lane.ranges, since):
        if await has_records(target, LogRange(lane.target.topic, lane.target.partition, start, end)):
            return start
    return None


def _gaps(ranges: OffsetMap, since: int) -> Iterator[tuple[int, int]]:
    """The target offsets from ``since`` to the map's end that hold no copies."""
    at = since
    for number in range(max(0, ranges.find_target(since)), len(ranges)):
        one = ranges[number]
        if one.target > at:
            yield at, one.target
        at = max(at, one.target_end)
    if ranges.target_end > at:
        yield at, ranges.target_end


def _topics(links: Links, spec: LinkSpec) -> list[str]:
    """What a link fills; one that is a way back, and has not run yet, fills what a link that led the same way did."""
    own = [topic.target for topic in links.topics_of(spec.id)]
    if own or spec.back_of is None:
        return own
    others = led_alike(links, spec)
    wanted = set(select(load_filter(spec.filter), [topic.source for topic in others]))
    return sorted({topic.target for topic in others if topic.source in wanted})


def _led_back(spec: LinkSpec) -> PluginSpec:
    """The naming of a link's way back; that of a way back is the one of the link that it belongs to."""
    kind, options = spec.naming.kind, dict(spec.naming.options)
    if spec.naming == _IDENTITY:
        return _IDENTITY
    if kind == _ORIGINAL:
        del options["of_source"]
        return PluginSpec(options.pop("of"), options)
    return PluginSpec(_ORIGINAL, {"of": kind, "of_source": spec.source.context, **options})


def _is_bare(lane: LaneMap) -> bool:
    """Whether it has begun at the beginning of both logs and copied nothing."""
    ranges = lane.ranges
    return not ranges and not (ranges.source_end or ranges.target_end)


def _inverse(link: str, lane: LaneMap, here: ClusterMetadata) -> StoredMap:
    key = LaneKey(link, TopicId(here.topics[lane.target.topic].id), lane.target.partition)
    return StoredMap(key, lane.target, lane.source, lane.ranges.inverse(), lane.lane.topic_id)


def _not_paused(link: str) -> Reason:
    what = f"link {link} is not paused: it and its way back would copy each other's records"
    return Reason.found(Severity.ERROR, what, f"anabranch link pause {link}")
