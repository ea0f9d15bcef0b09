"""What changes of the catalog are planned, refused and made, by the service's own desk on a store and two clusters."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import pytest
import yaml

from anabranch.errors import RefusedError
from anabranch.kafka.admin import create_topic
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.settling import until_led
from anabranch.model.accounts import Role
from anabranch.model.plans import PlanChangedError
from anabranch.model.topics import TopicPartition
from anabranch.operations.catalog import define, drop, importing, rights
from anabranch.operations.catalog import topics as kafka_topics
from anabranch.operations.catalog.define import BreaksReadersError, DefinedTwiceError, ExistsError
from anabranch.operations.catalog.desk import NoDatabaseError
from anabranch.operations.catalog.drop import NotEmptyError, NoTopicToDeleteError
from anabranch.operations.catalog.entries import MADE_TOPIC
from anabranch.operations.catalog.importing import NothingInferredError
from anabranch.operations.catalog.rights import ClaimedMemberError, GrantTargetError, NotAdminError
from anabranch.operations.catalog.topics import TopicNotThereError, TopicOptions
from anabranch.records.encode import encode
from anabranch.records.record import Record, TimestampType
from anabranch.service.catalog_desk import ServiceCatalogDesk
from anabranch.service.clusters import ClusterPool
from anabranch.service.routing import Routing
from anabranch.service.stored import Stored
from anabranch.store.artifacts import StoredArtifact
from anabranch.streams.artifacts.values import ArtifactFile, ArtifactKind, ArtifactVersion
from anabranch.streams.catalog.ddl import definitions
from anabranch.streams.catalog.kept import NoEntryError
from anabranch.streams.grants import DeniedError, Grant, PrincipalError, Privilege
from anabranch.streams.kept import StoredStream
from anabranch.streams.lineage.document import StoredLineage
from anabranch.streams.states import StreamState, StreamWanted
from anabranch.streams.versions import StreamSettings, StreamVersion
from qa.service import until
from tests.unit import asking
from tests.unit.link_lab import Lab

pytestmark = pytest.mark.test
T = TypeVar("T")
NOW = 1_000_000
STREAM = StoredStream("counts", 1, "mei", "", NOW, 1, 0, StreamWanted.STOPPED, StreamState.DRAFT, "", NOW, 0, 0)
FIRST = StreamVersion(1, NOW, "mei", "", "SELECT 1", StreamSettings())
SHOP = "spark_catalog.shop"
ORDERS, PAID = f"{SHOP}.orders", f"{SHOP}.paid"
OF_ORDERS = "USING kafka OPTIONS (cluster 'old', topic 'orders', format 'json')"
OF_NEW = "USING kafka OPTIONS (cluster 'old', topic 'fresh', format 'json')"
BASE = f"""
CREATE DATABASE shop COMMENT 'of the shop';
CREATE TABLE shop.orders (id INT COMMENT 'its number', name STRING) {OF_ORDERS};
CREATE VIEW shop.large AS SELECT id FROM shop.orders WHERE id > 5;
CREATE OR REPLACE FUNCTION shop.twice(x INT) RETURNS INT RETURN x * 2;
"""


class Shop:
    """The catalog of a service, changed by whoever is named; an admin is called root."""

    def __init__(self, stored: Stored, both: Lab, directory: Path) -> None:
        self.stored, self.both = stored, both
        self.file = directory / "contexts.yaml"
        contexts = {one.name: {"bootstrap": list(one.bootstrap)} for one in (both.source, both.target)} | {
            "other-name": {"bootstrap": list(both.source.bootstrap)}
        }
        self.file.write_text(yaml.safe_dump({"version": 1, "contexts": contexts}), "utf-8")
        stored.accounts.add("root", Role.ADMIN, NOW)
        for name in ("mei", "jo"):
            stored.accounts.add(name, Role.OPERATOR, NOW)

    def ask(self, what: Callable[[ServiceCatalogDesk], Awaitable[T]], account: str = "root") -> T:
        """What comes of asking the desk of an account."""

        async def run() -> T:
            pool = ClusterPool(self.file)

            async def changed() -> None:
                """Nothing else is led here."""

            try:
                return await what(ServiceCatalogDesk(self.stored, Routing(self.stored, pool, changed), pool, account))
            finally:
                pool.close()

        return asyncio.run(run())

    def plan(
        self, script: str, account: str = "root", topics: TopicOptions | None = None, *, accept: bool = False
    ) -> define.DefinePlan:
        """The plan of a script."""
        return self.ask(lambda desk: define.plan(desk, definitions(script), topics, accept_breaking=accept), account)

    def make(
        self, script: str, account: str = "root", topics: TopicOptions | None = None, *, accept: bool = False
    ) -> define.Defined:
        """Plan a script and apply it."""
        planned = self.plan(script, account, topics, accept=accept)
        done = self.ask(lambda desk: define.apply(desk, planned), account)
        self.led(*done.topics)
        return done

    def led(self, *made: str) -> None:
        """Return once the leaders of topics, as ``cluster/topic``, answer for them."""
        for one in made:
            code, _, topic = one.partition("/")
            self.ask(lambda desk, code=code, topic=topic: until_led(desk.cluster(code), [topic]))  # type: ignore[misc]

    def grant(self, on: str, principal: str, privilege: Privilege, account: str = "root") -> rights.Granted:
        """Give a grant."""

        async def both(desk: ServiceCatalogDesk) -> rights.Granted:
            return await rights.apply_grant(desk, await rights.plan_grant(desk, on, principal, privilege, give=True))

        return self.ask(both, account)

    def reads(self, stream: str, *columns: str, table: str = "shop.orders", target: str = "stream://x/out") -> None:
        """Have a stream read some columns of a table, and write another one."""
        self.stored.streams.add(replace(STREAM, name=stream), FIRST)
        insert = {
            "target": target,
            "columns": ["n"],
            "sources": {table: list(columns)},
            "edges": [],
            "reads": [[table, one] for one in columns],
            "not_understood": [],
        }
        kept = self.stored.lineages.keep(StoredLineage(stream, 1, NOW, {"inserts": [insert], "datasets": {}}))
        assert kept


async def dropped(desk: ServiceCatalogDesk, name: str) -> drop.Dropped:
    """Drop an object, and nothing else."""
    return await drop.apply(desk, await drop.plan(desk, name))


@pytest.fixture
def shop(stored: Stored, both: Lab, tmp_path: Path) -> Shop:
    """An empty catalog."""
    return Shop(stored, both, tmp_path)


def told(planned: define.DefinePlan) -> list[tuple[str, str, str, bool, str]]:
    """Each change of a plan."""
    return [(one.change.value, one.kind.value, one.name, one.schema, one.topic) for one in planned.changes]


def refusal(shop: Shop, script: str, account: str = "root", topics: TopicOptions | None = None) -> RefusedError:
    """What a script is refused with."""
    with pytest.raises(RefusedError) as found:
        shop.plan(script, account, topics)
    return found.value


# -- what a script defines -----------------------------------------------------------------------------------


def test_a_script_makes_what_is_not_there_and_keeps_what_says_the_same(shop: Shop) -> None:
    """The first time all; then IF NOT EXISTS and what says the same change nothing; one who made it owns it."""
    assert told(shop.plan(BASE)) == [
        ("create", "database", SHOP, False, ""),
        ("create", "table", ORDERS, True, ""),
        ("create", "view", f"{SHOP}.large", False, ""),
        ("create", "function", f"{SHOP}.twice", False, ""),
    ]
    made = shop.make(BASE)
    assert (made.changed, made.topics) == ((SHOP, ORDERS, f"{SHOP}.large", f"{SHOP}.twice"), ())
    kept = {one.name: one for one in shop.stored.catalog.all()}
    assert {(one.owner, one.author, one.revision) for one in kept.values()} == {("root", "root", 1)}
    assert (kept[SHOP].description, kept[ORDERS].document["comments"]) == ("of the shop", {"id": "its number"})
    assert [one.number for one in shop.stored.catalog.schemas(ORDERS)] == [1]
    there = BASE.replace("DATABASE", "DATABASE IF NOT EXISTS").replace("CREATE TABLE", "CREATE OR REPLACE TABLE")
    there = there.replace("CREATE VIEW", "CREATE OR REPLACE VIEW")
    planned = shop.plan(there)
    assert {one.change.value for one in planned.changes} == {"keep"}
    assert shop.ask(lambda desk: define.apply(desk, planned)).changed == ()
    assert {one.revision for one in shop.stored.catalog.all()} == {1}
    refused = refusal(shop, f"CREATE TABLE IF NOT EXISTS shop.large (id INT) {OF_ORDERS}")
    assert isinstance(refused, ExistsError)
    assert refused.message == f"there is a view {SHOP}.large already"


def test_what_is_there_is_changed_only_where_that_is_said(shop: Shop) -> None:
    """With the same kind; a table that gets another column has another schema version, a comment makes none."""
    shop.make(BASE)
    assert isinstance(refusal(shop, f"CREATE TABLE shop.orders (id INT) {OF_ORDERS}"), ExistsError)
    assert isinstance(refusal(shop, f"CREATE OR REPLACE TABLE shop.large (id INT) {OF_ORDERS}"), ExistsError)
    more = f"CREATE OR REPLACE TABLE shop.orders (id INT COMMENT 'its number', name STRING, at STRING) {OF_ORDERS}"
    assert told(shop.plan(more)) == [("change", "table", ORDERS, True, "")]
    shop.make(more)
    described = f"CREATE OR REPLACE TABLE shop.orders (id INT, name STRING, at STRING) {OF_ORDERS} COMMENT 'all'"
    assert told(shop.plan(described)) == [("change", "table", ORDERS, False, "")]
    shop.make(described, "root")
    entry = shop.stored.catalog.get(ORDERS)
    assert (entry.revision, entry.description, entry.document["comments"]) == (3, "all", {})
    assert [len(one.columns) for one in shop.stored.catalog.schemas(ORDERS)] == [3, 2]
    view = "CREATE OR REPLACE VIEW shop.large AS SELECT 1"
    assert told(shop.plan(view)) == [("change", "view", f"{SHOP}.large", False, "")]


def test_one_script_defines_nothing_twice_and_nothing_in_a_database_that_is_not_there(shop: Shop) -> None:
    """Whatever the case of the name; a database that the script makes itself is there."""
    twice = refusal(shop, "CREATE DATABASE shop; CREATE VIEW shop.a AS SELECT 1; CREATE VIEW SHOP.A AS SELECT 2")
    assert isinstance(twice, DefinedTwiceError)
    assert twice.name == f"{SHOP}.a"
    missing = refusal(shop, "CREATE VIEW shop.a AS SELECT 1")
    assert isinstance(missing, NoDatabaseError)
    assert (missing.message, missing.hint) == ("there is no database shop", "make it: CREATE DATABASE shop")
    assert told(shop.plan("CREATE VIEW a AS SELECT 1")) == [("create", "view", "spark_catalog.default.a", False, "")]


def test_a_plan_does_not_hold_once_somebody_changed_what_it_saw(shop: Shop) -> None:
    """Neither what is there nor what was not: then nothing of the script is made."""
    shop.make(BASE)
    changing = shop.plan("CREATE VIEW shop.small AS SELECT 1; CREATE OR REPLACE VIEW shop.large AS SELECT 2")
    making = shop.plan("CREATE VIEW shop.other AS SELECT 1")
    shop.make("CREATE OR REPLACE VIEW shop.large AS SELECT 3; CREATE VIEW shop.other AS SELECT 3")
    again = shop.plan("CREATE VIEW shop.small AS SELECT 1; CREATE OR REPLACE VIEW shop.large AS SELECT 2")
    assert again.hash != changing.hash
    for planned, error in ((changing, PlanChangedError), (making, ExistsError)):
        with pytest.raises(error):
            shop.ask(lambda desk, planned=planned: define.apply(desk, planned))  # type: ignore[misc]
    assert f"{SHOP}.small" not in {one.name for one in shop.stored.catalog.all()}


def test_a_change_that_breaks_readers_is_refused_unless_that_is_accepted(shop: Shop) -> None:
    """With the streams that read a column that changes; of rows that are elsewhere all that read the table."""
    shop.make(BASE)
    shop.reads("names", "name")
    shop.reads("numbers", "id")
    gone = f"CREATE OR REPLACE TABLE shop.orders (id INT) {OF_ORDERS}"
    refused = refusal(shop, gone)
    assert isinstance(refused, BreaksReadersError)
    assert refused.readers == ("names",)
    assert refused.message == (f"{ORDERS} would break those who read it (names): column name goes: who reads it fails")
    accepted = shop.plan(gone, accept=True)
    assert accepted.changes[0].readers == ("names",)
    assert [one.what for one in accepted.changes[0].reasons] == ["column name goes: who reads it fails"]
    elsewhere = f"CREATE OR REPLACE TABLE shop.orders (id INT, name STRING) {OF_NEW}"
    moved = refusal(shop, elsewhere)
    assert isinstance(moved, BreaksReadersError)
    assert moved.readers == ("names", "numbers")
    assert "its rows are elsewhere from now on" in moved.message
    wider = shop.plan(f"CREATE OR REPLACE TABLE shop.orders (id BIGINT, name STRING) {OF_ORDERS}")
    assert (wider.changes[0].readers, [one.severity.value for one in wider.changes[0].reasons]) == (
        ("numbers",),
        ["warning"],
    )
    shop.make(gone, accept=True)
    assert len(shop.stored.catalog.schemas(ORDERS)) == 2


def test_topics_that_tables_name_are_made_with_the_settings_of_the_plan(shop: Shop) -> None:
    """Only those that are not there, only where that is asked for, and once; the table knows that it made its topic."""
    script = f"CREATE DATABASE shop; CREATE TABLE shop.a (id INT) {OF_NEW}; CREATE TABLE shop.b (id INT) {OF_ORDERS}"
    assert [one.topic for one in shop.plan(script).changes] == ["", "", ""]
    options = TopicOptions(3, 1, 60_000)
    planned = shop.plan(script, topics=options)
    assert [one.topic for one in planned.changes] == ["", "old/fresh", ""]
    assert shop.plan(script).hash != planned.hash != shop.plan(script, topics=TopicOptions(4, 1, 60_000)).hash
    made = shop.ask(lambda desk: define.apply(desk, planned))
    assert made.topics == ("old/fresh",)
    shop.led("old/fresh")
    seen = shop.ask(lambda desk: kafka_topics.seen(desk.cluster("old"), "fresh"))
    assert (seen.topic, seen.partitions, seen.records, seen.retention_ms) == ("fresh", 3, 0, 60_000)
    kept = {one.name: one.document for one in shop.stored.catalog.all()}
    assert kept[f"{SHOP}.a"][MADE_TOPIC] is True
    assert MADE_TOPIC not in kept[f"{SHOP}.b"]
    again = shop.plan(f"CREATE OR REPLACE TABLE shop.a (id INT, more INT) {OF_NEW}", topics=options)
    assert again.changes[0].topic == ""
    shop.ask(lambda desk: define.apply(desk, again))
    assert shop.stored.catalog.get(f"{SHOP}.a").document[MADE_TOPIC] is True
    shop.make(f"CREATE OR REPLACE TABLE shop.a (id INT, more INT) {OF_ORDERS}", accept=True)
    assert MADE_TOPIC not in shop.stored.catalog.get(f"{SHOP}.a").document


def test_a_topic_that_came_between_the_plan_and_its_end_is_nobodys_to_delete(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was not made for the table: one that came before that is planned again, one that comes even later stays."""
    planned = shop.plan(f"CREATE TABLE a (id INT) {OF_NEW}", topics=TopicOptions(1))
    shop.ask(lambda desk: create_topic(desk.cluster("old"), "fresh", 2, 1, {}))
    shop.led("old/fresh")
    with pytest.raises(PlanChangedError, match="the catalog changed since plan"):
        shop.ask(lambda desk: define.apply(desk, planned))
    assert shop.stored.catalog.all() == []

    async def not_yet(*_: object) -> bool:
        return False

    monkeypatch.setattr(define, "exists", not_yet)
    made = shop.ask(lambda desk: define.apply(desk, planned))
    assert (made.changed, made.topics) == (("spark_catalog.default.a",), ())
    assert MADE_TOPIC not in shop.stored.catalog.get("spark_catalog.default.a").document


