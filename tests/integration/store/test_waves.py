"""Migrations and their runs on each database: one run of a wave is open, and of two writers one wins."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from alembic import command

from anabranch.migration.kept import (
    MigrationChangedError,
    MigrationExistsError,
    NoMigrationError,
    NoRunError,
    RunTakenError,
    StoredMigration,
    StoredRun,
    WaveBusyError,
    WaveMovedError,
)
from anabranch.store.database import Database, open_database
from anabranch.store.waves import StoredMigrations
from qa.timeouts import TIMEOUT_S

pytestmark = pytest.mark.test

NOW, ONCE = 1_000_000, 8
FILE = {"version": 1, "name": "move", "source": "old", "target": "new", "waves": []}


def made(number: int, wave: str = "orders", migration: str = "move") -> StoredRun:
    """A run that begins."""
    return StoredRun(f"{number:032x}", migration, wave, True, "going on", 1, NOW + number, "mei", "", {"at": number})


def test_a_migration_is_kept_and_changed_by_one_at_a_time(database: Database) -> None:
    """S12: who has read an older one is refused, and what the other wrote stays."""
    store = StoredMigrations(database)
    with pytest.raises(NoMigrationError):
        store.get("move")
    first = store.add("move", FILE, "mei", NOW)
    assert store.get("move") == first
    with pytest.raises(MigrationExistsError):
        store.add("move", FILE, "jo", NOW)
    store.change(replace(first, document={**FILE, "target": "newer"}))
    with pytest.raises(MigrationChangedError):
        store.change(replace(first, holds={"": "wait"}))
    now = store.get("move")
    assert (now.revision, now.document["target"], now.holds, now.author) == (2, "newer", {}, "mei")
    store.change(replace(now, holds={"orders": "not before Monday"}))
    store.slow_down("move", "operator", {"rate": 5})
    store.slow_down("move", "seen", {"at_ms": 9})
    now = store.get("move")
    assert (now.revision, now.holds) == (3, {"orders": "not before Monday"})
    assert now.throttle == {"operator": {"rate": 5}, "seen": {"at_ms": 9}}
    store.keep_access("move", {"orders": {"at_ms": 9}})
    assert store.get("move") == replace(now, access={"orders": {"at_ms": 9}})
    with pytest.raises(NoMigrationError):
        store.slow_down("another", "seen", {})
    with pytest.raises(NoMigrationError):
        store.keep_access("another", {})
    store.add("another", FILE, "jo", NOW)
    assert [one.name for one in store.all()] == ["another", "move"]


def test_a_migration_of_an_older_store_stays_what_it_was(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Migration 0014: nothing has been carried over for it by rounds yet."""
    upgrade = command.upgrade
    with monkeypatch.context() as patched:
        patched.setattr(command, "upgrade", lambda config, _: upgrade(config, "0013"))
        old = open_database(address)
    with old.begin() as connection:
        connection.exec_driver_sql(
            """INSERT INTO migrations VALUES ('move', 3, 7, 'mei', '{}', '{"a": 1}', '{"b": 2}')"""
        )
    old.close()
    database = open_database(address)
    try:
        assert StoredMigrations(database).get("move") == StoredMigration("move", 3, 7, "mei", {"b": 2}, {}, {"a": 1})
    finally:
        database.close()


def test_of_many_runs_of_a_wave_that_begin_at_once_one_is_open(database: Database) -> None:
    """S13, time after time: the others are told which; another wave's, or another migration's, is free."""
    store = StoredMigrations(database)
    for time in range(3):
        gate = threading.Barrier(ONCE)

        def begin(at: int, time: int = time, gate: threading.Barrier = gate) -> str:
            gate.wait(TIMEOUT_S)
            try:
                store.begin(made(time * ONCE + at))
            except WaveBusyError as error:
                return f"not beside {error.run}"
            return f"{time * ONCE + at:032x}"

        with ThreadPoolExecutor(ONCE) as pool:
            told = list(pool.map(begin, range(ONCE)))
        (winner,) = [one for one in told if not one.startswith("not")]
        assert sorted(told) == sorted([winner, *[f"not beside {winner}"] * (ONCE - 1)])
        store.keep(winner, 1, "done", {"at": 9}, is_open=False)
    store.begin(made(100))
    store.begin(made(101, wave="clicks"))
    store.begin(made(102, migration="another"))
    assert [one.id for one in store.open_runs()] == [f"{number:032x}" for number in (100, 101, 102)]
    assert len(store.runs_of("move")) == 5


