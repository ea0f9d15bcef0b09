"""Why lanes stopped, from the error that stopped them to what a person reads below the table."""

from __future__ import annotations

from dataclasses import replace

import pytest

from anabranch.cli.links import render
from anabranch.cli.reasons import reasons
from anabranch.model.lane import LaneProgress, LaneState
from anabranch.protocol.endings import Ending, LaneStopped, OwnershipEnded, Stop, cause_and_detail, refusal
from anabranch.state.codecs.progress import decode_lane, encode_lane, lane_key
from tests.unit.cli.test_cli_render import lane, status, text
from tests.unit.copier.test_progress_writer import made

pytestmark = pytest.mark.unit

FIRST = 1_234_567


def stopped(*errors: LaneStopped | OwnershipEnded) -> list[LaneProgress]:
    """Lanes that these errors stopped, as their worker stores them and as they are read."""
    writer, lanes, _ = made(len(errors))
    found = []
    for one, error in zip(lanes, errors, strict=True):
        assert isinstance(error, LaneStopped)
        one.stop(replace(error, lane=one.key))
        report = writer.report(one)
        assert report.stop_reason is not None and one.key not in report.stop_reason
        found.append(decode_lane(lane_key(report.lane), encode_lane(report)))
    return found


def told(lanes: list[LaneProgress]) -> list[str]:
    """The lines of all reasons."""
    return [line for one in reasons(lanes) for line in one.plain.splitlines()]


def test_lanes_with_one_cause_are_one_reason_with_its_ways_out_once() -> None:
    """No lane's key is shown, and each offset once, with its separators."""
    found = stopped(*(refusal("", 10, FIRST + number * 1000) for number in range(6)))
    first, *ways = told(found)
    assert first == (
        "t-0 at offset 1,234,567, t-1 at offset 1,235,567, t-2 at offset 1,236,567, t-3 at offset 1,237,567 and 2 more "
        "stopped: a batch is larger than the target accepts (error 10)"
    )
    assert ways == [
        "  correct what is named, then: anabranch link resume l",
        "  give up what cannot be copied: anabranch link accept l t-0 --at OFFSET",
    ]
    assert told(found[:1])[0].startswith("t-0 stopped at offset 1,234,567: a batch is larger")


def test_what_was_seen_of_each_lane_stands_below_their_common_cause() -> None:
    """The ranges that are gone differ; lanes that stopped at the same offset say it once."""
    gone = [LaneStopped("", Stop.SOURCE_EXPIRED, 7, None, f"offsets 7 to {end} are gone") for end in (10, 20)]
    lines = told(stopped(*gone, gone[0]))
    assert lines[:4] == [
        "t-0, t-1, t-2 stopped at offset 7: the source no longer has records that were not copied",
        "  t-0: offsets 7 to 10 are gone",
        "  t-1: offsets 7 to 20 are gone",
        "  t-2: offsets 7 to 10 are gone",
    ]
    assert told(stopped(gone[0], gone[0]))[0].endswith("not copied: offsets 7 to 10 are gone")


def test_lanes_that_wait_for_the_same_are_one_reason() -> None:
    """An ownership that ended does not name its lane there either."""
    writer, lanes, _ = made(3)
    for one in lanes:
        one.source.seen_at, one.status.held_by = (
            one.source.made_at,
            OwnershipEnded(one.key, Ending.UNKNOWN_PARTITION, 3).why,
        )
    assert told([writer.report(one) for one in lanes]) == [
        "t-0, t-1, t-2 waiting: the broker does not know the partition (error 3)"
    ]


def test_what_older_workers_stored_is_read_without_the_key_and_the_offset() -> None:
    """Both have fields of their own."""
    (new,) = stopped(refusal("", 10, 9))
    old = replace(new, stop_reason=f"lane {new.lane} stopped at source offset 9: {new.stop_reason}")
    assert decode_lane(lane_key(old.lane), encode_lane(old)) == new
    waits = replace(new, stop_reason=f"lane {new.lane}: the connection broke: lane of three: gone")
    read = decode_lane(lane_key(waits.lane), encode_lane(waits))
    assert read.stop_reason == "the connection broke: lane of three: gone"


@pytest.mark.parametrize("stop", list(Stop))
def test_each_stop_is_told_apart_from_what_was_seen(stop: Stop) -> None:
    """Also those whose own words hold a colon, or begin as another's do."""
    error = LaneStopped("l/t/0/0", stop, 5, 87, "seen: this")
    assert cause_and_detail(error.why) == (f"{stop.value} (error 87)", "seen: this")
    assert cause_and_detail(replace(error, code=None, detail="").why) == (stop.value, "")


def test_a_link_shows_a_cause_once_for_all_of_its_lanes() -> None:
    """Whatever the number of lanes."""
    why = LaneStopped("", Stop.NOT_ALLOWED, 0, 29).why
    lanes = [lane(part, state=LaneState.STOPPED, stop_reason=why, stop_offset=900 + part) for part in range(50)]
    assert text(render.status(status(*lanes))).count("for lack of permission") == 1
