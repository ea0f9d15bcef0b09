"""The verbs about checkpoints, from flags to the operations and back to text and exit codes."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from anabranch.checkpoints.job import BatchPage, CheckpointFormat, OperatorPage, Page, SourcePage
from anabranch.checkpoints.plan import (
    PendingTransactions,
    PositionChange,
    RewriteSpec,
    Split,
    StopSavepoint,
    Uncommitted,
)
from anabranch.checkpoints.position import OffsetRole, Position, SymbolicOffset
from anabranch.checkpoints.reports import (
    FileChange,
    FileEffect,
    Inspection,
    Lag,
    Proof,
    UndoRewritePlan,
    UndoRewriteReport,
    VerificationReport,
)
from anabranch.checkpoints.route import TranslatedPosition
from anabranch.cli import main as cli
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.clusters import Clusters
from anabranch.model.reasons import Reason, ReasonKind
from anabranch.model.start import StartKind
from anabranch.model.topics import TopicPartition
from anabranch.operations.checkpoints.errors import PlanRefusedError
from anabranch.operations.checkpoints.plans import RewritePlan, RewriteReport, RewriteRequest
from anabranch.operations.checkpoints.translation_source import ByLinks, ByMaps, ByOffsets, ByStart, TranslationSource

pytestmark = pytest.mark.unit

ORDERS, COPY = TopicPartition("orders", 0), TopicPartition("eu.orders", 0)
OLD = Position("0", ORDERS, 1200, OffsetRole.NEXT, "offsets/4")
NEW = replace(OLD, partition=COPY, offset=7)
FILE = FileChange("offsets/4", FileEffect.CHANGE, 400, 403)
PLAN = RewritePlan(
    RewriteRequest("/data/cp", RewriteSpec(), TranslationSource(ByLinks(()))),
    "/data/cp",
    CheckpointFormat.SPARK,
    4,
    "link eu",
    "0123456789abcdef",
    (
        PositionChange(OLD, TranslatedPosition(COPY, 7, 0, 1193)),
        PositionChange(replace(OLD, offset=SymbolicOffset.EARLIEST), None),
        PositionChange(
            replace(OLD, offset=3), TranslatedPosition(COPY, 9, None, None, "offset 3 is before the target's log")
        ),
    ),
    (),
    ("give the job the new servers",),
    (FILE,),
    ("1",),
    0,
    1193,
    1,
    0,
    99_000,
)
REASON = Reason(ReasonKind.UNCOMMITTED, "batch 4 has begun", "finish it on the old cluster", "offsets/4")
REFUSED = replace(PLAN, refusals=(REASON,), files=())
PAGE = Page(
    CheckpointFormat.SPARK,
    "Spark 4.0 or newer",
    {"offsets": "v1"},
    "9c62",
    4,
    90_000,
    80_000,
    (BatchPage(4, 90_000, True, 80_000),),
    (SourcePage("0", "orders", "kafka", (OLD,)), SourcePage("1", "rate", "rate", ())),
    (OperatorPage("0", "agg", "rocksdb", 2, None),),
    None,
    ("Delta knows a batch by its number",),
    ("a note",),
)


class Engine:
    """The operations, filled with values; keeps what it was asked."""

    def __init__(self) -> None:
        self.translation: list[tuple[object, ...]] = []
        self.plan_, self.done = PLAN, RewriteReport(PLAN, "/data/cp", "20261121-100000-cafe", 420)
        self.proofs: tuple[Proof, ...] = (Proof(NEW, OLD, 0, 100),)
        self.problems: tuple[str, ...] = ()
        self.refusals: tuple[Reason, ...] = ()
        self.late: tuple[Reason, ...] = ()

    async def inspect(self, place: str, cluster: Cluster | None = None) -> Inspection:
        self.translation.append(("inspect", place, cluster))
        lags = () if cluster is None else (Lag("0", ORDERS, 0, 1500, 300), Lag("9", COPY, None, None, None, "gone"))
        name = None if cluster is None else cluster.name
        return Inspection(place, PAGE, 90_000, 99_000, name, lags, None, ("20261121-100000-cafe",))

    async def plan(self, _: Clusters, request: RewriteRequest) -> RewritePlan:
        self.translation.append(("plan", request))
        return replace(self.plan_, request=request)

    async def apply(self, _: Clusters, planned: RewritePlan) -> RewriteReport:
        self.translation.append(("apply", planned.request, planned.hash))
        if self.late:
            raise PlanRefusedError(planned.path, self.late, replace(planned, refusals=self.late, files=()))
        return self.done

    async def finish(self, place: str, command: str, timeout_s: float, stopped: bool) -> int | None:
        self.translation.append(("finish", place, command, timeout_s, stopped))
        return 4

    async def verify(
        self, _: Clusters, place: str, rewrite_spec: RewriteSpec, translation: TranslationSource, was: str | None = None
    ) -> VerificationReport:
        self.translation.append(("verify", place, rewrite_spec, translation, was))
        return VerificationReport(place, CheckpointFormat.SPARK, 4, was, self.proofs, self.problems, ("offsets/4",))

    async def plan_undo(self, place: str) -> UndoRewritePlan:
        self.translation.append(("plan undo", place))
        return UndoRewritePlan(place, "20261121-100000-cafe", 90_000, True, (FILE,), self.refusals, "fedcba9876543210")

    async def undo(self, planned: UndoRewritePlan) -> UndoRewriteReport:
        self.translation.append(("undo", planned.hash))
        return UndoRewriteReport(planned)

    @property
    def request(self) -> RewriteRequest:
        """What was asked for last."""
        found = self.translation[-1][1]
        assert isinstance(found, RewriteRequest)
        return found


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Engine:
    """The engine that the verbs find."""
    found = Engine()
    for name, function in (
        ("inspect.inspect", found.inspect),
        ("rewrite.plan", found.plan),
        ("rewrite.apply", found.apply),
        ("finish.finish", found.finish),
        ("verify.verify", found.verify),
        ("undo.plan", found.plan_undo),
        ("undo.apply", found.undo),
    ):
        monkeypatch.setattr(f"anabranch.operations.checkpoints.{name}", function)
    return found


@pytest.fixture
def run(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """The console script in this process: (exit code, standard output, standard error)."""
    contexts = {"old": {"bootstrap": ["127.0.0.1:1"]}, "new": {"bootstrap": ["127.0.0.1:2"]}}
    (tmp_path / "contexts.yaml").write_text(yaml.safe_dump({"target": "new", "contexts": contexts}))
    monkeypatch.setenv("COLUMNS", "300")
    monkeypatch.delenv("ANABRANCH_TARGET", raising=False)

    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["anabranch", "--contexts", str(tmp_path / "contexts.yaml"), *arguments])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        code = ended.value.code
        captured = capsys.readouterr()
        return (code if isinstance(code, int) else 0), captured.out, captured.err

    return call


Run = Callable[..., tuple[int, str, str]]


def test_the_page_shows_what_there_is_and_the_lag_where_a_cluster_is_named(run: Run, engine: Engine) -> None:
    """Sources of other kinds too; in JSON the fields of the values."""
    code, out, _ = run("checkpoint", "inspect", "/data/cp")
    assert code == 0
    for text in ("Spark 4.0 or newer", "orders", "1,200", "rate", "rocksdb", "committed", "Delta", "can be undone"):
        assert text in out
    assert "LAG" not in out
    code, out, _ = run("checkpoint", "inspect", "/data/cp", "--cluster", "old")
    assert code == 0 and "300 records of old; not known for 1 of 2 positions" in out and "0 to 1,500" in out
    code, out, _ = run("checkpoint", "inspect", "/data/cp", "--cluster", "old", "-o", "json")
    value = json.loads(out)
    assert value["page"]["sources"][0]["positions"][0]["partition"] == "orders-0"
    assert value["lags"][0]["records"] == 300
    assert run("checkpoint", "inspect", "/data/cp", "--cluster", "odl")[0] == 2


def test_a_plan_shows_changes_files_and_hash_and_names_the_command(run: Run) -> None:
    """The hint is the very command, with all that was typed."""
    code, out, err = run("checkpoint", "plan", "/data/my cp", "--link", "eu", "--stay", "clicks", "--source", "0")
    assert code == 0
    for text in ("skips 1,193", "stays", "before the target's log", "offsets/4", "1 position cannot be counted"):
        assert text in out, text
    assert "plan 0123456789abcdef" in out
    command = shlex.split(err.partition("Apply with: ")[2])
    words = "--link eu --stay clicks --source 0 --execute --plan 0123456789abcdef"
    assert command == ["anabranch", "checkpoint", "rewrite", "/data/my cp", *words.split()]


def test_a_refused_plan_prints_every_reason_and_ends_with_3(run: Run, engine: Engine) -> None:
    """In a table and in JSON."""
    engine.plan_ = REFUSED
    code, out, err = run("checkpoint", "plan", "/data/cp", "--link", "eu")
    assert code == 3
    assert "REFUSED (1 reason)" in out
    tail = out.partition("REFUSED")[2]
    assert "new servers" not in tail and "plan 0123456789abcdef" not in tail
    assert "uncommitted batch: batch 4 has begun (offsets/4)" in out and "finish it on the old cluster" in out
    assert "it would not be rewritten: 1 reason" in err
    code, out, _ = run("checkpoint", "plan", "/data/cp", "--link", "eu", "-o", "json")
    assert code == 3 and json.loads(out)["refusals"][0]["why"] == "uncommitted batch"
    assert "request" not in json.loads(out)
    code, _, err = run("checkpoint", "rewrite", "/data/cp", "--link", "eu", "--execute")
    assert code == 3 and "it was not rewritten" in err
    assert [one[0] for one in engine.translation] == ["plan"] * 3


def test_reasons_are_in_the_order_of_partitions_and_what_they_leave_out_is_said(run: Run, engine: Engine) -> None:
    """Kind by kind as they came; nothing that is not counted is told as nothing."""
    lagging = [Reason(ReasonKind.NOT_COPIED, f"orders-{number} is at 40") for number in (10, 2)]
    changes = PLAN.changes[1:2]
    engine.plan_ = replace(REFUSED, changes=changes, refusals=(lagging[0], REASON, lagging[1]), skipped=0, uncounted=0)
    out = run("checkpoint", "plan", "/data/cp", "--link", "eu")[1]
    assert out.index("orders-2 is at") < out.index("orders-10 is at") < out.index("batch 4 has begun")
    assert "REFUSED (3 reasons)" in out
    assert "would repeat and skip nothing, as far as that is known; what is refused is not counted" in out
    engine.plan_ = replace(PLAN, changes=changes, skipped=0, uncounted=2)
    out = run("checkpoint", "plan", "/data/cp", "--link", "eu")[1]
    assert "skip nothing, as far as that is known; 2 positions cannot be counted" in out
    engine.plan_ = replace(PLAN, changes=changes, skipped=0, uncounted=0)
    assert "would repeat and skip nothing\n" in run("checkpoint", "plan", "/data/cp", "--link", "eu")[1]


def test_rows_are_in_the_order_of_partitions_and_sources_by_the_names_that_people_know(
    run: Run, engine: Engine
) -> None:
    """Whatever order the bytes have them in; a hash is shown where a uid is not known or means two."""
    ids = ("ab" * 16, "cd" * 16)
    positions = [replace(OLD, source=ids[0], partition=TopicPartition("orders", number)) for number in (10, 2, 0)]
    changes = tuple(
        PositionChange(one, TranslatedPosition(replace(COPY, partition=one.partition.partition), 7))
        for one in positions
    )
    engine.plan_ = replace(
        PLAN, format=CheckpointFormat.FLINK, changes=changes, names={ids[0]: "in"}, untouched=("count",)
    )
    _, out, _ = run("checkpoint", "plan", "/data/cp", "--link", "eu")
    assert ids[0] not in out and out.index("orders-0") < out.index("orders-2") < out.index("orders-10")
    assert "left as they are: operator count" in out
    engine.plan_ = replace(engine.plan_, names=dict.fromkeys(ids, "in"))
    assert f"in ({ids[0]})" in run("checkpoint", "plan", "/data/cp", "--link", "eu")[1]
    engine.plan_ = PLAN
    assert "left as they are: source 1" in run("checkpoint", "plan", "/data/cp", "--link", "eu")[1]


def test_an_unfinished_rewrite_is_the_first_thing_that_is_shown(
    run: Run, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the command that takes it back."""

    async def unfinished(place: str) -> Inspection:
        return replace(await engine.inspect(place), unfinished="20261121-100000-cafe")

    monkeypatch.setattr("anabranch.operations.checkpoints.inspect.inspect", unfinished)
    _, out, _ = run("checkpoint", "inspect", "/data/cp")
    assert out.startswith("UNFINISHED: rewrite 20261121-100000-cafe")
    assert "anabranch checkpoint undo /data/cp --execute" in out.split("checkpoint  ")[0]


