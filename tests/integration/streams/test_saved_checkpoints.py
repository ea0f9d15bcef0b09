"""Checkpoints that are saved under a name: whole or not at all, and a stream goes back to one exactly, once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from anabranch.config.streamspec import StreamBegin
from anabranch.sandbox import SandboxCluster
from anabranch.spark.streams.file_logs import ForeignFilesError
from anabranch.storage.local import LocalFiles
from anabranch.storage.saved_checkpoints import (
    SAVED,
    NoQuerySavedError,
    NoSavedError,
    SavedCheckpoint,
    SavedExistsError,
    delete,
    goes_back,
    queries_of,
    save,
    saved,
    saved_as,
    stage,
)
from anabranch.storage.stream_checkpoints import own
from anabranch.streams.state.results import OpenBatchError
from tests.integration.links.topics import create, fresh
from tests.integration.streams.lab import consumed, produce_json
from tests.integration.streams.test_changed_state import MINUTES, Starts, rows
from tests.integration.streams.test_pyspark_jobs import COPY, SINK, PySparkLab, numbers

pytestmark = pytest.mark.test

KILLED = """
import os, signal, sys
from anabranch.storage.local import LocalFiles
from anabranch.storage.saved_checkpoints import SavedCheckpoint, queries_of, save

left = int(sys.argv[2])
for name in ("_put", "_commit", "become"):
    def counted(self, *given, _before=getattr(LocalFiles, name), **more):
        global left
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return _before(self, *given, **more)
    setattr(LocalFiles, name, counted)
files = LocalFiles(sys.argv[1], sys.argv[1])
save(files, "s", SavedCheckpoint("one", 7, "mei", 3, "SELECT 1", queries_of(files, "s")), lambda: None)
"""


def keep(files: LocalFiles, name: str) -> SavedCheckpoint:
    """Save what there is."""
    told = SavedCheckpoint(name, 7, "mei", 3, "SELECT 1", queries_of(files, "s"))
    save(files, "s", told, lambda: None)
    return told


def checkpoint(root: Path, directory: str, batches: int, offset: int, open_batch: bool = False) -> None:
    """A query's checkpoint as Spark leaves it."""
    place = root / directory
    for log in ("offsets", "commits", "state/0/0"):
        (place / log).mkdir(parents=True)
    (place / "metadata").write_text('{"id":"before"}')
    (place / ".metadata.crc").write_text("sum")
    for batch in range(batches):
        (place / "offsets" / str(batch)).write_text(f'v1\n{{}}\n{{"t":{{"0":{offset - batches + 1 + batch}}}}}')
        if batch < batches - 1 or not open_batch:
            (place / "commits" / str(batch)).write_text("v1\n{}")
        (place / "state/0/0" / f"{batch}.delta").write_bytes(bytes([batch]) * 100)


def contents(root: Path) -> dict[str, bytes]:
    """Every file of a tree."""
    return {str(one.relative_to(root)): one.read_bytes() for one in sorted(root.rglob("*")) if one.is_file()}


def test_saved_are_listed_and_nothing_changes_them(tmp_path: Path) -> None:
    """The own checkpoint of each query, whatever its number; a name is given once; deleted, it is gone."""
    checkpoint(tmp_path, "views", 2, 10)
    checkpoint(tmp_path, "views@7", 3, 40)
    checkpoint(tmp_path, "saved", 1, 5)
    (tmp_path / "fence").mkdir()
    files = LocalFiles(str(tmp_path), str(tmp_path))
    with pytest.raises(NoSavedError):
        saved_as(files, "s", "one")
    told = keep(files, "one")
    assert [(one.query, one.batch, one.offsets) for one in told.queries] == [
        ("saved", 0, {"t": {"0": 5}}),
        ("views", 2, {"t": {"0": 40}}),
    ]
    assert list(saved(files)) == [told]
    assert contents(tmp_path / SAVED / "one" / "views") == contents(tmp_path / "views@7")
    with pytest.raises(SavedExistsError):
        keep(files, "one")
    assert own(files, "saved") == ("saved", 0)
    checkpoint(tmp_path, "views@9", 2, 100)
    (_, now), (_, then) = queries_of(files, "s"), told.queries
    assert goes_back(now, then) == 60
    with pytest.raises(NoQuerySavedError):
        stage(files, "s", "one", "other", "other@11")
    delete(files, "s", "one")
    assert list(saved(files)) == [] and not any((tmp_path / SAVED).iterdir())
    checkpoint(tmp_path, "half", 2, 10, open_batch=True)
    with pytest.raises(OpenBatchError):
        keep(files, "two")


