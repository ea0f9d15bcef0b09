"""What people see: numbers, totals, tables and the live view, on values."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import pytest
from rich.console import Console, RenderableType

from anabranch.cli import output, words
from anabranch.cli.jobs import report
from anabranch.cli.links import render, watch
from anabranch.cli.render import grid
from anabranch.errors import InvalidFieldError
from anabranch.model.lane import LaneKey, LaneMode, LaneProgress, LaneState
from anabranch.model.link import ClusterRef, LinkRecord, LinkSpec, WantedState
from anabranch.model.reasons import Reason, ReasonKind, Severity
from anabranch.model.reports import (
    ApiSupport,
    ClusterFacts,
    DeletePlan,
    DeleteReport,
    LaneForecast,
    LinkPlan,
    LinkStatus,
    Permission,
    ProbeReport,
    TopicPlan,
)
from anabranch.model.topics import TopicId, TopicPartition
from anabranch.model.totals import totals
from anabranch.operations.documents import plain

pytestmark = pytest.mark.unit

NOW = 1_760_000_000_000
SPEC = LinkSpec("old-new", ClusterRef("old", "A"), ClusterRef("new", "B"), rate_limit=50_000_000)
TOPIC = TopicId(UUID(int=7))


def lane(partition: int, **changes: object) -> LaneProgress:
    """A lane that has copied 900 of 1000 records, at 50 a second."""
    fields = LaneProgress(
        lane=LaneKey("old-new", TOPIC, partition),
        source=TopicPartition("orders", partition),
        target=TopicPartition("orders", partition),
        state=LaneState.COPYING,
        mode=LaneMode.MAPPED,
        mode_reason="old timestamps",
        position=900,
        log_start=0,
        stable=1000,
        high_watermark=1000,
        target_end=901,
        records=900,
        bytes=180_000,
        records_per_s=50.0,
        bytes_per_s=10_000.0,
        lag_bytes=20_000,
        lag_seconds=12.0,
        owner="w1",
        updated_at_ms=NOW,
        source_seen_ms=NOW - 500,
    )
    return replace(fields, **changes)  # type: ignore[arg-type]


def caught_up(partition: int) -> LaneProgress:
    """A lane that follows the end of its source."""
    return lane(partition, state=LaneState.FOLLOWING, position=1000, records=1000, lag_bytes=0, lag_seconds=0.0)


def status(*lanes: LaneProgress, paused: bool = False, later_ms: int = 0, plan: LinkPlan | None = None) -> LinkStatus:
    """The link with these lanes, read that much after they were persisted."""
    return LinkStatus(LinkRecord(WantedState(SPEC, paused), ("A",), NOW), lanes, plan, NOW + later_ms).as_read()


def text(renderable: RenderableType, width: int = 200, height: int = 50) -> str:
    """What a pipe gets."""
    out = io.StringIO()
    Console(file=out, width=width, height=height).print(renderable)
    return out.getvalue()


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (99949, "99.9 kB"),
        (123456, "123 kB"),
        (999999, "1.0 MB"),
        (5200000000.0, "5.2 GB"),
        (7250000000000000.0, "7,250.0 TB"),
    ],
)
def test_sizes_are_decimal_and_short(value: float, shown: str) -> None:
    """Three digits or so, whatever the size."""
    assert words.size(value) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (None, "?"),
        (0, "0.0 s"),
        (9.94, "9.9 s"),
        (12.3, "12 s"),
        (60, "1 min"),
        (3599.6, "1 h"),
        (95, "1 min 35 s"),
        (5400, "1 h 30 min"),
        (90000, "1 d 1 h"),
    ],
)
def test_durations_have_two_units_at_most(seconds: float | None, shown: str) -> None:
    """The two largest."""
    assert words.duration(seconds) == shown


def test_totals_add_up_and_tell_when_it_has_caught_up() -> None:
    """Two lanes with 100 records behind each at 50 a second need two seconds."""
    sums = totals(status(lane(0), lane(1, lag_seconds=3.0)))
    assert (sums.records, sums.lag_records, sums.lag_bytes) == (1800, 200, 40_000)
    assert (sums.done, sums.eta_seconds, sums.lag_seconds) == (0.9, 2.0, 12.0)
    assert sums.states == ((LaneState.COPYING, 2),)


def test_a_link_that_has_caught_up_is_done() -> None:
    """No lag is done, at once."""
    sums = totals(status(caught_up(0)))
    assert (sums.done, sums.eta_seconds, sums.lag_seconds) == (1.0, 0.0, 0.0)


def test_the_latency_of_the_slowest_lane_is_told_while_something_is_copied() -> None:
    """Of a lane that nobody reports on any more there is none."""
    link = status(lane(0, latency_ms=9), lane(1, latency_ms=41), caught_up(2))
    assert totals(link).latency_ms == 41
    assert "records/s, latency 41 ms; ETA" in render.line(link)
    assert "latency 1.5 s" in render.line(status(lane(0, latency_ms=1_540)))
    for nothing in (status(caught_up(0)), status(lane(0, latency_ms=9), later_ms=121_000)):
        assert totals(nothing).latency_ms is None
        assert "latency" not in render.line(nothing)


def test_no_time_is_told_that_is_not_known() -> None:
    """A stopped lane with lag, a link that does not run, and no rate have no ETA; one unknown age is unknown."""
    assert totals(status(lane(0), lane(1, state=LaneState.STOPPED))).eta_seconds is None
    assert totals(status(lane(0, records_per_s=0.0))).eta_seconds is None
    assert totals(status(lane(0), lane(1, lag_seconds=None))).lag_seconds is None
    assert totals(status(lane(0), lane(1, lag_bytes=None))).lag_bytes is None
    assert totals(status()).eta_seconds is None
    assert totals(status(lane(0), paused=True)).eta_seconds is None
    stale = totals(status(lane(0), later_ms=121_000))
    assert (stale.eta_seconds, stale.bytes_per_s, stale.lag_records) == (None, 0.0, None)
    persisted = LinkStatus(LinkRecord(WantedState(SPEC), ("A",), NOW), (lane(0),), None, NOW + 121_000)
    assert (totals(persisted).records_per_s, totals(persisted).bytes_per_s) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("link", "word"),
    [
        (status(), "not running"),
        (status(lane(0), later_ms=121_000), "not running"),
        (status(lane(0), paused=True), "paused"),
        (status(lane(0), caught_up(1)), "copying"),
        (status(caught_up(0)), "following"),
        (status(lane(0), caught_up(1), lane(2, state=LaneState.STOPPED)), "stopped"),
        (status(lane(0, state=LaneState.WAITING)), "waiting"),
        (status(plan=LinkPlan("old-new", "d", 1, NOW, 0)), "waiting"),
    ],
)
def test_a_link_is_what_most_asks_for_a_look(link: LinkStatus, word: str) -> None:
    """One stopped lane shows before many that follow."""
    assert str(render.state_of(link, totals(link))) == word


def unreachable(partition: int) -> LaneProgress:
    """A lane that had caught up 20 s before, when its source answered last."""
    seen = {"state": LaneState.UNREACHABLE, "source_seen_ms": NOW - 20_000, "lag_bytes": None, "lag_seconds": None}
    return replace(caught_up(partition), stop_reason="the source does not answer", **seen)  # type: ignore[arg-type]


def test_a_dead_source_does_not_look_finished() -> None:
    """No share, no lag and no ETA are told; how long ago the source was reached is."""
    link = status(caught_up(0), unreachable(1), plan=planned(2))
    sums = totals(link)
    assert (sums.unknown, sums.done, sums.complete, sums.lag_records, sums.eta_seconds) == (1, None, False, None, None)
    assert str(render.state_of(link, sums)) == "unreachable"
    shown = text(render.status(link))
    assert "100.0 %" not in shown
    assert "source last reached 0.5 s ago; the lag of 1 lane is not known" in shown
    assert "? " in text(render.links([link]))
    assert "lag ? records, ?, ?" in render.line(link)
    assert "source last reached 20 s ago" in text(render.status(status(unreachable(0))))
    assert "the source was never reached" in text(render.status(status(lane(0, source_seen_ms=None))))


def test_lanes_whose_worker_is_silent_are_not_known() -> None:
    """One worker is killed and no other takes its place, while the other goes on: what it said last is no lag."""
    silent = replace(caught_up(0), owner="w0", updated_at_ms=NOW - 240_000, source_seen_ms=NOW - 240_100)
    turn = replace(caught_up(1), updated_at_ms=NOW - 12_000, source_seen_ms=NOW - 12_100)  # nothing changed there
    link = status(silent, turn, caught_up(2))
    shown = text(render.status(link))
    assert [one.lag_records for one in link.lanes] == [None, 0, 0]
    assert "orders-0 waiting: no worker has reported on it for 240 s" in shown
    assert str(render.state_of(link, totals(link))) == "waiting"


def test_a_stop_outlives_its_worker() -> None:
    """Its reason stays to be read; its lag is not known any more."""
    link = status(lane(0, state=LaneState.STOPPED, stop_reason="a gap"), later_ms=11_000)
    assert (link.lanes[0].state, link.lanes[0].stop_reason, link.lanes[0].lag_records) == (
        LaneState.STOPPED,
        "a gap",
        None,
    )


def test_a_link_that_was_ended_does_not_look_as_if_it_ran() -> None:
    """It is ending while its workers file, and not running some seconds after the last word."""
    ends = replace(planned(1), ends=True)
    assert str(render.state_of(status(caught_up(0), plan=ends), totals(status(caught_up(0), plan=ends)))) == "ending"
    over = status(caught_up(0), plan=ends, later_ms=4_000)
    assert str(render.state_of(over, totals(over))) == "not running"
    assert over.lanes[0].state is LaneState.WAITING
    assert status(caught_up(0), plan=planned(1), later_ms=4_000).running


def test_a_hundred_percent_means_all() -> None:
    """One record behind in a billion is not all of it."""
    nearly = lane(0, records=10**9, position=10**9, stable=10**9 + 1, high_watermark=10**9 + 1)
    assert render.percent(totals(status(nearly))) == "99.9 %"
    assert render.percent(totals(status(caught_up(0)))) == "100.0 %"
    assert render.percent(totals(status())) == "-"


def planned(lanes: int) -> LinkPlan:
    """The planner has found so many lanes."""
    return LinkPlan("old-new", "d", 1, NOW, lanes)


def test_a_lane_that_has_not_begun_keeps_the_link_from_being_done() -> None:
    """It counts as one that has copied nothing; how long it takes is not known."""
    link = status(caught_up(0), plan=planned(2))
    sums = totals(link)
    assert (sums.missing, sums.done, sums.complete, sums.eta_seconds, sums.lag_seconds) == (1, 0.5, False, None, None)
    assert render.percent(sums) == "50.0 %"
    assert str(render.state_of(link, sums)) == "waiting"
    shown = text(render.status(link))
    assert "1 following, 1 not begun; 1,000 records" in shown
    assert "100.0 %" not in shown
    assert "1 of 2" in text(render.links([link]))
    assert "1 following, 1 not begun" in render.line(link)
    assert "2 not begun" in text(render.status(status(plan=planned(2))))


def test_a_stopped_lane_keeps_the_link_from_being_done() -> None:
    """Also one without lag: what is known of its log is old, or its position lies beyond the log."""
    beyond = lane(1, state=LaneState.STOPPED, position=99_999, stable=1186, records=0, lag_bytes=0)
    sums = totals(status(caught_up(0), beyond, plan=planned(2)))
    assert (sums.complete, sums.eta_seconds, render.percent(sums)) == (False, None, "99.9 %")
    assert render.percent(totals(status(beyond))) == "0.0 %"


def test_lanes_of_topics_that_are_no_longer_planned_are_not_missing() -> None:
    """A planner that finds fewer lanes than were persisted, or that has ended, takes nothing from what is done."""
    assert totals(status(caught_up(0), caught_up(1), plan=planned(1))).complete
    assert render.percent(totals(status(caught_up(0), plan=planned(0)))) == "100.0 %"


def test_show_tells_each_lane_whole() -> None:
    """Position, lag in records, bytes and seconds, mode and why, throughput and state stand in one row."""
    shown = text(render.status(status(lane(3, target=TopicPartition("old.orders", 3)))))
    row = next(line for line in shown.splitlines() if line.startswith("orders-3"))
    for part in ("old.orders-3", "copying", "mapped", "900", "100", "12 s", "10.0 kB/s"):
        assert part in row
    assert "orders-3 mapped: old timestamps" in shown
    assert "old -> new" in shown
    assert "at most 50.0 MB/s" in shown
    assert "90.0 %" in shown
    assert "ETA 2.0 s" in shown


def test_show_is_readable_at_80_columns() -> None:
    """A row a lane, with large numbers; a reason that many lanes have stands once."""
    large = {"position": 123_456_789_012, "stable": 123_556_789_012, "bytes_per_s": 512e6}
    some = [lane(part, mode_reason="x" * 70, **large) for part in range(12)]
    plain_rows = [line for line in text(render.lanes(some), width=80).splitlines() if line.strip()]
    assert len(plain_rows) == 1 + len(some)
    assert all("123,456,789,012" in row and "100,000,000" in row and "512 MB/s" in row for row in plain_rows[1:])
    whole = text(render.status(status(*some)), width=80)
    assert whole.count("x" * 40) == 1
    assert "orders-0, orders-1, orders-2, orders-3 and 8 more mapped:" in whole


def test_show_tells_why_a_lane_stopped_and_what_the_planner_found() -> None:
    """The exact offset and the reason of a stopped lane, and findings with their fixes, are below the table."""
    plan = LinkPlan("old-new", "d", 1, NOW, 1, (Reason.found(Severity.WARNING, "topic bills: 2 partitions", "add 2"),))
    stopped = lane(0, state=LaneState.STOPPED, stop_reason="the source log has a gap", stop_offset=900)
    shown = text(render.status(status(stopped, plan=plan)))
    assert "orders-0 stopped at offset 900: the source log has a gap" in shown
    assert "warning: topic bills: 2 partitions\n  fix: add 2" in shown
    left_out = replace(status(stopped), left_out=(TopicPartition("bills", 3),))
    assert "bills-3 left out on purpose" in text(render.status(left_out))


def test_the_live_view_shows_what_needs_a_look_first() -> None:
    """Of many lanes the stopped one and the largest lag are shown, and the others are counted."""
    many = [caught_up(n) for n in range(200)]
    many[150] = lane(150, state=LaneState.STOPPED, stop_reason="x", lag_bytes=0)
    many[180] = lane(180)
    shown = text(render.status(status(*many), limit=2))
    assert [line.split()[0] for line in shown.splitlines() if line.startswith("orders-")][:2] == [
        "orders-150",
        "orders-180",
    ]
    assert "and 198 lanes more" in shown


def test_lanes_are_in_the_order_of_their_partitions() -> None:
    """2 comes before 10."""
    shown = text(render.lanes([lane(10), lane(2)]))
    assert shown.index("orders-2") < shown.index("orders-10")


def test_a_line_says_it_all_in_a_pipe() -> None:
    """State, share, lag, rate and ETA in one line."""
    assert render.line(status(lane(0), caught_up(1))) == (
        "2025-10-09 08:53:20 old-new copying 95.0 %; 1 copying, 1 following; lag 100 records, 20.0 kB, 12 s; "
        "20.0 kB/s, 100 records/s; ETA 1.0 s"
    )


def test_the_list_has_a_line_a_link() -> None:
    """And says how to make the first one."""
    assert "link create" in text(render.links([]))
    row = text(render.links([status(lane(0))])).splitlines()[1].split()
    assert row == ["old-new", "old", "new", "copying", "1", "90.0", "%", "100", "10.0", "kB/s"]


def test_a_probe_tells_everything_that_is_missing() -> None:
    """APIs, permissions with operation, resource and principal, topics and findings with the worst first."""
    source = ClusterFacts(
        "old",
        "A",
        "2.8.2",
        3,
        (ApiSupport("DescribeProducers", (0, 0), None), ApiSupport("Fetch", (11, 12), (0, 10))),
        (
            Permission("READ", "topic orders", "User:ann", False),
            Permission("DESCRIBE", "cluster", "User:ann", None),
            Permission("READ", "topic bills", "User:ann", True),
        ),
    )
    report = ProbeReport(
        SPEC,
        source,
        ClusterFacts("new", "B", "4.3.1", 1),
        (TopicPlan("orders", "orders", 3, False),),
        (Reason.found(Severity.INFO, "small"), Reason.found(Severity.ERROR, "big", "mend it")),
    )
    shown = text(render.probe(report))
    assert not report.ok
    assert "API DescribeProducers: needed 0 to 0, not offered" in shown
    assert "API Fetch: needed 11 to 12, offered 0 to 10" in shown
    assert "missing: User:ann: READ on topic orders" in shown
    assert "cannot be determined: User:ann: DESCRIBE on cluster" in shown
    assert "topic bills" not in shown
    assert shown.index("error: big\n  fix: mend it") < shown.index("info: small")
    assert "created" not in shown
    foreseen = tuple(LaneForecast(at, LaneMode.MAPPED, "records are 3 d old") for at in range(6))
    kept = LaneForecast(6, LaneMode.IDENTITY, "")
    shown = text(render.probe(replace(report, topics=(replace(report.topics[0], lanes=(*foreseen, kept)),))))
    assert "1 identity, 6 mapped" in shown
    assert "mapped, since records are 3 d old: orders-0, orders-1, orders-2, orders-3 and 2 more" in shown
    assert "start it with: anabranch link run old-new" in text(render.created("old-new"))
    assert "no topic matches" in text(render.probe(replace(report, topics=())))


def test_a_deletion_is_told_before_it_is_done() -> None:
    """What is forgotten, what is given back and what stays."""
    plan = DeletePlan(
        link="old-new",
        topics=(),
        restore={"orders": {"retention.ms": "604800000", "retention.bytes": None}},
        forget={"__anabranch_runs": 1200},
        running=False,
        hash="f",
    )
    shown = text(render.delete_plan(plan))
    for part in (
        "topics and their records stay",
        "__anabranch_runs: 1,200 records forgotten",
        "orders: retention.ms set to 604800000",
        "orders: retention.bytes back to its default",
    ):
        assert part in shown
    assert "it is running" not in shown and "it is running" in text(render.delete_plan(replace(plan, running=True)))
    done = text(render.deleted(DeleteReport(plan, (Reason.found(Severity.WARNING, "orders is gone"),))))
    assert done.splitlines() == ["warning: orders is gone", "done: link old-new is deleted"]


def test_answers_are_json() -> None:
    """Ids and keys are texts, derived figures are there, and a spec has the fields that it is stored with."""
    value = json.loads(json.dumps(plain(status(lane(0)))))
    assert value["running"] is True
    assert value["lanes"][0]["lane"] == f"old-new/{TOPIC}/0/0"
    assert value["lanes"][0]["source"] == "orders-0"
    assert value["lanes"][0]["lag_records"] == 100
    assert value["record"]["wanted"]["spec"]["source"] == {"context": "old", "cluster_id": "A"}


def interrupted(after: int) -> Iterator[None]:
    """Sleeps that end with Ctrl-C."""
    for _ in range(after):
        yield
    raise KeyboardInterrupt


@pytest.mark.parametrize("terminal", [False, True])
def test_ctrl_c_detaches_from_the_live_view(terminal: bool) -> None:
    """The view is shown again each second until it is left, in a pipe and in a terminal, and nothing else is done."""
    out = io.StringIO()
    sleeps = interrupted(2)
    reads: list[int] = []

    async def read() -> LinkStatus:
        reads.append(1)
        return status(lane(0))

    async def sleep(_seconds: float) -> None:
        next(sleeps)

    console = Console(file=out, width=200, height=20, force_terminal=terminal, force_interactive=terminal)
    with pytest.raises(KeyboardInterrupt):
        asyncio.run(watch.watch(read, console, sleep))
    assert len(reads) == 3
    assert "old-new" in out.getvalue()
    if not terminal:
        assert out.getvalue().count("\n") == 3
        assert "\x1b" not in out.getvalue()


def test_what_is_found_as_a_link_is_read_stands_before_what_its_last_plan_found() -> None:
    """A link that does not run has the findings of its last run, and those of now."""
    now, then = (Reason.found(Severity.ERROR, what, "do it") for what in ("made again", "too small"))
    plan = LinkPlan(SPEC.id, "run-1", 1, NOW, 1, (then,))
    shown = text(render.status(replace(status(lane(0), plan=plan), findings=(now,))))
    assert shown.index("error: made again") < shown.index("error: too small")
    assert "error: made again" in text(render.status(replace(status(lane(0)), findings=(now,))))


def test_a_reason_is_written_by_its_kind_and_a_finding_by_its_severity() -> None:
    """Programs tell the former apart by ``why``; the keys of findings are those of the stored plan."""
    assert plain(Reason(ReasonKind.EXPIRED, "gone", "copy anew")) == {
        "why": "expired",
        "what": "gone",
        "fix": "copy anew",
        "location": "",
    }
    assert plain([Reason.found(Severity.INFO, "small")]) == [{"severity": "info", "what": "small", "fix": ""}]


def test_what_names_and_errors_hold_is_shown_as_it_is(capfd: pytest.CaptureFixture[str]) -> None:
    """Nothing of it is taken for a style or a picture, neither in a table nor in an error."""
    odd = "shop:x:1 [b]list[int][/b]"
    table = grid("GROUP")
    table.add_row(odd)
    output.emit([odd], table, output.Format.TABLE)
    assert report(InvalidFieldError("route", "group", odd)) == InvalidFieldError.exit_code
    printed, errors = capfd.readouterr()
    assert odd in printed
    assert odd in errors


def test_only_one_module_opens_a_console() -> None:
    """Else what is printed there would be taken for styles."""
    home = Path(output.__file__)
    found = [path for path in home.parent.rglob("*.py") if " Console(" in path.read_text()]
    assert found == [home]
