"""What a stream's job tells: Spark's progress and rows as fields of events, and what else needs no Spark."""

from __future__ import annotations

import errno
import io
import json
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pytest
from pyspark.sql import Row

from anabranch.config.streamspec import StreamRunSpec
from anabranch.errors import InvalidFieldError
from anabranch.model.cluster import ClusterContext
from anabranch.model.routing import ClientRole
from anabranch.model.start import StartKind
from anabranch.spark.jobs import stream_events
from anabranch.spark.jobs.stream_events import StreamEvents, shown
from anabranch.spark.streams.clusters import ContextClusters, UnaskedClusters, UnknownClusterError
from anabranch.spark.streams.kafka_tables import check, start_of, topics_of
from anabranch.spark.streams.progress import QueryTotals, lag, progress_fields, sink_fields, source_name
from anabranch.spark.streams.running import checkpoint_of, trigger_of
from anabranch.spark.streams.sinks.port import OBSERVED, SinkCounts
from anabranch.streams.errors import ScriptError
from anabranch.streams.events import StreamEventKind, read_event
from anabranch.streams.lines import LineFile
from anabranch.streams.tables import TableDeclaration

pytestmark = pytest.mark.unit

SPEC = StreamRunSpec("pv", 3, "run-1", 7, "SELECT 1", "/ck/")
PROGRESS = {
    "batchId": 4,
    "numInputRows": 10,
    "processedRowsPerSecond": 12.345,
    "batchDuration": 810,
    "durationMs": {"addBatch": 700, "triggerExecution": 800},
    "eventTime": {"watermark": "2026-01-01T00:00:00.000Z"},
    "stateOperators": [{"numRowsTotal": 5, "numRowsDroppedByWatermark": 2}, {"numRowsTotal": 6}],
    "sources": [
        {
            "description": "KafkaV2[Subscribe[t]]",
            "numInputRows": 10,
            "endOffset": {"t": {"0": 7, "1": 3}},
            "latestOffset": {"t": {"0": 9, "1": 3}},
        },
        {"description": "RateStreamV2[rowsPerSecond=1, rampUpTimeSeconds=0, numPartitions=1]", "numInputRows": 0},
    ],
    "sink": {"numOutputRows": 3},
}


def test_a_progress_has_rows_lag_watermark_and_state() -> None:
    """Each field of the event; totals are sums."""
    totals = QueryTotals()
    told = progress_fields("q", json.dumps(PROGRESS), totals, None)
    progress_fields("q", json.dumps(PROGRESS), totals, None)

    assert told == {
        "query": "q",
        "batch": 4,
        "rows_in": 10,
        "rows_out": 3,
        "rows_late": 2,
        "rows_per_second": 12.3,
        "batch_ms": 810,
        "lag": 2,
        "watermark": "2026-01-01T00:00:00.000Z",
        "state_rows": 11,
        "sources": [
            {"connector": "kafka", "name": "t", "records": 10, "lag": 2},
            {"connector": "rate", "name": "", "records": 0, "lag": None},
        ],
        "sink": {"records": 3, "bytes": None, "errors": None, "retries": None},
    }
    assert totals.fields() == {"batches": 2, "rows_in": 20, "rows_out": 6}
    assert totals.sources == {("kafka", "t"): 20, ("rate", ""): 0}
    assert sink_fields(totals, None)["records"] == 6


def test_a_source_has_the_name_that_spark_gives_it_and_no_numbers_of_objects() -> None:
    """Topics and paths; what is none of them would be another name in each run."""
    assert source_name("KafkaV2[Subscribe[orders, more]]") == ("kafka", "orders, more")
    assert source_name("FileStreamSource[file:/a/b[1]/c]") == ("files", "file:/a/b[1]/c")
    assert source_name("org.apache.iceberg.spark.source.SparkMicroBatchStream@1a2b") == ("iceberg", "")
    assert source_name("PythonMicroBatchStream@77f") == ("PythonMicroBatchStream", "")
    assert source_name("") == ("other", "")


def test_a_sink_of_ours_says_itself_what_it_wrote_and_an_idle_trigger_is_no_batch() -> None:
    """Spark does not know what ``foreachBatch`` wrote."""
    counts, totals = SinkCounts(records=8), QueryTotals(sunk=3)
    idle = {"batchId": 5, "numInputRows": 0, "durationMs": {"triggerExecution": 1}, "sink": {"numOutputRows": -1}}
    told = progress_fields("q", json.dumps(idle), totals, counts)

    assert (told["rows_out"], told["sink"]["records"], told["lag"], told["watermark"]) == (5, 8, None, None)
    assert totals.fields() == {"batches": 0, "rows_in": 0, "rows_out": 5}
    assert progress_fields("q", json.dumps(idle), QueryTotals(), None)["rows_out"] is None


def test_of_a_sink_that_says_nothing_spark_has_counted_what_went_by() -> None:
    """Of the progresses in which something did; where Spark says how many it wrote, that counts."""
    silent = {**PROGRESS, "sink": {"numOutputRows": -1}}
    totals = QueryTotals()
    for seen, wanted in (({}, None), ({OBSERVED: {"records": 4}}, 4), ({OBSERVED: {"records": 2}}, 6)):
        told = progress_fields("q", json.dumps({**silent, "observedMetrics": seen}), totals, None)
        assert (told["rows_out"], told["sink"]["records"]) == (seen.get(OBSERVED, {}).get("records"), wanted)
    both = {**PROGRESS, "observedMetrics": {OBSERVED: {"records": 9}}}
    assert progress_fields("q", json.dumps(both), QueryTotals(), None)["rows_out"] == 3