# -- who may define what ---------------------------------------------------------------------------------------


def test_who_manages_nothing_defines_nothing(shop: Shop) -> None:
    """A grant on the database lets define in it, not make another one; one on the catalog lets both."""
    shop.make(BASE)
    script = "CREATE VIEW shop.mine AS SELECT 1"
    assert isinstance(refusal(shop, script, "mei"), DeniedError)
    assert isinstance(refusal(shop, "CREATE DATABASE other", "mei"), DeniedError)
    shop.grant(SHOP, "user:mei", Privilege.WRITE)
    assert isinstance(refusal(shop, script, "mei"), DeniedError)
    shop.grant(SHOP, "user:mei", Privilege.MANAGE)
    assert shop.make(script, "mei").changed == (f"{SHOP}.mine",)
    assert shop.stored.catalog.get(f"{SHOP}.mine").owner == "mei"
    assert isinstance(refusal(shop, "CREATE DATABASE other", "mei"), DeniedError)
    both = "CREATE DATABASE other; CREATE VIEW other.mine AS SELECT 1"
    shop.grant("spark_catalog", "user:jo", Privilege.MANAGE)
    assert shop.make(both, "jo").changed == ("spark_catalog.other", "spark_catalog.other.mine")
    assert isinstance(refusal(shop, "CREATE OR REPLACE VIEW other.mine AS SELECT 2", "mei"), DeniedError)


