"""One comparison from its first round to its findings; what it does in between, the caller decides.

comparison = Comparison(spark, spec)
for work in comparison.rounds():     # after each round: what is known so far
    ...                              # keep it, show it, or stop
findings = comparison.findings()     # the records of what differs, by name
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql

from anabranch.config.verifyspec import Levels, ReaderKind, VerifySpec
from anabranch.spark.verify import batches, classifying, cleaned, folding, scan, summing
from anabranch.spark.verify import mismatches as stray
from anabranch.spark.verify.log_ranges import read_log_ranges
from anabranch.spark.verify.options import options
from anabranch.spark.verify.past_pins import read_past_pins
from anabranch.verify import visibility
from anabranch.verify.classify import ComparedLane, ContentOffsets
from anabranch.verify.findings import NOWHERE, Finding, FindingCounts, FindingKind, RecordField
from anabranch.verify.lockstep import Reached
from anabranch.verify.past import PastPin, doubt_of
from anabranch.verify.pins import CHUNK, Pin, by_shift, chunks_pin, gather
from anabranch.verify.sums import NOTHING, Sum
from anabranch.verify.work import ComparisonWork, RoundPart

FIRST_ROUND = 1 << 18
"""Offsets: little enough that progress is known soon; a round that is short is followed by one of twice the size."""
_SHORT_S, _LONG_S = 8.0, 25.0
_USUAL_BYTES = 500
"""What a source offset is taken to cost, both sides together, before anything of it was read."""
_RANGES = 8
"""Ranges of differing chunks of a lane that are read apart; each is a scan of its own in Spark's plan."""
_CUTS = 4
"""Pieces of a lane's part, each again a scan of its own, so that one gap does not make Python sum up all of it."""
_SOURCE, _COMMITTED, _UNCOMMITTED = 0, 1, 2

Scan = dict[int, dict[int, Sum]]


@dataclass(frozen=True, slots=True)
class LaneFindings:
    """What differs in a lane: exact numbers, some of the records, and why it cannot be told whether more does."""

    counts: FindingCounts
    samples: tuple[Finding, ...]
    doubt: str = ""