def test_a_rewrite_does_what_it_showed_and_names_the_proof(run: Run, engine: Engine) -> None:
    """Without --plan it plans, shows, and carries out just that hash."""
    more = ("--to", "/data/new", "--stopped", "--execute")
    code, out, err = run("checkpoint", "rewrite", "/data/cp", "--link", "eu@old", *more)
    assert code == 0
    assert [one[0] for one in engine.translation] == ["plan", "apply"]
    assert (engine.request.to, engine.request.stopped, engine.translation[1][2]) == (
        "/data/new",
        True,
        "0123456789abcdef",
    )
    assert "written, in 0.4 s" in out
    assert "prove it with: anabranch checkpoint verify /data/new --link eu@old --was /data/cp" in err.replace("'", "")
    code, out, _ = run("checkpoint", "rewrite", "/data/cp", "--link", "eu", "--execute", "-o", "json")
    assert code == 0 and json.loads(out)["undo"] == "20261121-100000-cafe"


def test_a_plan_that_moved_is_not_applied(run: Run, engine: Engine) -> None:
    """Another hash than that of the plan of now; with the right one the plan is shown with what was done."""
    code, _, err = run("checkpoint", "rewrite", "/data/cp", "--link", "eu", "--execute", "--plan", "0" * 16)
    assert code == 3 and f"changed since plan {'0' * 16}" in err
    assert "anabranch checkpoint rewrite /data/cp --link eu" in err
    assert [one[0] for one in engine.translation] == ["plan"]
    code, out, _ = run("checkpoint", "rewrite", "/data/cp", "--link", "eu", "--execute", "--plan", PLAN.hash)
    assert code == 0 and "skips 1,193" in out and "written, in 0.4 s" in out


