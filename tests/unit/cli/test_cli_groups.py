"""The verbs about consumer groups, from flags to the operations and back to text and exit codes."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from anabranch.cli import main as cli
from anabranch.cli.groups import render as render_groups
from anabranch.groups.baseline import Baseline, BaselinePartition, BaselinePlan, BaselineReport, Coverage
from anabranch.groups.continuous_sync import SyncState
from anabranch.groups.create import CreatePlan, GroupCreated
from anabranch.groups.freshness import GroupSyncStatus, SyncRound
from anabranch.groups.plan import GroupPlan, GroupsMoved, GroupsPlan, GroupStep, Move
from anabranch.groups.report import GroupReport, GroupRow, GroupsReport
from anabranch.groups.select import GroupSelection, NoSuchGroupError
from anabranch.groups.undo import GroupsUndone, GroupUndo, MoveSummary, UndoPlan, UndoRecord, moves
from anabranch.model.cluster import ClusterContext
from anabranch.model.groups import Commit, Group, GroupKind, GroupState
from anabranch.model.link import ClusterRef, LinkRecord, LinkSpec, WantedState
from anabranch.model.plans import PlanChangedError
from anabranch.model.reasons import Reason, ReasonKind
from anabranch.model.reports import LinkStatus
from anabranch.model.start import StartKind, StartPosition
from anabranch.model.topics import TopicPartition

pytestmark = pytest.mark.unit

ORDERS, COPY = TopicPartition("orders", 0), TopicPartition("old.orders", 0)
MOVE = Move(ORDERS, Commit(12, "noted"), COPY, 7, Commit(3), 8)
PLAN = GroupPlan("shop", GroupKind.CLASSIC, GroupState.EMPTY, GroupState.EMPTY, (MOVE,), (), GroupStep.MOVE)
REASON = Reason(ReasonKind.ACTIVE, "till is stable on the target, with 1 member: only they may commit", "stop it")
REFUSED = replace(PLAN, group="till", step=GroupStep.REFUSED, refusals=(REASON,))
ROUND = SyncRound("old-new", "run-1", 99_000, 98_000, 40, 10_000, 2, {SyncState.IN_SYNC: 2})
FOLLOWED = GroupSyncStatus("old-new", "shop", SyncState.WAITING, 90_000, "not copied yet: orders-0")
RECORD = UndoRecord(
    "20261121-100000-cafe", "shop", True, {COPY: Commit(3)}, {COPY: Commit(7)}, 0, "groups sync old-new"
)


class Engine:
    """The operations, filled with values; keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[object, ...]] = []
        self.groups: tuple[GroupPlan, ...] = (PLAN,)
        self.coverage = Coverage.COVERED
        self.moved = False
        self.refusals: tuple[Reason, ...] = ()

    async def status(self, *_: object) -> LinkStatus:
        spec = LinkSpec("old-new", ClusterRef("old", "A"), ClusterRef("new", "B"))
        return LinkStatus(LinkRecord(WantedState(spec), ("A",), 0), (), None, 100_000)

    async def show(self, *_: object) -> GroupReport:
        group = Group("shop", GroupKind.CLASSIC, GroupState.EMPTY)
        return GroupReport("old-new", group, None, PLAN, None, FOLLOWED, ROUND, 100_000)

    async def list_groups(self, source: ClusterContext, target: ClusterContext, link_id: str) -> GroupsReport:
        self.asked.append(("list", source.name, target.name, link_id))
        row = GroupRow("shop", GroupKind.CLASSIC, GroupState.EMPTY, GroupState.DEAD, 1, 0, Coverage.COVERED, FOLLOWED)
        share = GroupRow("share", GroupKind.SHARE, GroupState.STABLE, GroupState.DEAD, 0, 0, None, None, "drain it")
        return GroupsReport("old-new", (share, row), ROUND, 100_000)

    async def plan_baseline(
        self, source: ClusterContext, target: ClusterContext, link_id: str, selection: GroupSelection
    ) -> BaselinePlan:
        self.asked.append(("baseline", selection))
        part = BaselinePartition(ORDERS, Commit(12), 20, self.coverage)
        return BaselinePlan("old-new", (Baseline("old-new", "shop", GroupKind.CLASSIC, (part,), 0),), "cafe", selection)

    async def baseline(self, source: ClusterContext, target: ClusterContext, planned: BaselinePlan) -> BaselineReport:
        return BaselineReport("old-new", planned.baselines, stored=True)

    async def plan_sync(
        self, source: ClusterContext, target: ClusterContext, link_id: str, selection: GroupSelection
    ) -> GroupsPlan:
        self.asked.append(("plan", source.name, target.name, link_id, selection))
        if selection.groups == ("nobody",):
            raise NoSuchGroupError("nobody", "old")
        return GroupsPlan(link_id, self.groups, "cafe", selection, took_ms=2100)

    async def sync(self, source: ClusterContext, target: ClusterContext, planned: GroupsPlan) -> GroupsMoved:
        self.asked.append(("sync", source.name, target.name, planned.selection, planned.hash))
        if self.moved:
            raise PlanChangedError("groups of link 'old-new'", planned.hash, "beef")
        moved = tuple(
            replace(one, step=GroupStep.MOVED) if one.step is GroupStep.MOVE else one for one in planned.groups
        )
        return GroupsMoved(planned.link, moved, planned.hash, RECORD.id)

    async def moves(self, cluster: ClusterContext) -> tuple[MoveSummary, ...]:
        self.asked.append(("moves", cluster.name))
        return () if self.moved else moves({RECORD.id: {"shop": RECORD, "till": replace(RECORD, undone_at_ms=5)}})

    def _undo(self, done: bool) -> GroupUndo:
        return GroupUndo(RECORD, {} if self.refusals else {COPY: Commit(3)}, (), False, self.refusals, done)

    async def plan_undo(self, cluster: ClusterContext, undo_id: str) -> UndoPlan:
        self.asked.append(("plan undo", cluster.name, undo_id))
        return UndoPlan(undo_id, (self._undo(done=False),), "cafe")

    async def undo(self, cluster: ClusterContext, planned: UndoPlan) -> GroupsUndone:
        self.asked.append(("undo", cluster.name, planned.id))
        if self.moved:
            self.refusals = (REASON,)
            return GroupsUndone(planned.id, (replace(planned.groups[0], refusals=self.refusals),))
        return GroupsUndone(planned.id, (self._undo(done=True),))

    async def plan_create(
        self, cluster: ClusterContext, group: str, topics: list[str], start: StartPosition
    ) -> CreatePlan:
        self.asked.append(("plan create", cluster.name, group, tuple(topics), start))
        begins = {COPY: Commit(5)}
        return CreatePlan("new", group, str(start), begins, "cafe", tuple(topics), start, self.refusals, ("a note",))

    async def create(self, cluster: ClusterContext, planned: CreatePlan) -> GroupCreated:
        self.asked.append(("create", cluster.name, planned.group, planned.topics, planned.asked))
        return GroupCreated("new", planned.group, planned.start, planned.begins, RECORD.id, planned.notes)


Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch, no_clusters: list[str]) -> Engine:
    """The operations that the verbs reach."""
    made = Engine()
    for name, ask in {
        "links.show.show": made.status,
        "groups.show.show": made.show,
        "groups.show.list_groups": made.list_groups,
        "groups.baseline.plan": made.plan_baseline,
        "groups.baseline.apply": made.baseline,
        "groups.sync.plan": made.plan_sync,
        "groups.sync.apply": made.sync,
        "groups.undo.plan": made.plan_undo,
        "groups.undo.apply": made.undo,
        "groups.undo.moves": made.moves,
        "groups.create.plan": made.plan_create,
        "groups.create.apply": made.create,
    }.items():
        monkeypatch.setattr(f"anabranch.operations.{name}", ask)
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
        "GROUP  STEP  PARTITION  COMMITTED  TARGET        ANSWER  TARGET NOW  LAG LEFT",
        "shop   move  orders-0          12  old.orders-0       7           3         8",
        "1 move; plan cafe, 2.1 s",
    ]
    assert err == (
        "Dry run. Apply with: "
        "anabranch groups sync old-new 'sh.*' --exclude shy --topics orders --execute --plan cafe\n"
    )


