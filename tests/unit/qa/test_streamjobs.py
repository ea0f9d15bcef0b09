"""The proof of moved queries rests on specifications that survive a file, and on a judge that sees differences."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from qa.streamjobs.process import Batches, batches
from qa.streamjobs.spec import JobSpec, Kind, QuerySpec, Reading, Sink, Store, Trigger
from qa.streamjobs.stage import Written
from qa.streamjobs.trials import Case, Cut, Trial, judge

pytestmark = pytest.mark.unit

_QUERY = QuerySpec(
    "q",
    Kind.JOIN,
    Store.ROCKSDB,
    Sink.DELTA,
    (Reading("a:1", "x,y"), Reading("b:1", pattern="z.*", per_batch=7)),
    Reading("a:1", "w"),
    "cp",
    "out",
    Trigger.FOLLOWING,
    4,
)


def _tell(results: Path, rows: list[str], state: list[str], late: int = 0) -> Written:
    (results / "q.rows").write_text("".join(f"{row}\n" for row in rows))
    (results / "q.state").write_text("".join(f"{row}\n" for row in state))
    (results / "q.progress").write_text(json.dumps({"batch": 1, "rows": 10, "late": late, "watermark": None}) + "\n")
    return Written.of(results, "q")


def _judged(results: Path, never_moved: Written) -> Trial:
    trial = Trial(Case(Kind.JOIN, Store.ROCKSDB, Sink.DELTA), Cut.OPEN, Batches(3, 2))
    judge(trial, results, "q", never_moved)
    return trial


def test_a_job_reads_back_what_it_is_to_run() -> None:
    """Enumerations, several sources and the second wave come back as they were."""
    spec = JobSpec((_QUERY,), "results", "lake", dump=True, then=(_QUERY,))
    assert JobSpec.from_json(spec.to_json()) == spec


def test_equal_rows_in_any_order_are_no_difference(tmp_path: Path) -> None:
    """Sinks and state are multisets."""
    never_moved = _tell(tmp_path, ["b", "a", "a"], ["s"])
    _tell(tmp_path, ["a", "b", "a"], ["s"])
    assert _judged(tmp_path, never_moved).wrong == ""


@pytest.mark.parametrize(
    ("rows", "state", "late"),
    [
        (["a", "b"], ["s"], 0),
        (["a", "a", "a", "b"], ["s"], 0),
        (["a", "a", "c"], ["s"], 0),
        (["a", "a", "b"], ["t"], 0),
        (["a", "a", "b"], ["s"], 1),
    ],
)
def test_every_difference_is_wrong(tmp_path: Path, rows: list[str], state: list[str], late: int) -> None:
    """A row once too rarely or too often, another row, other state, and a late row that makes the rest worthless."""
    never_moved = _tell(tmp_path, ["a", "a", "b"], ["s"])
    _tell(tmp_path, rows, state, late)
    assert _judged(tmp_path, never_moved).wrong != ""


def test_a_failed_query_is_wrong(tmp_path: Path) -> None:
    """Whatever its sink holds."""
    never_moved = _tell(tmp_path, ["a"], [])
    (tmp_path / "q.failure").write_text("PARTITIONS_DELETED")
    assert "PARTITIONS_DELETED" in _judged(tmp_path, never_moved).wrong


def test_a_begun_batch_is_seen_by_the_names_of_the_logs(tmp_path: Path) -> None:
    """Checksums and torn writes do not count."""
    for name in ("offsets/9", "offsets/10", "offsets/.11.crc", "offsets/.12.a.tmp", "commits/9"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    assert batches(tmp_path) == Batches(10, 9)
    assert batches(tmp_path).open
