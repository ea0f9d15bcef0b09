"""Executors are asked for Python only where a script needs it there, and whoever waits for them can be ended."""

from __future__ import annotations

import os
import signal
from typing import Any

import pytest

from anabranch.config.jobspec import LinkJob
from anabranch.model.cluster import ClusterContext
from anabranch.spark.link import ready
from anabranch.spark.streams import executors
from anabranch.spark.streams.clusters import ContextClusters
from anabranch.spark.streams.kafka_writing import KafkaTableSink
from anabranch.spark.streams.running import RunningQuery
from anabranch.spark.streams.sinks.console import ConsoleSink
from anabranch.spark.streams.sinks.port import QueryIdentity
from anabranch.streams.tables import TableDeclaration

pytestmark = pytest.mark.unit
HERE = ClusterContext("here", ("h:1",))
OPTIONS = {"cluster": "here", "topic": "t"}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[list[LinkJob]]:
    """What executors elsewhere were asked for."""
    found: list[list[LinkJob]] = []
    monkeypatch.setattr(ready, "is_needed", lambda _: True)
    monkeypatch.setattr(executors, "cores", lambda _: 2)
    monkeypatch.setattr(ready, "ask_executors", lambda _spark, jobs, *_: found.append(list(jobs)))
    return found


def running(sink: Any) -> RunningQuery:
    """A query with that sink."""
    plan: Any = None
    return RunningQuery(plan, sink, "/ck/q")


def table(provider: str) -> TableDeclaration:
    """One to write."""
    return TableDeclaration("t", provider, (), OPTIONS)


def console() -> ConsoleSink:
    """Shows rows on the driver."""
    shown: Any = None
    return ConsoleSink(shown, table("console"), QueryIdentity("s", "q", 1))


def test_rows_that_spark_writes_itself_need_no_python_there(asked: list[list[LinkJob]]) -> None:
    """Neither do those that the driver shows."""
    spark: Any = None
    executors.check(spark, [running(console()), running(object())], has_python=False)
    assert asked == []


def test_functions_and_kafka_tables_are_asked_for_with_the_clusters_secrets(asked: list[list[LinkJob]]) -> None:
    """A function needs Python alone, a table that is written its cluster's login."""
    spark: Any = None
    executors.check(spark, [running(console())], has_python=True)
    sink = KafkaTableSink(ContextClusters({"here": HERE}), table("kafka"))
    executors.check(spark, [running(sink)], has_python=False)
    assert [[job.target for job in jobs] for jobs in asked] == [[], [HERE]]


def test_a_wait_for_executors_that_never_come_is_ended_by_a_signal(monkeypatch: pytest.MonkeyPatch) -> None:
    """And the handlers are those of before."""
    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr(ready, "is_needed", lambda _: True)
    monkeypatch.setattr(executors, "cores", lambda _: 2)
    monkeypatch.setattr(ready, "ask_executors", lambda *_: os.kill(os.getpid(), signal.SIGTERM))
    spark: Any = None
    with pytest.raises(KeyboardInterrupt):
        executors.check(spark, [], has_python=True)
    assert signal.getsignal(signal.SIGTERM) is before
