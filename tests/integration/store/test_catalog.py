"""The catalog on each database: of two writers one wins, and what a plan changes is kept whole."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from anabranch.store.catalog import (
    EntryChange,
    EntryChangedError,
    NoEntryError,
    StoredCatalog,
    StoredEntry,
    StoredGrant,
)
from anabranch.store.database import Database
from qa.timeouts import TIMEOUT_S

pytestmark = pytest.mark.test

NOW = 1_000_000
NAME = "spark_catalog.shop.orders"
ENTRY = StoredEntry(NAME, "table", 0, "mei", "", {"provider": "kafka"}, NOW, NOW, "mei")
COLUMNS = [{"name": "id", "type": "INT"}]
GRANT = StoredGrant(NAME, "group:shop", "read", NOW, "mei")


def test_an_entry_is_kept_with_its_schema_versions(database: Database) -> None:
    """S16: one version each time that columns are given; they go with the table, and its grants too."""
    store = StoredCatalog(database)
    with pytest.raises(NoEntryError):
        store.get(NAME)
    store.change([EntryChange(NAME, 0, ENTRY, COLUMNS)])
    first = store.get(NAME)
    assert first == replace(ENTRY, revision=1)
    store.change([EntryChange(NAME, 1, replace(first, description="of the shop", changed=NOW + 1))])
    more = [*COLUMNS, {"name": "at", "type": "TIMESTAMP"}]
    store.change([EntryChange(NAME, 2, replace(store.get(NAME), author="jo", changed=NOW + 2), more)])
    assert [(one.number, one.author, one.at, one.columns) for one in store.schemas(NAME)] == [
        (2, "jo", NOW + 2, more),
        (1, "mei", NOW, COLUMNS),
    ]
    assert store.grant(GRANT)
    assert [one.name for one in store.all()] == [NAME]
    store.change([EntryChange(NAME, 3, None)])
    assert (store.all(), store.schemas(NAME), store.grants()) == ([], [], [])


def test_of_two_who_read_the_same_one_one_is_refused(database: Database) -> None:
    """S15: also where both make it, and where it was dropped meanwhile; nothing else of the change is kept."""
    store = StoredCatalog(database)
    other = replace(ENTRY, name="spark_catalog.shop.other")
    store.change([EntryChange(NAME, 0, ENTRY)])
    for change in (EntryChange(NAME, 0, ENTRY), EntryChange(NAME, 7, ENTRY), EntryChange(NAME, 7, None)):
        with pytest.raises(EntryChangedError, match="somebody has changed"):
            store.change([EntryChange(other.name, 0, other, COLUMNS), change])
    assert [(one.name, one.revision) for one in store.all()] == [(NAME, 1)]
    assert store.schemas(other.name) == []


def test_of_many_who_change_an_entry_at_once_one_does(database: Database) -> None:
    """S15, time after time."""
    store = StoredCatalog(database)
    for seen in range(4):
        gate = threading.Barrier(4)

        def change(at: int, seen: int = seen, gate: threading.Barrier = gate) -> bool:
            gate.wait(TIMEOUT_S)
            try:
                store.change([EntryChange(NAME, seen, replace(ENTRY, author=f"author-{at}"), COLUMNS)])
            except EntryChangedError:
                return False
            return True

        with ThreadPoolExecutor(4) as pool:
            assert sorted(pool.map(change, range(4))) == [False, False, False, True]
        assert (store.get(NAME).revision, len(store.schemas(NAME))) == (seen + 1, seen + 1)


def test_grants_and_groups_are_there_once(database: Database) -> None:
    """S17."""
    store = StoredCatalog(database)
    assert store.grant(GRANT) and not store.grant(replace(GRANT, author="jo"))
    assert store.grant(replace(GRANT, privilege="write"))
    assert store.grants(NAME) == store.grants() == [GRANT, replace(GRANT, privilege="write")]
    assert store.grants("another") == []
    assert store.revoke(GRANT) and not store.revoke(GRANT)
    store.set_members("shop", ["mei", "jo"], [])
    store.set_members("shop", ["mei"], ["jo", "eve"])
    store.set_members("pay", ["mei"], [])
    assert store.groups() == {"pay": ("mei",), "shop": ("mei",)}
    assert (store.groups_of("mei"), store.groups_of("jo")) == (frozenset({"pay", "shop"}), frozenset())
