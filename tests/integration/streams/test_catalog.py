"""The catalog over HTTP, on a real cluster or one that acts like it: who may do what, and what becomes of topics."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from anabranch.model.accounts import Role
from anabranch.model.clock import DAY_MS, now_ms
from anabranch.sandbox import SandboxCluster
from anabranch.sandbox.spec import ClusterSpec
from anabranch.store.accounts import Accounts
from anabranch.store.streams import StoredStream
from anabranch.streams.lineage.document import StoredLineage, VersionLineage, document_of
from anabranch.streams.lineage.edges import InsertLineage, TableColumn
from anabranch.streams.states import StreamState, StreamWanted
from anabranch.streams.versions import StreamVersion
from qa.service import Served, serving, until
from qa.timeouts import TIMEOUT_S
from tests.simulated import Simulated

pytestmark = pytest.mark.test

DATABASE = "CREATE DATABASE shop"
ORDERS = (
    "CREATE TABLE shop.orders (id BIGINT, name STRING) USING kafka "
    "OPTIONS (cluster 'main', topic 'orders', format 'json')"
)
Catalog = Callable[..., Any]


@pytest.fixture(scope="module")
def simulated() -> Iterator[Simulated]:
    """A cluster in this process."""
    with Simulated(ClusterSpec(name="main"), 1) as made:
        yield made


@pytest.fixture
def served(simulated: Simulated, tmp_path: Path) -> Iterator[Served]:
    """A service with one cluster, and accounts mei and jo, who are operators."""
    with serving(str(tmp_path / "store.db"), {"main": {"bootstrap": [simulated.bootstrap]}}, tmp_path) as made:
        people(made)
        yield made


def people(served: Served) -> None:
    """Accounts mei and jo, who are approvers."""
    accounts, now = Accounts(served.instance.stored.database), now_ms()
    for name in ("mei", "jo"):
        accounts.add(name, Role.APPROVER, now)
        served.tokens[name] = accounts.issue(name, "test", now, now + DAY_MS)[0]
    until(lambda: served.instance.acting.acts)


def planned(served: Served, who: str, verb: str, request: dict[str, Any]) -> Any:
    """A plan, or the problem with it."""
    return served.ask("POST", f"/api/v1/catalog/{verb}/plan", request, role=who).json


def do(served: Served, who: str, verb: str, **request: Any) -> Any:
    """Plan and apply; the report, or the problem."""
    plan = planned(served, who, verb, request)
    if "id" not in plan:
        return plan
    begun = served.ask("POST", f"/api/v1/plans/{plan['id']}/apply", {"hash": plan["hash"]}, role=who)
    assert begun.status == 202, begun.body
    until(lambda: served.get(begun.headers["location"], who)["state"] != "running")
    ended = served.get(begun.headers["location"], who)
    return ended["problem"] or ended["report"]


def create(served: Served, who: str, sql: str, **more: Any) -> Any:
    """Define what a text says."""
    return do(served, who, "create", definitions={"sql": sql}, **more)


def kind(problem: Any) -> str:
    """What a problem is called."""
    return str(problem["type"]).rpartition(":")[2]


def topics(cluster: Simulated | SandboxCluster) -> set[str]:
    """The topics of a cluster."""
    return set(AdminClient(cluster.client_config()).list_topics(timeout=TIMEOUT_S).topics)


def test_who_has_no_grant_sees_nothing_and_one_who_has_sees_what_was_granted(served: Served) -> None:
    """Closed by default; a grant on a database holds for its tables, one of a group for its accounts."""
    assert kind(create(served, "mei", DATABASE)) == "denied"
    assert do(served, "admin", "grant", privilege="manage", name="spark_catalog", principal="user:mei", on="catalog")[
        "changed"
    ]
    assert create(served, "mei", f"{DATABASE}; {ORDERS}")["changed"] == [
        "spark_catalog.shop",
        "spark_catalog.shop.orders",
    ]
    assert served.get("/api/v1/catalog", "jo") == []
    for name in ("shop.orders", "shop", "shop.nothing"):
        assert kind(served.ask("GET", f"/api/v1/catalog/entries/{name}", role="jo").json) == "no-entry"
    for verb, request in (
        ("drop", {"name": "shop.orders"}),
        ("set", {"name": "shop.orders", "owner": "jo"}),
        ("grant", {"privilege": "read", "name": "shop.orders", "principal": "user:jo"}),
        ("grant", {"privilege": "read", "name": "shop.nothing", "principal": "user:jo"}),
        ("create", {"definitions": {"sql": ORDERS.replace("CREATE", "CREATE OR REPLACE")}}),
        ("create", {"definitions": {"sql": "CREATE TABLE shop.mine USING rate"}}),
        ("group", {"group": "shop", "add": ["jo"]}),
    ):
        told = planned(served, "jo", verb, request)
        assert kind(told) in ("denied", "no-entry", "not-admin") and "id BIGINT" not in json.dumps(told), told
    assert do(served, "admin", "group", group="shop", add=["jo"])["members"] == ["jo"]
    do(served, "mei", "grant", privilege="read", name="shop", principal="group:shop", on="database")
    seen = served.get("/api/v1/catalog/entries/shop.orders", "jo")
    assert (seen["may"], seen["summary"]["owner"]) == (["read"], "mei")
    assert [one["short"] for one in served.get("/api/v1/catalog?search=ORD", "jo")] == ["shop.orders"]
    assert kind(planned(served, "jo", "drop", {"name": "shop.orders"})) == "denied"
    assert [one["principal"] for one in served.get("/api/v1/catalog/grants", "jo")] == ["group:shop"]
    assert do(served, "mei", "revoke", privilege="read", name="shop", principal="group:shop", on="database")["changed"]
    assert served.get("/api/v1/catalog", "jo") == []


def test_a_plan_of_the_catalog_is_shown_to_who_asked_for_it_alone(served: Served) -> None:
    """And to admins: what is defined in it may not be everybody's."""
    plan = planned(served, "admin", "create", {"definitions": {"sql": f"{DATABASE}; {ORDERS}"}})
    assert served.ask("GET", f"/api/v1/plans/{plan['id']}", role="jo").status == 404
    done = served.ask("POST", f"/api/v1/plans/{plan['id']}/apply", {"hash": plan["hash"]}, role="admin")
    until(lambda: served.get(done.headers["location"], "admin")["state"] == "done")
    for path in (done.headers["location"], "/api/v1/operations"):
        assert "shop" not in json.dumps(served.get(path, "jo"))
        assert "shop" in json.dumps(served.get(path, "admin"))


