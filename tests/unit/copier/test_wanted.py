"""What of the control topics is news to a worker, and what ends its lease."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from anabranch.copier.leases.wanted import LeaseVerdict, WantedLink, verdict_of_plan
from anabranch.copier.planning.lease import Lease, PlanBasis
from anabranch.model.link import ClusterRef, LinkSpec, WantedState
from anabranch.model.plugins import PluginSpec

pytestmark = pytest.mark.unit

LEASE = Lease("l", "run-1", 4, 0, 1, 60.0, ())


def wanted(topics: str = "a", revision: int = 1, paused: bool = False, decided: int = 0) -> WantedLink:
    """What a person wants of the link."""
    spec = LinkSpec(
        "l", ClusterRef("old", "a"), ClusterRef("new", "b"), filter=PluginSpec("regex", {"include": [topics]})
    )
    found: Any = {decided: decided} if decided else {}
    return WantedLink(WantedState(spec, paused, revision), found, PlanBasis.of(spec.filter, found))


def test_what_is_read_first_ends_no_lease_and_leaves_what_the_filter_leaves_out() -> None:
    """A lease may be older than the link's filter."""
    assert wanted("b", decided=1).ends_lease(None) == "", "one of an old plan is over soon"
    assert wanted().has_new_filter(None)
    assert not wanted().has_changed(None)


def test_a_new_filter_and_a_decision_end_a_lease() -> None:
    """Lanes are planned again for both; a decision is told first.  What the plan rests on itself is no news."""
    planned = wanted().basis
    assert wanted(revision=2).ends_lease(planned) == ""
    assert wanted("b").ends_lease(planned) == "the link's filter changed"
    assert wanted("b", decided=1).ends_lease(planned) == "a person decided about a lane"
    assert wanted("b", decided=1).ends_lease(wanted("b", decided=1).basis) == ""


def test_stopped_lanes_are_tried_again_after_a_change_but_for_a_pause() -> None:
    """Whoever pauses a link has recovered nothing."""
    assert wanted(revision=2).has_changed(wanted())
    assert not wanted(revision=2, paused=True).has_changed(wanted())
    assert not wanted().has_changed(wanted())


@pytest.mark.parametrize(
    ("owner", "batch", "ends", "stops", "verdict"),
    [
        ("run-1", 4, False, False, LeaseVerdict()),
        ("run-2", 5, True, False, LeaseVerdict()),
        ("run-1", 5, False, False, LeaseVerdict("the link was planned again")),
        ("run-1", 5, True, False, LeaseVerdict("the run was told to end", is_final=True)),
        ("run-1", 5, False, True, LeaseVerdict("a person asked the run to stop", is_final=True)),
    ],
)
def test_a_later_plan_of_the_own_run_ends_a_lease_and_who_stops_the_run_ends_all(
    owner: str, batch: int, ends: bool, stops: bool, verdict: LeaseVerdict
) -> None:
    """Another run's plan is nothing to this one."""
    plan = SimpleNamespace(owner=owner, batch=batch, ends=ends)
    progress = SimpleNamespace(plans={"l": plan}, is_to_stop=lambda link, run: stops and (link, run) == ("l", "run-1"))
    assert verdict_of_plan(cast(Any, SimpleNamespace(progress=progress)), LEASE) == verdict