def test_a_table_over_a_topic_of_others_needs_their_grant(shop: Shop) -> None:
    """By any name of the cluster, and in a list of topics; of internal topics an admin alone has tables."""
    shop.make(BASE)
    shop.make("CREATE DATABASE own")
    shop.grant("spark_catalog.own", "user:mei", Privilege.MANAGE)
    for options in ("cluster 'old', topic 'orders'", "cluster 'other-name', topic 'x, orders'"):
        refused = refusal(shop, f"CREATE TABLE own.t (id INT) USING kafka OPTIONS ({options})", "mei")
        assert isinstance(refused, DeniedError)
        assert "which is that of shop.orders" in refused.message
    free = "CREATE TABLE own.t (id INT) USING kafka OPTIONS (cluster 'old', topic 'free')"
    assert told(shop.plan(free, "mei")) == [("create", "table", "spark_catalog.own.t", True, "")]
    shop.grant(ORDERS, "user:mei", Privilege.MANAGE)
    assert shop.plan(f"CREATE TABLE own.t (id INT) {OF_ORDERS}", "mei")
    internal = "CREATE TABLE own.i USING kafka OPTIONS (cluster 'old', topic 'a, __consumer_offsets')"
    assert "over topic a, __consumer_offsets" in refusal(shop, internal, "mei").message
    assert shop.plan(internal)


