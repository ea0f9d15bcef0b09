"""Options of Spark's Kafka source and sink by a route: what is in them, when there are none, and what is asked."""

from __future__ import annotations

import ast
import logging
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from anabranch.config import routes_file
from anabranch.errors import ConfigError
from anabranch.model.routing import ClientRole, RouteQuery
from anabranch.model.secrets import MASK
from anabranch.routes.resolve import resolve
from anabranch.sdk.errors import (
    MalformedRouteError,
    MayNotError,
    NoRouteError,
    RouteProblemError,
    ServiceDownError,
    SettingError,
    UnknownSettingError,
)
from anabranch.spark.routes import EarlierPositions, HeldBySwitchError, kafka_options, lead, led
from anabranch.spark.verify.options import UnreadableByJvmError

pytestmark = pytest.mark.unit
TOP = Path(__file__).parents[3]
URL = "http://127.0.0.1:8420"
SCRAM = {
    "protocol": "SASL_SSL",
    "tls": {"ca_file": "/etc/kafka/ca.pem"},
    "sasl": {"mechanism": "SCRAM-SHA-512", "username": "shop", "password_env": "KAFKA_PASSWORD"},
}
DOWN = ServiceDownError(URL, "connection refused")


def route(**more: Any) -> dict[str, Any]:
    """A route as the service tells it."""
    made = {"code": "orders", "cluster": "new", "bootstrap": ["a:9092", "b:9092"], "rule": "r", "since": 1}
    flags = {"may_read": True, "may_write": True, "version": 1, "security": {"protocol": "PLAINTEXT"}}
    return {**made, **flags, "topics": {"orders": "old.orders", "sales": "old.sales"}, **more}


class Answering:
    """Stands for the service: answers, or fails, and remembers what it was asked."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.asked: list[tuple[str, str, Any]] = []

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """What was set."""
        self.asked.append((method, path, body))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer if method == "PUT" else None

    def close(self) -> None:
        """End."""


Serve = Callable[[Any], Answering]


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Serve:
    """Have the service answer so from now on; routes are kept in the test's directory."""
    monkeypatch.setenv("ANABRANCH_SERVICE", URL)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    def begin(answer: Any) -> Answering:
        service = Answering(answer)
        monkeypatch.setattr(led, "RouteService", lambda *_: service)
        return service

    return begin


def reading(**more: Any) -> dict[str, str]:
    """The options of a consumer of two topics."""
    return kafka_options("orders", "consumer", topics=["orders", "sales"], **more)


def test_a_source_reads_the_topics_by_their_names_there(serve: Serve) -> None:
    """In the order in which they were named, with how the cluster is reached and nothing about speed."""
    serve({"route": route()})
    found = reading()
    assert found.pop("subscribe") == "old.orders,old.sales"
    assert found.pop("kafka.bootstrap.servers") == "a:9092,b:9092"
    assert found.pop("kafka.security.protocol") == "PLAINTEXT"
    assert all(name.startswith("kafka.config.providers") for name in found), found


def test_a_sink_writes_one_topic(serve: Serve) -> None:
    """Of several, each is asked for by itself: the sink has one option for all records."""
    serve({"route": route()})
    found = kafka_options("orders", "producer", topics=["orders"])
    assert (found["topic"], "subscribe" in found) == ("old.orders", False)
    with pytest.raises(SettingError, match="a sink has one"):
        kafka_options("orders", "producer", topics=["orders", "sales"])