def test_a_job_that_runs_is_told_with_its_next_step(run: Run, engine: Engine) -> None:
    """It is found only when the plan is carried out; a program gets the plan with the reason in it."""
    engine.late = (Reason(ReasonKind.RUNNING, "it was written 3 s ago", "stop the job"),)
    code, out, err = run("checkpoint", "rewrite", "/data/cp", "--link", "eu", "--execute")
    assert code == 3 and "it was written 3 s ago" in out and "stop the job" in out
    assert "it was not rewritten: 1 reason" in err
    code, out, _ = run("checkpoint", "rewrite", "/data/cp", "--link", "eu", "--execute", "-o", "json")
    assert code == 3 and json.loads(out)["refusals"][0]["why"] == "running"


def test_a_batch_is_finished_before_the_plan_is_made(run: Run, engine: Engine) -> None:
    """The plan is of the checkpoint as it is then, and the request tells which batch that was."""
    way = ("--link", "eu", "--finish-command", "run it", "--finish-timeout", "5")
    code, out, _ = run("checkpoint", "rewrite", "/data/cp", *way, "--execute")
    assert code == 0 and "skips 1,193" in out
    assert [one[0] for one in engine.translation] == ["finish", "plan", "apply"]
    assert engine.translation[0][1:] == ("/data/cp", "run it", 5.0, False)
    assert engine.request.finished == 4


