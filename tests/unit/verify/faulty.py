"""Synthetic logs with planted faults, and what must be found in them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import numpy as np

from anabranch.offsets.offset_map import MappedRange, OffsetMap
from anabranch.offsets.translate import Exact, record_to_source, record_to_target
from anabranch.verify.classify import ComparedLane, ContentOffsets, NamedStray, classify, unresolved
from anabranch.verify.findings import NO_FIELDS, FindingKind, RecordField
from anabranch.verify.rows import Rows, rows


@dataclass(frozen=True)
class Record:
    """Contents: an identity, and what was changed of them."""

    number: int
    changed: RecordField = NO_FIELDS

    @property
    def digest(self) -> tuple[int, int]:
        """All of it."""
        return self.number, int(self.changed)

    @property
    def parts(self) -> tuple[int, int, int, int]:
        """Key, value, headers, timestamp."""
        return tuple(self.number * 2 + (1 if part in self.changed else 0) for part in RecordField)  # type: ignore[return-value]


@dataclass
class Logs:
    """Both logs by offset, and the map between them."""

    source: dict[int, Record] = field(default_factory=dict)
    target: dict[int, Record] = field(default_factory=dict)
    ranges: OffsetMap = field(default_factory=OffsetMap)
    source_start: int = 0
    target_start: int = 0
    excused_source: frozenset[int] = frozenset()
    excused_target: frozenset[int] = frozenset()

    def strays(self) -> tuple[Rows, Rows]:
        """What is not at its place, as Spark's join finds it."""
        ours = [(s, _place(record_to_target(self.ranges, s))) for s in sorted(self.source)]
        theirs = [(t, _place(record_to_source(self.ranges, t))) for t in sorted(self.target)]
        lost = [(s, t) for s, t in ours if t == -1 or self.target.get(t) != self.source[s]]
        odd = [(t, s) for t, s in theirs if s == -1 or self.source.get(s) != self.target[t]]
        return (
            _rows(lost, self.source, self.excused_source),
            _rows(odd, self.target, self.excused_target),
        )

    def lane(self) -> ComparedLane:
        """The pins are those of the map."""
        ranges = self.ranges
        return ComparedLane(
            ranges,
            (ranges.source_start, ranges.source_end),
            (ranges.target_start, ranges.target_end),
            self.source_start,
            self.target_start,
        )

    def named(self) -> list[NamedStray]:
        """What is found, with both logs looked through for what has no pair."""
        source, target = self.strays()
        lost, odd = unresolved(source, target, 10_000)
        return classify(source, target, self.lane(), _look(odd, self.source), _look(lost, self.target))


def identity(count: int, first: int = 0) -> Logs:
    """``count`` records at the same offsets on both sides."""
    log = {first + n: Record(n) for n in range(count)}
    ranges = OffsetMap.of([MappedRange(first, first, count)]) if count else OffsetMap(first, first)
    return Logs(log, dict(log), ranges)


def mapped(lengths: Iterable[tuple[int, int, int]], first: tuple[int, int] = (0, 0)) -> Logs:
    """Runs of (source gap before it, target gap before it, length)."""
    source, target, ranges = {}, {}, OffsetMap(*first)
    number = 0
    for gap, foreign, length in lengths:
        run = MappedRange(ranges.source_end + gap, ranges.target_end + foreign, length)
        ranges = ranges.append(run)
        for at in range(length):
            source[run.source + at] = target[run.target + at] = Record(number)
            number += 1
    return Logs(source, target, ranges)


def altered(record: Record, changed: RecordField) -> Record:
    """The record with some fields changed."""
    return replace(record, changed=changed)


def shifted(logs: Logs, target: list[Record]) -> Logs:
    """The target holds these records, dense from its first offset on; the map stays as it was."""
    start = logs.ranges.target_start
    return replace(logs, target={start + at: record for at, record in enumerate(target)})


def kinds(found: list[NamedStray]) -> dict[FindingKind, int]:
    """How many of each."""
    counted: dict[FindingKind, int] = {}
    for kind, *_ in found:
        counted[kind] = counted.get(kind, 0) + 1
    return counted


def _place(answer: object) -> int:
    return answer.offset if isinstance(answer, Exact) else -1


def _rows(places: list[tuple[int, int]], log: dict[int, Record], excused: frozenset[int]) -> Rows:
    return rows(
        [offset for offset, _ in places],
        [place for _, place in places],
        [log[offset].digest for offset, _ in places],
        np.array([log[offset].parts for offset, _ in places], dtype=np.int64).reshape(-1, 4),
        [offset in excused for offset, _ in places],
    )


def _look(digests: np.ndarray, log: dict[int, Record]) -> ContentOffsets:
    wanted = {tuple(one) for one in digests.tolist()}
    return {record.digest: offset for offset, record in reversed(log.items()) if record.digest in wanted}
