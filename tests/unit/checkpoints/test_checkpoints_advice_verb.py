"""``anabranch checkpoint advise``: what is asked of the engine, what is shown of its answer, and the exit code."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from advice_samples import A, B, attempt, facts, page
from typer.testing import CliRunner

from anabranch.checkpoints.advice import Advice, Facts, ResumeOffsets
from anabranch.checkpoints.advice import advise as ranked
from anabranch.checkpoints.plan import RewriteSpec
from anabranch.cli.app import app
from anabranch.config import offsets_file
from anabranch.errors import AnabranchError
from anabranch.kafka.clusters import Clusters
from anabranch.model.cluster import ClusterContext
from anabranch.model.reasons import Reason, ReasonKind
from anabranch.model.topics import TopicPartition
from anabranch.operations.checkpoints.advice_input import AdviceInput
from anabranch.operations.checkpoints.translation_source import TranslationSource

pytestmark = pytest.mark.unit

EXACT: Mapping[TopicPartition, int] = {A: 105, B: 205}
WHOLE = ResumeOffsets(EXACT)
UNREAD = TopicPartition("orders", 7)
NOT_YET = Reason(ReasonKind.NOT_COPIED, "orders-0 is at 100, and the link has copied up to 90", "wait for the link")


class Engine:
    """The engine, with given facts."""

    def __init__(self, known: Facts, exact: ResumeOffsets | Reason = WHOLE) -> None:
        self.known = known
        self.exact = exact
        self.translation: list[tuple[str, AdviceInput, RewriteSpec, str, str]] = []

    async def advise(
        self,
        _: Clusters,
        path: str,
        told: AdviceInput,
        rewrite_spec: RewriteSpec,
        translation: TranslationSource | None,
        source: ClusterContext | None,
    ) -> tuple[Advice, ResumeOffsets | Reason]:
        self.translation.append((path, told, rewrite_spec, str(translation), "" if source is None else source.name))
        return ranked(self.known), self.exact


def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, engine: Engine, *words: str) -> tuple[int, str]:
    """Exit code and all that was printed."""
    monkeypatch.setattr("anabranch.operations.checkpoints.advise.advise", engine.advise)
    contexts = tmp_path / "contexts.yaml"
    contexts.write_text("contexts:\n  old:\n    bootstrap: [a:9092]\n  new:\n    bootstrap: [b:9092]\n")
    found = CliRunner().invoke(app, ["--contexts", str(contexts), "checkpoint", "advise", "/save/1", *words])
    if isinstance(found.exception, AnabranchError):
        return found.exception.exit_code, f"{found.output}{found.exception.message}\n{found.exception.hint}"
    return found.exit_code, found.output


LINK = ("--link", "old-new", "--target", "new")


def test_the_route_is_repeated_in_the_steps(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What was typed reaches the engine; the best way has its steps with whole commands, the others none."""
    engine = Engine(facts())
    words = (*LINK, "--source", "orders-source", "--group", "g", "--no-sql", "--downtime", "60", "--cluster", "old")
    code, text = run(monkeypatch, tmp_path, engine, *words)
    assert code == 0
    ((path, told, rewrite_spec, translation, source),) = engine.translation
    assert (path, translation, source) == ("/save/1", "link old-new", "old")
    assert told == AdviceInput((*LINK, "--source", "orders-source"), "g", None, False, 60.0, 5.0)
    assert rewrite_spec.sources == {"orders-source"}
    assert "anabranch checkpoint rewrite /save/1 --link old-new --target new --to /save/1-moved --plan HASH" in text
    assert "only the servers changed: 10 records read again, 0 never read" in text
    assert "flink run -s /save/1 --allowNonRestoredState" not in text


def test_the_steps_of_every_way_are_shown_when_asked_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """``--all`` shows those of the other ways too."""
    code, text = run(monkeypatch, tmp_path, Engine(facts()), *LINK, "--all")
    assert code == 0
    assert "flink run -s /save/1 --allowNonRestoredState" in text


def test_exact_positions_are_written_as_an_offsets_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """``--out`` writes them for the target; where they are not exact nothing is written, and the reason is said."""
    out = tmp_path / "positions.json"
    code, text = run(monkeypatch, tmp_path, Engine(facts()), *LINK, "--out", str(out))
    assert code == 0
    assert "2 offsets are in" in text
    assert offsets_file.load(out) == EXACT
    assert offsets_file.cluster_of(out) == "new"
    assert "not in it" not in text
    _, text = run(monkeypatch, tmp_path, Engine(facts(), ResumeOffsets(EXACT, (UNREAD,))), *LINK, "--out", str(out))
    assert "not in it: orders-7, which nobody has read yet" in text
    other = tmp_path / "other.json"
    code, text = run(monkeypatch, tmp_path, Engine(facts(), NOT_YET), *LINK, "--out", str(other))
    assert code == 3
    assert "was not written: orders-0 is at 100" in text
    assert "wait for the link" in text
    assert not other.exists()


def test_out_needs_a_route(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing can be written where nobody said where positions lead."""
    engine = Engine(facts())
    code, text = run(monkeypatch, tmp_path, engine, "--out", str(tmp_path / "o.json"))
    assert (code, engine.translation) == (2, [])
    assert "no route says where positions lead" in text


def test_out_is_of_one_cluster(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Links to two clusters have no common offsets file."""
    engine = Engine(facts())
    code, text = run(monkeypatch, tmp_path, engine, "--link", "a@new", "--link", "b@old", "--out", str(tmp_path / "o"))
    assert (code, engine.translation) == (2, [])
    assert "the links lead to new and old" in text and "--stay" in text


def test_where_no_way_is_possible_it_ends_with_3(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Every way is shown with its reason, and the exit code says that none can be taken."""
    gone = Reason(ReasonKind.EXPIRED, "the target lost what was not read", "copy the topic anew")
    known = facts(
        answers=dict.fromkeys(facts().positions, gone),
        attempts=(attempt((), gone),),
        drop=attempt((), gone),
        sql=True,
        page=page(),
    )
    code, text = run(monkeypatch, tmp_path, Engine(known, gone), *LINK)
    assert code == 3, text
    assert "no way is possible as things are" in text
    assert "8 impossible ways" in text
    assert "the target lost what was not read" in text


def test_programs_get_every_way_with_its_numbers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """JSON has the ways in their order, with conditions, effect and steps."""
    code, text = run(monkeypatch, tmp_path, Engine(facts()), *LINK, "-o", "json")
    assert code == 0
    found = json.loads(text)
    assert found["ways"][0]["kind"] == "rewritten checkpoint"
    assert found["ways"][0]["effect"] == {"repeated": 0, "lost": 0, "why": "every record once"}
    assert found["unmodified_restart"]["repeated"] == 10
    assert len(found["ways"]) == 8