def test_a_plan_with_refusals_names_each_reason_and_ends_with_three(run: Run, engine: Engine) -> None:
    """What can be moved is still offered."""
    engine.groups = (PLAN, REFUSED)
    code, out, err = run("groups", "plan", "old-new")
    assert code == 3
    assert "till: active: till is stable on the target, with 1 member: only they may commit\n  fix: stop it" in out
    assert "error: 1 group would not be moved\n" in err
    assert "--execute --plan cafe" in err


def test_sync_does_exactly_what_was_shown(run: Run, engine: Engine) -> None:
    """Without a hash it shows what it does then; with one it does that plan or nothing."""
    code, out, _ = run("groups", "sync", "old-new", "shop", "--execute")
    assert code == 0
    assert "undo with: anabranch groups undo 20261121-100000-cafe" in out
    chosen = GroupSelection(("shop",))
    done = [("plan", "old", "new", "old-new", chosen), ("sync", "old", "new", chosen, "cafe")]
    assert engine.asked == done
    engine.asked.clear()
    assert run("groups", "sync", "old-new", "shop", "--execute", "--plan", "cafe")[0] == 0
    assert engine.asked == done
    engine.asked.clear()
    code, _, err = run("groups", "sync", "old-new", "shop", "--execute", "--plan", "beef")
    assert (code, engine.asked) == (3, done[:1])
    assert "groups of link 'old-new' changed since plan beef: it would be plan cafe now" in err


