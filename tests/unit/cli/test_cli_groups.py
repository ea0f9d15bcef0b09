"""The verbs about consumer groups, from flags to the engine's port and back to text and exit codes."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from anabranch.cli import main as cli
from anabranch.cli import port
from anabranch.cli.groups import render as render_groups
from anabranch.groups.create import CreatePlan
from anabranch.groups.follow import Following
from anabranch.groups.freshness import FollowedSince, SyncRound
from anabranch.groups.mark import Mark, MarkedPartition, MarkReport, Verdict
from anabranch.groups.plan import GroupPlan, GroupsPlan, Move, Step
from anabranch.groups.refusals import Refusal, Why
from anabranch.groups.report import GroupReport, GroupRow, GroupsReport
from anabranch.groups.select import NoSuchGroupError, Selection
from anabranch.groups.undo import GroupUndo, UndoPlan, UndoRecord
from anabranch.model.cluster import ClusterContext
from anabranch.model.groups import Commit, Group, GroupKind, GroupState
from anabranch.model.link import ClusterRef, GroupRules, LinkRecord, LinkSpec, WantedState
from anabranch.model.reports import LinkStatus
from anabranch.model.start import StartKind, StartPosition
from anabranch.model.topics import TopicPartition
from anabranch.operations.groups.groups import GroupsMovedError

pytestmark = pytest.mark.unit

ORDERS, COPY = TopicPartition("orders", 0), TopicPartition("old.orders", 0)
MOVE = Move(ORDERS, Commit(12, "noted"), COPY, 7, Commit(3), 8)
PLAN = GroupPlan("shop", GroupKind.CLASSIC, GroupState.EMPTY, GroupState.EMPTY, (MOVE,), (), Step.MOVE)
REASON = Refusal(Why.ACTIVE, "till is stable on the target, with 1 member: only they may commit", "stop it")
REFUSED = replace(PLAN, group="till", step=Step.REFUSED, refusals=(REASON,))
ROUND = SyncRound("old-new", "run-1", 99_000, 98_000, 40, 10_000, 2, {Following.IN_STEP: 2})
FOLLOWED = FollowedSince("old-new", "shop", Following.WAITING, 90_000, "not copied yet: orders-0")
RECORD = UndoRecord(
    "20261121-100000-cafe", "shop", True, {COPY: Commit(3)}, {COPY: Commit(7)}, 0, "groups sync old-new"
)


class Engine:
    """The ports, filled with values; keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[object, ...]] = []
        self.plan = GroupsPlan("old-new", (PLAN,), "cafe", took_ms=2100)
        self.rules: GroupRules | None = None
        self.verdict = Verdict.COVERED
        self.moved = False
        self.refusals: tuple[Refusal, ...] = ()

    def show(self, target: ClusterContext, *about: object) -> object:
        if len(about) == 1:
            spec = LinkSpec("old-new", ClusterRef("old", "A"), ClusterRef("new", "B"), groups=self.rules)
            return LinkStatus(LinkRecord(WantedState(spec), ("A",), 0), (), None, 100_000)
        group = Group("shop", GroupKind.CLASSIC, GroupState.EMPTY)
        return GroupReport("old-new", group, None, PLAN, None, FOLLOWED, ROUND, 100_000)

    def set_wanted(self, target: ClusterContext, link_id: str, **changes: object) -> None:
        self.asked.append(("set", changes))

    def freshness(self, target: ClusterContext, link_id: str) -> SyncRound:
        return ROUND

    def list_groups(self, source: ClusterContext, target: ClusterContext, link_id: str) -> GroupsReport:
        self.asked.append(("list", source.name, target.name, link_id))
        row = GroupRow("shop", GroupKind.CLASSIC, GroupState.EMPTY, GroupState.DEAD, 1, 0, Verdict.COVERED, FOLLOWED)
        share = GroupRow("share", GroupKind.SHARE, GroupState.STABLE, GroupState.DEAD, 0, 0, None, None, "drain it")
        return GroupsReport("old-new", (share, row), ROUND, 100_000)

    def mark_groups(
        self, source: ClusterContext, target: ClusterContext, link_id: str, selection: Selection
    ) -> MarkReport:
        self.asked.append(("mark", selection))
        part = MarkedPartition(ORDERS, Commit(12), 20, self.verdict)
        return MarkReport("old-new", (Mark("old-new", "shop", GroupKind.CLASSIC, (part,), 0),), stored=True)

    def sync(
        self,
        source: ClusterContext,
        target: ClusterContext,
        link_id: str,
        selection: Selection,
        execute: bool,
        fingerprint: str | None = None,
    ) -> GroupsPlan:
        self.asked.append(("sync", source.name, target.name, link_id, selection, execute, fingerprint))
        if selection.groups == ("nobody",):
            raise NoSuchGroupError("nobody", "old")
        if not execute:
            return self.plan
        if self.moved:
            raise GroupsMovedError(link_id, str(fingerprint), "beef")
        moved = tuple(replace(one, step=Step.MOVED) if one.step is Step.MOVE else one for one in self.plan.groups)
        return replace(self.plan, groups=moved, executed=True, undo=RECORD.id)

    def undo_move(self, cluster: ClusterContext, undo_id: str, execute: bool) -> UndoPlan:
        self.asked.append(("undo", cluster.name, undo_id, execute))
        restore = {} if self.refusals else {COPY: Commit(3)}
        done = execute and not self.refusals
        return UndoPlan(undo_id, (GroupUndo(RECORD, restore, (), False, self.refusals, done),), executed=execute)

    def create(
        self, context: ClusterContext, group: str, topics: list[str], start: StartPosition, execute: bool
    ) -> CreatePlan:
        self.asked.append(("create", context.name, group, tuple(topics), start, execute))
        undo = RECORD.id if execute else ""
        return CreatePlan("new", group, str(start), {COPY: Commit(5)}, self.refusals, executed=execute, undo=undo)


Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Engine:
    """The engine that the verbs reach."""
    made = Engine()
    for name in ("links", "groups", "subscriptions"):
        monkeypatch.setattr(port, name, lambda: made)
    return made


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], engine: Engine) -> Run:
    """Run the console script's function with arguments; answers exit code, standard output, standard error."""
    monkeypatch.chdir(tmp_path)
    for name in ("ANABRANCH_CONTEXTS", "ANABRANCH_TARGET"):
        monkeypatch.delenv(name, raising=False)
    clusters = {"old": {"bootstrap": ["o:1"]}, "new": {"bootstrap": ["n:1"]}}
    (tmp_path / "anabranch.yaml").write_text(yaml.safe_dump({"contexts": clusters, "target": "new"}))

    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["anabranch", *arguments])
        with pytest.raises(SystemExit) as left:
            cli.main()
        out, err = capsys.readouterr()
        return int(left.value.code or 0), out, err

    return call