def test_a_topic_of_the_catalog_is_not_defined_a_second_time_without_managing_the_first(served: Served) -> None:
    """Nor does a file of the machine become a table of somebody who manages a database alone."""
    create(served, "admin", f"{DATABASE}; CREATE DATABASE own; {ORDERS}")
    do(served, "admin", "grant", privilege="manage", name="own", principal="user:jo", on="database")
    told = create(served, "jo", ORDERS.replace("shop.orders", "own.orders"))
    assert kind(told) == "denied" and "topic orders of cluster main" in told["detail"]
    assert kind(create(served, "jo", "CREATE TABLE own.files USING parquet OPTIONS (path '/')")) == "denied"
    assert create(served, "jo", "CREATE TABLE own.rates USING rate")["changed"] == ["spark_catalog.own.rates"]


def test_a_change_that_breaks_readers_is_refused_until_it_is_accepted(served: Served) -> None:
    """Each schema is a version."""
    create(served, "admin", f"{DATABASE}; {ORDERS}")
    narrow = ORDERS.replace("CREATE", "CREATE OR REPLACE").replace("id BIGINT", "id INT")
    told = create(served, "admin", narrow)
    assert kind(told) == "breaks-readers" and "column id was BIGINT" in told["detail"]
    assert kind(create(served, "admin", ORDERS)) == "exists"
    assert create(served, "admin", narrow, accept_breaking=True)["changed"]
    assert create(served, "admin", narrow)["changed"] == []
    found = served.get("/api/v1/catalog/entries/shop.orders/versions", "admin")
    assert [(one["number"], one["columns"][0]["type"]) for one in found] == [(2, "INT"), (1, "BIGINT")]