def test_tables_that_reach_files_or_secrets_need_the_whole_catalog(shop: Shop) -> None:
    """And those of a provider that names no server."""
    shop.make("CREATE DATABASE own")
    shop.grant("spark_catalog.own", "user:mei", Privilege.MANAGE)
    parquet = "CREATE TABLE own.f (id INT) USING parquet OPTIONS (path '/data/f')"
    secret = "CREATE TABLE own.s (id INT) USING redis OPTIONS (url 'redis://h', password 'env:SECRET')"
    assert "of provider parquet without managing catalog spark_catalog" in refusal(shop, parquet, "mei").message
    assert "define own.s without managing catalog spark_catalog" in refusal(shop, secret, "mei").message
    shop.grant("spark_catalog", "user:mei", Privilege.MANAGE)
    assert shop.plan(f"{parquet}; {secret}", "mei")


# -- what is dropped -------------------------------------------------------------------------------------------


def test_what_is_dropped_tells_who_reads_writes_and_mentions_it(shop: Shop) -> None:
    """Its grants and schema versions go with it; the hash covers all that is told."""
    shop.make(BASE)
    shop.make("CREATE VIEW shop.of_it AS SELECT * FROM `ORDERS`; CREATE VIEW shop.reorders AS SELECT 1")
    before = shop.ask(lambda desk: drop.plan(desk, ORDERS))
    assert (before.kind, before.revision, before.grants, before.topic) == ("table", 1, 0, None)
    assert (before.readers, before.writers) == ((), ())
    assert before.mentioned == (f"{SHOP}.large", f"{SHOP}.of_it")
    hashes = {before.hash}
    shop.grant(ORDERS, "user:mei", Privilege.READ)
    hashes.add(shop.ask(lambda desk: drop.plan(desk, ORDERS)).hash)
    shop.reads("names", "name")
    hashes.add(shop.ask(lambda desk: drop.plan(desk, ORDERS)).hash)
    shop.reads("filling", table="shop.large", target="shop.orders")
    planned = shop.ask(lambda desk: drop.plan(desk, ORDERS))
    hashes.add(planned.hash)
    assert len(hashes) == 4
    assert (planned.grants, planned.readers, planned.writers) == (1, ("names",), ("filling",))
    assert shop.ask(lambda desk: drop.apply(desk, planned)).topic == ""
    assert ORDERS not in {one.name for one in shop.stored.catalog.all()}
    assert (shop.stored.catalog.grants(), shop.stored.catalog.schemas(ORDERS)) == ([], [])
    with pytest.raises(NoEntryError):
        shop.ask(lambda desk: drop.plan(desk, ORDERS))
    with pytest.raises(NoEntryError):
        shop.ask(lambda desk: drop.apply(desk, planned))