def test_secrets_are_references_that_kafka_resolves(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    """J2: where it connects; the variable is not even read here."""
    monkeypatch.setenv("KAFKA_PASSWORD", "very-secret")
    serve({"route": route(security=SCRAM)})
    found = reading()
    assert 'username="shop" password="${env:KAFKA_PASSWORD}"' in found["kafka.sasl.jaas.config"]
    assert (found["kafka.ssl.truststore.type"], found["kafka.ssl.truststore.location"]) == ("PEM", "/etc/kafka/ca.pem")
    assert "very-secret" not in str(found) and MASK not in str(found)
    serve({"route": route(security={**SCRAM, "sasl": {"mechanism": "OAUTHBEARER", "token_env": "T"}})})
    with pytest.raises(UnreadableByJvmError):
        reading()


def test_what_the_route_forbids_is_refused(serve: Serve) -> None:
    """With the rule that says so; reading does not need leave to write."""
    serve({"route": route(may_read=False)})
    with pytest.raises(MayNotError, match="may not read on cluster new: rule r"):
        reading()
    assert kafka_options("orders", "producer", topics=["orders"])["topic"] == "old.orders"
    serve({"route": route(may_write=False)})
    with pytest.raises(MayNotError, match="may not write"):
        kafka_options("orders", "producer", topics=["orders"])


def test_a_job_registers_with_what_rules_match_and_takes_itself_off_the_list(serve: Serve) -> None:
    """Under one id, which is another the next time."""
    service = serve({"route": route()})
    settings = {"route.application": "nightly", "route.parameters": {"site": "north"}}
    reading(group="enrich", parameters={"job_id": "1234"}, settings=settings)
    (put, path, body), delete = service.asked
    assert (put, delete) == ("PUT", ("DELETE", path, None))
    assert (body["code"], body["role"], body["group"]) == ("orders", "consumer", "enrich")
    assert body["parameters"] == {"site": "north", "job_id": "1234", "application": "nightly"}
    reading()
    assert service.asked[2][1] != path


def test_a_switch_holds_a_job_that_begins(serve: Serve) -> None:
    """And what it was told meanwhile is not kept."""
    service = serve({"route": route(), "hold": "s-1"})
    with pytest.raises(HeldBySwitchError, match="switch s-1 is under way"):
        reading()
    assert [one[0] for one in service.asked] == ["PUT", "DELETE"]
    serve(DOWN)
    with pytest.raises(NoRouteError):
        reading()


def test_without_the_service_the_last_route_leads_and_its_age_is_told(
    serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    """J1: of the same question alone, and not after a refusal."""
    serve({"route": route()})
    asked = {"topics": ["orders", "sales"]}
    told = lead("orders", "consumer", **asked)
    assert told.age_s == 0.0
    serve(DOWN)
    with caplog.at_level(logging.WARNING, "anabranch.spark"):
        kept = lead("orders", "consumer", **asked)
    assert kept.options == told.options and kept.age_s >= 0.0
    assert "leads to cluster new by a route that is 0 s old" in caplog.text
    with pytest.raises(NoRouteError):
        reading(group="another")
    serve(RouteProblemError(409, "urn:anabranch:problem:unknown-code", "there is no cluster code 'orders'"))
    with pytest.raises(RouteProblemError, match="no cluster code"):
        reading()


def test_what_is_asked_wrongly_is_told_before_anybody_is_asked(serve: Serve) -> None:
    """Names the setting."""
    service = serve({"route": route()})
    for role, topics, more, error in (
        ("reader", ["orders"], {}, SettingError),
        ("consumer", [], {}, SettingError),
        ("consumer", "orders", {}, SettingError),
        ("consumer", ["^orders.*"], {}, SettingError),
        ("consumer", ["orders"], {"settings": {"group.id": "g"}}, UnknownSettingError),
        ("consumer", ["orders"], {"settings": {"route.service": "ftp://x"}}, SettingError),
        ("producer", ["orders"], {"positions": EarlierPositions("old", {"orders": {"0": 1}}, "l")}, SettingError),
    ):
        with pytest.raises(error) as told:
            kafka_options("orders", role, topics=topics, **more)
        assert isinstance(told.value, ConfigError) and told.value.hint
    assert service.asked == []


def test_an_answer_without_the_route_of_a_topic_is_none(serve: Serve) -> None:
    """Nothing is guessed."""
    for answer in (None, {}, {"route": route(topics={"orders": "orders"})}):
        serve(answer)
        with pytest.raises(MalformedRouteError):
            reading()


def test_the_calls_of_the_page_are_taken_and_lead_where_it_says(serve: Serve) -> None:
    """docs/how-to/route-spark.md: the job alone is led to new."""
    service = serve({"route": route(cluster="old", topics={"sales": "sales", "reports": "reports"})})
    page = (TOP / "docs" / "how-to" / "route-spark.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {"EarlierPositions": EarlierPositions, "kafka_options": kafka_options}
    for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        for line in ast.parse(block).body:
            text = ast.unparse(line)
            if isinstance(line, ast.Assign) and "spark." not in text:
                exec(text, names)
    assert "startingOffsets" in names["options"] and names["sink"]["topic"] == "reports"
    table = routes_file.load(TOP / "examples" / "routes" / "spark-job.yaml")
    asked = [body for method, _, body in service.asked if method == "PUT"]
    queries = [RouteQuery(one["code"], ClientRole(one["role"]), tuple(one["topics"]), one["group"]) for one in asked]
    assert [resolve(table, one)[0].cluster for one in queries] == ["new", "old", "new"]
