"""``anabranch mm2``, from flags to the operations and back to text."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner

from anabranch.cli.app import app
from anabranch.cli.mirrormaker import tables
from anabranch.cli.offsets.translate import NotAllExactError
from anabranch.errors import InvalidFieldError
from anabranch.mirrormaker.report import Evidence, JudgedPosition, MirrorReport
from anabranch.mirrormaker.wire import MirrorCheckpoint
from anabranch.model.cluster import ClusterContext
from anabranch.model.groups import Commit
from anabranch.model.link import ClusterRef, LinkSpec
from anabranch.model.positions import Answered, AnswerKind, Translation
from anabranch.model.topics import TopicPartition
from anabranch.operations.mirrormaker.publish import LeftOut, Published, PublishPlan, checkpoints
from anabranch.state.maps.reading import LinkMaps
from qa.mirror_answers import plan_publish

pytestmark = pytest.mark.unit

AT, COPY = TopicPartition("flights", 0), TopicPartition("old.flights", 0)
ROWS = (
    JudgedPosition("calm", AT, COPY, 100, 100, 90, 90, 90, Evidence.CONTENT, 0, 0),
    JudgedPosition("late", AT, COPY, 5000, 4000, 300, 310, 4990, Evidence.MAP, 4690, 4690, (COPY, 4990)),
    JudgedPosition("odd", AT, COPY, 700, 700, 650, 650, None, Evidence.NONE, 0, 60),
    JudgedPosition("ahead", AT, COPY, 10, 10, 12, 12, 10, Evidence.CONTENT, -2, -2),
    JudgedPosition("unseen", AT, COPY, 7, note="no checkpoint"),
)
REPORT = MirrorReport("old", "new", 1234, 1500, ROWS, ("bounds only for some",))
WRITTEN, NOT_WRITTEN = (MirrorCheckpoint("late", COPY, 5000, 4990),), (LeftOut("new", AT, "not copied yet"),)
PLAN = PublishPlan("old-new", "old", ".", WRITTEN, NOT_WRITTEN, "cafe")
PUBLISHED = Published("old", WRITTEN, NOT_WRITTEN)


class Mirrors:
    """The operations, filled with values; keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[Any] = []

    async def report(self, source: ClusterContext, target: ClusterContext, *aliases: Any, **more: Any) -> MirrorReport:
        self.asked.append((source.name, target.name, *aliases, more))
        return REPORT


def text_of(renderable: Any) -> str:
    """What a wide pipe is given."""
    console = Console(width=200, file=io.StringIO())
    with console.capture() as captured:
        console.print(renderable)
    return captured.get()


def test_a_report_begins_with_what_has_no_answer_and_then_the_worst() -> None:
    """Who reads the first lines knows the risk; a bound, an exact number and a skip are told apart."""
    lines = text_of(tables.report(REPORT)).splitlines()
    assert lines[0].rstrip() == "old->new: 1,234 offset syncs, heartbeat 1.5 s ago"
    assert [line.split()[0] for line in lines[2:7]] == ["unseen", "late", "odd", "calm", "ahead"]
    assert "4,690" in lines[3] and "map" in lines[3] and "old.flights-0: 4,990" in lines[3]
    assert "at most 60" in lines[4]
    assert "skips 2" in lines[6]
    assert "4 of 5 positions have an answer, 1 exact" in lines[7] and "at most 4,750 records again" in lines[7]
    assert "bounds only for some" in lines[8]


def test_what_has_no_exact_answer_is_said_with_its_reason() -> None:
    """A checkpoint that is not written is not passed over in silence."""
    for text in (text_of(tables.publishing(PLAN)), text_of(tables.published(PUBLISHED, "."))):
        assert "no answer for new, flights-0: not copied yet" in text
    assert "1 checkpoint for old.checkpoints.internal" in text_of(tables.publishing(PLAN))
    assert "1 checkpoint written to old.checkpoints.internal" in text_of(tables.published(PUBLISHED, "."))


def test_the_command_that_publishes_is_the_one_that_was_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_clusters: list[str]
) -> None:
    """Alias, separator and target come back in it; done, the positions are said once."""

    async def show(*_: object) -> object:
        return SimpleNamespace(spec=LinkSpec("old-new", ClusterRef("old", "A"), ClusterRef("new", "B")))

    async def plan(*_: object, source_alias: str, separator: str) -> PublishPlan:
        return replace(PLAN, source_alias=source_alias, separator=separator)

    async def apply(source: ClusterContext, target: ClusterContext, planned: PublishPlan) -> Published:
        assert (source.name, target.name, planned.source_alias) == ("old", "new", "o")
        return replace(PUBLISHED, source_alias=planned.source_alias)

    monkeypatch.setattr("anabranch.operations.links.show.show", show)
    monkeypatch.setattr("anabranch.operations.mirrormaker.publish.plan", plan)
    monkeypatch.setattr("anabranch.operations.mirrormaker.publish.apply", apply)
    file = tmp_path / "contexts.yaml"
    clusters = "".join(f"  {name}:\n    bootstrap: ['127.0.0.1:1']\n" for name in ("old", "new"))
    file.write_text(f"version: 1\ncontexts:\n{clusters}")
    flags = ["--target", "new", "--source-alias", "o", "--separator", "__"]
    done = CliRunner().invoke(app, ["--contexts", str(file), "mm2", "publish", "old-new", *flags])
    assert done.exit_code == 0, (done.output, done.exception)
    command = "anabranch mm2 publish old-new --source-alias o --separator __ --target new --execute --plan cafe"
    assert f"Apply with: {command}\n" in done.output
    for more in (["--execute"], ["--execute", "--plan", "cafe"]):
        done = CliRunner().invoke(app, ["--contexts", str(file), "mm2", "publish", "old-new", *flags, *more])
        assert done.exit_code == 0, (done.output, done.exception)
        assert done.output.count("late") == 1 and "1 checkpoint written to o__checkpoints" in done.output