def test_what_somebody_reads_since_it_was_shown_is_not_dropped(shop: Shop) -> None:
    """The plan named nobody: it is shown again."""
    shop.make(BASE)
    planned = shop.ask(lambda desk: drop.plan(desk, ORDERS))
    shop.reads("names", "name")
    with pytest.raises(PlanChangedError, match=f"{ORDERS} changed since plan {planned.hash}"):
        shop.ask(lambda desk: drop.apply(desk, planned))
    assert ORDERS in {one.name for one in shop.stored.catalog.all()}


def test_a_database_with_objects_and_what_one_does_not_manage_are_not_dropped(shop: Shop) -> None:
    """What one may not even see is not told to be there."""
    shop.make(BASE)
    shop.make("CREATE DATABASE shop2")
    with pytest.raises(NotEmptyError, match=r"database spark_catalog\.shop has 3 objects"):
        shop.ask(lambda desk: drop.plan(desk, SHOP))
    assert shop.ask(lambda desk: drop.plan(desk, "spark_catalog.shop2")).kind == "database"
    with pytest.raises(NoEntryError):
        shop.ask(lambda desk: drop.plan(desk, ORDERS), "mei")
    shop.grant(ORDERS, "user:mei", Privilege.WRITE)
    with pytest.raises(DeniedError):
        shop.ask(lambda desk: drop.plan(desk, ORDERS), "mei")
    shop.grant(SHOP, "user:mei", Privilege.MANAGE)
    assert shop.ask(lambda desk: drop.plan(desk, ORDERS), "mei").name == ORDERS


