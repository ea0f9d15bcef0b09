"""Checkpoints on HDFS: the fence, the noted script, trials and what is brought, by Hadoop's own driver."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from anabranch.checkpoints.errors import MissingFileError
from anabranch.spark.streams.bringing import Bringing
from anabranch.spark.streams.fence import NewerStartError, StreamFence
from anabranch.spark.streams.hadoop_files import HadoopFiles, opener, settings_at
from anabranch.spark.streams.trial import refusal
from anabranch.storage.errors import StorageError
from anabranch.storage.stream_checkpoints import MOVED, NotedScript, batches, note_script, noted, own
from tests.integration.checkpoints.hdfs import hdfs_roots

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A directory there, as somebody who may write it."""
    with pytest.MonkeyPatch.context() as patch, hdfs_roots(tmp_path_factory.mktemp("hdfs")) as (_, place):
        patch.setenv("HADOOP_USER_NAME", "someone")
        yield f"{place}/streams"


def test_files_there_are_written_whole_listed_read_copied_and_deleted(
    spark: SparkSession, root: str, tmp_path: Path
) -> None:
    """As the other trees: over what is there, absent ones told apart, from and to this machine."""
    there, here = HadoopFiles(spark, f"{root}/files"), HadoopFiles(spark, str(tmp_path / "files"))
    assert list(there.list()) == [] and there.stat("a/b") is None
    there.put("a/b", b"one")
    there.put("a/b", b"\x00second")
    assert there.read("a/b", 100) == b"\x00second"
    assert [(one.name, one.size, one.is_directory) for one in there.list("a")] == [("b", 7, False)]
    with pytest.raises(MissingFileError):
        there.read("a/c", 100)
    here.copy("a/b", there)
    assert (tmp_path / "files" / "a" / "b").read_bytes() == b"\x00second"
    here.put("a/c", b"third")
    there.copy("a/c", here)
    assert sorted(path for path, _ in there.walk()) == ["a/b", "a/c"]
    there.delete("a/c")
    there.delete("a/c")
    there.delete_tree("a")
    assert list(there.list()) == []
    with pytest.raises(StorageError, match=r"cannot reach it: .*UnknownHost"):
        HadoopFiles(spark, root.replace("hdfs://127.0.0.1", "hdfs://127.0.0.1.invalid"))


class CountedRows:
    """A count of rows by name, run over what there is with checkpoints at some place."""

    def __init__(self, spark: SparkSession, home: Path) -> None:
        self.spark, self.home, self.files = spark, home, 0
        (home / "in").mkdir()

    def rows(self, *keys: str) -> DataFrame:
        """The count by some columns."""
        read = self.spark.readStream.schema("name STRING, town STRING").json(str(self.home / "in"))
        return read.groupBy(*keys).count()

    def run(self, place: str) -> list[list[Any]]:
        """With one row more; what was counted."""
        self.files += 1
        (self.home / "in" / f"{self.files}.json").write_text('{"name": "mei", "town": "ulm"}\n', encoding="utf-8")
        found: list[list[Any]] = []
        rows = self.rows("name").writeStream.outputMode("update").trigger(availableNow=True)
        query = rows.foreachBatch(lambda batch, _: found.extend(list(row) for row in batch.collect()))
        query.option("checkpointLocation", f"{place}/counts").start().awaitTermination()
        return found


def test_checkpoints_go_there_are_tried_there_and_come_back(spark: SparkSession, root: str, tmp_path: Path) -> None:
    """State and position; a query that does not fit is told by a copy; an older start finds the newer one's fence."""
    session = spark.newSession()
    local, place = str(tmp_path / "ck"), f"{root}/s/checkpoints-1"
    for name, value in settings_at(place).items():
        session.conf.set(name, value)
    counts, open_place = CountedRows(session, tmp_path), opener(session, place, local)

    def bring(number: int, to: str, *former: str) -> int:
        files = open_place(to)
        look = Bringing.look("s", files, number, former, open_place, has_run=True, begins=False)
        fence = StreamFence(files, number)
        fence.take()
        return look.bring(fence)

    assert counts.run(local) == [["mei", 1]]
    note_script(open_place(local), 1, "SELECT 1")
    assert bring(2, place, local) > 3
    there = open_place(place)
    assert isinstance(there, HadoopFiles) and (tmp_path / "ck" / MOVED).is_file()
    assert (noted(there), own(there, "counts")) == (NotedScript("SELECT 1", ()), ("counts", 0))
    assert counts.run(place) == [["mei", 2]]
    assert batches(there, "counts", "commits") == [0, 1]

    before = {path: entry.size for path, entry in there.walk()}
    assert refusal(counts.rows("name"), "update", there, "counts") == ""
    assert refusal(counts.rows("name", "town"), "update", there, "counts") != ""
    assert {path: entry.size for path, entry in there.walk()} == before
    note_script(there, 2, "SELECT 2")
    assert noted(there) == NotedScript("SELECT 2", ()), "over the one that is there"
    for files in (there, open_place(local)):
        with pytest.raises(NewerStartError):
            StreamFence(files, 1).take()

    assert bring(3, local, place, local) > 3
    assert counts.run(local) == [["mei", 3]]