def test_without_execute_nothing_is_done(run: Run, engine: Engine) -> None:
    """The finish command is not run either, and is repeated in the hint."""
    code, _, err = run("checkpoint", "rewrite", "/data/cp", "--link", "eu", "--finish-command", "run it")
    assert code == 0
    assert [one[0] for one in engine.translation] == ["plan"]
    assert "--finish-command 'run it' --execute" in err


def test_a_proof_ends_with_3_where_a_position_is_wrong(run: Run, engine: Engine) -> None:
    """And with 0 where all is as it must be, with a verdict for each source."""
    code, out, _ = run("checkpoint", "verify", "/data/cp", "--link", "eu")
    assert code == 0 and "source 0: all 1 positions are where the map says" in out
    engine.proofs = (Proof(NEW, OLD, 0, 100, "1200 leads to 8"),)
    engine.problems = ("commits/9 is not as it was",)
    code, out, err = run("checkpoint", "verify", "/data/cp", "--link", "eu", "--was", "/data/old")
    assert code == 3
    assert "1200 leads to 8" in out and "commits/9 is not as it was" in out and "2 problems" in err
    assert engine.translation[-1][4] == "/data/old"


def test_undo_shows_then_does(run: Run, engine: Engine) -> None:
    """What the engine wrote since is a refusal, ended with 3."""
    code, _, err = run("checkpoint", "undo", "/data/cp")
    assert code == 0 and "anabranch checkpoint undo /data/cp --execute --plan fedcba9876543210" in err
    assert run("checkpoint", "undo", "/data/cp", "--execute", "--plan", "0" * 16)[0] == 3
    assert [one[0] for one in engine.translation] == ["plan undo"] * 2
    code, out, _ = run("checkpoint", "undo", "/data/cp", "--execute")
    assert code == 0 and "as it was before" in out
    engine.refusals = (Reason(ReasonKind.RUNNING, "the engine has written since: offsets/5"),)
    code, out, _ = run("checkpoint", "undo", "/data/cp", "--execute")
    assert code == 3 and "offsets/5" in out and "as it was before" not in out


