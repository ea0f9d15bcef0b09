"""SQL functions of the catalog that read tables: with the rights of who calls them, and of no other table."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from anabranch.config.catalogspec import CatalogSpec
from anabranch.errors import AnabranchError
from anabranch.operations.catalog.desk import KnownCatalog
from anabranch.operations.catalog.entries import entry_of
from anabranch.operations.catalog.loading import spec_of
from anabranch.spark.streams.granted_functions import BrokenEntryError
from anabranch.streams.catalog.ddl import definitions
from anabranch.streams.grants import Authority, DeniedError, Grant, Privilege
from anabranch.streams.inline import InlinePolicy
from tests.integration.streams.lab import StreamLab

pytestmark = pytest.mark.full

SHOP = """
CREATE TABLE shop.rates (code STRING, rate DOUBLE) USING json OPTIONS (path '{rates}');
CREATE TABLE rates (code STRING, rate DOUBLE) USING json OPTIONS (path '{others}');
CREATE TABLE shop.hidden (code STRING, rate DOUBLE) USING json OPTIONS (path '{rates}');
CREATE TABLE shop.clicks USING `rate-micro-batch` OPTIONS (rowsPerBatch '5');
CREATE TABLE shop.sink USING console;
CREATE VIEW shop.best AS SELECT code, rate FROM shop.rates WHERE rate > 1;
CREATE VIEW shop.priced AS SELECT value, shop.rate_of('eur') AS rate FROM shop.clicks;
CREATE FUNCTION shop.a_twice(c STRING) RETURNS DOUBLE RETURN shop.rate_of(c) * 2;
CREATE FUNCTION shop.rate_of(c STRING) RETURNS DOUBLE
  RETURN (SELECT max(rates.rate) FROM shop . `rates` WHERE rates.code = rate_of.c);
CREATE FUNCTION shop.best_of(c STRING DEFAULT 'eur') RETURNS DOUBLE COMMENT 'of a view' RETURN
  (WITH found AS (SELECT * FROM shop.best b), rates AS (SELECT * FROM found)
   SELECT max(rates.rate) FROM rates
   WHERE rates.code = best_of.c AND rates.rate IN (SELECT r.rate FROM shop.rates AS r));
CREATE FUNCTION shop.of_default(c STRING) RETURNS DOUBLE RETURN (SELECT max(rate) FROM rates WHERE code = c);
CREATE FUNCTION shop.leak() RETURNS DOUBLE RETURN (SELECT max(rate) FROM shop.hidden);
CREATE FUNCTION shop.by_name(t STRING) RETURNS DOUBLE RETURN (SELECT max(rate) FROM IDENTIFIER('shop.hidden'));
CREATE FUNCTION shop.of_path() RETURNS BIGINT RETURN (SELECT count(*) FROM json.`{rates}`);
CREATE FUNCTION rows_of(c STRING) RETURNS TABLE(code STRING, rate DOUBLE) RETURN
  SELECT r.code, r.rate FROM shop.rates r WHERE r.code = rows_of.c;
"""
HIDDEN = {"spark_catalog.shop.hidden"}


@pytest.fixture(scope="module")
def lab(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> StreamLab:
    """Scripts of mei, who may read all but one table."""
    directory = tmp_path_factory.mktemp("functions")
    for name, rate in (("rates", 2.5), ("others", 7.0)):
        (directory / name).mkdir()
        rows = [{"code": "eur", "rate": rate}, {"code": "jpy", "rate": 0.5}]
        (directory / name / "rows.json").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    made = StreamLab(spark, directory)
    made.catalog = spec(directory)
    return made


def spec(directory: Path) -> CatalogSpec:
    """What mei may use."""
    sql = SHOP.format(rates=directory / "rates", others=directory / "others")
    objects = {str(one.object.name): one.object for one in definitions(sql)}
    entries = {name: entry_of(one, "jo", 5, None) for name, one in objects.items()}
    grants = {Grant(name, "user:mei", one) for name in {*objects} - HIDDEN for one in (Privilege.READ, Privilege.WRITE)}
    authority = Authority("mei", frozenset(), frozenset(grants), dict.fromkeys(objects, "jo"))
    return spec_of(KnownCatalog(entries, objects, authority, {}, {}), InlinePolicy())


def value(lab: StreamLab, select: str, before: str = "") -> object:
    """The one value of a SELECT, which is the last statement."""
    found = lab.analysed(f"{before}{select}")
    return found.selects[max(found.selects)].collect()[0][0]


def error_of(lab: StreamLab, script: str) -> AnabranchError:
    """What a script is refused with."""
    with pytest.raises(AnabranchError) as found:
        lab.analysed(script)
    return found.value


def test_a_function_reads_the_tables_of_the_catalog(lab: StreamLab) -> None:
    """By any spelling, in subqueries and common table expressions, from other functions, views and a join."""
    assert value(lab, "SELECT shop.rate_of('eur')") == 2.5
    assert value(lab, "SELECT spark_catalog.SHOP.Rate_Of('jpy')") == 0.5
    assert value(lab, "SELECT `shop`.a_twice('eur')") == 5.0
    assert value(lab, "SELECT shop.best_of()") == 2.5
    assert value(lab, "SELECT sum(r.rate) FROM shop.rates s, LATERAL rows_of(s.code) r") == 3.0
    assert lab.analysed("SELECT shop.rate_of('eur')").registered.tables == {"shop.rates"}
    found = lab.analysed("INSERT INTO shop.sink SELECT value, rate FROM shop.priced")
    assert found.registered.tables == {"shop.clicks", "shop.rates"}


def test_a_function_reads_no_table_of_the_script(lab: StreamLab) -> None:
    """Whatever the script calls its own: a name without a database is one of the catalog's default database."""
    own = "CREATE VIEW rates AS SELECT 'eur' AS code, 99.0D AS rate;"
    assert value(lab, "SELECT shop.of_default('eur')") == 7.0
    assert value(lab, "SELECT shop.of_default('eur')", own) == 7.0
    assert value(lab, "SELECT max(rate) FROM rates", own) == 99.0


def test_a_function_gives_nobody_what_he_may_not_read(lab: StreamLab) -> None:
    """The table is named, and nothing of it is told; a function that is not called refuses nothing."""
    error = error_of(lab, "SELECT shop.leak()")
    assert isinstance(error, DeniedError) and error.message == "mei may not read shop.hidden"
    assert isinstance(error_of(lab, "SELECT shop.by_name('x')"), DeniedError)
    error = error_of(lab, "SELECT shop.of_path()")
    assert isinstance(error, BrokenEntryError) and "rate" not in error.why.replace("rates", "")
    assert value(lab, "SELECT 'shop.leak()'") == "shop.leak()"