def test_a_topic_is_made_and_deleted_only_where_that_is_asked_for(served: Served, simulated: Simulated) -> None:
    """With its partitions; what would be deleted is shown before."""
    create(served, "admin", f"{DATABASE}; {ORDERS.replace('orders', 'sales')}")
    assert "sales" not in topics(simulated)
    do(served, "admin", "drop", name="shop.sales")
    made = {"create_topics": True, "partitions": 3, "retention": "2h"}
    assert create(served, "admin", ORDERS.replace("orders", "sales"), **made)["topics"] == ["main/sales"]
    assert "sales" in topics(simulated)
    plan = planned(served, "admin", "drop", {"name": "shop.sales", "topic": True})["plan"]
    assert (plan["topic"]["partitions"], plan["topic"]["records"], plan["topic"]["retention_ms"]) == (3, 0, 7_200_000)
    do(served, "admin", "drop", name="shop.sales")
    assert "sales" in topics(simulated)
    create(served, "admin", ORDERS.replace("orders", "sales"))
    assert do(served, "admin", "drop", name="shop.sales", topic=True)["topic"] == "sales"
    until(lambda: "sales" not in topics(simulated))


def test_a_topic_that_was_there_before_its_table_is_deleted_by_an_admin_alone(
    served: Served, simulated: Simulated
) -> None:
    """Else who manages a database could delete any topic by defining a table over it."""
    create(served, "admin", DATABASE)
    do(served, "admin", "grant", privilege="manage", name="shop", principal="user:jo", on="database")
    admin = AdminClient(simulated.client_config())
    admin.create_topics([NewTopic("before", 1)])["before"].result(TIMEOUT_S)
    made = {"create_topics": True}
    asked = {"definitions": {"sql": ORDERS.replace("orders", "before")}, **made}
    until(lambda: not planned(served, "jo", "create", asked)["plan"]["changes"][0]["topic"])  # all brokers know it
    told = do(served, "jo", "create", **asked)
    assert told.get("topics") == [], told
    assert create(served, "jo", ORDERS.replace("orders", "after"), **made)["topics"] == ["main/after"]
    create(served, "jo", ORDERS.replace("CREATE", "CREATE OR REPLACE").replace("orders", "after") + " COMMENT 'c'")
    assert kind(do(served, "jo", "drop", name="shop.before", topic=True)) == "no-topic-to-delete"
    assert do(served, "jo", "drop", name="shop.after", topic=True)["topic"] == "after"
    assert kind(create(served, "jo", ORDERS.replace("'orders'", "'__consumer_offsets'"))) == "denied"
    assert do(served, "admin", "drop", name="shop.before", topic=True)["topic"] == "before"


@pytest.mark.parametrize("verb", ["create", "drop"])
def test_of_two_who_planned_on_the_same_catalog_one_is_refused(served: Served, verb: str) -> None:
    """What was planned is not what would be done now."""
    create(served, "admin", f"{DATABASE}; {ORDERS}")
    change = ORDERS.replace("CREATE", "CREATE OR REPLACE").replace(")", ", more STRING)", 1)
    request = {"definitions": {"sql": change}} if verb == "create" else {"name": "shop.orders"}
    plan = planned(served, "admin", verb, request)
    assert create(served, "admin", change.replace("more", "other"))["changed"]
    begun = served.ask("POST", f"/api/v1/plans/{plan['id']}/apply", {"hash": plan["hash"]}, role="admin")
    until(lambda: served.get(begun.headers["location"], "admin")["state"] != "running")
    ended = served.get(begun.headers["location"], "admin")
    assert ended["state"] == "failed" and kind(ended["problem"]) in ("plan-changed", "breaks-readers")
    assert "other" in json.dumps(served.get("/api/v1/catalog/entries/shop.orders", "admin"))


