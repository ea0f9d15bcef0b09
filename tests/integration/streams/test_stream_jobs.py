"""``anabranch stream`` as a user starts it: the job, its events, its end, and what it leaves behind."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from anabranch.sandbox import SandboxCluster
from qa.runs import Runs
from qa.timeouts import LONG_TIMEOUT_S
from tests.integration.links.topics import admin, create, fresh
from tests.integration.streams.lab import consumed, produce_json

pytestmark = pytest.mark.full

SCRIPT = """
CREATE TABLE numbers (n BIGINT) USING kafka OPTIONS (cluster 'new', topic '{topic}', max.records.per.batch '50');
CREATE TABLE kept (n BIGINT, batch_of BIGINT) USING parquet OPTIONS (path '{out}');
INSERT INTO kept SELECT n, n div 50 FROM numbers;
SELECT n * 2 AS twice FROM numbers WHERE n >= 10;
"""
HERE = ("--master", "local[2]", "--conf", "spark.sql.shuffle.partitions=1")


@pytest.fixture
def runs(tmp_path: Path, here: SandboxCluster) -> Iterator[Runs]:
    """The verbs, in a directory of their own."""
    made = Runs(tmp_path, here, here)
    yield made
    made.end_all()


def script(runs: Runs, topic: str, text: str = SCRIPT) -> tuple[str, Path]:
    """A script's file, and where its rows go."""
    file, out = runs.directory / "numbers.sql", runs.directory / "out"
    file.write_text(text.format(topic=topic, out=out))
    return str(file), out


def events(runs: Runs) -> list[dict[str, Any]]:
    """The events that were printed, of all verbs."""
    return [json.loads(line) for line in runs.said if line.startswith("{")]


def kept(spark: SparkSession, out: Path) -> list[int]:
    """The numbers in the table of files, as Spark's log of it has them."""
    return sorted(row[0] for row in spark.read.parquet(str(out)).collect())


def numbers(first: int, count: int) -> list[dict[str, object]]:
    """Rows of the topic."""
    return [{"n": n} for n in range(first, first + count)]


def test_a_stream_that_is_stopped_and_one_that_is_killed_go_on_exactly(
    runs: Runs, here: SandboxCluster, spark: SparkSession
) -> None:
    """Each record is in the files once, and each run tells its life; SIGTERM ends it after a micro-batch with 0."""
    topic = create(here, fresh("jobs"), 2)
    produce_json(here, topic, numbers(0, 500))
    file, out = script(runs, topic)
    run = ("stream", "run", file, "--checkpoints", str(runs.directory / "ck"), "--log-format", "json", *HERE)

    process = runs.start(*run)
    runs.await_said('"event": "progress"')
    process.send_signal(signal.SIGTERM)
    assert process.wait(LONG_TIMEOUT_S) == 0
    runs.await_nobody()
    told = events(runs)
    kinds = [event["event"] for event in told if event["event"] != "progress"]
    assert kinds == ["starting", "lineage", "started", "stopping", "ended"]
    assert told[-1]["outcome"] == "stopped" and told[-1]["exit_code"] == 0
    batches = [event for event in told if event["event"] == "progress" and event["rows_in"]]
    assert sum(event["rows_in"] for event in batches) == told[-1]["queries"]["kept"]["rows_in"] > 0
    assert len(kept(spark, out)) == told[-1]["queries"]["kept"]["rows_in"]

    runs.start(*run)
    deadline = time.monotonic() + LONG_TIMEOUT_S
    while not any(event["event"] == "progress" for event in events(runs)[len(told) :]):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    runs.await_process("anabranch.spark.jobs.stream").kill()
    runs.await_nobody()

    produce_json(here, topic, numbers(500, 100), partition=1)
    assert runs.run(*run, "--trigger", "availableNow") == 0
    assert events(runs)[-1]["outcome"] == "finished"
    assert events(runs)[-1]["queries"]["kept"]["rows_in"] <= 600
    assert kept(spark, out) == list(range(600))


