"""Which instance acts: one at a time, whatever they do at once and however their clocks stand."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.store.database import Database, open_database
from anabranch.store.leases import SKEW_MS, InstanceLeases, of_instance

pytestmark = pytest.mark.test

LENGTH = 10_000


def test_a_name_goes_to_another_when_its_time_is_over(database: Database) -> None:
    """Its holder acts for a little less, and the next one waits for a little more."""
    leases = InstanceLeases(database)
    one = leases.take("watch", "one", 0, LENGTH)
    assert one.holds("one", LENGTH - SKEW_MS - 1)
    assert not one.holds("one", LENGTH - SKEW_MS)
    assert leases.take("watch", "two", LENGTH + SKEW_MS - 1, LENGTH) == one
    two = leases.take("watch", "two", LENGTH + SKEW_MS, LENGTH)
    assert (two.holder, two.fence) == ("two", one.fence + 1)
    assert not leases.take("watch", "one", LENGTH + SKEW_MS, LENGTH).holds("one", LENGTH + SKEW_MS)


def test_a_name_that_is_given_back_is_free_at_once(database: Database) -> None:
    """Nobody gives back what another holds."""
    leases = InstanceLeases(database)
    leases.take("watch", "one", 0, LENGTH)
    leases.give_back("watch", "two")
    assert leases.take("watch", "two", 1 + SKEW_MS, LENGTH).holder == "one"
    leases.give_back("watch", "one")
    assert leases.take("watch", "two", 1 + SKEW_MS, LENGTH).holder == "two"


def test_a_lease_that_is_renewed_ends_no_earlier_than_was_told_before(database: Database) -> None:
    """Its holder acts until then: a clock that was put back, or a shorter length, lets nobody else act meanwhile."""
    leases = InstanceLeases(database)
    one = leases.take("watch", "one", LENGTH, LENGTH)
    assert leases.take("watch", "one", 0, LENGTH) == leases.take("watch", "one", LENGTH, 1) == one
    assert leases.take("watch", "two", one.until + SKEW_MS - 1, LENGTH) == one


def test_an_instance_is_there_until_no_clock_says_otherwise(database: Database) -> None:
    """By its own name, and by clocks that may differ a little."""
    leases = InstanceLeases(database)
    leases.take(of_instance("one"), "one", 0, LENGTH)
    leases.take("watch", "two", 0, LENGTH)
    assert leases.alive(LENGTH + SKEW_MS - 1) == ["one"]
    assert leases.alive(LENGTH + SKEW_MS) == []


def test_of_many_at_once_one_has_it(database: Database) -> None:
    """And all others are told who."""
    leases = InstanceLeases(database)
    with ThreadPoolExecutor(8) as pool:
        told = list(pool.map(lambda at: leases.take("watch", f"i-{at}", 0, LENGTH), range(16)))
    assert len({one.holder for one in told}) == 1
    assert {one.fence for one in told} == {1}


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 15_000), st.booleans()), max_size=30))
def test_no_two_act_at_once(tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int, bool]]) -> None:
    """S1 and S2, for any order of asking, giving back and letting time go by; clocks differ by less than SKEW_MS."""
    path: Path = tmp_path_factory.mktemp("leases") / "store.db"
    database = open_database(str(path))
    leases = InstanceLeases(database)
    skews = {"a": 0, "b": SKEW_MS - 1, "c": -(SKEW_MS - 1) // 2}
    now, fence, before = 100_000, 0, ""
    known = {}
    for who, wait, gives in steps:
        now += wait
        if gives:
            leases.give_back("watch", who)
            known.pop(who, None)
            continue
        told = leases.take("watch", who, now + skews[who], LENGTH)
        assert told.fence >= fence
        assert (told.fence == fence) == (told.holder == before)
        fence, before = told.fence, told.holder
        if told.holder == who:
            known[who] = told
        acting = [name for name, held in known.items() if held.holds(name, now + skews[name])]
        assert len(acting) <= 1
    database.close()
