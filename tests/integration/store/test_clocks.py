"""An instance whose clock is off does not begin beside another one."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.service.acting import LEASE, LEASE_MS, RENEW_S
from anabranch.service.clocks import ClockOffError, check_clock
from anabranch.store.database import open_database
from anabranch.store.leases import SKEW_MS, InstanceLeases

pytestmark = pytest.mark.test

HOUR_MS, NOW, LOOK_S = 3_600_000, 10**12, RENEW_S + 1


@pytest.fixture(scope="module")
def leases(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InstanceLeases]:
    """Those of a store."""
    path: Path = tmp_path_factory.mktemp("store")
    database = open_database(str(path / "a.db"))
    yield InstanceLeases(database)
    database.close()


def begins(leases: InstanceLeases, other_ahead_ms: int, *, lives: bool, ended_ms: int = 0) -> None:
    """Begin beside another instance, whose clock is ahead, and which is there, or has ended so long ago."""
    clock = {"now": NOW}
    leases.give_back(LEASE, "other")
    leases.take(LEASE, "other", NOW + other_ahead_ms - ended_ms, LEASE_MS)

    def sleep(seconds: float) -> None:
        clock["now"] += int(seconds * 1000)
        if lives:
            leases.take(LEASE, "other", clock["now"] + other_ahead_ms, LEASE_MS)

    check_clock(leases, LEASE, "mine", LEASE_MS, LOOK_S, lambda: clock["now"], sleep)


@pytest.mark.parametrize(("ahead", "words"), [(HOUR_MS, "3,600 s behind"), (-HOUR_MS, "3,600 s ahead of")])
def test_an_instance_whose_clock_is_off_is_refused_and_says_by_how_much(
    leases: InstanceLeases, ahead: int, words: str
) -> None:
    """Both could act at once, or nobody would for that long after one has ended."""
    with pytest.raises(ClockOffError, match=words) as found:
        begins(leases, ahead, lives=True)
    assert "chronyc" in found.value.hint and "instance other" in found.value.message
    assert pickle.loads(pickle.dumps(found.value)).message == found.value.message


@given(st.integers(-SKEW_MS, SKEW_MS), st.booleans(), st.integers(0, HOUR_MS))
def test_an_instance_whose_clock_agrees_begins(leases: InstanceLeases, ahead: int, lives: bool, ended: int) -> None:
    """Beside one that is there, or was."""
    begins(leases, ahead, lives=lives, ended_ms=0 if lives else ended)


def test_a_lease_from_the_future_of_an_instance_that_is_gone_holds_up_nobody(leases: InstanceLeases) -> None:
    """The machine's clock was an hour ahead, and was set."""
    begins(leases, HOUR_MS, lives=False)
    assert leases.take(LEASE, "mine", NOW, LEASE_MS).holder == "mine"
    leases.give_back(LEASE, "mine")
    leases.take(LEASE, "other", NOW, LEASE_MS)
