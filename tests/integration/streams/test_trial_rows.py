"""Trials of scripts by Spark itself, in the service: rows of a real cluster, and limits that a JVM feels."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from anabranch.sandbox import SandboxCluster
from anabranch.service import trial_process
from anabranch.service.trial_process import start_trial
from qa.service import Served, serving, until
from tests.integration.links.topics import admin, create, fresh
from tests.integration.streams.lab import produce_json
from tests.integration.streams.test_trials import ask, ended, left

SCRIPT = """
CREATE TABLE numbers (n BIGINT) USING kafka OPTIONS (cluster 'here', topic '{topic}');
CREATE TABLE kept (n BIGINT, fifty BIGINT) USING parquet OPTIONS (path '{out}');
INSERT INTO kept SELECT n, n div 50 FROM numbers;
SELECT n * 2 AS twice FROM STREAM numbers WHERE n >= 10;
"""
FAST = "CREATE TABLE ticks USING rate OPTIONS (rowsPerSecond '{rate}');\n"


@pytest.fixture
def tried(tmp_path: Path, here: SandboxCluster) -> Iterator[Served]:
    """A service that knows the cluster ``here``, and one that is away, and whose trials are Spark's."""
    contexts = {"here": here.context(), "away": {"bootstrap": ["127.0.0.1:1"]}}
    with serving(str(tmp_path / "store.db"), contexts, tmp_path, tries=start_trial) as made:
        until(lambda: made.instance.acting.acts)
        yield made
    assert left(tmp_path) == []


def outcome(served: Served, script: str, **more: object) -> Any:
    """A preview once it is over."""
    return ended(served, ask(served, script, fresh=True, **more)["id"])


@pytest.mark.test
def test_a_preview_of_the_service_reads_a_cluster_and_leaves_nothing(
    tried: Served, here: SandboxCluster, tmp_path: Path
) -> None:
    """Rows from a position; no consumer group, no file, no process; the sink of the INSERT is never opened."""
    topic, out = create(here, fresh("trials")), tmp_path / "out"
    produce_json(here, topic, [{"n": n} for n in range(30)])
    before = {group.group_id for group in admin(here).list_consumer_groups().result().valid}
    found = outcome(tried, SCRIPT.format(topic=topic, out=out), select=4, rows=3, start=f"{topic}-0:20")
    assert found["problems"] == [] and found["rows"] == [[40], [42], [44]]
    assert (found["selected"], found["limit"]) == (4, "rows")
    assert found["columns"] == [{"name": "twice", "type": "bigint"}]
    until(lambda: left(tmp_path) == [])
    assert not out.exists()
    assert {group.group_id for group in admin(here).list_consumer_groups().result().valid} == before


@pytest.mark.full
def test_what_is_wrong_is_told_with_what_to_do(tried: Served, here: SandboxCluster, tmp_path: Path) -> None:
    """An unknown statement, a script without a SELECT, an unknown cluster and column, a cluster that is away."""
    script = SCRIPT.format(topic=create(here, fresh("trials")), out=tmp_path / "out")
    declared = script.partition("INSERT")[0]
    for text, select, said, hint in (
        (script, 2, "statement 2 has no rows", "3, 4"),
        (declared, 0, "no SELECT", "write a SELECT"),
        (script.replace("'here'", "'hare'"), 0, "no cluster 'hare'", "here"),
        (script.replace("n * 2", "m * 2"), 4, "line 5", "n"),
    ):
        found = outcome(tried, text, select=select)
        (problem,) = found["problems"]
        assert found["state"] == "failed" and problem["exit_code"] == 2
        assert said in problem["message"] and hint in problem["hint"]
    seen = ended(tried, ask(tried, script, "validation")["id"])
    assert seen["state"] == "finished", "a validation asks no cluster"
    assert [one["number"] for one in seen["analysed"]["selects"]] == [3, 4]
    found = outcome(tried, script.replace("'here'", "'away'"))
    assert found["state"] == "failed" and "away" in found["why"] and found["problems"][0]["hint"]


@pytest.mark.full
def test_a_preview_ends_at_its_limits(tried: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Seconds, bytes of rows, and memory: the first two have what came so far."""
    slow = FAST.format(rate=1) + "SELECT value FROM STREAM ticks"
    found = outcome(tried, slow, rows=1000, seconds=5)
    assert (found["state"], found["limit"]) == ("finished", "seconds")

    monkeypatch.setattr(trial_process, "ROW_BYTES", 100_000)
    wide = FAST.format(rate=10) + "SELECT repeat('x', 30000) AS text FROM STREAM ticks"
    found = outcome(tried, wide, rows=1000)
    assert (found["state"], found["limit"], found["row_count"]) == ("finished", "bytes", 3)

    large = FAST.format(rate=50_000) + "SELECT collect_list(repeat(string(value), 5000)) AS all FROM STREAM ticks"
    found = outcome(tried, large, seconds=120)
    assert found["state"] == "failed" and found["problems"][0]["condition"] == "OUT_OF_MEMORY", found["problems"]
    until(lambda: left(tmp_path) == [])
