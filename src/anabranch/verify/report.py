"""The result of a comparison as plain JSON values; ``schemas/verify-report.schema.json`` is its shape.

The verdict is *equal* only where every lane of the link was compared and nothing differs; *different* as soon as one
record does; else *unknown*: something could not be compared, and the lane says why.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from anabranch.verify.findings import NOWHERE, Finding, FindingCounts
from anabranch.verify.pins import Pin
from anabranch.verify.sums import NOTHING, Sum

VERSION = 1


class ComparisonVerdict(StrEnum):
    """The verdict of a comparison."""

    EQUAL = "equal"
    DIFFERENT = "different"
    UNKNOWN = "unknown"

    @property
    def exit_code(self) -> int:
        """As ``cmp`` and ``diff`` have it: 0 equal, 1 different, 2 unknown."""
        return (ComparisonVerdict.EQUAL, ComparisonVerdict.DIFFERENT, ComparisonVerdict.UNKNOWN).index(self)


@dataclass(frozen=True, slots=True)
class LaneResult:
    """One lane: its pin, up to where it was verified, what was read of each side, what was found.

    ``since`` are the source and target offsets from which on this comparison read; ``uncommitted`` is None where the
    target was read at one isolation level; ``open_chunks`` are differing chunks that are not named yet; ``doubt``
    is why it cannot be told whether more differs.
    """

    pin: Pin
    since: tuple[int, int]
    done: tuple[int, int]
    source: Sum = NOTHING
    target: Sum = NOTHING
    uncommitted: Sum | None = None
    counts: FindingCounts = field(default_factory=FindingCounts)
    samples: Sequence[Finding] = ()
    open_chunks: int = 0
    doubt: str = ""

    @property
    def complete(self) -> bool:
        """Whether all of the pin was compared."""
        return self.done == (self.pin.source_to, self.pin.target_to) or self.pin.empty

    @property
    def verdict(self) -> ComparisonVerdict:
        """The verdict on the lane."""
        if self.counts.differences:
            return ComparisonVerdict.DIFFERENT
        is_known = self.complete and not self.open_chunks and not self.doubt
        return ComparisonVerdict.EQUAL if is_known else ComparisonVerdict.UNKNOWN


@dataclass(frozen=True, slots=True)
class RunDetails:
    """When and how a comparison ran: times in milliseconds, what was read (both sides together), names and versions."""

    link: str
    run: str
    started_at_ms: int
    finished_at_ms: int
    source: tuple[str, str]
    target: tuple[str, str]
    reader: str
    levels: str
    records_read: int
    bytes_read: int
    versions: Mapping[str, str]


def verdict(lanes: Iterable[LaneResult], doubts: Mapping[str, str]) -> ComparisonVerdict:
    """The verdict on all lanes."""
    all_of_them = {lane.verdict for lane in lanes}
    if ComparisonVerdict.DIFFERENT in all_of_them:
        return ComparisonVerdict.DIFFERENT
    return ComparisonVerdict.UNKNOWN if doubts or ComparisonVerdict.UNKNOWN in all_of_them else ComparisonVerdict.EQUAL


def report(
    how: RunDetails,
    lanes: Sequence[LaneResult],
    doubts: Mapping[str, str],
    contents: Mapping[Finding, Mapping[str, Any]] | None = None,
) -> dict[str, Any]:
    """The JSON object; ``contents`` are both sides of samples, masked or not; lanes are named by source partition."""
    reasons = [*doubts.items(), *((str(lane.pin.source), lane.doubt) for lane in lanes if lane.doubt)]
    total = FindingCounts()
    for lane in lanes:
        total = total.plus(lane.counts)
    seconds = max(how.finished_at_ms - how.started_at_ms, 1) / 1000
    return {
        "v": VERSION,
        "verdict": verdict(lanes, doubts).value,
        "link": how.link,
        "run": how.run,
        "started_at_ms": how.started_at_ms,
        "finished_at_ms": how.finished_at_ms,
        "source": {"context": how.source[0], "cluster_id": how.source[1]},
        "target": {"context": how.target[0], "cluster_id": how.target[1]},
        "reader": how.reader,
        "levels": how.levels,
        "records_read": how.records_read,
        "bytes_read": how.bytes_read,
        "records_per_s": round(how.records_read / seconds, 1),
        "versions": dict(how.versions),
        "counts": total.words(),
        "lanes": [_lane(lane) for lane in lanes],
        "not_compared": [{"lane": lane, "reason": reason} for lane, reason in sorted(reasons)],
        "samples": [
            _sample(one, str(lane.pin.source), (contents or {}).get(one)) for lane in lanes for one in lane.samples
        ],
    }


def partitions(made: Mapping[str, Any]) -> dict[str, tuple[str, str]]:
    """The source and target partition of each lane of a report, by the lane's name there."""
    return {
        lane["lane"]: (
            f"{lane['source']['topic']}-{lane['source']['partition']}",
            f"{lane['target']['topic']}-{lane['target']['partition']}",
        )
        for lane in made["lanes"]
    }


def _lane(lane: LaneResult) -> dict[str, Any]:
    pin = lane.pin
    return {
        "lane": str(pin.source),
        "verdict": lane.verdict.value,
        "source": {
            "topic": pin.source.topic,
            "partition": pin.source.partition,
            "from": pin.source_from,
            "since": lane.since[0],
            "verified_to": lane.done[0],
            "to": pin.source_to,
            "compacts": pin.source_compacts,
            "records": lane.source.records,
            "digest": lane.source.digest,
        },
        "target": {
            "topic": pin.target.topic,
            "partition": pin.target.partition,
            "from": pin.target_from,
            "since": lane.since[1],
            "verified_to": lane.done[1],
            "to": pin.target_to,
            "compacts": pin.target_compacts,
            "records": lane.target.records,
            "digest": lane.target.digest,
            "uncommitted_digest": None if lane.uncommitted is None else lane.uncommitted.digest,
        },
        "bytes": lane.source.bytes,
        "chunks_not_named": lane.open_chunks,
        "counts": lane.counts.words(),
    }


def _sample(one: Finding, name: str, contents: Mapping[str, Any] | None) -> dict[str, Any]:
    return {
        "lane": name,
        "kind": one.kind.word,
        "source_offset": None if one.source == NOWHERE else one.source,
        "target_offset": None if one.target == NOWHERE else one.target,
        "fields": list(one.fields.words),
        "contents": None if contents is None else dict(contents),
    }
