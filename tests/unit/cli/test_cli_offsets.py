"""``anabranch offsets``: questions from flags and files, answers as text, and an exit code of its own for refusals."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from rich.console import Console

from anabranch.cli import main as cli
from anabranch.cli.offsets import render
from anabranch.config import maps_file, offsets_file
from anabranch.model.cluster import ClusterContext
from anabranch.model.lane import LaneKey, LaneMode, LaneState
from anabranch.model.link import ClusterRef, LinkSpec
from anabranch.model.positions import LaneRanges, StoredRange, Translation
from anabranch.model.topics import TopicId, TopicPartition
from anabranch.offsets.offset_map import MappedRange, OffsetMap
from anabranch.operations.offsets.export import ExportedMaps, exported
from anabranch.operations.offsets.ranges import lane_ranges
from anabranch.operations.offsets.translate import TopicNotInLinkError, translated
from anabranch.state.maps.reading import LaneMap, LinkMaps

pytestmark = pytest.mark.unit

SPEC = LinkSpec("old-new", ClusterRef("old", "A"), ClusterRef("new", "B"))
ORDERS = TopicPartition("orders", 0)
MAP = OffsetMap.of([MappedRange(100, 7, 4), MappedRange(105, 12, 2)], 98, 7).advance(110, 16)
LANE = LaneMap(
    LaneKey("old-new", TopicId.ZERO, 0),
    ORDERS,
    TopicPartition("old.orders", 0),
    LaneMode.MAPPED,
    MAP,
    LaneState.FOLLOWING,
    1_700_000_000_000,
)
MAPS = LinkMaps(SPEC, {"orders": "old.orders"}, {ORDERS: LANE})

TABLE = """\
PARTITION  OFFSET  ANSWER  TO            TO OFFSET  WHY
orders-0      101  exact   old.orders-0          8
orders-0      110  exact   old.orders-0         16  everything before was copied, and the record here was not yet
orders-0       90  before  old.orders-0          -  the map begins at 98: \
older records were not copied, or are gone on both sides; above: 98 is 7 there
orders-0      111  after   old.orders-0          -  all is accounted for up to 110 only; below: 110 is 16 there
"""

RUNS = """\
orders-0 to old.orders-0  mapped, 2 ranges, 6 records, source 98 to 110, target 7 to 16
SOURCE  TARGET  RECORDS  GAP BEFORE  FOREIGN BEFORE
   100       7        4           2               0
   105      12        2           1               1
"""


class Engine:
    """The operations, answering from one map; keeps how it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[object, ...]] = []

    async def translate(
        self,
        target: ClusterContext,
        link_id: str,
        questions: Sequence[tuple[TopicPartition, int]],
        *,
        reverse: bool = False,
        records: bool = False,
    ) -> Translation:
        self.asked.append((target.name, link_id, reverse, records))
        if any(one.topic == "nothing" for one, _ in questions):
            raise TopicNotInLinkError(link_id, "nothing", "source", ("orders",))
        return translated(MAPS, questions, reverse=reverse, records=records)

    async def translate_group(
        self, source: ClusterContext, target: ClusterContext, link_id: str, group: str, *, reverse: bool = False
    ) -> Translation:
        self.asked.append((source.name, target.name, link_id, group, reverse))
        return translated(MAPS, [(ORDERS, 103)])

    async def ranges(self, target: ClusterContext, link_id: str, where: str | None = None) -> Sequence[LaneRanges]:
        self.asked.append((target.name, link_id, where))
        return (lane_ranges(LANE),)

    async def export(self, *_: object) -> ExportedMaps:
        return exported(MAPS)


