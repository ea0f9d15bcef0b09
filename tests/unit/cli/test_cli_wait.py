"""``link wait``: what it waits for, how it ends, and with which exit code."""

from __future__ import annotations

import asyncio
import io
import socket
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from rich.console import Console
from rich.live import Live

from anabranch.cli import main as cli
from anabranch.cli.links.wait import WaitView
from anabranch.kafka.errors import UnreachableError
from anabranch.model.caughtup import Goal, SourceLog, remaining_of
from anabranch.model.cluster import ClusterContext
from anabranch.model.lane import LaneKey, LaneMode, LaneProgress, LaneState
from anabranch.model.link import ClusterRef, LinkRecord, LinkSpec, WantedState
from anabranch.model.plugins import PluginSpec
from anabranch.model.reports import LinkPlan, LinkStatus
from anabranch.model.topics import TopicId, TopicPartition
from anabranch.operations.links.caughtup import goal
from anabranch.operations.links.wait import LanesStoppedError, NotCaughtUpError, until_within
from qa import links
from qa.blocking import between
from tests.unit.link_lab import BLANK, LINK, SOURCE_END, A, B, Lab, lab

pytestmark = pytest.mark.unit

SPEC = LinkSpec(LINK, ClusterRef("old", "A"), ClusterRef("new", "B"))
TOPIC = TopicId.parse("AAAAAAAAAAAAAAAAAAAAAQ")
NEW = TopicPartition("new-topic", 0)
NOW = 100_000
LOGS = {A: SourceLog(TOPIC, 0, 100), B: SourceLog(TOPIC, 0, 50), BLANK: SourceLog(TOPIC, 7, 7)}
GOAL = Goal(LINK, NOW, LOGS)


def lane(
    at: TopicPartition, position: int, state: LaneState = LaneState.COPYING, topic: TopicId = TOPIC
) -> LaneProgress:
    """A lane that has copied up to there, whose worker believes that this is the end."""
    key = LaneKey(LINK, topic, at.partition)
    return LaneProgress(
        key, at, at, state, LaneMode.IDENTITY, "", position, 0, position, position, position, position, 1, 0.0, 0.0,
        0, 0.0, "run-1", NOW, "the log is corrupt" if state is LaneState.STOPPED else None, source_seen_ms=NOW,
    )  # fmt: skip


def status(*lanes: LaneProgress, planned: int | None = None) -> LinkStatus:
    """The link with these lanes, as it stands now, planned by a release that does not say what it looked at."""
    plan = LinkPlan(LINK, "run-1", 1, NOW + 1, len(lanes) if planned is None else planned)
    return LinkStatus(LinkRecord(WantedState(SPEC), ("A",), 0), lanes, plan, NOW)


def looked(found: LinkStatus, at_ms: int = NOW + 1, ends: bool = False) -> LinkStatus:
    """The same where a plan says that it looked at the source then, and left out the new topic."""
    assert found.plan is not None
    return replace(found, plan=replace(found.plan, looked_at_ms=at_ms, left_out=(NEW.topic,), ends=ends))


def test_a_lane_that_believes_to_be_at_the_end_is_held_against_the_source() -> None:
    """Both lanes say that their lag is 0; one is 40 records short of what the source told."""
    found = remaining_of(GOAL, status(lane(A, 60), lane(B, 50)))
    assert (found.behind, found.records, found.within(0), found.within(40)) == ({A: 40, B: 0}, 40, False, True)
    assert remaining_of(GOAL, status(lane(A, 100), lane(B, 51))).within(0)


def test_a_partition_without_a_lane_is_not_copied() -> None:
    """Neither one that nobody began, nor one whose lane was of a topic that was deleted; an empty one needs none."""
    assert remaining_of(GOAL, status(lane(A, 100))).not_begun == (B,)
    assert not remaining_of(GOAL, status(lane(A, 100), lane(B, 50, topic=TopicId.ZERO))).within(0)
    assert not remaining_of(GOAL, status(lane(A, 100), lane(B, 50), planned=3)).within(0)