def test_lag_counts_partitions_that_a_batch_has_not_seen() -> None:
    """A partition that was added since is behind by all that it has."""
    assert lag([{"endOffset": {"t": {"0": 5}}, "latestOffset": {"t": {"0": 5, "1": 4}}}]) == 4
    assert lag([{"endOffset": "5", "latestOffset": None}]) is None


def test_values_of_rows_are_json() -> None:
    """Whatever a row has."""
    moment = datetime(2026, 1, 1, 12, tzinfo=UTC)
    row = Row(at=moment, on=date(2026, 1, 2), price=Decimal("1.20"), raw=b"\x00\xff", odd=float("nan"), tags=[Row(k=1)])

    assert shown(row) == {
        "at": "2026-01-01T12:00:00.000Z",
        "on": "2026-01-02",
        "price": "1.20",
        "raw": "00ff",
        "odd": "nan",
        "tags": [{"k": 1}],
    }
    assert shown({moment: None}) == {"2026-01-01T12:00:00.000Z": None}


def test_an_event_is_a_line_that_is_read_back_and_other_lines_are_none() -> None:
    """An error of a script has its place."""
    out = io.StringIO()
    events = StreamEvents(out, SPEC)
    events.tell(StreamEventKind.STARTING, master="local[1]")
    code = events.fail(ScriptError("no table", 2, 3, 4, "x\n^", "did you mean t?", "TABLE_OR_VIEW_NOT_FOUND"))
    lines = out.getvalue().splitlines()
    first, second = (read_event(line) for line in lines)

    assert code == 2
    assert first is not None and first.kind is StreamEventKind.STARTING
    assert (first.fields["stream"], first.fields["version"], first.fields["fence"]) == ("pv", 3, 7)
    assert second is not None and second.kind is StreamEventKind.FAILED
    fields = second.fields
    assert (fields["statement"], fields["line"], fields["column"], fields["excerpt"]) == (2, 3, 4, "x\n^")
    assert (fields["condition"], fields["hint"]) == ("TABLE_OR_VIEW_NOT_FOUND", "did you mean t?")
    assert [read_event(line) for line in ("", "text", "[]", '{"event": "later"}', "7")] == [None] * 5


class FullDisk:
    """Takes no line for a while."""

    def __init__(self, refusals: int) -> None:
        self.left, self.lines = refusals, list[str]()

    def write(self, text: str, /) -> int:
        """Append, or refuse."""
        if self.left:
            self.left -= 1
            raise OSError(errno.ENOSPC, "No space left on device")
        self.lines.append(text)
        return len(text)

    def flush(self) -> None:
        """Nothing waits here."""


def test_what_a_full_disk_does_not_take_is_told_as_soon_as_it_does(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """In order, but for figures that the next ones make up for; why it failed is in the log at once."""
    monkeypatch.setattr(stream_events, "LAST_WAIT_S", 0.01)
    disk = FullDisk(5)
    events = StreamEvents(disk, SPEC)
    events.tell(StreamEventKind.STARTED, queries=[])
    events.tell(StreamEventKind.PROGRESS, query="q")
    assert events.fail(InvalidFieldError("stream", "trigger", "it is none", "write one")) == 2
    assert "it is none" in (told := capfd.readouterr().err) and "hint: write one" in told
    events.tell(StreamEventKind.ENDED, exit_code=2)
    kinds = [json.loads(line)["event"] for line in disk.lines]
    assert kinds == ["started", "failed", "ended"]

    never = StreamEvents(LineFile(Path("/dev/full")), SPEC)
    never.tell(StreamEventKind.ENDED, exit_code=4)


def test_triggers_and_checkpoints() -> None:
    """Spark's words; a query's directory is one name."""
    assert trigger_of("availableNow") == {"availableNow": True}
    assert trigger_of("5 seconds") == {"processingTime": "5 seconds"}
    for text in ("soon", "5", "5 days", "-1 seconds", ""):
        with pytest.raises(InvalidFieldError):
            trigger_of(text)
    assert checkpoint_of(SPEC, "out-2") == "/ck/out-2"
    assert checkpoint_of(SPEC, "a/../b") == "/ck/a%2F..%2Fb"


def test_a_code_leads_to_its_context_and_an_unknown_one_has_the_nearest() -> None:
    """Topics keep their names; a validation asks nobody."""
    clusters = ContextClusters({"orders": ClusterContext("orders", ("h:1",))})
    led = clusters.lead("orders", ["a", "b"], ClientRole.CONSUMER)

    assert led.topics == ("a", "b")
    assert led.options(ClientRole.CONSUMER)["kafka.bootstrap.servers"] == "h:1"
    assert "kafka.max.poll.records" not in led.options(ClientRole.PRODUCER)
    with pytest.raises(UnknownClusterError) as caught:
        clusters.lead("order", ["a"], ClientRole.CONSUMER)
    assert caught.value.hint == "did you mean orders?"
    assert UnaskedClusters().lead("any", ["a"], ClientRole.PRODUCER).topics == ("a",)


def test_values_of_options_are_checked_without_a_cluster() -> None:
    """Topics, start, flags and numbers."""
    table = TableDeclaration("t", "kafka", options={"topic": "a, b,a", "START": "group:g"})

    assert topics_of(table) == ("a", "b")
    assert start_of(table).kind is StartKind.GROUP
    assert start_of(TableDeclaration("t", "kafka")).kind is StartKind.EARLIEST
    check(table)
    for name, value in {
        "topic": " , ",
        "start": "yesterday",
        "on.error": "ignore",
        "fail.on.data.loss": "no",
        "max.records.per.batch": "-1",
    }.items():
        with pytest.raises(InvalidFieldError) as caught:
            check(TableDeclaration("t", "kafka", options={"topic": "a", name: value}))
        assert caught.value.field == name
