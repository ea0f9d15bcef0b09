"""What is said where Spark's session does not start."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from anabranch.spark.errors import SparkNotStartedError
from anabranch.spark.session import session

pytestmark = pytest.mark.test


def test_a_master_that_does_not_answer_is_told_and_not_only_that_spark_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a standalone master that gave no answer Spark says only what it could not do then."""

    def stopped(_: SparkSession.Builder) -> SparkSession:
        raise RuntimeError("Cannot call methods on a stopped SparkContext.\nThis stopped SparkContext was created at:")

    monkeypatch.setattr(SparkSession.Builder, "getOrCreate", stopped)
    with pytest.raises(SparkNotStartedError) as raised:
        session("a job", "spark://nowhere:7077")
    text = str(raised.value)
    assert "spark://nowhere:7077: it stopped as it began: the master does not answer" in text
    assert "created at" not in text


def test_any_other_reason_is_told_in_spark_s_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its first line."""

    def failed(_: SparkSession.Builder) -> SparkSession:
        raise RuntimeError("no such class\nat somewhere")

    monkeypatch.setattr(SparkSession.Builder, "getOrCreate", failed)
    with pytest.raises(SparkNotStartedError, match=r"on local\[1\]: no such class$"):
        session("a job", "local[1]")