def test_a_plan_is_shown_whole_with_the_command_that_does_it(run: Run) -> None:
    """Commit, answer, what stands there, lag left, the hash; and the selection comes back in the command."""
    code, out, err = run("groups", "plan", "old-new", "sh.*", "--exclude", "shy", "--topics", "orders")
    assert code == 0
    assert [line.rstrip() for line in out.splitlines()] == [
        "GROUP  STEP  PARTITION  COMMITTED  TARGET        ANSWER  THERE NOW  LAG LEFT",
        "shop   move  orders-0          12  old.orders-0       7          3         8",
        "1 move; plan cafe, 2.1 s",
    ]
    assert err == (
        "Dry run. Apply with: "
        "anabranch groups sync old-new 'sh.*' --exclude shy --topics orders --execute --plan cafe\n"
    )


def test_a_plan_with_refusals_names_each_reason_and_ends_with_three(run: Run, engine: Engine) -> None:
    """What can be moved is still offered."""
    engine.plan = replace(engine.plan, groups=(PLAN, REFUSED))
    code, out, err = run("groups", "plan", "old-new")
    assert code == 3
    assert "till: active: till is stable on the target, with 1 member: only they may commit\n  fix: stop it" in out
    assert "error: 1 group would not be moved\n" in err
    assert "--execute --plan cafe" in err