def test_one_that_is_killed_as_it_saves_leaves_no_half_copy(tmp_path: Path) -> None:
    """D1: after any write; the next one finds nothing in its way, and what it saves is whole."""
    checkpoint(tmp_path, "views", 3, 10)
    before, step, environment = contents(tmp_path), 0, {**os.environ, "PYTHONPATH": os.getcwd()}
    files = LocalFiles(str(tmp_path), str(tmp_path))
    while True:
        done = subprocess.run(
            [sys.executable, "-c", KILLED, str(tmp_path), str(step)], env=environment, check=False, capture_output=True
        )
        if done.returncode == 0:
            break
        assert done.returncode == -signal.SIGKILL, done.stderr
        assert list(saved(files)) == []
        assert {name: text for name, text in contents(tmp_path).items() if not name.startswith(SAVED)} == before
        step += 4
    assert step > 12
    (told,) = saved(files)
    assert (told.name, told.version, [one.query for one in told.queries]) == ("one", 3, ["views"])
    assert contents(tmp_path / SAVED / "one" / "views") == contents(tmp_path / "views")
    assert [entry.name for entry in files.list(SAVED)] == ["one"]


def test_a_query_goes_back_to_a_saved_checkpoint_with_its_state_once(
    spark: SparkSession, tmp_path: Path, here: SandboxCluster
) -> None:
    """Its windows are what they were; a start that is done again goes on from what the first made."""
    starts = Starts(spark, tmp_path, here)
    script, files = starts.script(MINUTES), LocalFiles(starts.place, starts.place)
    produce_json(here, starts.topic, rows(0, 130))
    starts.start(script)
    keep(files, "before")
    produce_json(here, starts.topic, rows(130, 170))
    starts.start(script)
    (now,) = queries_of(files, "s")
    assert goes_back(now, saved_as(files, "s", "before").queries[0]) == 170
    shown = {(row["at"], row["page"], row["views"]) for _, found in starts.lab.shown for row in found}
    starts.lab.shown.clear()
    starts.lab.progress.clear()
    asked = StreamBegin(7, checkpoint="before")
    assert starts.start(script, asked, stop_before_it_runs=True) == ["kept@7"]
    assert starts.start(script, asked) == ["kept@7"]
    assert sum(one["rows_in"] or 0 for one in starts.lab.progress) == 170
    again = {(row["at"], row["page"], row["views"]) for _, found in starts.lab.shown for row in found}
    assert again and again <= shown
    ids = [json.loads((Path(starts.place) / one / "metadata").read_text())["id"] for one in ("kept", "kept@7")]
    assert ids[0] != ids[1]
    starts.lab.progress.clear()
    assert starts.start(script, asked) == ["kept@7"]
    assert not sum(one["rows_in"] or 0 for one in starts.lab.progress)
    with pytest.raises(NoSavedError):
        starts.start(script, StreamBegin(9, checkpoint="other"))


def test_the_exactly_once_sink_writes_again_what_came_after_the_saved_checkpoint(
    spark: SparkSession, tmp_path: Path, here: SandboxCluster
) -> None:
    """Of a script and of a PySpark file alike: once more, and no batch is taken for one that it has."""
    starts = Starts(spark, tmp_path, here)
    out = create(here, fresh("again"), 1)
    starts.sink = f"kafka OPTIONS (cluster 'here', topic '{out}')"
    script, files = starts.script("SELECT n FROM STREAM clicks"), LocalFiles(starts.place, starts.place)
    for first, name in ((0, "before"), (10, "later"), (20, "")):
        produce_json(here, starts.topic, rows(first, 10))
        starts.start(script)
        if name:
            keep(files, name)
    starts.start(script, StreamBegin(7, checkpoint="before"))
    produce_json(here, starts.topic, rows(30, 10))
    starts.start(script)
    found = [json.loads(value or b"")["n"] for _, value in consumed(here, out, 60)]
    assert found == [*range(30), *range(10, 30), *range(30, 40)]

    lab = PySparkLab(spark, tmp_path / "file", here)
    topic, out = create(here, fresh("files"), 1), create(here, fresh("files-out"), 1)
    text, files = COPY.format(topic=topic, writer=SINK.format(out=out)), LocalFiles(lab.place, lab.place)
    numbers(here, topic, 0, 5)
    lab.run(text)
    keep(files, "before")
    numbers(here, topic, 5, 5)
    lab.run(text)
    for _ in range(2):
        lab.run(text, begin=StreamBegin(7, checkpoint="before"))
    found = [int(value or b"") for _, value in consumed(here, out, 15)]
    assert found == [3 * n for n in (*range(10), *range(5, 10))]


def test_a_table_of_files_is_not_passed_over(spark: SparkSession, tmp_path: Path, here: SandboxCluster) -> None:
    """It is refused before the query's checkpoint is another: a start as before goes on as before."""
    starts = Starts(spark, tmp_path, here)
    starts.sink = f"parquet OPTIONS (path '{tmp_path / 'out'}')"
    script, files = starts.script("SELECT n FROM STREAM clicks"), LocalFiles(starts.place, starts.place)
    for first in (0, 50):
        produce_json(here, starts.topic, rows(first, 50))
        starts.start(script)
        if not first:
            keep(files, "before")
    with pytest.raises(ForeignFilesError):
        starts.start(script, StreamBegin(7, checkpoint="before"))
    produce_json(here, starts.topic, rows(100, 10))
    assert starts.start(script) == ["kept"]
    assert starts.lab.rows(tmp_path / "out") == [(n,) for n in range(110)]
