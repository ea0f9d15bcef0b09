"""Switches on each database: one is open, one of two writers wins, and the table is published with the journal."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from anabranch.store.database import Database
from anabranch.store.errors import StoreError
from anabranch.store.routes import PublishedMeanwhileError, RouteVersions, SwitchUnderWayError
from anabranch.store.switches import NoSuchSwitchError, StoredSwitch, Switches, SwitchTakenError
from qa.timeouts import TIMEOUT_S

pytestmark = pytest.mark.test

NOW = 1_000_000
TABLE = {"version": 1, "codes": {"orders": {"cluster": "new"}}, "rules": []}
ONCE = 8


def made(number: int, began: int = NOW) -> StoredSwitch:
    """One that begins."""
    journal = {"named": {}, "at": number}
    return StoredSwitch(f"{number:032x}", True, "preparing", 1, began, f"mei-{number}", "why", TABLE, journal)


def end(switches: Switches, one: StoredSwitch, revision: int = 1, state: str = "cancelled") -> None:
    """Have it end."""
    switches.keep(one.id, revision, state, one.journal, is_open=False)


def test_of_many_that_begin_at_once_one_is_open(database: Database) -> None:
    """S9, time after time: the others are told which."""
    switches = Switches(database)
    for time in range(3):
        gate = threading.Barrier(ONCE)

        def begin(at: int, time: int = time, gate: threading.Barrier = gate) -> str:
            gate.wait(TIMEOUT_S)
            try:
                switches.begin(made(time * ONCE + at), 0)
            except SwitchUnderWayError as error:
                return f"not beside {error.switch}"
            return f"{time * ONCE + at:032x}"

        with ThreadPoolExecutor(ONCE) as pool:
            told = list(pool.map(begin, range(ONCE)))
        (winner,) = [one for one in told if not one.startswith("not")]
        assert sorted(told) == sorted([winner, *[f"not beside {winner}"] * (ONCE - 1)])
        assert [one.id for one in switches.last(100) if one.is_open] == [winner]
        assert switches.newest() == (winner, 1)
        end(switches, switches.get(winner))


def test_while_a_switch_is_open_nothing_else_is_published(database: Database) -> None:
    """Neither a table without one, nor another switch; once it has ended both are, over the version that is there."""
    switches, versions = Switches(database), RouteVersions(database)
    versions.publish(TABLE, 0, "mei", "r", NOW)
    one = made(1)
    with pytest.raises(PublishedMeanwhileError):
        switches.begin(one, 0)
    assert switches.newest() is None
    switches.begin(one, 1)
    with pytest.raises(SwitchUnderWayError, match=one.id):
        versions.publish(TABLE, 1, "mei", "r", NOW)
    with pytest.raises(SwitchUnderWayError, match=one.id):
        switches.begin(made(2), 1)
    end(switches, one)
    assert versions.publish(TABLE, 1, "mei", "r", NOW).version == 2
    switches.begin(made(2), 2)


def test_of_two_that_write_a_journal_over_the_same_one_one_is_refused(database: Database) -> None:
    """S10, time after time: what the other one wrote stays."""
    switches = Switches(database)
    one = made(1)
    switches.begin(one, 0)
    for revision in range(1, 4):
        gate = threading.Barrier(ONCE)

        def keep(at: int, revision: int = revision, gate: threading.Barrier = gate) -> int:
            gate.wait(TIMEOUT_S)
            try:
                switches.keep(one.id, revision, "draining", {"by": at}, is_open=True)
            except SwitchTakenError:
                return -1
            return at

        with ThreadPoolExecutor(ONCE) as pool:
            told = list(pool.map(keep, range(ONCE)))
        (winner,) = [at for at in told if at >= 0]
        found = switches.get(one.id)
        assert (found.revision, found.state, found.journal) == (revision + 1, "draining", {"by": winner})
        assert switches.newest() == (one.id, revision + 1)


def test_a_switch_that_has_ended_is_not_written_again(database: Database) -> None:
    """Not even by who has read its last journal; nor is one that is not there."""
    switches = Switches(database)
    one = made(1)
    switches.begin(one, 0)
    end(switches, one)
    assert switches.get(one.id) == replace(one, is_open=False, state="cancelled", revision=2)
    for switch in (one, made(2)):
        with pytest.raises(SwitchTakenError):
            switches.keep(switch.id, 2, "preparing", {}, is_open=True)
        with pytest.raises(SwitchTakenError):
            switches.publish(switch.id, 2, "published", {}, 0, NOW)
    assert RouteVersions(database).newest_number() == 0
    with pytest.raises(NoSuchSwitchError):
        switches.get(made(2).id)


def test_the_table_is_published_with_the_journal_that_says_so(database: Database) -> None:
    """S11: both or neither; the switch goes on to be open, and nobody publishes it again."""
    switches, versions = Switches(database), RouteVersions(database)
    versions.publish(TABLE, 0, "mei", "r", NOW)
    one = made(1)
    switches.begin(one, 1)
    with pytest.raises(PublishedMeanwhileError):
        switches.publish(one.id, 1, "published", {"is": "published"}, 0, NOW)
    assert switches.get(one.id) == one, "the journal says so only where it is"
    with pytest.raises(SwitchTakenError):
        switches.publish(one.id, 2, "published", {"is": "published"}, 1, NOW)
    assert versions.newest_number() == 1
    switches.publish(one.id, 1, "published", {"is": "published"}, 1, NOW + 5)
    assert switches.get(one.id) == replace(one, state="published", revision=2, journal={"is": "published"})
    version = versions.get(2)
    assert (version.at, version.author, version.reason, version.table) == (NOW + 5, one.author, one.reason, TABLE)
    with pytest.raises(SwitchTakenError):
        switches.publish(one.id, 1, "published", {}, 2, NOW)
    with pytest.raises(SwitchUnderWayError):
        versions.publish(TABLE, 2, "mei", "r", NOW)
    assert versions.newest_number() == 2


def test_what_a_client_handed_over_first_counts(database: Database) -> None:
    """Said twice, also at once, it is kept once; each switch has its own."""
    switches = Switches(database)
    gate = threading.Barrier(ONCE)

    def hand_over(at: int) -> None:
        gate.wait(TIMEOUT_S)
        switches.hand_over("s", "client", {"positions": {"sales-0": at}})

    with ThreadPoolExecutor(ONCE) as pool:
        list(pool.map(hand_over, range(ONCE)))
    first = switches.handed_over("s")
    switches.hand_over("s", "client", {"positions": {"sales-0": ONCE}})
    assert switches.handed_over("s") == first and first["client"]["positions"]["sales-0"] < ONCE
    switches.hand_over("s", "other", {})
    switches.hand_over("t", "client", {"positions": {}})
    assert switches.handed_over("s") == {**first, "other": {}}
    assert switches.handed_over("t") == {"client": {"positions": {}}}
    assert switches.handed_over("u") == {}
    assert [switches.count_handed_over(one) for one in "stu"] == [2, 1, 0]


def test_switches_that_ended_long_ago_are_forgotten_with_their_answers(database: Database) -> None:
    """Not one that is open, however old, and no answer of another."""
    switches = Switches(database)
    old, late, still = made(1, NOW), made(2, NOW + 10), made(3, NOW - 10)
    for one in (old, late):
        switches.begin(one, 0)
        end(switches, one)
    switches.begin(still, 0)
    for one in (old, late, still):
        switches.hand_over(one.id, "client", {})
    switches.forget(NOW + 10)
    assert [one.id for one in switches.last(10)] == [still.id, late.id], "the open one is the first"
    assert [bool(switches.handed_over(one.id)) for one in (old, late, still)] == [False, True, True]
    assert [one.id for one in switches.last(1)] == [still.id]


def test_a_database_that_is_away_is_told(database: Database) -> None:
    """Not taken for a switch that another instance has."""
    switches = Switches(database)
    one = made(1)
    switches.begin(one, 0)
    with database.begin() as connection:
        connection.exec_driver_sql("DROP TABLE route_switches")
    with pytest.raises(StoreError):
        switches.keep(one.id, 1, "draining", {}, is_open=True)