def test_a_new_topic_waits_for_a_plan_that_leaves_it_out() -> None:
    """A plan must have been made from a later look at the source, and name it: one that ends a run says nothing."""
    goal = replace(GOAL, logs={**GOAL.logs, NEW: SourceLog(TopicId.ZERO, 0, 3)})
    copied = status(lane(A, 100), lane(B, 50))
    assert remaining_of(goal, copied).not_begun == (NEW,)
    assert remaining_of(goal, looked(copied)).within(0)
    for told in (looked(copied, NOW), looked(copied, ends=True), replace(copied, plan=None)):
        assert remaining_of(goal, told).not_begun == (NEW,)
    assert not remaining_of(goal, looked(status(lane(A, 100), lane(B, 50), planned=3))).within(0)
    other = TopicPartition("other-topic", 0)
    assert remaining_of(replace(GOAL, logs={other: SourceLog(TOPIC, 0, 3)}), looked(copied)).not_begun == (other,)


def test_a_topic_that_was_made_again_is_not_copied_by_the_lane_of_the_old_one() -> None:
    """It is waited for, and in vain once that lane has stopped; an empty one needs nothing."""
    goal = replace(GOAL, logs={A: SourceLog(TopicId.ZERO, 0, 3), B: SourceLog(TopicId.ZERO, 0, 0)})
    found = remaining_of(goal, looked(status(lane(A, 100), lane(B, 50))))
    assert (found.not_begun, found.stopped) == ((A,), ())
    stopped = lane(A, 100, LaneState.STOPPED)
    assert remaining_of(goal, looked(status(stopped, lane(B, 50)))).stopped == (stopped,)


def test_a_lane_has_stopped_whatever_the_source_has_of_its_topic_now() -> None:
    """Of a topic that was deleted, or made again and is empty: a person must decide about it."""
    stopped = lane(B, 50, LaneState.STOPPED)
    for logs in ({A: LOGS[A]}, {A: LOGS[A], B: SourceLog(TopicId.ZERO, 0, 0)}):
        found = remaining_of(replace(GOAL, logs=logs), status(lane(A, 100), stopped))
        assert (found.stopped, found.records, found.within(0)) == ((stopped,), 0, False)


def test_a_topic_that_is_excluded_meanwhile_is_not_waited_for() -> None:
    """The filter of now says so, whatever the last plan was made of; nothing else is let off."""
    spec = replace(SPEC, filter=PluginSpec("regex", {"exclude": [A.topic]}))
    found = replace(status(planned=0), record=LinkRecord(WantedState(spec), ("A",), 0))
    assert remaining_of(GOAL, found).within(0)
    goal = replace(GOAL, logs={**LOGS, NEW: SourceLog(TopicId.ZERO, 0, 3)})
    assert remaining_of(goal, found).not_begun == (NEW,)


def wait_for(*seen: LinkStatus, longest: float | None = None) -> tuple[int, list[str]]:
    """How often was looked, and the lines that a pipe is given."""
    out = io.StringIO()
    looks: Iterator[LinkStatus] = iter(seen)
    slept: list[float] = []

    async def look() -> LinkStatus:
        return next(looks)

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    console = Console(file=out)
    tell = WaitView(console, Live(console=console, auto_refresh=False)).tell
    asyncio.run(until_within(GOAL, look, 0, longest, tell, sleep, lambda: float(len(slept))))
    return len(slept) + 1, out.getvalue().splitlines()


def test_it_waits_until_all_is_copied_and_tells_each_change_once() -> None:
    """Lines in a pipe, with what is left and how the link stands."""
    behind = status(lane(A, 60), lane(B, 50))
    looks, lines = wait_for(behind, behind, status(lane(A, 100), lane(B, 50)))
    assert (looks, lines) == (3, ["40 records of 1 lane left, the link is copying"])