def test_sync_does_exactly_what_was_shown(run: Run, engine: Engine) -> None:
    """Without a hash it looks first and does that; with one it does that plan or nothing."""
    code, out, _ = run("groups", "sync", "old-new", "shop", "--execute")
    assert code == 0
    assert "take it back with: anabranch groups undo 20261121-100000-cafe" in out
    chosen = Selection(("shop",))
    assert engine.asked == [
        ("sync", "old", "new", "old-new", chosen, False, None),
        ("sync", "old", "new", "old-new", chosen, True, "cafe"),
    ]
    engine.asked.clear()
    assert run("groups", "sync", "old-new", "--execute", "--plan", "beef")[0] == 0
    assert engine.asked == [("sync", "old", "new", "old-new", Selection(), True, "beef")]


def test_sync_of_refused_groups_alone_says_it_once(run: Run, engine: Engine) -> None:
    """There is nothing to carry out; and a target that was typed comes back in the next command."""
    engine.plan = replace(engine.plan, groups=(REFUSED,))
    code, out, err = run("groups", "sync", "old-new", "--execute", "--target", "new")
    assert (code, out.count("till: active")) == (3, 1)
    assert [asked[5] for asked in engine.asked] == [False]
    assert err == "error: 1 group did not move\nhint: anabranch groups plan old-new --target new\n"


def test_a_mixed_sync_says_each_refusal_once(run: Run, engine: Engine) -> None:
    """They stand below the plan; the way back names the target that was typed, and does it."""
    engine.plan = replace(engine.plan, groups=(PLAN, REFUSED))
    code, out, _ = run("groups", "sync", "old-new", "--execute", "--target", "new")
    assert (code, out.count("till: active")) == (3, 1)
    assert f"take it back with: anabranch groups undo {RECORD.id} --target new --execute\n" in out
    _, out, _ = run("groups", "sync", "old-new", "--execute", "--plan", "cafe")
    assert out.count("till: active") == 1, "nothing was shown before"
    assert f"take it back with: anabranch groups undo {RECORD.id} --execute\n" in out


def test_a_plan_that_moved_is_looked_at_again_for_the_same_groups(run: Run, engine: Engine) -> None:
    """Selection and target come back in the hint."""
    engine.moved = True
    code, _, err = run("groups", "sync", "old-new", "sh.*", "--topics", "orders", "-t", "new", "--execute")
    assert code == 3
    assert "hint: look again: `anabranch groups plan old-new 'sh.*' --topics orders --target new`\n" in err


def test_a_link_that_follows_no_groups_any_more_counts_none(run: Run, engine: Engine) -> None:
    """Only when the last round was is said."""
    stopped = render_groups.fresh(replace(ROUND, groups={}), 100_000)
    assert str(stopped) == "followed: no groups; the last round was 1.0 s ago"


def test_sync_without_execute_only_shows(run: Run, engine: Engine) -> None:
    """And a hash without --execute is a mistake that is named."""
    assert run("groups", "sync", "old-new")[0] == 0
    assert [asked[5] for asked in engine.asked] == [False]
    code, _, err = run("groups", "sync", "old-new", "--plan", "cafe")
    assert code == 2
    assert err.startswith("error: groups sync: --plan: it belongs to --execute\nhint: ")


def test_groups_that_failed_or_were_refused_end_with_three(run: Run, engine: Engine) -> None:
    """The others were moved, and the answer says how to take them back."""
    failed = replace(PLAN, group="bad", step=Step.FAILED, failure="not allowed; nothing of it was left behind")
    engine.plan = replace(engine.plan, groups=(failed, PLAN, REFUSED))
    code, out, err = run("groups", "sync", "old-new", "--execute", "--plan", "cafe")
    assert code == 3
    assert "bad: not allowed; nothing of it was left behind" in out
    assert "1 refused, 1 moved, 1 failed" in out
    assert "error: 2 groups did not move\nhint: anabranch groups plan old-new\n" in err


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_programs_read_plans_as_values(run: Run, form: str) -> None:
    """Field names are the model's; metadata and hash are there."""
    code, out, _ = run("groups", "plan", "old-new", "-o", form)
    value = json.loads(out) if form == "json" else yaml.safe_load(out)
    assert code == 0
    assert value["fingerprint"] == "cafe"
    assert value["groups"][0]["moves"][0]["commit"] == {"offset": 12, "metadata": "noted", "leader_epoch": -1}
    assert value["groups"][0]["step"] == "move"