@pytest.mark.parametrize(
    ("alias", "separator", "field"), [("a b", ".", "--source-alias"), ("old", "/", "--separator"), ("x" * 250, ".", "")]
)
def test_an_alias_that_no_topic_can_be_named_by_is_refused_before_anything_is_asked(
    alias: str, separator: str, field: str
) -> None:
    """Also where it is only shown: the preview would end in a refusal of the broker."""
    nowhere = ClusterContext("nowhere", ("127.0.0.1:1",))
    with pytest.raises(InvalidFieldError) as caught:
        plan_publish(nowhere, nowhere, "old-new", source_alias=alias, separator=separator)
    assert field in caught.value.message
    assert "is not a legal topic name" in caught.value.message


def test_checkpoints_are_in_the_order_of_groups_and_partitions() -> None:
    """2 comes before 10."""
    spec = LinkSpec("old-new", ClusterRef("old", "A"), ClusterRef("new", "B"))
    maps = LinkMaps(spec, {"flights": "old.flights"}, {})
    places = [TopicPartition("flights", number) for number in (10, 2, 0)]
    found = checkpoints(maps, {group: dict.fromkeys(places, Commit(1)) for group in ("late", "calm")})
    order = [(one.group, one.source.partition) for one in found if isinstance(one, LeftOut)]
    assert order == [(group, number) for group in ("calm", "late") for number in (0, 2, 10)]


def test_report_passes_its_options_on_and_writes_json(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_clusters: list[str]
) -> None:
    """Field names are the model's; the operation is given both clusters and all that was said."""
    engine = Mirrors()
    monkeypatch.setattr("anabranch.operations.mirrormaker.report.report", engine.report)
    file = tmp_path / "contexts.yaml"
    clusters = "".join(f"  {name}:\n    bootstrap: ['127.0.0.1:1']\n" for name in ("old", "new"))
    file.write_text(f"version: 1\ncontexts:\n{clusters}")
    flags = ["--source", "old", "--target", "new", "--source-alias", "o", "--link", "old-new", "--look", "3"]
    done = CliRunner().invoke(app, ["--contexts", str(file), "mm2", "report", *flags, "-o", "json"])
    assert done.exit_code == 0, (done.output, done.exception)
    told = json.loads(done.stdout)
    assert told["rows"][1]["ours"] == ["old.flights-0", 4990]
    assert told["rows"][0]["evidence"] == "content"
    assert engine.asked == [("old", "new", "o", None, {"separator": ".", "link": "old-new", "look": 3})]


def test_a_bound_that_nobody_knows_is_not_counted_as_nothing() -> None:
    """It is said in its row and in the sum."""
    row = JudgedPosition("blind", AT, COPY, 700, 700, 650, None, None, Evidence.NONE, 0, None)
    lines = text_of(tables.report(MirrorReport("old", "new", 0, None, (row,)))).splitlines()
    assert "not known" in lines[2] and "it is not known for 1 positions" in lines[3]


def test_what_is_approximate_says_by_how_much(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_clusters: list[str]
) -> None:
    """The same table as a link's translations, and the exit code of answers that are not all exact."""
    asked: list[Any] = []

    async def translate(
        source: ClusterContext, target: ClusterContext, questions: Any, *aliases: Any, **more: Any
    ) -> Any:
        asked.append((source.name, target.name, questions, aliases, more))
        kinds = [
            Answered(AT, 5, AnswerKind.EXACT, COPY, 4, "by the records around it"),
            Answered(AT, 900, AnswerKind.APPROXIMATE, COPY, 640, "by a sync", most_again=1260),
            Answered(AT, 901, AnswerKind.APPROXIMATE, COPY, 640, "by a sync"),
        ]
        return Translation("old->new", "new", tuple(kinds))

    monkeypatch.setattr("anabranch.operations.mirrormaker.translate.translate", translate)
    file = tmp_path / "contexts.yaml"
    clusters = "".join(f"  {name}:\n    bootstrap: ['127.0.0.1:1']\n" for name in ("old", "new"))
    file.write_text(f"version: 1\ncontexts:\n{clusters}")
    words = ["flights-0:5", "flights-0:900", "flights-0:901", "--source", "old", "--target", "new"]
    monkeypatch.setenv("COLUMNS", "200")
    done = CliRunner().invoke(app, ["--contexts", str(file), "mm2", "translate", *words, "--look", "0"])
    assert isinstance(done.exception, NotAllExactError)
    assert (done.exception.exit_code, done.exception.refused) == (6, 2)
    lines = done.output.splitlines()
    assert "exact" in lines[1]
    assert "approximate" in lines[2] and "at most 1,260 offsets are read again" in lines[2]
    assert "an unknown number of offsets are read again" in lines[3]
    assert asked == [("old", "new", [(AT, 5), (AT, 900), (AT, 901)], (None, None), {"separator": ".", "look": 0})]