def test_topics_of_a_real_cluster_become_tables(tmp_path: Path) -> None:
    """Their columns are inferred from records; nothing reads them as a group; the topic goes with its table."""
    with SandboxCluster.start(ClusterSpec(name="main")) as cluster:
        admin = AdminClient(cluster.client_config())
        admin.create_topics([NewTopic("web.clicks", 2)])["web.clicks"].result(TIMEOUT_S)
        # in order over retries: the record that is no JSON is among the newest
        producer = Producer({**cluster.client_config(), "compression.type": "lz4", "enable.idempotence": True})
        for number in range(500):
            value = {"id": number, "at": {"zone": "utc", "ms": 1.5}, "tags": ["a"] if number % 2 else []}
            producer.produce("web.clicks", json.dumps(value).encode(), partition=0)
        producer.produce("web.clicks", b"no json", partition=0)
        assert producer.flush(TIMEOUT_S) == 0
        with serving(str(tmp_path / "store.db"), {"main": {"bootstrap": [cluster.bootstrap]}}, tmp_path) as served:
            people(served)
            create(served, "admin", DATABASE)
            asked = {"topics": ["web.clicks"], "cluster": "main", "database": "shop", "samples": 100}
            assert kind(planned(served, "jo", "import", asked)) == "denied"
            assert kind(planned(served, "admin", "import", {**asked, "topics": ["gone"]})) == "topic-not-there"
            (table,) = planned(served, "admin", "import", asked)["plan"]["tables"]
            assert (table["samples"], table["fit"]) == (100, 99)
            assert [(one["name"], one["type"]) for one in table["columns"]] == [
                ("id", "BIGINT"),
                ("at", "STRUCT<zone: STRING, ms: DOUBLE>"),
                ("tags", "ARRAY<STRING>"),
            ]
            assert do(served, "admin", "import", **asked)["changed"] == ["spark_catalog.shop.web_clicks"]
            plan = planned(served, "admin", "drop", {"name": "shop.web_clicks", "topic": True})["plan"]
            assert plan["topic"]["records"] == 501
            assert do(served, "admin", "drop", name="shop.web_clicks", topic=True)["topic"] == "web.clicks"
            until(lambda: "web.clicks" not in topics(cluster))
            assert not admin.list_consumer_groups().result(TIMEOUT_S).valid


def test_a_plan_names_the_streams_that_it_breaks(served: Served) -> None:
    """By the columns that they read; a drop names those that write it, too."""
    create(served, "admin", f"{DATABASE}; {ORDERS}; {ORDERS.replace('orders', 'sales')}")
    stored, now = served.instance.stored, now_ms()
    for name in ("totals", "names"):
        draft = StreamWanted.STOPPED, StreamState.DRAFT
        stream = StoredStream(name, 1, "admin", "", now, 1, 0, *draft, "", now, 0, 0)
        stored.streams.add(stream, StreamVersion(1, now, "admin", "", "SELECT 1"))
        column = "id" if name == "totals" else "name"
        read = frozenset({TableColumn("shop.orders", column)})
        insert = InsertLineage("shop.sales", ("id", "name"), {"shop.orders": ("id", "name")}, (), read)
        stored.lineages.keep(StoredLineage(name, 1, now, document_of(VersionLineage((insert,)))))
    narrow = ORDERS.replace("CREATE", "CREATE OR REPLACE").replace("id BIGINT", "id INT")
    told = create(served, "admin", narrow)
    assert kind(told) == "breaks-readers" and "those who read it (totals): column id was BIGINT" in told["detail"]
    asked = {"definitions": {"sql": narrow}, "accept_breaking": True}
    assert planned(served, "admin", "create", asked)["plan"]["changes"][0]["readers"] == ["totals"]
    elsewhere = {"definitions": {"sql": narrow.replace("topic 'orders'", "topic 'other'")}, "accept_breaking": True}
    assert planned(served, "admin", "create", elsewhere)["plan"]["changes"][0]["readers"] == ["names", "totals"]
    plan = planned(served, "admin", "drop", {"name": "shop.sales"})["plan"]
    assert (plan["readers"], plan["writers"]) == ([], ["names", "totals"])


def test_a_definition_with_a_secret_or_a_file_takes_the_whole_catalog(served: Served) -> None:
    """Else who manages a database would send the service's secrets to a server of his own."""
    create(served, "admin", DATABASE)
    do(served, "admin", "grant", privilege="manage", name="shop", principal="user:jo", on="database")
    table = "CREATE TABLE shop.t USING redis OPTIONS (url 'redis://elsewhere:6379/0', password 'env:HOME')"
    told = create(served, "jo", table)
    assert kind(told) == "denied" and "option password names a secret" in told["detail"]
    assert create(served, "admin", table)["changed"] == ["spark_catalog.shop.t"]


def test_a_list_of_topics_is_no_way_around_a_grant(served: Served) -> None:
    """Each topic of it is judged."""
    create(served, "admin", f"{DATABASE}; {ORDERS}")
    do(served, "admin", "grant", privilege="manage", name="shop", principal="user:jo", on="database")
    create(served, "admin", "CREATE DATABASE pay")
    do(served, "admin", "grant", privilege="manage", name="pay", principal="user:mei", on="database")
    both = ORDERS.replace("shop.orders", "pay.both").replace("topic 'orders'", "topic 'free, orders'")
    assert kind(create(served, "mei", both)) == "denied"
    assert create(served, "jo", both.replace("pay.both", "shop.both"))["changed"]