def test_its_time_is_over_or_a_lane_stops() -> None:
    """Each is an error of its own, with what is left and what to do."""
    behind = status(lane(A, 60))
    with pytest.raises(NotCaughtUpError, match=r"within 2 s: 90 records of 2 lanes left, 1 lane not begun") as late:
        wait_for(*[behind] * 5, longest=2.0)
    assert late.value.exit_code == 7
    with pytest.raises(LanesStoppedError, match="lane orders-0 has stopped: the log is corrupt") as stopped:
        wait_for(status(lane(A, 60, LaneState.STOPPED), lane(B, 50)))
    assert stopped.value.exit_code == 3


Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """The console script with contexts of two clusters."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ANABRANCH_CONTEXTS", raising=False)
    clusters = {"old": {"bootstrap": ["o:1"]}, "new": {"bootstrap": ["n:1"]}}
    (tmp_path / "anabranch.yaml").write_text(yaml.safe_dump({"contexts": clusters, "target": "new"}))

    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["anabranch", "link", "wait", *arguments])
        with pytest.raises(SystemExit) as left_:
            cli.main()
        out, err = capsys.readouterr()
        return int(left_.value.code or 0), out, err

    return call


class Engine:
    """The operations, with a link that stands as it is told; ``fails`` where it is looked at again."""

    def __init__(self, found: LinkStatus, fails: BaseException | None = None) -> None:
        self.found, self.fails, self.looks = found, fails, 0

    async def of(self, link_id: str) -> LinkStatus:
        self.looks += 1
        if self.fails is not None and self.looks > 1:
            raise self.fails
        return self.found

    async def goal(self, source: ClusterContext, target: ClusterContext, link_id: str) -> Goal:
        return GOAL

    async def check_held(self, target: ClusterContext, status: LinkStatus) -> None:
        """The target has it."""


def through(monkeypatch: pytest.MonkeyPatch, engine: Engine) -> None:
    """Have the verb ask this engine, and not sleep."""
    links = "anabranch.operations.links"
    monkeypatch.setattr(f"{links}.status.LinkStatusReader.of", lambda _standing, link_id: engine.of(link_id))
    monkeypatch.setattr(f"{links}.wait.goal", engine.goal)
    monkeypatch.setattr(f"{links}.wait.check_held", engine.check_held)
    monkeypatch.setattr(f"{links}.wait.INTERVAL_S", 0.0)


def test_its_exit_codes(run: Run, no_clusters: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """0 caught up, 2 wrong usage, 3 stopped, 7 too late, 130 left by Ctrl-C with nothing but that said."""
    through(monkeypatch, Engine(status(lane(A, 100), lane(B, 50))))
    assert run(LINK, "--caught-up") == (0, f"link {LINK} has copied what old held at 1970-01-01 00:01:40 UTC\n", "")
    assert run(LINK)[0] == 2
    assert run(LINK, "--caught-up", "--timeout", "soon")[0] == 2
    through(monkeypatch, Engine(status(lane(A, 100), lane(B, 50, LaneState.STOPPED))))
    assert run(LINK, "--caught-up")[0] == 3
    through(monkeypatch, Engine(status(lane(A, 99), lane(B, 50))))
    assert run(LINK, "--caught-up", "--timeout", "1ms")[0] == 7
    assert run(LINK, "--caught-up", "--lag", "1")[0] == 0
    through(monkeypatch, Engine(status(lane(A, 99), lane(B, 50)), KeyboardInterrupt()))
    code, out, err = run(LINK, "--caught-up")
    assert (code, out, "Traceback" in err) == (130, "", False)


def test_all_looks_go_over_one_connection(run: Run, no_clusters: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """To each cluster: the link is read again and again, and only what is new."""
    engine = Engine(status(lane(A, 99), lane(B, 50)))

    async def look(link_id: str) -> LinkStatus:
        engine.looks += 1
        return engine.found if engine.looks < 5 else status(lane(A, 100), lane(B, 50))

    monkeypatch.setattr(engine, "of", look)
    through(monkeypatch, engine)
    assert (run(LINK, "--caught-up")[0], engine.looks, no_clusters) == (0, 5, ["new", "old"])


@pytest.fixture(scope="module")
def both() -> Iterator[Lab]:
    """Two simulated clusters and a link of which one partition was never begun."""
    with lab() as made:
        yield made


def test_the_goal_is_read_from_the_source(both: Lab) -> None:
    """Each partition of the link's topics with its end as it is now, and no other topic."""

    def aim(source: ClusterContext) -> Goal:
        return between(source, both.target, lambda here, there: goal(here, there, LINK))

    found = aim(both.source)
    assert {at: log.end for at, log in found.logs.items()} == dict.fromkeys((A, B, BLANK), SOURCE_END)
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))  # and nobody listens
        away = replace(both.source, bootstrap=(f"127.0.0.1:{bound.getsockname()[1]}",))
        with pytest.raises(UnreachableError):
            aim(away)
    rest = remaining_of(found, links.show(both.target, LINK))
    assert (rest.not_begun, rest.behind[A], rest.behind[B]) == ((BLANK,), 0, 0)