class Comparison:
    """Compare the pins of a specification; ``slots`` tasks at a time."""

    def __init__(self, spark: SparkSession, spec: VerifySpec, *, first_round: int = FIRST_ROUND) -> None:
        self.spec = spec
        if spec.rate_limit is not None:  # a round cannot be stopped
            first_round = min(first_round, int(spec.rate_limit * _SHORT_S / _USUAL_BYTES))
        self.work = ComparisonWork(spec.pins, spec.since, spec.again, max(CHUNK, first_round))
        self._reached = Reached()
        self.records = 0
        self.bytes = 0
        self.stored_bytes = 0
        self._spark = spark
        self._slots = spark.sparkContext.defaultParallelism
        # The Python tasks of the other reader use a client of their own: what the JVM cannot be told is no matter then.
        self._options = (options(spec.source), options(spec.target))
        self._ends = read_log_ranges(spec.source, spec.target, spec.pins)

    # -- rounds ----------------------------------------------------------------------------------------

    def rounds(self) -> Iterator[ComparisonWork]:
        """Read everything once; yields after each round."""
        for parts in self.work.rounds():
            began = time.monotonic()
            self._ends = read_log_ranges(self.spec.source, self.spec.target, self.spec.pins)
            sums = self._round(parts)
            self.work.finish(parts, sums)
            took = time.monotonic() - began
            if took < _SHORT_S:
                self.work.size *= 2
            elif took > _LONG_S:
                self.work.size = max(CHUNK, self.work.size // 2)
            yield self.work

    def _round(self, parts: list[RoundPart]) -> list[Scan]:
        if self.spec.reader is ReaderKind.RECORDS:
            return self._sums([(part.lane, part.pin) for part in parts])
        compared = batches.compare(self._spark, self._tasks(parts), self._reached)
        self.records += compared.records
        self.bytes += compared.bytes
        self.stored_bytes += compared.bytes
        found = self._sums(compared.rest) if compared.rest else self._nothing()
        for scanned in found:
            for lane, chunks in compared.sums.items():
                mine = scanned.setdefault(lane, {})
                for chunk, one in chunks.items():
                    mine[chunk] = mine.get(chunk, NOTHING).plus(one)
        return found

    def _tasks(self, parts: list[RoundPart]) -> list[batches.CompareTask]:
        spec = self.spec
        rate = None if spec.rate_limit is None else spec.rate_limit / self._slots / 2
        tasks: list[batches.CompareTask] = []
        for part in parts:
            whole = spec.pins[part.lane]
            stable = self._ends.stable[whole.target]
            tasks += [
                batches.CompareTask(part.lane, whole, piece, spec.source, spec.target, stable, rate)
                for piece in batches.cut(part.pin, max(1, self._slots // len(parts)))
            ]
        return tasks

    def _nothing(self) -> list[Scan]:
        return [{} for _ in range(3 if self.spec.levels is Levels.BOTH else 2)]

    def _sums(self, parts: list[tuple[int, Pin]]) -> list[Scan]:
        """The sums of some parts; a lane may have several parts, which are then scans of their own."""
        found = self._scanned([(_SOURCE, parts), (_COMMITTED, parts)])
        if self.spec.levels is Levels.BOTH:
            undecided, decided = visibility.split(parts, found[_COMMITTED])
            found += self._scanned([(_UNCOMMITTED, undecided)])
            for lane, chunks in decided.items():
                found[_UNCOMMITTED].setdefault(lane, {}).update(chunks)
        return found

    def _scanned(self, wanted: list[tuple[int, list[tuple[int, Pin]]]]) -> list[Scan]:
        """The sums of parts at some levels, read in one job."""
        frames = []
        for level, parts in wanted:
            cuts = 1 if level == _SOURCE or self.spec.rate_limit is not None else _CUTS
            for layer in _layers([(lane, piece) for lane, part in parts for piece in by_shift(part, cuts)]):
                frames += [folding.tagged(frame, level) for frame in self._frames(level, layer)]
        found: dict[int, Scan] = {level: {} for level, _ in wanted}
        if frames:
            together = reduce(DataFrame.unionAll, frames)
            for level, *row in together.collect():
                folding.add(found[level], row)
        for scanned in found.values():
            for chunks in scanned.values():
                self.records += sum(one.records for one in chunks.values())
                self.bytes += sum(chunk.bytes for chunk in chunks.values())
        return list(found.values())

    def _frames(self, level: int, layer: list[tuple[int, Pin]]) -> Iterator[DataFrame]:
        """Chunk sums of one part of each lane: by the JVM where one number makes positions of offsets."""
        is_source = level == _SOURCE
        if self.spec.rate_limit is not None:  # only Python tasks can be held up
            shifts: list[int | None] = [None] * len(layer)
        else:
            shifts = [0 if is_source else pin.shift for _, pin in layer]
        plain = [(one, shift) for one, shift in zip(layer, shifts, strict=True) if shift is not None]
        rows = self._read(level, [pin for (_, pin), _ in plain])
        if rows is not None:
            places = {(pin.source if is_source else pin.target): (lane, shift) for (lane, pin), shift in plain}
            yield summing.sums(self._spark, rows, places)
        rows = self._read(level, [pin for (_, pin), shift in zip(layer, shifts, strict=True) if shift is None])
        if rows is not None:
            rate = None if self.spec.rate_limit is None else self.spec.rate_limit / self._slots
            tickets = folding.lane_translations(
                enumerate(self.spec.pins), (lambda pin: pin.source) if is_source else (lambda pin: pin.target)
            )
            yield folding.sums(rows, tickets, not is_source, rate)

    def _read(self, level: int, pins: list[Pin]) -> DataFrame | None:
        is_source = level == _SOURCE
        ranges = []
        for pin in pins:
            partition = pin.source if is_source else pin.target
            start, end = (pin.source_from, pin.source_to) if is_source else (pin.target_from, pin.target_to)
            low, high = self._ends.of(is_source, partition)
            if level == _COMMITTED:
                # Spark would wait for the end of an open transaction: what it hides now is hidden.
                high = self._ends.stable[partition]
            ranges.append(scan.OffsetRange(partition, max(start, low), min(end, high)))
        isolation = scan.UNCOMMITTED if level == _UNCOMMITTED else scan.COMMITTED
        return scan.read(self._spark, self._options[0 if is_source else 1], ranges, isolation, self._slots)

    # -- what differs ----------------------------------------------------------------------------------

    def findings(self) -> dict[int, LaneFindings]:
        """Name the records of all chunks that differ, and what others wrote behind the last copy, by lane.

        A lane without any is absent.
        """
        parts = [
            (lane, chunks_pin(one.pin, first, last))
            for lane, one in enumerate(self.work.lanes)
            for first, last in gather(sorted(one.chunks), _RANGES)
        ]
        if not parts:
            return self._with_past({}, self._past_pins())
        self._ends = read_log_ranges(self.spec.source, self.spec.target, self.spec.pins)
        source = self._detailed(_SOURCE, parts)
        level = _UNCOMMITTED if self.spec.levels is Levels.BOTH else _COMMITTED
        target = self._detailed(level, parts)
        seen = self._detailed(_COMMITTED, parts) if level == _UNCOMMITTED else None
        apart = stray.join(source, target, seen)
        rows = apart.rows.persist(StorageLevel.MEMORY_AND_DISK)
        hidden = apart.hidden.persist(StorageLevel.MEMORY_AND_DISK)
        try:
            lanes = {lane for lane, _ in parts}
            rows.count()  # what a cleaner took of them it took for records below the ends that are asked for now
            known = self._past_pins()
            judged = self._judged(rows, lanes, known)
            untold = self._untold(judged, known)
            # Looked at once more, so that what a log lost at its start while it was read is not called missing.
            self._ends = read_log_ranges(self.spec.source, self.spec.target, self.spec.pins)
            facts = {lane: self._lane(self.spec.pins[lane]) for lane in lanes}
            lookups = self._lookups(classifying.asked(judged), known)
            found = classifying.classified(judged, facts, lookups, self.spec.samples).collect()
            named = self._named([tuple(row) for row in found], self._hidden(hidden))
            return self._with_past(named, known, untold)
        finally:
            rows.unpersist()
            hidden.unpersist()

    def _detailed(self, level: int, parts: list[tuple[int, Pin]]) -> DataFrame:
        tickets = folding.lane_translations(
            enumerate(self.spec.pins), (lambda pin: pin.source) if level == _SOURCE else (lambda pin: pin.target)
        )
        frames = [
            stray.detailed(rows, tickets, level != _SOURCE)
            for layer in _layers(parts)
            if (rows := self._read(level, [pin for _, pin in layer])) is not None
        ]
        if not frames:
            return stray.nothing(self._spark)
        return reduce(DataFrame.unionAll, frames)

    def _past_pins(self) -> list[PastPin]:
        self._ends = read_log_ranges(self.spec.source, self.spec.target, self.spec.pins)
        return read_past_pins(self.spec, self._ends.target)

    def _judged(self, rows: DataFrame, lanes: set[int], known: Sequence[PastPin]) -> DataFrame:
        compacts = {
            lane: (pin.source_compacts, pin.target_compacts)
            for lane, pin in enumerate(self.spec.pins)
            if lane in lanes and (pin.source_compacts or pin.target_compacts)
        }
        if not compacts:
            return cleaned.with_newest(rows, None, compacts)
        asked = cleaned.candidates(rows, compacts)
        if asked.isEmpty():
            return cleaned.with_newest(rows, None, compacts)
        wide = [(lane, self._to_the_end(self.spec.pins[lane])) for lane in compacts]
        found = cleaned.newest(asked, self._keyed(_SOURCE, wide, known), self._keyed(_COMMITTED, wide, known))
        return cleaned.with_newest(rows, found, compacts)

    def _keyed(self, level: int, parts: list[tuple[int, Pin]], known: Sequence[PastPin]) -> DataFrame:
        """The keys of records, with their places past the pins too."""
        sides = [one.pin.source if level == _SOURCE else one.pin.target for one in known]
        lanes = {(side.topic, side.partition): (lane, known[lane]) for lane, side in enumerate(sides)}
        frames = [
            stray.keyed(rows, lanes, level != _SOURCE)
            for layer in _layers(parts)
            if (rows := self._read(level, [pin for _, pin in layer])) is not None
        ]
        return reduce(DataFrame.unionAll, frames) if frames else stray.no_keys(self._spark)

    def _untold(self, judged: DataFrame, known: Sequence[PastPin]) -> dict[int, int]:
        """By lane, how many records are absent from the target of which it is not known whether a cleaner took them."""
        if all(one.is_told for one in known):
            return {}
        return {row[0]: row[1] for row in judged.where("untold").groupBy("lane").count().collect()}

    def _with_past(
        self, named: dict[int, LaneFindings], known: Sequence[PastPin], untold: Mapping[int, int] | None = None
    ) -> dict[int, LaneFindings]:
        """The findings with what others wrote behind the last copy, and with what cannot be told."""
        foreign = self._foreign(known)
        found = dict(named)
        for lane, one in enumerate(known):
            doubt = doubt_of(one, (untold or {}).get(lane, 0))
            number, offsets = foreign.get(lane, (0, []))
            if not number and not doubt:
                continue
            mine = found.get(lane, LaneFindings(FindingCounts(), ()))
            kind, most = FindingKind.UNEXPECTED, self.spec.samples - mine.counts[FindingKind.UNEXPECTED]
            more = [Finding(one.pin.lane, kind, NOWHERE, offset) for offset in offsets[: max(0, most)]]
            counts = mine.counts.plus(FindingCounts({kind: number} if number else {}))
            found[lane] = LaneFindings(counts, tuple(sorted((*mine.samples, *more))), doubt)
        return found

    def _foreign(self, known: Sequence[PastPin]) -> dict[int, tuple[int, list[int]]]:
        """By lane, how many records others wrote behind the last copy, and where the first of them are."""
        parts = [
            (lane, _between(one.pin, (0, 0), (one.foreign[0][0], one.foreign[-1][1])))
            for lane, one in enumerate(known)
            if one.foreign
        ]
        if not parts:
            return {}
        level = _UNCOMMITTED if self.spec.levels is Levels.BOTH else _COMMITTED
        rows = self._keyed(level, parts, known).where(sql.col("place") == NOWHERE)
        found: dict[int, tuple[int, list[int]]] = {}
        for lane, number in rows.groupBy("lane").count().collect():
            some = rows.where(sql.col("lane") == lane).orderBy("offset").limit(self.spec.samples).collect()
            found[lane] = (number, [row[1] for row in some])
        return found

    def _to_the_end(self, pin: Pin) -> Pin:
        """The pin with all that came after it."""
        source, target = self._ends.of(True, pin.source)[1], self._ends.of(False, pin.target)[1]
        return _between(
            pin, (pin.source_from, max(pin.source_to, source)), (pin.target_from, max(pin.target_to, target))
        )

    def _lane(self, pin: Pin) -> ComparedLane:
        return ComparedLane(
            pin.ranges,
            (pin.source_from, pin.source_to),
            (pin.target_from, pin.target_to),
            self._ends.of(True, pin.source)[0],
            self._ends.of(False, pin.target)[0],
        )

    def _lookups(self, asked: DataFrame, known: Sequence[PastPin]) -> dict[int, tuple[ContentOffsets, ContentOffsets]]:
        """Where the contents of strays without a pair lie: anywhere in the source, in the target outside of the pin."""
        wanted = asked.persist(StorageLevel.MEMORY_AND_DISK)
        try:
            ours: list[tuple[int, Pin]] = []
            theirs: list[tuple[int, Pin]] = []
            for lane, of_target in wanted.select("lane", "target").distinct().collect():
                pin = self.spec.pins[lane]
                low, high = self._ends.of(of_target, pin.source if of_target else pin.target)
                if of_target:
                    ours.append((lane, _between(pin, (low, high), (0, 0))))
                else:
                    if known[lane].foreign:  # what others wrote there counts as theirs, whatever it holds
                        high = min(high, known[lane].foreign[0][0])
                    theirs.append((lane, _between(pin, (0, 0), (low, min(pin.target_from, high)))))
                    theirs.append((lane, _between(pin, (0, 0), (max(low, pin.target_to), high))))
            in_source = self._look(_SOURCE, ours, wanted.where("target"))
            in_target = self._look(_COMMITTED, theirs, wanted.where("not target"))
            return {lane: (in_source.get(lane, {}), in_target.get(lane, {})) for lane in {*in_source, *in_target}}
        finally:
            wanted.unpersist()

    def _look(
        self, level: int, parts: list[tuple[int, Pin]], wanted: DataFrame
    ) -> dict[int, dict[tuple[int, int], int]]:
        """The lowest offsets at which wanted contents lie in some ranges of their own lanes."""
        found: dict[int, dict[tuple[int, int], int]] = {}
        for layer in _layers(parts):
            rows = self._read(level, [pin for _, pin in layer])
            if rows is None:
                continue
            partitions = [(lane, pin.source if level == _SOURCE else pin.target) for lane, pin in layer]
            lanes = self._spark.createDataFrame(
                [(lane, one.topic, one.partition) for lane, one in partitions], "lane int, topic string, partition int"
            )
            digests = rows.select(
                "topic", "partition", "offset", scan.first().alias("first"), scan.second().alias("second")
            ).join(sql.broadcast(lanes), ["topic", "partition"])
            key = ["lane", "first", "second"]
            hits = digests.join(sql.broadcast(wanted.select(*key)), key).groupBy(*key)
            for lane, one, other, offset in hits.agg(sql.min("offset")).collect():
                found.setdefault(lane, {}).setdefault((one, other), offset)
        return found

    def _hidden(self, rows: DataFrame) -> dict[int, tuple[int, list[tuple[int, int]]]]:
        found: dict[int, tuple[int, list[tuple[int, int]]]] = {}
        for lane, number in rows.groupBy("lane").count().collect():
            some = rows.where(sql.col("lane") == lane).orderBy("offset").limit(self.spec.samples).collect()
            found[lane] = (number, [(row[1], row[2]) for row in some])
        return found

    def _named(
        self, found: list[tuple[int, ...]], hidden: Mapping[int, tuple[int, list[tuple[int, int]]]]
    ) -> dict[int, LaneFindings]:
        counts: dict[int, dict[FindingKind, int]] = {}
        samples: dict[int, list[Finding]] = {}
        for lane, kind, source, target, fields, number in found:
            counts.setdefault(lane, {})[FindingKind(kind)] = number
            name = self.spec.pins[lane].lane
            samples.setdefault(lane, []).append(Finding(name, FindingKind(kind), source, target, RecordField(fields)))
        for lane, (number, some) in hidden.items():
            counts.setdefault(lane, {})[FindingKind.HIDDEN] = number
            name = self.spec.pins[lane].lane
            samples.setdefault(lane, []).extend(Finding(name, FindingKind.HIDDEN, *one) for one in some)
        return {lane: LaneFindings(FindingCounts(counts[lane]), tuple(sorted(samples[lane]))) for lane in counts}


def _between(pin: Pin, source: tuple[int, int], target: tuple[int, int]) -> Pin:
    return Pin(pin.lane, pin.source, pin.target, *source, *target, pin.ranges, pin.source_compacts, pin.target_compacts)


def _layers(parts: list[tuple[int, Pin]]) -> Iterator[list[tuple[int, Pin]]]:
    """Parts in lists with at most one of each lane: Spark's source reads one range of a partition."""
    left = list(parts)
    while left:
        layer: dict[int, Pin] = {}
        rest = []
        for lane, pin in left:
            if lane in layer:
                rest.append((lane, pin))
            else:
                layer[lane] = pin
        yield list(layer.items())
        left = rest