def test_sync_of_refused_groups_alone_says_it_once(run: Run, engine: Engine) -> None:
    """There is nothing to carry out; and a target that was typed comes back in the next command."""
    engine.groups = (REFUSED,)
    code, out, err = run("groups", "sync", "old-new", "--execute", "--target", "new")
    assert (code, out.count("till: active")) == (3, 1)
    assert [asked[0] for asked in engine.asked] == ["plan"]
    assert err == "error: 1 group did not move\nhint: anabranch groups plan old-new --target new\n"


def test_a_mixed_sync_says_each_refusal_once(run: Run, engine: Engine) -> None:
    """They stand below the plan; the way back names the target that was typed, and does it."""
    engine.groups = (PLAN, REFUSED)
    code, out, _ = run("groups", "sync", "old-new", "--execute", "--target", "new")
    assert (code, out.count("till: active")) == (3, 1)
    assert f"undo with: anabranch groups undo {RECORD.id} --target new --execute\n" in out
    _, out, _ = run("groups", "sync", "old-new", "--execute", "--plan", "cafe")
    assert out.count("till: active") == 1, "nothing was shown before"
    assert f"undo with: anabranch groups undo {RECORD.id} --execute\n" in out


def test_a_plan_that_moved_is_looked_at_again_for_the_same_groups(run: Run, engine: Engine) -> None:
    """Selection and target come back in the hint."""
    engine.moved = True
    code, _, err = run("groups", "sync", "old-new", "sh.*", "--topics", "orders", "-t", "new", "--execute")
    assert code == 3
    assert "hint: look again: `anabranch groups sync old-new 'sh.*' --topics orders --target new`\n" in err


def test_a_link_that_follows_no_groups_any_more_counts_none(run: Run, engine: Engine) -> None:
    """Only when the last round was is said."""
    stopped = render_groups.fresh(replace(ROUND, groups={}), 100_000)
    assert str(stopped) == "continuous sync: no groups; the last round was 1.0 s ago"


def test_sync_without_execute_only_shows(run: Run, engine: Engine) -> None:
    """And a hash without --execute is a mistake that is named."""
    assert run("groups", "sync", "old-new")[0] == 0
    assert [asked[0] for asked in engine.asked] == ["plan"]
    code, _, err = run("groups", "sync", "old-new", "--plan", "cafe")
    assert code == 2
    assert err.startswith("error: groups sync old-new: --plan: it requires --execute\nhint: ")


def test_groups_that_failed_or_were_refused_end_with_three(run: Run, engine: Engine) -> None:
    """The others were moved, and the answer says how to take them back."""
    failed = replace(PLAN, group="bad", step=GroupStep.FAILED, failure="not allowed; nothing of it was left behind")
    engine.groups = (failed, PLAN, REFUSED)
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
    assert value["hash"] == "cafe"
    assert value["groups"][0]["moves"][0]["commit"] == {"offset": 12, "metadata": "noted", "leader_epoch": -1}
    assert value["groups"][0]["step"] == "move"
    assert set(value) == {"link", "groups", "hash", "took_ms", "left_out"}
    _, out, _ = run("groups", "sync", "old-new", "--execute", "-o", form)
    value = json.loads(out) if form == "json" else yaml.safe_load(out)
    assert (value["undo"], value["hash"], value["groups"][0]["step"]) == (RECORD.id, "cafe", "moved")


def test_bad_input_is_named(run: Run) -> None:
    """A pattern that is none, a group that is not there, a start position that is none."""
    code, _, err = run("groups", "plan", "old-new", "sh(")
    assert (code, err.splitlines()[0].partition(": not")[0]) == (
        2,
        "error: groups: GROUP: 'sh(' is not a regular expression: missing ), unterminated subpattern at position 2",
    )
    code, _, err = run("groups", "plan", "old-new", "nobody")
    assert code == 3
    assert "no group of cluster old that we may see is called 'nobody'" in err
    assert run("groups", "create", "new", "--topic", "orders", "--start", "yesterday")[0] == 2
    assert run("groups", "create", "new")[0] == 2