def test_a_topic_goes_with_its_table_only_where_it_is_the_tables_own(shop: Shop) -> None:
    """Its owner deletes the topic that was made with it; of any other an admin, where no other table has it."""
    shop.make(f"{BASE}; CREATE TABLE shop.fresh (id INT) {OF_NEW}", topics=TopicOptions(2))
    shop.grant(SHOP, "user:mei", Privilege.MANAGE)
    planned = shop.ask(lambda desk: drop.plan(desk, f"{SHOP}.fresh", topic=True), "mei")
    assert planned.topic is not None
    assert (planned.code, planned.topic.topic, planned.topic.partitions) == ("old", "fresh", 2)
    assert planned.hash != shop.ask(lambda desk: drop.plan(desk, f"{SHOP}.fresh"), "mei").hash
    for name, why in ((f"{SHOP}.large", "it has none"), (ORDERS, "it was there before the table")):
        with pytest.raises(NoTopicToDeleteError, match=why):
            shop.ask(lambda desk, name=name: drop.plan(desk, name, topic=True), "mei")  # type: ignore[misc]
    assert shop.ask(lambda desk: drop.plan(desk, ORDERS, topic=True)).topic is not None
    shop.make(f"CREATE TABLE shop.second (id INT) {OF_NEW}")
    with pytest.raises(NoTopicToDeleteError, match=f"it is that of {SHOP}.second too"):
        shop.ask(lambda desk: drop.plan(desk, f"{SHOP}.fresh", topic=True))
    with pytest.raises(NoTopicToDeleteError, match=f"it is that of {SHOP}.second too"):
        shop.ask(lambda desk: drop.apply(desk, planned), "mei")
    shop.ask(lambda desk: dropped(desk, f"{SHOP}.second"))
    gone = shop.ask(lambda desk: drop.apply(desk, planned), "mei")
    assert (gone.name, gone.topic) == (f"{SHOP}.fresh", "fresh")
    until(lambda: not shop.ask(lambda desk: kafka_topics.exists(desk.cluster("old"), "fresh")))
    assert shop.ask(lambda desk: kafka_topics.exists(desk.cluster("old"), "orders"))
    shop.make(f"CREATE TABLE shop.second (id INT) {OF_NEW}")
    with pytest.raises(TopicNotThereError, match="cluster old has no topic fresh"):
        shop.ask(lambda desk: drop.plan(desk, f"{SHOP}.second", topic=True))


def test_a_function_that_streams_call_is_dropped_with_their_names_told(shop: Shop) -> None:
    """Those whose published version is pinned to it."""
    shop.make("CREATE FUNCTION twice(x INT) RETURNS INT RETURN x * 2; CREATE VIEW v AS SELECT twice(1)")
    planned = shop.ask(lambda desk: drop.plan(desk, "spark_catalog.default.twice"))
    assert (planned.kind, planned.readers, planned.mentioned) == ("function", (), ("spark_catalog.default.v",))


def test_a_function_comes_from_an_artifact_that_is_there(shop: Shop) -> None:
    """By its name, and its version where one is named."""
    script = "CREATE FUNCTION clean AS 'text.clean' USING FILE 'artifact:text@{}'"
    with pytest.raises(RefusedError, match="text"):
        shop.plan(script.format(1))
    version = ArtifactVersion(1, NOW, "mei", "", ArtifactFile("text.py", "0f" * 32, 5))
    shop.stored.artifacts.add(StoredArtifact("text", ArtifactKind.PYTHON, "mei", "", NOW, 1), version)
    assert told(shop.plan(script.format(1))) == [("create", "function", "spark_catalog.default.clean", False, "")]
    with pytest.raises(RefusedError, match="2"):
        shop.plan(script.format(2))


# -- grants, owners and groups ---------------------------------------------------------------------------------


def test_a_grant_on_what_is_gone_since_is_not_kept_for_whoever_has_its_name_next(shop: Shop) -> None:
    """Nor one by somebody who may not give it any more."""
    shop.make(BASE)
    shop.grant(SHOP, "user:mei", Privilege.MANAGE)
    planned = shop.ask(lambda desk: rights.plan_grant(desk, ORDERS, "user:jo", Privilege.READ, give=True), "mei")
    back = shop.ask(lambda desk: rights.plan_grant(desk, SHOP, "user:mei", Privilege.MANAGE, give=False))
    shop.ask(lambda desk: rights.apply_grant(desk, back))
    with pytest.raises(DeniedError):
        shop.ask(lambda desk: rights.apply_grant(desk, planned), "mei")
    shop.ask(lambda desk: dropped(desk, ORDERS))
    with pytest.raises(NoEntryError):
        shop.ask(lambda desk: rights.apply_grant(desk, planned))
    assert shop.stored.catalog.grants() == []


