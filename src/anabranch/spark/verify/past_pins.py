"""What lies past the pins when a comparison ends, asked in the driver: maps, claims and headers of the target."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection, Mapping, Sequence

from anabranch.config.verifyspec import VerifySpec
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.errors import PermissionDeniedError
from anabranch.kafka.security import open_cluster
from anabranch.model.link import UnknownLinkError
from anabranch.model.topics import TopicPartition
from anabranch.offsets.offset_map import OffsetMap
from anabranch.protocol.claims import ClaimLog
from anabranch.spark.verify.log_ranges import Bounds
from anabranch.state.codecs import topics as control_topics
from anabranch.state.maps.reading import LinkMaps, read_maps
from anabranch.state.maps.rebuild import LogRange, headers
from anabranch.state.topics.control import Links, present
from anabranch.state.topics.journal import Journal
from anabranch.verify.past import PastBatch, PastPin, nothing_past, past, tail_start, untold
from anabranch.verify.pins import Pin

TIMEOUT_S = 30.0
"""How long a lane in doubt is asked for again: a running link persists again within seconds."""
_PAUSE_S = 1.0
_AT_ONCE = 16


def read_past_pins(spec: VerifySpec, ends: Mapping[TopicPartition, Bounds]) -> list[PastPin]:
    """Each pin's lane; of a comparison that is not kept nothing is known past the pins.  Raises ClusterError."""
    if not spec.keep:
        return [untold(pin) for pin in spec.pins]

    async def ask() -> list[PastPin]:
        logs = {one: end for one, (_, end) in ends.items()}
        async with open_cluster(spec.source) as source, open_cluster(spec.target) as target:
            return await past_pins(source, target, spec.link, spec.pins, logs)

    return asyncio.run(ask())


async def past_pins(
    source: Cluster,
    target: Cluster,
    link_id: str,
    pins: Sequence[Pin],
    ends: Mapping[TopicPartition, int],
    timeout: float = TIMEOUT_S,
) -> list[PastPin]:
    """Each pin's lane up to ``ends``, which the target's logs had before this was called; raises ClusterError.

    Of a link that has a way back nothing is foreign past the pins: applications write there since they were led over.
    """
    grown = {pin.source for pin in pins if ends[pin.target] > pin.target_to}
    if not grown:
        return [nothing_past(pin) for pin in pins]
    if await _has_way_back(source, target, link_id):
        return [untold(pin) if pin.source in grown else nothing_past(pin) for pin in pins]
    try:
        maps = await _maps(target, link_id, grown, timeout)
    except UnknownLinkError as error:
        return [untold(pin, error.message) if pin.source in grown else nothing_past(pin) for pin in pins]
    # After the ends: whoever wrote below them has claimed the lane by then.
    claims = await Journal(target).read()
    at_once = asyncio.Semaphore(_AT_ONCE)

    async def one(pin: Pin) -> PastPin:
        if pin.source not in grown:
            return nothing_past(pin)
        if (doubt := maps.doubts.get(pin.source)) is not None:
            return untold(pin, doubt.message)
        lane = maps.maps.get(pin.source)
        if lane is None or str(lane.lane) != pin.lane:
            return untold(pin, "the lane was begun again while it was compared")
        async with at_once:
            return past(pin, lane.ranges, await _tail(target, pin, lane.ranges, ends[pin.target], claims))

    return list(await asyncio.gather(*(one(pin) for pin in pins)))


async def _has_way_back(source: Cluster, target: Cluster, link_id: str) -> bool:
    """Whether a link is the way back of this one, which is stored on its target, this one's source.

    It was made where the copies end.  One of a link of the same name into another cluster is none.  Who may not read of
    links there has none as far as it knows.
    """
    links = Links(source)
    try:
        if await present(source, [control_topics.LINKS]):
            await links.sync()
    except PermissionDeniedError:
        return False
    specs = [one.wanted.spec for one in links.links.values() if one.wanted.spec.back_of == link_id]
    return bool(specs) and await target.cluster_id() in {spec.source.cluster_id for spec in specs}


async def _maps(target: Cluster, link_id: str, wanted: Collection[TopicPartition], timeout: float) -> LinkMaps:
    """The maps of some lanes; those in doubt are asked for again until ``timeout`` seconds are over."""
    deadline = time.monotonic() + timeout
    while True:
        maps = await read_maps(target, link_id, wanted)
        if not maps.doubts or time.monotonic() >= deadline:
            return maps
        await asyncio.sleep(_PAUSE_S)


async def _tail(target: Cluster, pin: Pin, ranges: OffsetMap, end: int, claims: ClaimLog) -> list[PastBatch]:
    """The data batches behind the map's last range."""
    start, own = tail_start(pin, ranges), claims.producer_ids(pin.lane)
    if start >= end:
        return []
    return [
        PastBatch(header.base_offset, header.last_offset, header.producer_id in own)
        async for header in headers(target, LogRange(pin.target.topic, pin.target.partition, start, end))
        if not header.is_control
    ]
