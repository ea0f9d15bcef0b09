"""What a script may say where it is judged: no file, no secret, no class, and settings known to be harmless."""

from __future__ import annotations

import pytest

from anabranch.streams.closed import may_set
from anabranch.streams.declared import reaches
from anabranch.streams.inline import InlinePolicy, TableAccess, why_not_own
from anabranch.streams.tables import TableDeclaration

pytestmark = pytest.mark.unit

POSTGRESQL = "jdbc:postgresql://db:5432/shop"


def table(provider: str, **options: str) -> TableDeclaration:
    """A table of a script; ``_`` in an option's name is a dot."""
    return TableDeclaration("t", provider, options={name.replace("_", "."): value for name, value in options.items()})


@pytest.mark.parametrize(
    ("declared", "told"),
    [
        (table("kafka", avro_schema_file="/x"), "avro.schema.file names a file"),
        (table("kafka", protobuf_descriptor="/x"), "protobuf.descriptor names a file"),
        (table("postgresql", password="env:HOME"), "password names a secret"),
        (table("redis", Password="file:/etc/shadow"), "Password names a secret"),
        (table("kafka", kafka_sasl_jaas_config="x"), "kafka.sasl.jaas.config is none of those"),
        (table("kafka", kafka_interceptor_classes="a.B"), "kafka.interceptor.classes is none of those"),
        (table("kafka", KAFKA_ssl_keystore_location="/x"), "is none of those"),
        (table("jdbc", url="jdbc:derby:memory:x;create=true"), "its url is none of"),
        (table("jdbc", url="jdbc:h2:mem:;INIT=RUNSCRIPT FROM '/x'"), "its url is none of"),
        (table("jdbc", url=POSTGRESQL, driver="a.B"), "driver names code"),
        (table("jdbc", url=POSTGRESQL, sessionInitStatement="x"), "sessionInitStatement names code"),
        (table("jdbc", url=f"{POSTGRESQL}?socketFactory=a.B"), "has the parameter socketFactory"),
        (table("jdbc", url="jdbc:mysql://db/shop?allowLoadLocalInfile=true"), "the parameter allowLoadLocalInfile"),
        (table("jdbc", url="jdbc:mysql://(host=db,autoDeserialize=true)/shop"), "written in another way"),
        (table("jdbc"), "its url is none of"),
        (table("jdbc", url=f"{POSTGRESQL}#?socketFactory=a.B"), "written in another way"),
        (table("jdbc", url="jdbc:mariadb://db/shop#?serverSslCert=/x"), "written in another way"),
        (table("jdbc", url=f" {POSTGRESQL}"), "its url is none of"),
        (table("jdbc", url="JDBC:mysql://(host=db,autoDeserialize=true)/shop"), "its url is none of"),
        (table("jdbc", url="jdbc:MYSQL://(host=db,autoDeserialize=true)/shop"), "its url is none of"),
        (table("postgresql", password=" env:HOME"), "password names a secret"),
        (table("redis", password="\tfile:/etc/shadow"), "password names a secret"),
        (table("postgresql", url="postgresql://db/shop?passfile=/x"), "has the parameter passfile"),
        (table("postgresql", url="postgresql://db/shop?sslmode=require&sslkey=/x"), "has the parameter sslkey"),
        (table("postgresql", url="postgresql://db/shop?ssl%6Bey=/x"), "has the parameter sslkey"),
        (table("postgresql", url="postgres://db/shop#?service=x"), "written in another way"),
        (table("postgresql", url=" postgresql://db/shop?servicefile=/x"), "has the parameter servicefile"),
        (table("postgresql", url="postgresql:///shop?host=/run"), "has the parameter host"),
        (table("postgresql", url="postgresql:///shop"), "names no server"),
        (table("postgresql", url="postgresql://%2Frun/shop"), "names no server"),
        (table("postgresql", url="postgresql://db,%2Frun/shop"), "names no server"),
        (table("postgresql", url="postgresql://db,/shop"), "names no server"),
        (table("postgresql", url="postgresql://me@db,@run/shop"), "names no server"),
    ],
)
def test_what_reaches_beside_its_rows_is_named(declared: TableDeclaration, told: str) -> None:
    """L3: an option that is not known to be harmless is not."""
    assert told in reaches(declared)
    access = TableAccess("mei")
    assert told in why_not_own(declared, None, access)
    assert not why_not_own(declared, None, TableAccess("jo", policy=InlinePolicy(is_open=True)))


@pytest.mark.parametrize(
    "declared",
    [
        table("kafka", cluster="main", topic="t", kafka_fetch_max_bytes="1", kafka_linger_ms="5", avro_schema="{}"),
        table("jdbc", url=f"{POSTGRESQL}?sslmode=require&connectTimeout=5", dbtable="t"),
        table("jdbc", url="jdbc:mysql://db,other:3307/shop", dbtable="t"),
        table("postgresql", url="postgresql://db,other:5433/shop?sslmode=verify-full&target_session_attrs=read-write"),
        table("postgresql", url="postgres://[::1]:5432/shop", table="t"),
        table("rate", rowsPerSecond="1"),
    ],
)
def test_what_is_harmless_is_allowed(declared: TableDeclaration) -> None:
    """So most scripts go on as they were."""
    assert not reaches(declared)


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("spark.sql.shuffle.partitions", "8", True),
        ("spark.sql.session.timeZone", "Asia/Tokyo", True),
        ("SPARK.SQL.ANSI.ENABLED", "false", True),
        ("spark.sql.runSQLOnFiles", "true", False),
        ("spark.sql.variable.substitute", "true", False),
        ("spark.sql.catalog.other", "a.B", False),
        ("spark.sql.extensions", "a.B", False),
        ("fs.s3a.access.key", "x", False),
        ("spark.hadoop.x", "y", False),
        ("spark.sql.streaming.checkpointLocation", "/x", False),
        ("spark.sql.streaming.stateStore.providerClass", "a.B", False),
        (
            "spark.sql.streaming.stateStore.providerClass",
            "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
            True,
        ),
        ("spark.sql.adaptive.enabled", "false", True),
        ("spark.sql.adaptive.coalescePartitions.minPartitionSize", "1m", True),
        ("spark.sql.adaptive.skewJoin.skewedPartitionFactor", "3", True),
        ("spark.sql.adaptive.customCostEvaluatorClass", "a.B", False),
        ("spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled", "true", True),
    ],
)
def test_a_setting_is_allowed_where_it_is_known(name: str, value: str, allowed: bool) -> None:
    """L4."""
    assert may_set(name, value) is allowed
