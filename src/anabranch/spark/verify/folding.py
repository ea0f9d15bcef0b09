"""From rows of digests to chunk sums, in Python tasks: target offsets are translated through the lanes' maps here.

What needs no translation, and need not be slow, is summed up by ``summing`` instead, to the same numbers.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as sql

from anabranch.model.topics import TopicPartition
from anabranch.offsets.bulk import Kind, to_source_bulk, to_target_bulk
from anabranch.offsets.offset_map import OffsetMap
from anabranch.spark.verify import scan
from anabranch.verify.pace import ReadPace
from anabranch.verify.pins import Pin
from anabranch.verify.sums import Sum, fold

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Longs = NDArray[np.int64]

SCHEMA = "lane int, chunk bigint, records bigint, bytes bigint, first bigint, second bigint, total bigint"
_ARROW = pa.schema(
    [("lane", pa.int32())] + [(name, pa.int64()) for name in ("chunk", "records", "bytes", "first", "second", "total")]
)
_SIGN = 1 << 63


class LaneTranslation(NamedTuple):
    """What a task needs to translate the offsets of one lane; ``source`` is the pin's range of source offsets."""

    lane: int
    ranges: OffsetMap
    source: tuple[int, int]


LaneTranslations = Mapping[tuple[str, int], LaneTranslation]


def lane_translations(pins: Iterable[tuple[int, Pin]], side: Callable[[Pin], TopicPartition]) -> LaneTranslations:
    """The lanes by their partition of one side."""
    return {
        (side(pin).topic, side(pin).partition): LaneTranslation(lane, pin.ranges, (pin.source_from, pin.source_to))
        for lane, pin in pins
    }


def sums(rows: DataFrame, lanes: LaneTranslations, translate: bool, rate: float | None) -> DataFrame:
    """Chunk sums of records that ``scan.read`` gives; several rows a chunk where several tasks read it.

    ``translate``: the offsets are the target's.  ``rate``: bytes a second that one task may read.
    """
    return digests(rows).mapInArrow(folder(lanes, translate, rate), SCHEMA)


def digests(rows: DataFrame) -> DataFrame:
    """What a folder is given of records."""
    return rows.select(
        scan.here().alias("here"),
        "partition",
        "offset",
        scan.first().alias("first"),
        scan.second().alias("second"),
        scan.size().alias("size"),
    )


def folder(
    lanes: LaneTranslations, translate: bool, rate: float | None
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The work of one task, which reads one partition: digests in, one batch of chunk sums out."""

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import numpy as np

        translation: LaneTranslation | None = None
        found: dict[int, Sum] = {}
        pace = ReadPace(rate)
        for batch in batches:
            if not batch.num_rows:
                continue
            if translation is None:
                translation = lanes[(batch.column(0)[0].as_py(), batch.column(1)[0].as_py())]
            offsets, first, second, sizes = (batch.column(at).to_numpy() for at in (2, 3, 4, 5))
            places = positions(translation, offsets) if translate else offsets
            folded = fold(places, first.view(np.uint64), second.view(np.uint64), sizes.astype(np.int64))
            for chunk, *numbers in zip(*(column.tolist() for column in _columns(folded)), strict=True):
                found[chunk] = found.get(chunk, Sum()).plus(Sum(*numbers))
            time.sleep(pace.passed(int(sizes.sum())))
        if translation is not None and found:
            yield _batch(translation.lane, found)

    return work


def positions(translation: LaneTranslation, offsets: Longs) -> Longs:
    """The source offset of each target offset; for a foreign one, that of the next copied record."""
    import numpy as np

    found, kinds = to_source_bulk(translation.ranges, offsets)
    low, high = translation.source
    result: Longs = np.where(kinds == Kind.EXACT, found, np.where(kinds == Kind.BEFORE, low, high))
    return np.clip(result, low, max(low, high - 1))


def places(translation: LaneTranslation, offsets: Longs, translate: bool) -> Longs:
    """The very record's offset on the other side, -1 for none."""
    there, _ = (to_source_bulk if translate else to_target_bulk)(translation.ranges, offsets, records=True)
    return there


def _columns(folded: Any) -> tuple[Any, ...]:
    return folded.chunks, folded.records, folded.bytes, folded.firsts, folded.seconds, folded.totals


def _batch(lane: int, found: Mapping[int, Sum]) -> pa.RecordBatch:
    columns: list[list[int]] = [[lane] * len(found), list(found)]
    columns += [[one.records for one in found.values()], [one.bytes for one in found.values()]]
    columns += [
        [_signed(number) for number in words] for words in zip(*(one[2:] for one in found.values()), strict=True)
    ]
    return pa.RecordBatch.from_arrays(
        [pa.array(column, kind) for column, kind in zip(columns, _ARROW.types, strict=True)], schema=_ARROW
    )


def _signed(word: int) -> int:
    return word - (word & _SIGN) * 2


def add(found: dict[int, dict[int, Sum]], row: Sequence[int]) -> None:
    """Take in one row of a scan: lane, chunk and the sum's numbers."""
    lane, chunk, records, size, *words = row
    mine = found.setdefault(lane, {})
    one = Sum(records, size, *(word & (2 * _SIGN - 1) for word in words))
    mine[chunk] = mine.get(chunk, Sum()).plus(one)


def tagged(frame: DataFrame, level: int) -> DataFrame:
    """The sums with the number of their scan in front, so that several go in one job."""
    return frame.select(sql.lit(level).alias("level"), "*")
