"""Names in catalogs of Spark's own: which are attached, and what a grant can be on (X1)."""

from __future__ import annotations

import pytest

from anabranch.errors import InvalidFieldError
from anabranch.operations.catalog.desk import KnownCatalog
from anabranch.operations.catalog.loading import spec_of
from anabranch.streams.catalog.attached import attached, attached_name, check_attached
from anabranch.streams.catalog.names import CatalogNameError
from anabranch.streams.grants import Authority, Grant, Privilege
from anabranch.streams.inline import CATALOG_ALONE, InlinePolicy

pytestmark = pytest.mark.unit

LAKE = {"lake": "iceberg", "db": ""}
SETTINGS = {
    "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
    "spark.sql.catalog.lake.type": "hadoop",
    "spark.sql.catalog.db": "org.apache.spark.sql.execution.datasources.v2.jdbc.JDBCTableCatalog",
    "spark.sql.catalog.spark_catalog": "org.apache.iceberg.spark.SparkSessionCatalog",
    "spark.jars": "lake.jar",
}


def test_sparks_settings_attach_catalogs() -> None:
    """Those with a class; the session catalog's names are the service's own."""
    assert attached(SETTINGS) == LAKE
    assert attached({}) == {}


def test_what_works_in_the_place_of_sparks_own_catalog_alone_is_told_before_anything_starts() -> None:
    """With the field of the service's file; in that place it is no attached catalog."""
    check_attached(SETTINGS, "spark")
    delta = {"spark.sql.catalog.lake": "org.apache.spark.sql.delta.catalog.DeltaCatalog"}
    with pytest.raises(InvalidFieldError, match=r"launchers\.big\.spark\.spark\.sql\.catalog\.lake") as raised:
        check_attached(delta, "launchers.big.spark")
    assert "in the place of spark_catalog alone" in raised.value.message and "USING delta" in raised.value.hint


@pytest.mark.parametrize("parts", [("lake",), ("shop", "orders"), ("spark_catalog", "shop", "orders"), ()])
def test_another_name_is_none_of_theirs(parts: tuple[str, ...]) -> None:
    """Among them a table of the script that is called as a catalog is."""
    assert attached_name(parts, LAKE) is None


@pytest.mark.parametrize(
    "parts",
    [
        ("lake", "t"),
        ("LAKE", "shop", "t"),
        ("lake", "Shop", "t"),
        ("lake", "shop", "t", "files"),
        ("lake", "/etc/passwd"),
        ("lake", "shop", "a.b"),
        ("lake", "shop", ""),
        ("lake", "shop", "a`b"),
    ],
)
def test_what_no_grant_can_be_on_is_refused(parts: tuple[str, ...]) -> None:
    """Another spelling may be another table there, and a path is none."""
    with pytest.raises(CatalogNameError):
        attached_name(parts, LAKE)


@pytest.mark.parametrize(
    ("on", "may"), [("lake", True), ("lake.shop", True), ("lake.shop.t", True), ("lake.sho", False), ("db", False)]
)
def test_a_grant_holds_for_all_below_it(on: str, may: bool) -> None:
    """By name; nothing of it is an entry of the service's."""
    granted = frozenset({Grant(on, "user:mei", Privilege.READ)})
    found = KnownCatalog({}, {}, Authority("mei", grants=granted), {}, {})
    spec = spec_of(found, CATALOG_ALONE, LAKE)
    assert spec.access.allows("lake.shop.t", Privilege.READ) is may
    assert not spec.access.allows("lake.shop.t", Privilege.WRITE) and spec.attached == LAKE
    assert not spec_of(found, CATALOG_ALONE).access.may, "a catalog that is attached no more"
    managed = KnownCatalog({}, {}, Authority("mei", is_admin=True), {}, {})
    assert spec_of(managed, InlinePolicy(), LAKE).access.allows("db.x.y", Privilege.WRITE)
