"""``anabranch offsets rebuild``: what is asked of the operations, and what is made of the job's end."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from typer.testing import CliRunner

from anabranch.cli.app import app
from anabranch.cli.offsets.rebuild import _step
from anabranch.config import maps_file, rebuild_progress
from anabranch.config.maps_file import StoredMap
from anabranch.config.rebuildspec import LaneLogs, RecordPart
from anabranch.config.verifyspec import VerifySpec
from anabranch.model.cluster import ClusterContext
from anabranch.model.lane import LaneKey
from anabranch.model.topics import TopicId, TopicPartition
from anabranch.offsets.align.gaps import Unclear, Why
from anabranch.offsets.align.lane import Bounds
from anabranch.offsets.offset_map import MappedRange, OffsetMap
from anabranch.operations.jobs.readerjob import ReaderJob
from anabranch.operations.jobs.startedjob import StartedJob
from anabranch.operations.offsets.rebuild import RebuildPlan, StartedRebuild, step_of

pytestmark = pytest.mark.unit

ID = TopicId(UUID(int=7))
LANE = LaneKey("old-new", ID, 0)
HERE, THERE = TopicPartition("orders", 0), TopicPartition("old.orders", 0)
CLEAR = StoredMap(LANE, HERE, THERE, OffsetMap.of([MappedRange(0, 0, 5)]), ID)
UNCLEAR = StoredMap(
    LANE, HERE, THERE, CLEAR.ranges.append(MappedRange(9, 8, 4)), ID, (Unclear(5, 9, 5, 8, Why.SEVERAL),)
)


class Engine:
    """The operations, with a job that writes given maps, or fails."""

    def __init__(self, made: StoredMap | None, fails: str = "raise SystemExit(4)") -> None:
        self.made, self.finished = made, False
        self.fails = fails
        self.asked: list[Any] = []

    async def plan(
        self, source: ClusterContext, target: ClusterContext, link: str, topics: Mapping[str, str], ignore: Any
    ) -> RebuildPlan:
        self.asked.append((source.name, target.name, link, dict(topics), list(ignore)))
        logs = LaneLogs(LANE, HERE, THERE, ID, Bounds(0, 13, 0, 12))
        return RebuildPlan(link, (logs,), "cafe", dict(topics), frozenset(ignore))

    async def apply(
        self, source: ClusterContext, target: ClusterContext, planned: RebuildPlan, out: Path, job: ReaderJob
    ) -> StartedRebuild:
        spec, work = planned.spec(job.source, job.target), job.directory
        self.asked.append((job.source.name, job.target.name, job.master, dict(job.settings)))
        if self.made is None:
            if self.finished:
                rebuild_progress.keep(out, spec, [CLEAR], 5)
            (work / "rebuild.log").write_text('noise\n{"error": "no broker answers", "hint": ""}\n')
            return self._started(planned, out, work, self.fails)
        maps_file.save_rebuilt(out, spec.link, "old", "new", [self.made], 5)
        step = json.dumps({"step": "done", "seconds": 1.5, "runs": 1234})
        return self._started(planned, out, work, f"print({step!r})")

    @staticmethod
    def _started(planned: RebuildPlan, out: Path, work: Path, program: str) -> StartedRebuild:
        process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
        return StartedRebuild(planned.link, out, StartedJob(planned.link, work / "rebuild.log", process))


def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, engine: Engine, *words: str) -> tuple[int, str]:
    """Exit code and all that was printed."""
    monkeypatch.setattr("anabranch.operations.offsets.rebuild.plan", engine.plan)
    monkeypatch.setattr("anabranch.operations.offsets.rebuild.apply", engine.apply)
    contexts = tmp_path / "contexts.yaml"
    contexts.write_text("contexts:\n  old:\n    bootstrap: [a:9092]\n  new:\n    bootstrap: [b:9092]\n")
    command = ["--contexts", str(contexts), "offsets", "rebuild", "--source", "old", "--target", "new"]
    made = CliRunner().invoke(app, [*command, "--out", str(tmp_path / "maps.json"), *words])
    code = made.exit_code if not isinstance(made.exception, Exception) else getattr(made.exception, "exit_code", 1)
    return code, made.output + str(made.exception or "")


@pytest.mark.test
def test_copies_are_called_as_mirror_maker_calls_them_unless_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A name by policy, one that is given, and what does not count; the job's steps are shown."""
    engine = Engine(CLEAR)
    words = ["--topic", "orders", "--topic", "bills=copy-of-bills", "--ignore", "headers", "--conf", "a=b"]
    code, said = run(monkeypatch, tmp_path, engine, *words)
    assert code == 0, said
    topics = {"orders": "old.orders", "bills": "copy-of-bills"}
    assert engine.asked == [
        ("old", "new", "old-new", topics, [RecordPart.HEADERS]),
        ("old", "new", "local[*]", {"a": "b"}),
    ]
    assert "1.5 s  done: runs 1,234" in said
    assert maps_file.load(tmp_path / "maps.json") == (CLEAR,)