def test_a_grant_is_given_and_taken_back_once(shop: Shop) -> None:
    """Each plan says whether that changes anything; who gave it is kept."""
    shop.make(BASE)
    assert shop.grant(ORDERS, "group:readers", Privilege.READ).changed
    same = shop.ask(lambda desk: rights.plan_grant(desk, ORDERS, "group:readers", Privilege.READ, give=True))
    assert (same.grant, same.give, same.changes) == (Grant(ORDERS, "group:readers", Privilege.READ), True, False)
    assert not shop.ask(lambda desk: rights.apply_grant(desk, same)).changed
    back = shop.ask(lambda desk: rights.plan_grant(desk, ORDERS, "group:readers", Privilege.READ, give=False))
    assert back.changes and back.hash != same.hash
    [kept] = shop.stored.catalog.grants()
    assert (kept.principal, kept.privilege, kept.author) == ("group:readers", "read", "root")
    assert shop.ask(lambda desk: rights.apply_grant(desk, back)).changed
    assert shop.stored.catalog.grants() == []
    with pytest.raises(PlanChangedError, match=f"read on {ORDERS} for group:readers changed since plan"):
        shop.ask(lambda desk: rights.apply_grant(desk, back))
    again = shop.ask(lambda desk: rights.plan_grant(desk, ORDERS, "group:readers", Privilege.READ, give=False))
    assert not again.changes and not shop.ask(lambda desk: rights.apply_grant(desk, again)).changed


def test_who_manages_something_grants_it_and_nobody_else(shop: Shop) -> None:
    """Nothing is told of what is not there to those who may not know; what is in an attached catalog is not looked
    for."""
    shop.make(BASE)

    def given(on: str, account: str, to: str = "user:jo", attached: tuple[str, ...] = ()) -> rights.GrantPlan:
        return shop.ask(
            lambda desk: rights.plan_grant(desk, on, to, Privilege.READ, give=True, attached=attached), account
        )

    for on in (ORDERS, SHOP, "spark_catalog", f"{SHOP}.nothing", "spark_catalog.nothing"):
        with pytest.raises(DeniedError):
            given(on, "mei")
    with pytest.raises(NoEntryError):
        given(f"{SHOP}.nothing", "root")
    with pytest.raises(PrincipalError):
        given(ORDERS, "root", "jo")
    assert given("spark_catalog.default", "root").changes
    assert given("lake.shop.orders", "root", attached=("lake",)).changes
    with pytest.raises(NoEntryError):
        given("lake.shop.orders", "root")
    shop.grant(ORDERS, "user:mei", Privilege.WRITE)
    with pytest.raises(DeniedError):
        given(ORDERS, "mei")
    shop.grant(SHOP, "user:mei", Privilege.MANAGE)
    assert given(ORDERS, "mei").changes and given(SHOP, "mei").changes
    with pytest.raises(DeniedError):
        given("spark_catalog", "mei")


@pytest.mark.parametrize(
    ("level", "name", "wanted"),
    [
        ("catalog", "spark_catalog", "spark_catalog"),
        ("database", "shop", SHOP),
        ("database", "lake.shop", "lake.shop"),
        ("object", "orders", "spark_catalog.default.orders"),
        ("object", "Shop.`Orders`", ORDERS),
    ],
)
def test_what_a_grant_is_on_is_named_in_full(level: str, name: str, wanted: str) -> None:
    """By its level."""
    assert rights.securable(level, name) == wanted
    with pytest.raises(GrantTargetError, match="'table' is nothing that a grant can be on"):
        rights.securable("table", name)


def test_an_entry_gets_another_owner_or_description_and_what_is_not_named_stays(shop: Shop) -> None:
    """From who manages it, unless somebody changed it since."""
    shop.make(BASE)

    def planned(owner: str | None, description: str | None, account: str = "root") -> rights.EntrySetPlan:
        return shop.ask(lambda desk: rights.plan_set(desk, ORDERS, owner, description), account)

    with pytest.raises(NoEntryError):
        planned("mei", None, "mei")
    shop.grant(ORDERS, "user:mei", Privilege.READ)
    with pytest.raises(DeniedError):
        planned("mei", None, "mei")
    late = planned(None, "late")
    first = planned("mei", None)
    assert len({late.hash, first.hash, planned("mei", "").hash}) == 3
    done = shop.ask(lambda desk: rights.apply_set(desk, first))
    assert (done.owner, done.description) == ("mei", "")
    with pytest.raises(PlanChangedError, match=f"{ORDERS} changed since plan {late.hash}"):
        shop.ask(lambda desk: rights.apply_set(desk, late))
    said = planned(None, "of the shop", "mei")
    assert said.revision == 2
    done = shop.ask(lambda desk: rights.apply_set(desk, said), "mei")
    assert (done.owner, done.description) == ("mei", "of the shop")
    assert shop.stored.catalog.get(ORDERS).author == "mei"