def test_one_whose_cluster_has_forgotten_its_batches_goes_on_and_an_older_checkpoint_is_noticed(
    runs: Runs, here: SandboxCluster
) -> None:
    """It stood still for longer than the cluster keeps commits of a group without members (here: the group goes)."""
    topic, out = create(here, fresh("rested")), create(here, fresh("rested-out"))
    text = (
        "CREATE TABLE numbers (n BIGINT) USING kafka OPTIONS (cluster 'new', topic '{topic}');\n"
        f"CREATE TABLE kept (n BIGINT) USING kafka OPTIONS (cluster 'new', topic '{out}');\n"
        "INSERT INTO kept SELECT n FROM numbers;\n"
    )
    file, _ = script(runs, topic, text)
    checkpoints = runs.directory / "ck"
    run = ("stream", "run", file, "--checkpoints", str(checkpoints), "--trigger", "availableNow", *HERE)

    def forget() -> None:
        query = json.loads((checkpoints / "kept" / "metadata").read_text())["id"]
        group = f"anabranch-sink-{query}"
        for future in admin(here).delete_consumer_groups([group]).values():
            future.result()

    for first in (0, 10, 20):
        produce_json(here, topic, numbers(first, 10))
        assert runs.run(*run) == 0
        forget()
    assert [json.loads(value or b"")["n"] for _, value in consumed(here, out, 30)] == list(range(30))

    for log in ("offsets", "commits"):
        (checkpoints / "kept" / log / "2").unlink()
        (checkpoints / "kept" / log / ".2.crc").unlink()
    assert runs.run(*run) != 0
    assert any("whether batch 2 of query" in line and "cannot be determined" in line for line in runs.said)
    assert len(consumed(here, out, 30)) == 30


def test_a_preview_shows_rows_and_leaves_nothing_behind(runs: Runs, here: SandboxCluster) -> None:
    """No consumer group, no file, no process; rows of any SELECT, from any position."""
    topic = create(here, fresh("previews"))
    produce_json(here, topic, numbers(0, 30))
    file, out = script(runs, topic)
    before = {group.group_id for group in admin(here).list_consumer_groups().result().valid}

    assert runs.run("stream", "preview", file, "--select", "4", "--rows", "3", "--from", f"{topic}-0:20", *HERE) == 0
    assert runs.said == ["twice", "40", "42", "44"]
    assert runs.run("stream", "preview", file, "--rows", "2", "--log-format", "json", *HERE) == 0
    runs.await_nobody()
    assert [event["rows"] for event in events(runs) if event["event"] == "rows"] == [[[0, 0], [1, 0]]]
    assert not out.exists()
    assert {group.group_id for group in admin(here).list_consumer_groups().result().valid} == before


def test_a_script_that_is_wrong_is_shown_with_its_line(runs: Runs) -> None:
    """By the splitter at once, by Spark once it has started: exit code 2, caret, hint."""
    file, _ = script(runs, "absent")
    assert runs.run("stream", "validate", file, *HERE) == 0
    assert any("kept" in line and "parquet" in line and "append" in line for line in runs.said)

    for text, line, caret, hint in (
        ("SELECT 1;\n  SELECT 'a", "  SELECT 'a", 9, "hint: end it with '"),
        (
            SCRIPT + "INSERT INTO kep SELECT n, n FROM numbers",
            "INSERT INTO kep SELECT n, n FROM numbers",
            12,
            "hint: did you mean kept?",
        ),
    ):
        runs.log.write_text("")
        file, _ = script(runs, "absent", text)
        assert runs.run("stream", "validate", file, *HERE) == 2
        assert runs.said[0].startswith(f"error: {file}: statement ")
        assert runs.said[1:] == [f"    {line}", f"    {' ' * caret}^", hint]


def test_a_run_that_fails_says_which_query_and_what_to_do(runs: Runs, here: SandboxCluster) -> None:
    """A record that cannot be decoded: exit code 5, with the query and its statement."""
    topic = create(here, fresh("failing"))
    produce_json(here, topic, [{"n": "x"}])
    file, _ = script(runs, topic)
    run = ("stream", "run", file, "--checkpoints", str(runs.directory / "ck"), "--log-format", "json", *HERE)
    assert runs.run(*run) == 5

    failed = next(event for event in events(runs) if event["event"] == "failed")
    assert (failed["query"], failed["statement"], failed["line"]) == ("kept", 3, 4)
    assert "on.error" in failed["hint"]
    assert events(runs)[-1]["outcome"] == "failed"
    assert runs.said[-2].startswith("error: query kept (statement 3, line 4) failed: ")