def test_bad_input_is_named(run: Run) -> None:
    """A pattern that is none, a group that is not there, a start position that is none."""
    code, _, err = run("groups", "plan", "old-new", "sh(")
    assert (code, err.splitlines()[0].partition(": not")[0]) == (
        2,
        "error: groups: groups: 'sh(' is not a regular expression: missing ), unterminated subpattern at position 2",
    )
    code, _, err = run("groups", "plan", "old-new", "nobody")
    assert code == 3
    assert "no group of cluster old that we may see is called 'nobody'" in err
    assert run("groups", "create", "new", "--topic", "orders", "--start", "yesterday")[0] == 2
    assert run("groups", "create", "new")[0] == 2


def test_list_and_show_tell_how_fresh_followed_groups_are(run: Run) -> None:
    """Kinds that are not moved come with advice; a waiting group with its reason."""
    code, out, _ = run("groups", "list", "old-new")
    assert code == 0
    assert [line.rstrip() for line in out.splitlines()] == [
        "GROUP  KIND     SOURCE  TARGET     IN LINK  OUTSIDE  MARK     FOLLOWED",
        "share  share    stable  not there        0        0  -        -",
        "shop   classic  empty   not there        1        0  covered  waiting",
        "drain it",
        "shop is waiting since 10 s: not copied yet: orders-0",
        "followed: 2 in step; positions of 2.0 s ago, every 10 s, the last round took 0.0 s",
    ]
    code, out, _ = run("groups", "show", "old-new", "shop")
    assert code == 0
    assert "shop  classic group, empty on the source, not there on the target" in out
    assert "followed: waiting  not copied yet: orders-0" in out


def test_mark_ends_with_three_where_records_would_be_lost(run: Run, engine: Engine) -> None:
    """The partition, the commit and the link's begin are named."""
    assert run("groups", "mark", "old-new")[0] == 0
    engine.verdict = Verdict.BEFORE
    code, out, err = run("groups", "mark", "old-new", "shop")
    assert code == 3
    assert "shop: orders-0 has committed 12, the link begins at 20: records are lost to it" in out
    assert "error: 1 group would lose records that the link does not copy" in err


def test_undo_shows_then_does(run: Run, engine: Engine) -> None:
    """And is refused for groups that moved since."""
    code, out, err = run("groups", "undo", RECORD.id)
    assert (code, "shop   old.orders-0          7             3" in out) == (0, True)
    assert f"Apply with: anabranch groups undo {RECORD.id} --execute" in err
    code, out, _ = run("groups", "undo", RECORD.id, "--execute")
    assert (code, "done: 1 group has what was there before" in out) == (0, True)
    engine.refusals = (REASON,)
    assert run("groups", "undo", RECORD.id, "--execute")[0] == 3


def test_create_takes_the_five_positions(run: Run, engine: Engine) -> None:
    """Shown first; then done, with the id that takes it back."""
    code, _, err = run("groups", "create", "fresh", "--topic", "old.orders", "--start", "group:shop")
    command = "anabranch groups create fresh --topic old.orders --start group:shop --execute"
    assert (code, err) == (0, f"Dry run. Apply with: {command}\n")
    start = StartPosition(StartKind.GROUP, group="shop")
    assert engine.asked[-1] == ("create", "new", "fresh", ("old.orders",), start, False)
    code, out, _ = run("groups", "create", "fresh", "--topic", "old.orders", "--execute")
    assert (code, f"anabranch groups undo {RECORD.id}" in out) == (0, True)
    engine.refusals = (REASON,)
    assert run("groups", "create", "fresh", "--topic", "old.orders")[0] == 3
