"""Spark jobs by their code: a real Spark reads and writes by the options of a real service's route."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.sql import SparkSession

from anabranch.model.link import ModePolicy
from anabranch.model.plugins import PluginSpec
from anabranch.sdk import MayNotError, RouteProblemError
from anabranch.spark.routes import EarlierPositions, NotTranslatedError, kafka_options, lead
from qa.service import until
from qa.verify_lab import spark_session
from tests.integration.links.lab import Link, link
from tests.integration.links.topics import create, delete_records, fresh, numbered, produce
from tests.integration.sdk.lab import Lab, stored

pytestmark = [pytest.mark.test, pytest.mark.real]
JOB = {"job_id": "nightly-report"}


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    """A local session with the Kafka source."""
    made = spark_session("anabranch tests of routes", "local[2]")
    yield made
    made.stop()


@pytest.fixture
def copied(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Link, str]]:
    """A topic whose first records are gone, copied under another name to other offsets, by a link that is known."""
    monkeypatch.setenv("ANABRANCH_TOKEN", lab.service.tokens["viewer"])
    topic = create(lab.old, fresh("led"), 2)
    produce(lab.old, topic, numbered(20) + numbered(10, partition=1))
    delete_records(lab.old, topic, 5)
    with link(lab.old, lab.new, topic, naming=PluginSpec("prefix"), mode=ModePolicy.MAPPED) as made:
        with made.running():
            for partition, end in enumerate((20, 10)):
                made.await_position(topic, end, partition)
        until(lambda: lab.service.ask("GET", f"/clusters/new/links/{made.id}").status == 200)
        rule = {"name": "nightly", "match": {"parameters": JOB}, "to": {"cluster": "new", "topics": "old.{topic}"}}
        lab.lead("old", rule)
        yield made, topic


def settings(lab: Lab) -> dict[str, Any]:
    """Routes are kept in the test's directory."""
    return {"route.cache.dir": str(lab.cache)}


def rows(spark: SparkSession, options: dict[str, str], **more: str) -> list[tuple[str, int, int, str]]:
    """What a batch query reads: topic, partition, offset and value."""
    frame = spark.read.format("kafka").options(**options, **more).load()
    found = frame.selectExpr("topic", "partition", "offset", "string(value)").collect()
    return sorted((one[0], one[1], one[2], one[3]) for one in found)


def test_a_job_goes_on_at_exactly_the_next_record_where_its_route_leads(
    lab: Lab, copied: tuple[Link, str], spark: SparkSession
) -> None:
    """Under the names and at the offsets of the other cluster; a position without an exact one is refused."""
    made, topic = copied
    own = settings(lab)
    before = rows(spark, kafka_options("orders", "consumer", topics=[topic], settings=own))
    assert {one[0] for one in before} == {topic} and len(before) == 25

    def moved(first: int, name: str = made.id) -> dict[str, str]:
        earlier = EarlierPositions("old", {topic: {"0": first, "1": 4}}, name)
        return kafka_options("orders", "consumer", topics=[topic], parameters=JOB, positions=earlier, settings=own)

    after = rows(spark, moved(12))
    left = [one for one in before if one[2] >= (12, 4)[one[1]]]
    assert [(one[0], one[1], one[3]) for one in after] == [(f"old.{topic}", one[1], one[3]) for one in left]
    assert [one[2] for one in after] != [one[2] for one in left], "other offsets, so that the map has a part in it"
    for first, why in ((2, "before"), (21, "after")):
        with pytest.raises(NotTranslatedError, match=f"{topic}-0 at {first}: {why}"):
            moved(first)
    with pytest.raises(RouteProblemError, match="nowhere"):
        moved(12, "nowhere")


def test_a_job_writes_where_it_is_led_and_the_last_route_serves_without_the_service(
    lab: Lab, spark: SparkSession
) -> None:
    """It stands on no list afterwards; what the code forbids is refused."""
    topic, own = lab.topic(1), settings(lab)
    options = kafka_options("orders", "producer", topics=[topic], settings=own)
    spark.range(3).selectExpr("string(id) AS value").write.format("kafka").options(**options).save()
    assert sorted(stored(lab.old, topic, 1)[0]) == ["0", "1", "2"]
    assert lab.service.clients() == []
    lab.lead("new", {"name": "readers", "match": {"role": "producer"}, "to": {"cluster": "new", "write": False}})
    with pytest.raises(MayNotError, match="rule readers"):
        kafka_options("orders", "producer", topics=[topic], settings=own)
    told = lead("orders", "consumer", topics=[topic], settings=own)
    lab.service.kill()
    kept = lead("orders", "consumer", topics=[topic], settings=own)
    assert (told.route.cluster, kept.route, kept.options) == ("new", told.route, told.options)
    assert rows(spark, dict(kept.options)) == []