def test_every_route_and_wish_reaches_the_engine(run: Run, engine: Engine, tmp_path: Path) -> None:
    """Links with their own targets, files with theirs, start positions, and each wish."""
    run("checkpoint", "plan", "/cp", "--link", "a", "--link", "b@old", "--target", "new")
    translation = engine.request.translation
    assert isinstance(translation.method, ByLinks)
    assert [(one.link, one.target.name) for one in translation.method.links] == [("a", "new"), ("b", "old")]

    maps = {"version": 1, "link": "a", "source": "gone", "target": "old", "lanes": []}
    (tmp_path / "m.json").write_text(json.dumps(maps))
    run("checkpoint", "plan", "/cp", "--maps", str(tmp_path / "m.json"))
    translation = engine.request.translation
    assert isinstance(translation.method, ByMaps)
    assert translation.method.target.name == "old" and translation.method.source is None

    (tmp_path / "o.json").write_text(json.dumps({"version": 1, "cluster": "new", "offsets": {"eu.orders": {"0": 7}}}))
    run("checkpoint", "plan", "/cp", "--offsets", str(tmp_path / "o.json"), "--rename", "orders=eu.orders")
    translation = engine.request.translation
    assert isinstance(translation.method, ByOffsets)
    assert translation.method.offsets == {COPY: 7} and translation.rename == {"orders": "eu.orders"}

    wishes = ("--split", "0=orders|clicks,views", "--split", "in=old:orders|new:clicks", "--merge", "1,2")
    more = (
        "--drop-source",
        "x",
        "--uncommitted",
        "translate",
        "--transactions",
        "keep",
        "--dynamic-cluster",
        "a=b@kafka:9092,k2:9092",
        "--stop-savepoint",
        "translate",
    )
    run("checkpoint", "plan", "/cp", "--start", "latest", *wishes, *more)
    rewrite_spec, translation = engine.request.spec, engine.request.translation
    assert isinstance(translation.method, ByStart) and translation.method.start.kind is StartKind.LATEST
    assert rewrite_spec == RewriteSpec(
        None,
        (
            Split("0", (frozenset({"orders"}), frozenset({"clicks", "views"}))),
            Split("in", (frozenset({"orders"}), frozenset({"clicks"})), ("old", "new")),
        ),
        (("1", "2"),),
        frozenset({"x"}),
        Uncommitted.TRANSLATE,
        PendingTransactions.KEEP,
        {"a": ("b", "kafka:9092,k2:9092")},
        StopSavepoint.TRANSLATE,
    )


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ((), "route"),
        (("--link", "a", "--start", "latest"), "--link and --start"),
        (("--link", "a", "--rename", "a=b"), "--rename"),
        (("--link", "@new"), "--link"),
        (("--link", "a@"), "--link"),
        (("--link", "a@odl"), "odl"),
        (("--start", "yesterday"), "start"),
        (("--start", "latest", "--rename", "a"), "--rename"),
        (("--start", "latest", "--rename", "a=b", "--rename", "a=c"), "given twice"),
        (("--link", "a", "--split", "0=orders"), "--split"),
        (("--link", "a", "--split", "0=orders|"), "--split"),
        (("--link", "a", "--split", "0=orders|orders"), "topic twice"),
        (("--link", "a", "--split", "0=x:orders|clicks"), "name all parts or none"),
        (("--link", "a", "--split", "0=x:orders|x:clicks"), "name all parts or none"),
        (("--link", "a", "--merge", "0"), "--merge"),
        (("--link", "a", "--merge", "0,0"), "--merge"),
        (("--link", "a", "--dynamic-cluster", "a=b"), "--dynamic-cluster"),
        (("--maps", "/no/such/file"), "/no/such/file"),
        (("--offsets", "/no/such/file"), "/no/such/file"),
        (("--link", "a", "--uncommitted", "drop"), "--uncommitted"),
    ],
)
def test_bad_input_names_the_flag_and_does_nothing(
    run: Run, engine: Engine, arguments: tuple[str, ...], field: str
) -> None:
    """Exit code 2, and the engine is not asked."""
    code, _, err = run("checkpoint", "plan", "/cp", *arguments)
    assert code == 2
    assert field in " ".join(err.replace("│", " ").split())
    assert not engine.translation


def test_offsets_of_another_cluster_are_refused(run: Run, tmp_path: Path) -> None:
    """A file that says whose offsets it has is believed."""
    (tmp_path / "o.json").write_text(json.dumps({"version": 1, "cluster": "old", "offsets": {"orders": {"0": 7}}}))
    code, _, err = run("checkpoint", "plan", "/cp", "--offsets", str(tmp_path / "o.json"), "--target", "new")
    assert code == 2 and "its offsets are of old, and the target is new" in err


@pytest.mark.parametrize("more", [("--plan", "x"), ("--execute", "--plan", "x", "--finish-command", "y")])
def test_a_hash_goes_with_execute_and_without_a_finish_command(run: Run, engine: Engine, more: tuple[str, ...]) -> None:
    """Else nobody could know it."""
    assert run("checkpoint", "rewrite", "/cp", "--link", "a", *more)[0] == 2
    assert not engine.translation
