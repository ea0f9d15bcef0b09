"""Redis, for real."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from anabranch.spark.streams.sinks.errors import RowRefusedError, SinkAwayError, SinkDeniedError
from qa.redis_server import RedisServer, redis_server
from tests.integration.streams.sinks.conformance import Conformance, sink
from tests.integration.streams.sinks.labs import RedisLab, open_sink, secret
from tests.integration.streams.sinks.rows import SCHEMA, frame, named, row

__all__ = ["sink"]

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """The server."""
    with redis_server(tmp_path_factory.mktemp("redis")) as made:
        yield made


@pytest.fixture
def lab(server: RedisServer) -> RedisLab:
    """An empty database."""
    return RedisLab(server, 3)


class TestRedis(Conformance):
    """The suite."""


class TestOfItsOwn:
    """What Redis alone has."""

    def test_rows_may_be_json_that_goes_after_a_time(self, lab: RedisLab, spark: SparkSession) -> None:
        """A string for each key of two columns, with all columns in it; what is written again lives on."""
        sink = open_sink(lab, format="json", ttl="3600", key="name, id", prefix="p/")
        sink.check(SCHEMA)
        sink.write(frame(spark, [row(1, "a:b"), row(2, "c")]), 0)
        sink.close()
        client = lab.server.client(3)
        assert sorted(client.keys("p/*")) == [b"p/a%3Ab:1", b"p/c:2"]
        value = json.loads(client.get("p/c:2"))
        assert list(value) == SCHEMA.fieldNames()
        assert (value["at"], value["place"]) == ("2026-03-29T01:30:00.123456Z", {"city": "Köln", "lat": 50.94})
        assert 0 < client.ttl("p/c:2") <= 3600

    def test_a_key_of_another_kind_is_told(self, lab: RedisLab, spark: SparkSession) -> None:
        """And left as it is."""
        lab.server.client(3).lpush("hits:1", "x")
        with pytest.raises(RowRefusedError, match="wrong kind of value"):
            open_sink(lab).write(named(spark, {1: "a"}), 0)
        assert lab.server.client(3).type("hits:1") == b"list"

    def test_a_replica_and_a_wrong_password_are_told(self, lab: RedisLab) -> None:
        """Before a batch is written."""
        client = lab.server.client()
        client.replicaof("127.0.0.1", "1")
        try:
            with pytest.raises(SinkAwayError, match="replica"):
                open_sink(lab).check(SCHEMA)
        finally:
            client.replicaof("NO", "ONE")
        with secret("wrong"), pytest.raises(SinkDeniedError):
            open_sink(lab, password="env:SINK_PASSWORD").check(SCHEMA)
