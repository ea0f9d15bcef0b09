"""The rows of ``make bench``: how the source is filled, and who copies it.

Each size is such that the slowest system of the row takes about half a minute on two cores.
"""

from __future__ import annotations

from dataclasses import dataclass

from anabranch.records.header import Codec
from benchmarks.sources import Fill
from benchmarks.sources.exact import ExactFill
from benchmarks.sources.tool import ToolFill
from benchmarks.sources.transactions import TransactionFill
from benchmarks.systems import follower, link, mirror_maker


@dataclass(frozen=True, slots=True)
class Row:
    """One row; ``systems`` take turns in this order, and ``mirror`` is the one that ratios are taken of."""

    name: str
    about: str
    fill: Fill
    systems: tuple[str, ...]
    mirror: str = mirror_maker.NAME


_ALL = (follower.NAME, mirror_maker.NAME, link.NAME)
_BOTH = (mirror_maker.NAME, link.NAME)

ROWS = (
    Row("lz4", "200 B values in LZ4 batches of about 120 kB", ToolFill(200, 160_000, "lz4", 6, 1_200_000_000), _ALL),
    Row("plain-1k", "1 kB values in plain batches of 64 kB", ToolFill(1_000, 64 << 10, "none", 6, 2_000_000_000), _ALL),
    Row("20-record", "LZ4 batches of 20 records of 200 B", ExactFill(200, 20, Codec.LZ4, 6, 4_000_000), _BOTH),
    Row("one-record", "plain batches of one record of 200 B", ExactFill(200, 1, Codec.NONE, 24, 400_000), _BOTH),
    Row("200-partitions", "as lz4, over 200 partitions", ToolFill(200, 160_000, "lz4", 200, 1_200_000_000), _BOTH),
    Row(
        "transactions",
        "transactions of 100 records of 200 B in two partitions, every tenth aborted; MirrorMaker 2 exactly-once",
        TransactionFill(200, "lz4", 6, 6_000),
        (mirror_maker.EXACTLY_ONCE, link.NAME),
        mirror=mirror_maker.EXACTLY_ONCE,
    ),
)