Run_ = Callable[..., tuple[int, str, str]]


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch, no_clusters: list[str]) -> Engine:
    """The operations that the verbs reach."""
    made = Engine()

    async def show(*_: object) -> object:
        return SimpleNamespace(spec=SPEC)

    monkeypatch.setattr("anabranch.operations.links.show.show", show)
    monkeypatch.setattr("anabranch.operations.offsets.translate.translate", made.translate)
    monkeypatch.setattr("anabranch.operations.offsets.translate.translate_group", made.translate_group)
    monkeypatch.setattr("anabranch.operations.offsets.ranges.ranges", made.ranges)
    monkeypatch.setattr("anabranch.operations.offsets.export.export", made.export)
    return made


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run_:
    """Run the console script's function with arguments; answers exit code, standard output, standard error."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.delenv("ANABRANCH_CONTEXTS", raising=False)
    monkeypatch.delenv("ANABRANCH_TARGET", raising=False)
    clusters = {"old": {"bootstrap": ["o:1"]}, "new": {"bootstrap": ["n:1"]}}
    (tmp_path / "anabranch.yaml").write_text(yaml.safe_dump({"contexts": clusters, "target": "new"}))

    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["anabranch", "offsets", *arguments])
        with pytest.raises(SystemExit) as left:
            cli.main()
        out, err = capsys.readouterr()
        return int(left.value.code or 0), "".join(line.rstrip() + "\n" for line in out.splitlines()), err

    return call


def test_refusals_are_shown_with_the_answers_and_have_a_code_of_their_own(run: Run_, engine: Engine) -> None:
    """Every question is answered; whether all were exact is told by the exit code."""
    asked = ("orders-0:101", "orders-0:110", "orders-0:90", "orders-0:111")
    code, out, err = run("translate", "old-new", *asked)
    assert (code, out) == (6, TABLE)
    assert err.startswith("error: 2 of 4 offsets have no exact answer\nhint: ")
    assert run("translate", "old-new", *asked[:2])[0] == 0
    assert engine.asked[0] == ("new", "old-new", False, False)


def test_programs_get_the_same_answers(run: Run_, engine: Engine) -> None:
    """As JSON, with the nearest offsets beside a refusal; the flags reach the engine."""
    code, out, _ = run("translate", "old-new", "orders-0:104", "--records", "-o", "json")
    (answer,) = json.loads(out)["answers"]
    assert (code, answer["kind"], answer["answer"], answer["to"]) == (6, "unmapped", None, "old.orders-0")
    assert (answer["below"], answer["above"]) == ({"asked": 103, "answer": 10}, {"asked": 105, "answer": 12})
    code, out, _ = run("translate", "old-new", "old.orders-0:12", "--reverse", "-o", "yaml")
    assert (code, yaml.safe_load(out)["answers"][0]["answer"]) == (0, 105)
    assert engine.asked == [("new", "old-new", False, True), ("new", "old-new", True, False)]


def test_offsets_beside_a_refusal_are_of_the_side_that_was_asked_first(run: Run_, engine: Engine) -> None:
    """Asked backwards, too: a person sets a group by them."""
    code, out, _ = run("translate", "old-new", "old.orders-0:11", "--reverse", "--records", "-o", "json")
    (answer,) = json.loads(out)["answers"]
    assert (code, answer["kind"], answer["to"]) == (6, "unmapped", "orders-0")
    assert (answer["below"], answer["above"]) == ({"asked": 10, "answer": 103}, {"asked": 12, "answer": 105})


def test_a_files_offsets_become_a_files_offsets(run: Run_, engine: Engine, tmp_path: Path) -> None:
    """Written only where all are exact: a file with some left out would be taken for the whole."""
    offsets_file.save(tmp_path / "in.json", {ORDERS: 104}, "old")
    assert run("translate", "old-new", "-f", "in.json", "--out", "out.json")[0] == 0
    assert offsets_file.load(tmp_path / "out.json") == {TopicPartition("old.orders", 0): 12}
    offsets_file.save(tmp_path / "in.json", {ORDERS: 200}, "old")
    code, _, err = run("translate", "old-new", "-f", "in.json", "--out", "late.json")
    assert code == 6
    assert "late.json was not written" in err
    assert not (tmp_path / "late.json").exists()


def test_a_file_of_the_other_cluster_is_refused(run: Run_, engine: Engine, tmp_path: Path) -> None:
    """Its offsets would lead somewhere on the target, and not where they lie."""
    offsets_file.save(tmp_path / "in.json", {ORDERS: 104}, "new")
    code, out, err = run("translate", "old-new", "-f", "in.json")
    assert (code, out) == (2, "")
    assert (
        "in.json: cluster: its offsets are those of new, and this translates offsets of old\nhint: add --reverse" in err
    )


def test_a_groups_commits_are_translated(run: Run_, engine: Engine) -> None:
    """With the context of the link's source."""
    assert run("translate", "old-new", "--group", "billing")[0] == 0
    assert engine.asked == [("old", "new", "old-new", "billing", False)]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ((), "give offsets, or --group, or --file"),
        (("orders-0:1", "--group", "g"), "give offsets, or --group, or --file"),
        (("--group", "g", "--records"), "--records"),
        (("orders-0:many",), "'orders-0:many' is not TOPIC-PARTITION:OFFSET"),
        (("nothing-0:5",), "has no source topic 'nothing'"),
        (("-f", "none.json"), "none.json: cannot read it"),
    ],
)
def test_wrong_questions_are_exit_code_2(run: Run_, engine: Engine, arguments: tuple[str, ...], problem: str) -> None:
    """With what is wrong and what to write instead."""
    code, out, err = run("translate", "old-new", *arguments)
    assert (code, out) == (2, "")
    assert problem in err


def test_runs_are_shown(run: Run_, engine: Engine) -> None:
    """A line a lane, or the runs of one; what is cut off is said."""
    code, out, _ = run("ranges", "old-new")
    assert code == 0
    assert out.splitlines()[1].split()[:6] == ["orders-0", "old.orders-0", "mapped", "2", "6", "98"]
    assert run("ranges", "old-new", "orders")[:2] == (0, RUNS)
    assert "1 older range left out" in run("ranges", "old-new", "orders-0", "--limit", "1")[1]
    assert json.loads(run("ranges", "old-new", "-o", "json")[1])[0]["ranges"][1] == {
        "source": 105,
        "target": 12,
        "length": 2,
    }


def test_an_identity_lane_s_own_padding_is_no_foreign_record() -> None:
    """A gap of 50 offsets on both sides; of a mapped lane the same is what another wrote."""
    shown = {}
    for mode in (LaneMode.IDENTITY, LaneMode.MAPPED):
        runs = (StoredRange(0, 0, 10), StoredRange(60, 60, 5))
        lane = LaneRanges(LANE.lane, ORDERS, LANE.target, mode, LaneState.FOLLOWING, 1, 0, 0, 65, 65, 15, runs)
        console = Console(record=True, width=200, file=io.StringIO())
        console.print(render.ranges([lane], 20))
        shown[mode] = console.export_text().splitlines()[-1].split()
    assert shown == {LaneMode.IDENTITY: ["60", "60", "5", "50", "0"], LaneMode.MAPPED: ["60", "60", "5", "50", "50"]}


def test_maps_are_exported(run: Run_, engine: Engine, tmp_path: Path) -> None:
    """As a file that reads back to the same map, or as lines."""
    assert run("export", "old-new", "--out", "maps.json")[:2] == (0, "")
    assert [one.ranges for one in maps_file.load(tmp_path / "maps.json")] == [MAP]
    assert run("export", "old-new", "--out", "maps.csv", "--format", "csv")[0] == 0
    assert len((tmp_path / "maps.csv").read_text().splitlines()) == 3
    code, _, err = run("export", "old-new", "--out", "nowhere/maps.json")
    assert code == 2
    assert "cannot write it" in err