def test_list_and_show_tell_how_fresh_continuous_sync_is(run: Run) -> None:
    """Kinds that are not moved come with advice; a waiting group with its reason."""
    code, out, _ = run("groups", "list", "old-new")
    assert code == 0
    assert [line.rstrip() for line in out.splitlines()] == [
        "GROUP  KIND     SOURCE  TARGET  IN LINK  OUTSIDE  BASELINE  SYNC",
        "share  share    stable  absent        0        0  -         -",
        "shop   classic  empty   absent        1        0  covered   waiting",
        "drain it",
        "shop is waiting since 10 s: not copied yet: orders-0",
        "continuous sync: 2 in sync; positions of 2.0 s ago, every 10 s, the last round took 0.0 s",
    ]
    code, out, _ = run("groups", "show", "old-new", "shop")
    assert code == 0
    assert "shop  classic group, empty on the source, absent on the target" in out
    assert "sync: waiting  not copied yet: orders-0" in out


def test_baseline_ends_with_three_where_records_would_be_lost(run: Run, engine: Engine) -> None:
    """The partition, the commit and the link's begin are named."""
    assert run("groups", "baseline", "old-new")[0] == 0
    engine.coverage = Coverage.BEFORE
    code, out, err = run("groups", "baseline", "old-new", "shop")
    assert code == 3
    assert "shop: orders-0 has committed 12, the link begins at 20: records are lost to it" in out
    assert "error: 1 group would lose records that the link does not copy" in err


def test_undo_shows_then_does(run: Run, engine: Engine) -> None:
    """And is refused for groups that moved since, the plan's or those of the last moment."""
    code, out, err = run("groups", "undo", RECORD.id)
    assert (code, "shop   old.orders-0          7            3" in out) == (0, True)
    assert f"Apply with: anabranch groups undo {RECORD.id} --execute --plan cafe\n" in err
    for plan in ((), ("--plan", "cafe")):
        code, out, _ = run("groups", "undo", RECORD.id, "--execute", *plan)
        assert (code, out.count("shop   old.orders-0          7            3")) == (0, 1)
        assert out.endswith("done: 1 group has its former commits\n")
    assert run("groups", "undo", RECORD.id, "--execute", "--plan", "beef")[0] == 3
    engine.moved = True
    code, out, _ = run("groups", "undo", RECORD.id, "--execute")
    assert (code, out.count("till: active") + out.count("active: till")) == (3, 1)
    asked = len(engine.asked)
    assert run("groups", "undo", RECORD.id, "--execute")[0] == 3
    assert [one[0] for one in engine.asked[asked:]] == ["plan undo"], "all of it was refused"


def test_undo_without_an_id_lists_what_can_be_taken_back(run: Run, engine: Engine) -> None:
    """And applies nothing."""
    code, out, _ = run("groups", "undo")
    assert (code, out.split()[:6]) == (0, ["ID", "AT", "WHAT", "GROUPS", "TAKEN", "BACK"])
    assert f"{RECORD.id}  1970-01-01 00:00:00  groups sync old-new  shop, till  till" in out
    (told,) = json.loads(run("groups", "undo", "-o", "json")[1])
    assert (told["groups"], told["undone"]) == (["shop", "till"], ["till"])
    code, _, err = run("groups", "undo", "--execute")
    assert (code, "what to take back was not named" in err) == (2, True)
    engine.moved = True
    assert "no group was moved on new yet" in run("groups", "undo")[1]


def test_create_takes_the_five_positions(run: Run, engine: Engine) -> None:
    """Shown first; then done, with the id that takes it back."""
    code, _, err = run("groups", "create", "fresh", "--topic", "old.orders", "--start", "group:shop")
    command = "anabranch groups create fresh --topic old.orders --start group:shop --execute --plan cafe"
    assert (code, err) == (0, f"note: a note\nDry run. Apply with: {command}\n")
    start = StartPosition(StartKind.GROUP, group="shop")
    assert engine.asked == [("plan create", "new", "fresh", ("old.orders",), start)]
    for plan in ((), ("--plan", "cafe")):
        code, out, _ = run("groups", "create", "fresh", "--topic", "old.orders", "--execute", *plan)
        assert (code, out.count("old.orders-0"), f"anabranch groups undo {RECORD.id}" in out) == (0, 1, True)
        assert engine.asked[-1] == ("create", "new", "fresh", ("old.orders",), StartPosition())
    asked = len(engine.asked)
    assert run("groups", "create", "fresh", "--topic", "old.orders", "--execute", "--plan", "beef")[0] == 3
    engine.refusals = (REASON,)
    assert run("groups", "create", "fresh", "--topic", "old.orders")[0] == 3
    assert run("groups", "create", "fresh", "--topic", "old.orders", "--execute")[0] == 3
    assert {one[0] for one in engine.asked[asked:]} == {"plan create"}, "nothing was done"
