"""What a run does not write, and what it says, once the next start of its stream has begun."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, cast

import pytest
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from anabranch.errors import AnabranchError, InvalidFieldError
from anabranch.spark.jobs.stream import JobOfStream
from anabranch.spark.jobs.stream_events import StreamEvents
from anabranch.spark.streams import fence
from anabranch.spark.streams.analysis import InsertPlan
from anabranch.spark.streams.fence import NewerStartError, StreamFence
from anabranch.spark.streams.running import RunningQuery
from anabranch.spark.streams.sinks.port import SinkCounts
from anabranch.storage.local import LocalFiles

pytestmark = pytest.mark.unit


class Kept:
    """A sink that refuses nobody."""

    def __init__(self) -> None:
        self.counts = SinkCounts()
        self.batches: list[int] = []

    def check(self, schema: StructType) -> None:
        """Any columns will do."""

    def write(self, _: DataFrame, batch_id: int) -> None:
        """Note it."""
        self.batches.append(batch_id)

    def close(self) -> None:
        """Nothing is open."""


def start(place: Path, number: int) -> StreamFence:
    """The fence of a start that has taken it."""
    made = StreamFence(LocalFiles(str(place), str(place)), number)
    made.take()
    return made


def test_a_batch_is_not_handed_to_a_sink_once_the_next_start_has_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the sink itself knows no fence."""
    monkeypatch.setattr(fence, "LOOK_S", 0.0)
    sink, nothing = Kept(), cast("Any", None)
    query = RunningQuery(cast("InsertPlan", None), sink, str(tmp_path / "q"), fence=start(tmp_path, 1))
    query.write(nothing, 0)
    start(tmp_path, 2)
    with pytest.raises(NewerStartError, match="start 1 of the stream is over"):
        query.write(nothing, 1)
    assert sink.batches == [0] and sink.counts.errors == 1
    assert isinstance(query.error, NewerStartError)


def test_a_run_that_fails_by_what_the_next_start_did_says_that_it_is_over(tmp_path: Path) -> None:
    """Spark tells of a race alone; where no start is newer, its own error stays."""
    job = JobOfStream(cast("StreamEvents", None), argparse.Namespace(log=None, spec=tmp_path / "run-1.json"))
    error: AnabranchError = InvalidFieldError("stream", "x", "Race while writing batch 3", "")
    job._check_newest(error)
    job._fence = start(tmp_path, 1)
    job._check_newest(error)
    start(tmp_path, 2)
    with pytest.raises(NewerStartError) as told:
        job._check_newest(error)
    assert told.value.__cause__ is error
