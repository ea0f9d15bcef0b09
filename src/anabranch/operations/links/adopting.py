"""Links that take over from another tool: lanes that go on where its copy ends, with its history as theirs.

A lane is adopted before it ever began, by what its first owner finds: persisted runs, which are the other tool's, and a
released claim, which says where the lane starts in the source and below which target offset it never wrote.  The claim
has a producer id of its own that no record has, so nothing of the other tool is taken for the lane's.

History begins after the last unclear span of a map: what precedes it is refused as older than the lane.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from anabranch.config.maps_file import StoredMap
from anabranch.kafka import partitions
from anabranch.kafka.cluster import Cluster, ClusterMetadata
from anabranch.kafka.ends import ends
from anabranch.model.clock import now_ms
from anabranch.model.lane import LaneKey, LaneMode
from anabranch.model.reasons import Reason, Severity
from anabranch.model.reports import TopicPlan
from anabranch.model.topics import TopicPartition
from anabranch.offsets.offset_map import MappedRange
from anabranch.protocol.claims import Claim, ClaimState
from anabranch.state.maps.rebuild import LogRange, has_records
from anabranch.state.maps.untold import ADOPTED
from anabranch.state.segments.index import SEGMENT_RANGES
from anabranch.state.topics.control import ControlLostError, MappedRanges
from anabranch.state.topics.journal import Journal

_REBUILD = "make the maps again: anabranch offsets rebuild"


async def check(
    target: Cluster,
    here: ClusterMetadata,
    there: ClusterMetadata,
    topics: Sequence[TopicPlan],
    maps: Sequence[StoredMap],
    back_of: str | None = None,
    source: Cluster | None = None,
) -> list[Reason]:
    """What forbids to adopt these maps, and what is adopted; raises ClusterError.

    With ``back_of`` they are those of the link whose way back it is; ``source``, where that one copied to, is asked
    whether others have written there since.
    """
    by_topic: dict[str, dict[int, StoredMap]] = defaultdict(dict)
    for one in maps:
        by_topic[one.source.topic][one.source.partition] = one
    planned = {topic.source: topic for topic in topics}
    findings = [
        _error(f"topic {name} has a map, but the link does not copy it", "widen --include, or rebuild without it")
        for name in sorted(by_topic.keys() - planned.keys())
    ]
    existing = [topic for topic in topics if topic.exists]
    logs = await ends(
        target,
        [
            TopicPartition(topic.target, number)
            for topic in existing
            for number in there.topics[topic.target].partitions
        ],
    )
    if back_of is not None:
        logs = {**logs, **await _without_marks(target, logs, {one.target: one.ranges.target_end for one in maps})}
    back = None
    if back_of is not None:
        written = frozenset[TopicPartition]() if source is None else await _written(source, here, existing, maps, logs)
        back = _Back(back_of, written)
    for topic in topics:
        mine = by_topic.get(topic.source, {})
        if mine and not topic.exists:
            findings.append(_error(f"topic {topic.target}, the copy of {topic.source}, is not there", _NAMING))
        elif topic.exists:
            findings += _topic(topic, mine, here, there, logs, back)
    return findings


@dataclass(frozen=True, slots=True)
class _Back:
    """The link whose way back is made, and the partitions where it copied to that others have written since."""

    link: str
    written: frozenset[TopicPartition]

    def fix(self, at: TopicPartition) -> str:
        """What to do about records that it has not copied to this partition."""
        if at in self.written:
            return (
                f"do not resume {self.link}, others have written to {at} since: keep what matters of those records, "
                "and copy the topic by a link of its own (docs/how-to/route-disaster-recovery.md#3-back)"
            )
        link = self.link
        return f"have it copy what is left: link resume {link}; link wait {link} --caught-up; link pause {link}"


async def _written(
    source: Cluster,
    here: ClusterMetadata,
    topics: Sequence[TopicPlan],
    maps: Sequence[StoredMap],
    logs: Mapping[TopicPartition, tuple[int, int]],
) -> frozenset[TopicPartition]:
    """The source's partitions that hold records behind the copies, of those of which not all was copied there."""
    known = {one.source: one.ranges for one in maps}
    asked = []
    for topic in topics:
        for number in here.topics[topic.source].partitions:
            at = TopicPartition(topic.source, number)
            start, end = logs.get(TopicPartition(topic.target, number), (0, 0))
            if end != (known[at].target_end if at in known else start):
                asked.append(at)
    found = await ends(source, asked)
    copied = {at: known[at].source_end for at in asked if at in known}
    whole = await _without_marks(source, found, copied)
    return frozenset(at for at, (start, end) in found.items() if end > copied.get(at, start) and at not in whole)


async def _without_marks(
    target: Cluster, logs: Mapping[TopicPartition, tuple[int, int]], copied: Mapping[TopicPartition, int]
) -> dict[TopicPartition, tuple[int, int]]:
    """The logs that hold nothing but markers behind what was copied, as if they ended there: no copy has those.

    A cluster that comes back ends the transactions of applications that are gone, and nobody copies from it any more.
    """
    found = {}
    for at, (start, end) in logs.items():
        since = copied.get(at, start)
        if start <= since < end and not await has_records(target, LogRange(at.topic, at.partition, since, end)):
            found[at] = (start, since)
    return found