@pytest.mark.test
def test_unclear_stretches_are_an_exit_code_of_their_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The file is there, and a comparison of what follows the stretch is described."""
    words = ["--topic", "orders", "--verify-spec", str(tmp_path / "verify.json")]
    code, said = run(monkeypatch, tmp_path, Engine(UNCLEAR), *words)
    assert code == 6, said
    assert maps_file.load(tmp_path / "maps.json") == (UNCLEAR,)
    described = VerifySpec.from_json((tmp_path / "verify.json").read_text())
    (one,) = described.pins
    assert (one.source_from, one.source_to, one.target_from, one.target_to) == (9, 13, 8, 12)
    assert described.doubts == {"orders-0": "unclear up to source offset 9; only what follows is compared"}


@pytest.mark.test
def test_a_job_that_fails_leaves_no_file_and_its_own_words(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What the job said last is what the person reads, and its exit code is the verb's."""
    code, said = run(monkeypatch, tmp_path, Engine(None), "--topic", "orders")
    assert code == 4
    assert "no maps were made: the job ended with 4: no broker answers" in said
    assert not (tmp_path / "maps.json").exists()


@pytest.mark.parametrize("flag", ["--out", "--verify-spec"])
def test_a_file_that_cannot_be_written_is_said_before_anything_is_asked(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, flag: str
) -> None:
    """Not after hours of aligning."""
    engine = Engine(CLEAR)
    code, said = run(monkeypatch, tmp_path, engine, "--topic", "orders", flag, str(tmp_path / "nowhere" / "file.json"))
    assert (code, engine.asked) == (2, [])
    assert "nowhere/file.json: cannot write it: No such file or directory" in said


@pytest.mark.test
def test_what_a_job_had_finished_is_named_when_it_ends_and_when_it_goes_on(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """With its file, which is deleted to begin from the start."""
    engine = Engine(None)
    engine.finished = True
    code, said = run(monkeypatch, tmp_path, engine, "--topic", "orders")
    assert code != 0 and "maps.json.part keeps the maps of 1 of 1 partitions" in said and "same command again" in said
    engine.made = CLEAR
    code, said = run(monkeypatch, tmp_path, engine, "--topic", "orders")
    assert code == 0 and "they are not made again; delete it to begin from the start" in said


def test_steps_have_words_and_numbers() -> None:
    """Of a piece its topics too."""
    step = {"step": "piece", "seconds": 3.0, "number": 2, "of": 1200, "topics": "orders"}
    assert _step(step_of(json.dumps(step))) == "    3.0 s  piece: number 2, of 1,200, topics orders"
    assert [_step(step_of(line)) for line in ("no json\n", "[1]", '{"a": 1}')] == ["no json", "[1]", '{"a": 1}']


@pytest.mark.test
@pytest.mark.parametrize(
    ("ends", "code", "words"),
    [
        ("raise SystemExit(1)", 1, "the job ended with 1"),
        ("import os; os.kill(os.getpid(), 9)", 5, "the job was killed by SIGKILL"),
        (f"import os, time; os.kill({os.getpid()}, 15); time.sleep(600)", 143, "interrupted"),
        (f"import os, time; os.kill({os.getpid()}, 2); time.sleep(600)", 130, "interrupted"),
    ],
    ids=["fault", "job killed", "verb terminated", "verb interrupted"],
)
def test_a_rebuild_that_is_killed_or_ended_is_not_done(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, ends: str, code: int, words: str
) -> None:
    """Whoever is killed: the exit code is not 0, no file is there, and the job ends with the verb."""
    found, said = run(monkeypatch, tmp_path, Engine(None, ends), "--topic", "orders")
    assert (found, words in said, (tmp_path / "maps.json").exists()) == (code, True, False)
