"""Numbers in tables have their thousands set apart, whatever verb shows them; JSON has plain numbers."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from typing import Any

import pytest
from rich.console import Console

from anabranch.cli.groups import render as render_groups
from anabranch.cli.mirrormaker import tables
from anabranch.cli.offsets import render as render_offsets
from anabranch.cli.verify import render as render_verify
from anabranch.groups.plan import GroupsPlan
from anabranch.model.groups import Commit
from anabranch.offsets.offset_map import MappedRange, OffsetMap
from anabranch.operations.documents import plain
from anabranch.operations.offsets.ranges import lane_ranges
from anabranch.operations.offsets.translate import translated
from anabranch.state.maps.reading import LaneMap, LinkMaps
from tests.unit.cli.test_cli_groups import MOVE, PLAN
from tests.unit.cli.test_cli_mirrormaker import PUBLISHED, REPORT
from tests.unit.cli.test_cli_offsets import LANE, MAPS, ORDERS

pytestmark = pytest.mark.unit

LONG = OffsetMap.of([MappedRange(10_000, 70_000, 4000), MappedRange(15_000, 75_000, 2000)], 9800, 70_000).advance(
    18_000, 77_000
)
LARGE: LaneMap = replace(LANE, ranges=LONG)
MOVED = GroupsPlan("old-new", (replace(PLAN, moves=(replace(MOVE, commit=Commit(12_345), answer=23_456),)),), "cafe")
SIDE = {"topic": "orders", "partition": 2, "since": 1000, "verified_to": 90_000, "records": 89_000}
COMPARED = {
    "verdict": "different",
    "lanes": [
        {"lane": "orders-2", "verdict": "different", "source": SIDE, "target": SIDE, "counts": {"missing": 12_345}}
    ],
    "not_compared": [],
    "samples": [
        {
            "lane": "orders-2",
            "kind": "missing",
            "source_offset": 12_345,
            "target_offset": 23_456,
            "fields": [],
            "contents": None,
        }
    ],
}
TABLES = {
    "offsets ranges LINK": lambda: render_offsets.lanes([lane_ranges(LARGE)]),
    "offsets ranges LINK TOPIC": lambda: render_offsets.ranges([lane_ranges(LARGE)], 20),
    "offsets translate": lambda: render_offsets.translation(
        translated(LinkMaps(MAPS.spec, MAPS.topics, {ORDERS: LARGE}), [(ORDERS, 10_001), (ORDERS, 14_500)])
    ),
    "groups plan": lambda: render_groups.plan(MOVED),
    "mm2 report": lambda: tables.report(REPORT),
    "mm2 publish": lambda: tables.published(PUBLISHED, "."),
    "verify show": lambda: render_verify.report(COMPARED, 20),
}


@pytest.mark.parametrize("verb", TABLES)
def test_thousands_are_set_apart(verb: str) -> None:
    """No number of four digits or more stands there as one piece, and some number has its separator."""
    console = Console(width=300, file=io.StringIO())
    with console.capture() as captured:
        console.print(TABLES[verb]())
    assert_set_apart(captured.get())


def assert_set_apart(text: str) -> None:
    """No number but a date's year has four digits in a row, and there is one with a separator."""
    assert re.search(r"\d,\d{3}", text), text
    dated = re.sub(r"\d{4}-\d\d-\d\d", "", text)
    assert not re.search(r"\d{4,}", dated), text


def test_json_has_plain_numbers() -> None:
    """A program reads them as they are."""
    found: Any = plain(lane_ranges(LARGE))
    assert found["source_end"] == 18_000
