"""A script that has changed beside the checkpoints of the one before: what Spark says, what Spark does not see."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from anabranch.config.offsets_file import start_of
from anabranch.config.streamspec import StreamBegin, StreamRunSpec
from anabranch.sandbox import SandboxCluster
from anabranch.spark.streams import beginning, file_logs, running
from anabranch.spark.streams.file_logs import ForeignFilesError
from anabranch.spark.streams.kafka_tables import KafkaReading
from anabranch.spark.streams.trial import tried
from anabranch.storage.opening import open_files
from anabranch.storage.stream_checkpoints import Beginning, note_script, noted
from anabranch.streams.state.changes import changes
from anabranch.streams.state.operators import StatefulOperator, stateful_operators
from anabranch.streams.state.results import (
    OpenBatchError,
    QueryTrial,
    StateChangedError,
    StateChoice,
    TrialResult,
)
from tests.integration.links.topics import create, fresh
from tests.integration.streams.lab import StreamLab, produce_json

CLICKS = "ts TIMESTAMP, page STRING, city STRING, n BIGINT"
TABLE = "CREATE TABLE clicks (" + CLICKS + ") USING kafka OPTIONS (cluster 'here', topic '{topic}');\n"
WATERED = "FROM STREAM clicks WATERMARK ts DELAY OF INTERVAL 1 MINUTE"
MINUTES = (
    f"SELECT window(ts, '1 minute').start AS at, page, count(*) AS views {WATERED} "
    "GROUP BY window(ts, '1 minute'), page"
)
HOURS = MINUTES.replace("1 minute", "1 hour")
BY_CITY = MINUTES.replace("page", "city")
SUMMED = MINUTES.replace("count(*) AS views", "count(*) AS views, sum(n) AS total")
SLIDING = "SELECT window.start AS at, count(*) AS c " + WATERED + " GROUP BY window(ts, '{length}', '5 minutes')"
SESSIONS = "SELECT page, count(*) AS c " + WATERED + " GROUP BY session_window(ts, '{gap}'), page"
JOINED = "SELECT a.n FROM STREAM clicks a JOIN STREAM others b ON {on}"

PAIRS: Mapping[str, tuple[str, str, tuple[str, ...]]] = {
    "the same": (MINUTES, MINUTES, ()),
    "other names": (MINUTES, MINUTES.replace("AS views", "AS v"), ()),
    "a filter before it": (MINUTES, MINUTES.replace(" GROUP BY", " WHERE n > 3 GROUP BY"), ()),
    "another watermark": (MINUTES, MINUTES.replace("1 MINUTE", "9 MINUTE"), ()),
    "arithmetic after it": (SUMMED, SUMMED.replace("sum(n)", "sum(n) * 2"), ()),
    "longer windows": (MINUTES, HOURS, ("aggregation: key window of 1 minute became window of 1 hour",)),
    "another key": (MINUTES, BY_CITY, ("aggregation: key page became city",)),
    "a key computed": (
        MINUTES,
        MINUTES.replace("page", "upper(page)").replace("upper(page),", "upper(page) AS page,"),
        ("aggregation: key page became upper(page)",),
    ),
    "one value more": (MINUTES, SUMMED, ("aggregation: value sum(n) is new",)),
    "one value less": (SUMMED, MINUTES, ("aggregation: value sum(n) is gone",)),
    "another value": (
        SUMMED,
        SUMMED.replace("sum(n)", "max(n)"),
        ("aggregation: value sum(n) became max(n)",),
    ),
    "a value of another column": (
        MINUTES.replace("count(*)", "count(page)"),
        MINUTES.replace("count(*)", "count(city)"),
        ("aggregation: value count(page) became count(city)",),
    ),
    "longer sliding windows": (
        SLIDING.format(length="10 minutes"),
        SLIDING.format(length="20 minutes"),
        ("aggregation: key window of 10 minutes every 5 minutes became window of 20 minutes every 5 minutes",),
    ),
    "longer sessions": (
        SESSIONS.format(gap="10 minutes"),
        SESSIONS.format(gap="15 minutes"),
        ("aggregation: key session_window of 10 minutes became session_window of 15 minutes",),
    ),
    "distinct of another column": (
        "SELECT DISTINCT page FROM STREAM clicks",
        "SELECT DISTINCT city FROM STREAM clicks",
        ("deduplication: key page became city",),
    ),
    "another join": (
        JOINED.format(on="a.page = b.page"),
        JOINED.format(on="a.page = b.city"),
        ("inner join: condition clicks.page = others.page became clicks.page = others.city",),
    ),
    "another operator": (
        MINUTES,
        "SELECT DISTINCT page FROM STREAM clicks",
        ("its operators with state were aggregation, and are deduplication",),
    ),
    "no operator": (
        MINUTES,
        "SELECT n FROM STREAM clicks",
        ("its operators with state were aggregation, and are none",),
    ),
}
"""A query, the one after it, and what is told of its state."""


@pytest.fixture(scope="module")
def clicks(spark: SparkSession) -> SparkSession:
    """A session with two streams."""
    here = spark.newSession()
    for name in ("clicks", "others"):
        rows = here.readStream.format("rate").load()
        rows = rows.selectExpr("timestamp AS ts", "CAST(value AS STRING) AS page", "'x' || value AS city", "value AS n")
        rows.createOrReplaceTempView(name)
    return here


def operators(session: SparkSession, query: str) -> tuple[StatefulOperator, ...]:
    """Those of a query, which are the same whenever Spark is asked."""
    plans = [session.sql(query)._jdf.queryExecution().analyzed().toJSON() for _ in range(2)]
    found, again = (stateful_operators(plan, ("clicks", "others")) for plan in plans)
    assert found == again
    return found


@pytest.mark.test
@pytest.mark.parametrize("pair", PAIRS)
def test_a_change_of_what_a_state_means_is_told(clicks: SparkSession, pair: str) -> None:
    """And nothing else is."""
    before, after, told = PAIRS[pair]
    assert changes(operators(clicks, before), operators(clicks, after)) == told


class Starts:
    """Starts of a script as the job makes them, in this process."""

    def __init__(self, spark: SparkSession, directory: Path, here: SandboxCluster) -> None:
        self.lab = StreamLab.of(spark, directory, here)
        self.topic = create(here, fresh("state"), 1)
        self.place = str(directory / "checkpoints")
        self.files = open_files(self.place)
        self.sink = "console"
        self._fence = 0

    def script(self, query: str) -> str:
        """A script with the query into a table of files."""
        table = f"CREATE TABLE kept USING {self.sink};\n"
        return TABLE.format(topic=self.topic) + table + f"INSERT INTO kept {query};"

    def tried(self, script: str) -> tuple[QueryTrial, ...]:
        """What would become of it."""
        return tried(
            *(self.lab.analysed(script), script, noted(self.files), self.files),
            lambda before: self.lab.analysed(before.script),
        )

    def start(self, script: str, begin: StreamBegin | None = None, stop_before_it_runs: bool = False) -> list[str]:
        """Run it over what there is; returns the names of the checkpoints."""
        self._fence += 1
        spec = StreamRunSpec("lab", 1, "run", self._fence, script, self.place, trigger="availableNow")
        spec = replace(spec, begin=begin or StreamBegin())
        trials = self.tried(script)
        beginning.check(spec, trials)
        queries: list[running.RunningQuery] = []
        try:
            running.open_sinks(queries, spec, self.lab.analysed(script, looks_up=True).inserts, self.lab.kinds())
            beginning.prepare(
                *(queries, trials, spec, self.files),
                self._analysed_at(script),
                lambda one: file_logs.check(self.lab.spark, one, self.files),
            )
            note_script(self.files, 1, script)
            if not stop_before_it_runs:
                running.start(queries, spec.trigger)
                assert running.watch(queries, lambda: False, self.lab.tell) == "finished"
        finally:
            running.stop(queries, self.lab.tell)
            running.close(queries)
        return [one.directory for one in queries]

    def _analysed_at(self, script: str) -> beginning.AnalyseAt:
        def analysed(begun: Beginning) -> object:
            start, is_partial = beginning.positions(begun, start_of)
            return self.lab.analysed(script, kafka=KafkaReading(self.lab.clusters, start=start, is_partial=is_partial))

        return analysed  # type: ignore[return-value]


@pytest.fixture
def starts(spark: SparkSession, tmp_path: Path, here: SandboxCluster) -> Starts:
    """A stream that has not run."""
    return Starts(spark, tmp_path, here)


def rows(first: int, count: int) -> list[dict[str, object]]:
    """Clicks, one a second."""
    return [
        {"ts": f"2026-01-01T00:{n // 60:02}:{n % 60:02}Z", "page": f"p{n % 3}", "city": f"c{n % 2}", "n": n}
        for n in range(first, first + count)
    ]


@pytest.mark.test
def test_spark_is_asked_on_a_copy_and_what_it_does_not_see_is_told(starts: Starts, here: SandboxCluster) -> None:
    """Trying changes nothing; a start that does not go on is refused before anything is opened."""
    produce_json(here, starts.topic, rows(0, 200))
    first = starts.script(MINUTES)
    assert [one.result for one in starts.tried(first)] == [TrialResult.NEW]
    starts.start(first)
    before = sorted((path, entry.size) for path, entry in starts.files.walk())
    results = {query: starts.tried(starts.script(query))[0] for query in (MINUTES, HOURS, BY_CITY, SUMMED)}
    assert [one.result for one in results.values()] == [
        *(TrialResult.SAME, TrialResult.CHANGED, TrialResult.CHANGED, TrialResult.REFUSED),
    ]
    assert results[SUMMED].why == ("aggregation: value sum(n) is new",)
    filtered = starts.tried(starts.script(MINUTES.replace(" GROUP", " WHERE n > 3 GROUP")))
    assert [one.result for one in filtered] == [TrialResult.FITS]
    elsewhere = starts.tried(first.replace(starts.topic, "elsewhere"))[0]
    assert elsewhere.result is TrialResult.CHANGED
    assert elsewhere.why[0].startswith(f"it read topic {starts.topic}, and reads topic elsewhere")
    assert sorted((path, entry.size) for path, entry in starts.files.walk()) == before
    with pytest.raises(StateChangedError) as refused:
        starts.start(starts.script(HOURS))
    assert "statement 3" in refused.value.message and "--keep-state" in refused.value.hint
    with pytest.raises(StateChangedError) as refused:
        starts.start(starts.script(SUMMED), StreamBegin(7, StateChoice.KEEP))
    assert "--keep-state" not in refused.value.hint


@pytest.mark.test
def test_a_new_state_begins_at_the_record_where_the_old_one_stood(starts: Starts, here: SandboxCluster) -> None:
    """Of one that was killed before it ran, too; a query without state keeps its checkpoint."""
    produce_json(here, starts.topic, rows(0, 200))
    assert starts.start(starts.script(MINUTES)) == ["kept"]
    produce_json(here, starts.topic, rows(200, 100))
    asked, script = StreamBegin(7, StateChoice.NEW), starts.script(SUMMED)
    assert starts.start(script, asked, stop_before_it_runs=True) == ["kept@7"]
    starts.lab.progress.clear()
    assert starts.start(script, asked) == ["kept@7"]
    assert sum(one["rows_in"] or 0 for one in starts.lab.progress) == 100
    produce_json(here, starts.topic, rows(300, 50))
    starts.lab.progress.clear()
    assert starts.start(script) == ["kept@7"]
    assert sum(one["rows_in"] or 0 for one in starts.lab.progress) == 50
    assert starts.start(script, StreamBegin(9, StateChoice.NEW)) == ["kept@7"]
    starts.lab.progress.clear()
    assert starts.start(script, StreamBegin(11, start="earliest")) == ["kept@11"]
    assert sum(one["rows_in"] or 0 for one in starts.lab.progress) == 350


@pytest.mark.full
def test_files_of_another_checkpoint_are_not_taken_for_its_own(
    starts: Starts, here: SandboxCluster, tmp_path: Path
) -> None:
    """Spark would write none of the rows, and say nothing."""
    starts.sink = f"parquet OPTIONS (path '{tmp_path / 'out'}')"
    produce_json(here, starts.topic, rows(0, 200))
    script = starts.script("SELECT n FROM STREAM clicks")
    starts.start(script)
    produce_json(here, starts.topic, rows(200, 100))
    with pytest.raises(ForeignFilesError):
        starts.start(script, StreamBegin(7, start="earliest"))
    starts.start(script)
    assert starts.lab.rows(tmp_path / "out") == [(n,) for n in range(300)]


@pytest.mark.full
def test_a_batch_that_nobody_knows_the_end_of_is_no_place_to_begin(starts: Starts, here: SandboxCluster) -> None:
    """The sink may have its rows."""
    produce_json(here, starts.topic, rows(0, 200))
    starts.start(starts.script(MINUTES))
    last = max(entry.name for entry in starts.files.list("kept/commits") if entry.name.isdigit())
    starts.files.delete(f"kept/commits/{last}")
    with pytest.raises(OpenBatchError):
        starts.start(starts.script(SUMMED), StreamBegin(7, StateChoice.NEW))
    assert not [entry for entry in starts.files.list() if "@" in entry.name]