def test_a_run_that_was_planned_before_another_one_ended_does_not_begin(database: Database) -> None:
    """S13: it would lead applications from where they are no more; runs of other waves are none of its business."""
    store = StoredMigrations(database)
    store.begin(made(1), seen=0)
    with pytest.raises(WaveBusyError):
        store.begin(made(2), seen=0)
    store.keep(f"{1:032x}", 1, "done", {"at": 9}, is_open=False)
    with pytest.raises(WaveMovedError, match="since this was planned"):
        store.begin(made(2), seen=0)
    assert not store.open_runs()
    store.begin(made(3, wave="clicks"), seen=0)
    store.begin(made(2), seen=1)
    with pytest.raises(WaveBusyError):
        store.begin(made(4), seen=1)
    store.keep(f"{2:032x}", 1, "done", {"at": 9}, is_open=False)
    with pytest.raises(WaveMovedError):  # it was planned while the other one was under way
        store.begin(made(4), seen=1)
    store.begin(made(4), seen=2)
    store.keep(f"{4:032x}", 1, "done", {"at": 9}, is_open=False)
    store.begin(made(5), seen=3)
    assert [one.id for one in store.open_runs()] == [f"{number:032x}" for number in (3, 5)]


def test_a_file_and_the_runs_that_go_by_it_are_not_changed_past_each_other(database: Database) -> None:
    """S12: a run that was planned by an older file does not begin, nor is a file changed that a run began by since."""
    store = StoredMigrations(database)
    first = store.add("move", FILE, "mei", NOW)
    store.change(replace(first, holds={"": "wait"}), seen=0)
    with pytest.raises(MigrationChangedError):
        store.begin(made(1), seen=0, revision=first.revision)
    assert not store.open_runs()
    store.begin(made(1), seen=0, revision=2)
    with pytest.raises(MigrationChangedError):
        store.change(replace(store.get("move"), document={**FILE, "target": "newer"}), seen=0)
    assert (store.get("move").revision, store.get("move").document) == (2, FILE)
    store.change(store.get("move"), seen=1)


def test_runs_of_a_wave_are_told_in_the_order_in_which_they_began_whatever_clocks_say(database: Database) -> None:
    """S13: where a wave stands is told by its runs in order; a clock may be set back, or another instance's behind."""
    store = StoredMigrations(database)
    for number in (9, 3, 3_000, 1):
        store.begin(replace(made(number), id=f"{number:032x}"))
        store.keep(f"{number:032x}", 1, "done", {"at": number}, is_open=False)
    assert [one.journal["at"] for one in store.runs_of("move")] == [9, 3, 3_000, 1]
    store.begin(made(2, wave="clicks"))
    assert store.run(f"{2:032x}").began == NOW + 2, "other waves have an order of their own"


def test_of_two_engines_that_write_over_the_same_journal_one_is_refused(database: Database) -> None:
    """S14; and what has ended is written by nobody."""
    store = StoredMigrations(database)
    store.begin(made(1))
    run = made(1).id
    store.keep(run, 1, "going on", {"at": 2}, is_open=True)
    with pytest.raises(RunTakenError):
        store.keep(run, 1, "being taken back", {"at": 7}, is_open=True)
    assert (store.run(run).revision, store.run(run).journal, store.run(run).state) == (2, {"at": 2}, "going on")
    store.keep(run, 2, "done", {"at": 3}, is_open=False)
    with pytest.raises(RunTakenError):
        store.keep(run, 3, "going on", {"at": 4}, is_open=True)
    assert (store.run(run).is_open, store.run(run).state) == (False, "done")
    with pytest.raises(NoRunError):
        store.run("0" * 32)


def test_a_run_is_given_up_by_a_word_that_its_engine_finds(database: Database) -> None:
    """The journal stays its engine's; one that has ended hears nothing."""
    store = StoredMigrations(database)
    store.begin(made(1))
    store.give_up(made(1).id, "not tonight")
    assert (store.run(made(1).id).cancelled, store.run(made(1).id).revision) == ("not tonight", 1)
    store.keep(made(1).id, 1, "taken back", {}, is_open=False)
    store.give_up(made(1).id, "again")
    assert store.run(made(1).id).cancelled == "not tonight"


def test_what_a_run_waits_for_is_told_until_it_has_come_further(database: Database) -> None:
    """It is no part of the journal: to tell it is to be in nobody's way."""
    store = StoredMigrations(database)
    store.begin(made(1))
    store.tell(made(1).id, "group shop is stable" + "!" * 2000)
    found = store.run(made(1).id)
    assert (found.revision, found.waits[:20], len(found.waits)) == (1, "group shop is stable", 1000)
    store.keep(found.id, 1, "going on", {"at": 2}, is_open=True)
    assert store.run(found.id).waits == ""


def test_a_migration_is_forgotten_once_nothing_of_it_is_under_way(database: Database) -> None:
    """With its runs, by whoever has read it last."""
    store = StoredMigrations(database)
    store.add("move", FILE, "mei", NOW)
    store.begin(made(1))
    with pytest.raises(MigrationChangedError):
        store.remove("move", 1)
    store.keep(made(1).id, 1, "done", {"at": 2}, is_open=False)
    with pytest.raises(MigrationChangedError):
        store.remove("move", 7)
    assert len(store.runs_of("move")) == 1
    store.remove("move", 1)
    assert (store.all(), store.runs_of("move")) == ([], [])
