"""Checkpoints on HDFS: the fence, the noted script, trials and what is brought, by Hadoop's own driver."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from anabranch.checkpoints.errors import MissingFileError
from anabranch.config.jobspec import write_spec
from anabranch.config.streamspec import StreamRunSpec
from anabranch.spark.streams.bringing import MOVED
from anabranch.spark.streams.hadoop_files import HadoopFiles
from anabranch.storage.errors import StorageError
from qa.timeouts import LONG_TIMEOUT_S
from tests.integration.checkpoints.hdfs import hdfs_roots

pytestmark = pytest.mark.full
SCRIPT = """
CREATE TABLE src (name STRING, town STRING) USING json OPTIONS (path '{home}/in');
CREATE TABLE counts (name STRING, times BIGINT) USING console;
INSERT INTO counts SELECT name, count(*) FROM STREAM src GROUP BY name;
"""


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


class HdfsJobs:
    """One stream's starts, each with its place."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.starts = 0
        (home / "in").mkdir()

    def start(self, place: str, *former: str, script: str = SCRIPT, fence: int = 0) -> list[Any]:
        """Run over what there is with rows of one name more; returns the events."""
        self.starts += 1
        (self.home / "in" / f"{self.starts}.json").write_text('{"name": "mei", "town": "ulm"}\n', encoding="utf-8")
        run = f"run-{self.starts}"
        spec = StreamRunSpec("s", 1, run, fence or self.starts, script.format(home=self.home), place)
        write_spec(
            self.home / f"{run}.json", replace(spec, trigger="availableNow", former=former, has_run=True).to_json()
        )
        command = [sys.executable, "-m", "anabranch.spark.jobs.stream", str(self.home / f"{run}.json")]
        settings = ("spark.driver.memory=512m", "spark.sql.shuffle.partitions=1")
        command += ["--master", "local[1]", *(word for one in settings for word in ("--conf", one))]
        done = subprocess.run(
            command, env={**os.environ}, capture_output=True, text=True, timeout=LONG_TIMEOUT_S, check=False
        )
        print(done.stderr[-3000:])
        return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def counted(events: list[Any]) -> list[Any]:
    """The last rows that were shown."""
    shown = [event["rows"] for event in events if event["event"] == "rows"]
    return list(shown[-1]) if shown else [event for event in events if event["event"] == "failed"]


def test_a_stream_goes_on_there_is_tried_there_and_comes_back(root: str, tmp_path: Path) -> None:
    """State and position; a script that does not fit is refused; an older start finds the newer one's fence."""
    jobs, local, place = HdfsJobs(tmp_path), str(tmp_path / "ck"), f"{root}/s/checkpoints-1"
    jobs.starts = 1
    (tmp_path / "in" / "1.json").write_text('{"name": "mei", "town": "ulm"}\n', encoding="utf-8")
    write = jobs.start(local, "file:///none")[-2:]
    assert write[0]["event"] == "failed" and "its checkpoints are gone" in write[0]["error"]

    spec_free = jobs.start(local)
    assert counted(spec_free) == [["mei", 3]]
    assert counted(jobs.start(place, local)) == [["mei", 4]]
    assert (tmp_path / "ck" / MOVED).is_file()
    assert counted(jobs.start(place, place, local)) == [["mei", 5]]

    other = SCRIPT.replace("GROUP BY name", "GROUP BY name, town")
    (refused,) = counted(jobs.start(place, place, local, script=other))
    assert "does not go on with its checkpoints" in refused["error"] and refused["exit_code"] == 3
    (old,) = counted(jobs.start(place, place, local, fence=2))
    assert "belongs to start" in old["error"]

    assert counted(jobs.start(local, place, local)) == [["mei", 8]]