_NAMING = "give the naming that the other tool used, such as --naming '{source}.{topic}' or --naming prefix"


def _topic(
    topic: TopicPlan,
    maps: Mapping[int, StoredMap],
    here: ClusterMetadata,
    there: ClusterMetadata,
    logs: Mapping[TopicPartition, tuple[int, int]],
    back: _Back | None,
) -> Iterator[Reason]:
    records = repeats = 0
    for number in sorted(here.topics[topic.source].partitions):
        where = TopicPartition(topic.target, number)
        start, end = logs.get(where, (0, 0))
        one = maps.get(number)
        if one is None:
            if end > start:
                yield _error(
                    f"partition {where} holds {end - start:,} records that no map tells of",
                    "add the topic to the maps, or exclude it: the link would append a copy of all of it"
                    if back is None
                    else back.fix(TopicPartition(topic.source, number)),
                )
            continue
        if one.target != where:
            yield _error(f"{one.source} was mapped to {one.target}; the link would copy it to {where}", _NAMING)
            continue
        if one.lane.topic_id.uuid != here.topics[topic.source].id:
            yield _error(f"topic {topic.source} was made again since its map was", _REBUILD)
            return
        if one.target_id is not None and one.target_id.uuid != there.topics[topic.target].id:
            yield _error(f"topic {topic.target} was made again since its map was", _REBUILD)
            return
        yield from _lane(one, end, back)
        records += one.ranges.records
        repeats += one.ranges.target_end - one.ranges.target_start - one.ranges.records
    if maps:
        yield Reason.found(
            Severity.INFO,
            f"topic {topic.target} is adopted with {records:,} records; "
            f"{repeats:,} offsets in it are not copies to keep",
        )


def _lane(one: StoredMap, end: int, back: _Back | None) -> Iterator[Reason]:
    if back is not None:
        if end != one.ranges.target_end:
            what = f"link {back.link} has copied {one.target} up to {one.ranges.target_end:,}, and it ends at {end:,}"
            yield _error(what, back.fix(one.source))
        return
    if end != one.ranges.target_end:
        yield _error(
            f"partition {one.target} ends at {end:,}, its map at {one.ranges.target_end:,}: somebody still writes "
            "there",
            f"stop the other tool for good, then {_REBUILD}",
        )
    last = one.ranges.last
    if one.unclear and (last is None or one.unclear[-1].source_to > last.source_end):
        tail = one.unclear[-1]
        yield _error(
            f"the map of {one.source} is unclear at its end: it is not known which of the source offsets "
            f"{tail.source_from:,} to {tail.source_to:,} were copied to {tail.target_from:,} to {tail.target_to:,}",
            "exclude the topic, or copy it again into a new one",
        )
    elif last is None and one.ranges.target_end > one.ranges.target_start:
        yield _error(
            f"no record of {one.target} comes from {one.source}",
            "exclude the topic; if the other tool changes records, see `offsets rebuild --ignore`",
        )
    elif one.unclear:
        yield Reason.found(
            Severity.WARNING,
            f"{one.source} is unclear up to offset {one.unclear[-1].source_to:,}: older positions are not taken over",
        )


async def apply(target: Cluster, link: str, maps: Sequence[StoredMap], back_of: str | None = None) -> None:
    """File the histories and the claims of a link that is not stored yet; raises ClusterError.

    What an attempt that broke off has left is forgotten first: starts and floors are minima over all claims.
    """
    ranges, journal = MappedRanges(target), Journal(target)
    await ranges.sync()
    claims = await journal.read()
    await ranges.forget(link)
    keys = {LaneKey(link, one.lane.topic_id, one.source.partition): one for one in maps}
    await journal.forget({str(key): ids for key in keys if (ids := claims.producer_ids(str(key)))})
    begun = {key: one for key, one in keys.items() if one.ranges.last is not None or back_of is not None}
    await ranges.persist(
        {
            (key, at // SEGMENT_RANGES): tuple(history[at : at + SEGMENT_RANGES])
            for key, one in begun.items()
            for history in [_history(one)]
            for at in range(0, len(history), SEGMENT_RANGES)
        }
    )
    owner = f"{ADOPTED}{uuid.uuid4().hex[:12]}"
    for key, one in begun.items():
        claim = Claim(
            lane=str(key),
            producer_id=await partitions.new_producer_id(target),
            mode=LaneMode.MAPPED,
            owner=owner,
            transactional_id=None,
            claimed_at_ms=now_ms(),
            state=ClaimState.RELEASED,
            start=one.ranges.source_end,
            floor=one.ranges.target_end,
        )
        if await journal.append(claim) is None:
            raise ControlLostError


def _history(one: StoredMap) -> list[MappedRange]:
    """The runs after the last unclear span."""
    if not one.unclear:
        return list(one.ranges)
    start = one.unclear[-1].source_to
    return [run for run in one.ranges if run.source >= start]


def _error(what: str, fix: str) -> Reason:
    return Reason.found(Severity.ERROR, what, fix)