def test_admins_alone_change_groups_and_not_what_a_provider_says(shop: Shop) -> None:
    """Who is in already does not come in again, and who is not in does not leave."""

    def planned(add: tuple[str, ...], remove: tuple[str, ...], account: str = "root") -> rights.MembersPlan:
        return shop.ask(lambda desk: rights.plan_group(desk, "readers", add, remove), account)

    with pytest.raises(NotAdminError, match="mei is no admin of the service, and may not change groups"):
        planned(("mei",), (), "mei")
    with pytest.raises(PrincipalError):
        shop.ask(lambda desk: rights.plan_group(desk, "", ["mei"], []))
    first = planned(("mei", "jo", "mei"), ("root",))
    assert (first.members, first.add, first.remove) == ((), ("jo", "mei"), ())
    assert shop.ask(lambda desk: rights.apply_group(desk, first)).members == ("jo", "mei")
    second = planned(("mei",), ("jo",))
    assert (second.members, second.add, second.remove) == (("jo", "mei"), (), ("jo",))
    assert first.hash != second.hash
    with pytest.raises(PlanChangedError, match="group readers changed since plan"):
        shop.ask(lambda desk: rights.apply_group(desk, first))
    assert shop.ask(lambda desk: rights.apply_group(desk, second)).members == ("mei",)
    shop.stored.accounts.vouched("ada", Role.VIEWER, "issuer", NOW, ["readers"])
    with pytest.raises(ClaimedMemberError, match="ada came into group readers by the provider"):
        planned((), ("mei", "ada"))
    assert planned((), ("mei",)).remove == ("mei",)
    shop.make(BASE)
    shop.grant(SHOP, "group:readers", Privilege.MANAGE)
    assert shop.plan("CREATE VIEW shop.mine AS SELECT 1", "ada").changes
    with pytest.raises(DeniedError):
        shop.plan("CREATE VIEW shop.mine AS SELECT 1", "jo")


async def add(cluster: Cluster, at: TopicPartition, value: bytes | None) -> None:
    """Append one record."""
    meta, part = await cluster.partition(at.topic, at.partition)
    batch = encode([Record(0, NOW, TimestampType.CREATE_TIME, None, value)])
    assert await asking.append(await cluster.connection(part.leader), at.topic, meta.id, batch, at.partition) == 0


# -- topics become tables --------------------------------------------------------------------------------------


def test_a_topic_is_imported_with_the_columns_of_its_newest_records(shop: Shop) -> None:
    """From each partition, as many of each as there are; a tombstone is none."""
    shop.make("CREATE DATABASE shop")

    async def fill(cluster: Cluster) -> None:
        await create_topic(cluster, "paid", 2, 1, {})
        await until_led(cluster, ["paid"])
        for partition, value in ((0, b'{"id": 1}'), (1, b'{"name": "a"}'), (0, b'{"id": 2}'), (1, None)):
            await add(cluster, TopicPartition("paid", partition), value)

    shop.ask(lambda desk: fill(desk.cluster("old")))
    assert shop.ask(lambda desk: kafka_topics.samples(desk.cluster("old"), "paid", 1)) == (b'{"id": 2}',)
    assert shop.ask(lambda desk: kafka_topics.samples(desk.cluster("old"), "paid", 3)) == (b'{"id": 1}', b'{"id": 2}')
    every = shop.ask(lambda desk: kafka_topics.samples(desk.cluster("old"), "paid", 9))
    assert every == (b'{"id": 1}', b'{"id": 2}', b'{"name": "a"}')
    planned = shop.ask(lambda desk: importing.plan(desk, "old", ["paid"], SHOP))
    [table] = planned.tables
    assert (table.name, table.topic, table.samples, table.fit) == (PAID, "paid", 3, 3)
    assert [(one.name, one.type) for one in table.columns] == [("id", "BIGINT"), ("name", "STRING")]
    assert shop.ask(lambda desk: importing.apply(desk, planned)).changed == (PAID,)
    entry = shop.stored.catalog.get(PAID)
    assert (entry.description, entry.document["options"]["topic"]) == ("imported from topic paid", "paid")


def test_nothing_is_imported_of_what_holds_no_json_or_is_not_ones_to_define(shop: Shop) -> None:
    """Who may not define the table is told before a record is read; there is no table of a topic that is empty."""
    shop.make("CREATE DATABASE shop")
    with pytest.raises(DeniedError):
        shop.ask(lambda desk: importing.plan(desk, "old", ["nothing"], SHOP), "mei")
    with pytest.raises(TopicNotThereError, match="cluster old has no topic nothing"):
        shop.ask(lambda desk: importing.plan(desk, "old", ["nothing"], SHOP))
    with pytest.raises(NothingInferredError, match=r"of [1-9][0-9]* samples 0 are JSON objects"):
        shop.ask(lambda desk: importing.plan(desk, "old", ["orders"], SHOP))
    shop.ask(lambda desk: create_topic(desk.cluster("old"), "empty", 1, 1, {}))
    shop.led("old/empty")
    with pytest.raises(NothingInferredError, match="it has no records"):
        shop.ask(lambda desk: importing.plan(desk, "old", ["empty"], SHOP))
