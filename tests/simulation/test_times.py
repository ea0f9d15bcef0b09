"""The times that the documentation names, in virtual seconds and with the product's own settings."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise

import pytest

from anabranch.model.lane import LaneKey
from anabranch.model.link import ModePolicy
from anabranch.model.plugins import PluginSpec
from anabranch.state.codecs import ranges, topics
from qa.faults.topics import LoadTopic
from qa.simulation.scheduler import WALL_MS
from tests.chance import seed
from tests.simulation.watched import TOPIC, lanes, watched

pytestmark = pytest.mark.test
STEP_S = 0.1


def test_a_worker_copies_on_for_ten_seconds_after_its_last_lease_and_gives_back() -> None:
    """It copies for most of them, and nothing once they are over; the claim is released."""
    ended: list[float] = []
    with watched(seed(1), mode=ModePolicy.MAPPED) as link:
        link.lease_once(3.0, ended.append)
        link.until(lambda: bool(ended))
        link.pass_(30.0)
        (over,) = ended
        assert link.grown(over + 8.0, over + 10.0) > 0
        assert link.grown(over + 10.5, link.now) == 0
        assert link.end_of("source") > link.end_of("target") + 50
        assert b'"state":"released"' in (link.persisted(topics.CLAIMS)[-1].value or b"")


@pytest.mark.parametrize("fixed", range(1, 4))
@pytest.mark.parametrize(
    "wanted",
    [{"paused": True}, {"filter": PluginSpec("regex", {"include": ["other"]})}, {"rate_limit": 1}],
    ids=["pause", "filter", "rate limit"],
)
def test_what_is_wanted_holds_within_two_seconds_in_the_middle_of_a_lease(
    wanted: dict[str, object], fixed: int
) -> None:
    """Records go on coming, and none is copied any more; nor is one later."""
    with watched(seed(fixed)) as link:
        link.run()
        link.until(lambda: link.end_of("target") > 50)
        at = link.change(**wanted)
        link.pass_(20.0)
        assert link.grown(at + 2.0, link.now) == 0
        assert link.end_of("source") > link.end_of("target") + 50
        again = link.change(paused=False, rate_limit=None, filter=PluginSpec("regex", {"include": [TOPIC]}))
        if "filter" not in wanted:  # whose lanes come with the next plan
            link.pass_(2.0)
            assert link.grown(again, link.now) > 0
        link.until(lambda: link.end_of("target") > link.end_of("source") - 20)


def test_runs_and_progress_are_persisted_within_two_seconds() -> None:
    """While records come: whatever lies in the target is in the persisted runs, and in the figures, two seconds
    later.
    """
    with watched(seed(2), ModePolicy.MAPPED) as link:
        link.run()
        link.until(lambda: link.end_of("target") > 50)
        told: list[tuple[float, int, int]] = []
        for _ in range(200):
            link.pass_(STEP_S)
            runs = [one for one in link.persisted(topics.RUNS) if one.value is not None]
            newest = ranges.decode(runs[-1].key or b"", runs[-1].value or b"")[-1] if runs else None
            run_end = newest.target + newest.length if newest else 0
            progress = lanes(link.persisted(topics.PROGRESS))
            told.append((link.now, run_end, progress[-1].target_end if progress else 0))
        for now, run_end, told_end in told:
            before = [end for at, end in link.seen if at <= now - 2.0]
            if before and before[-1] > 50:
                assert run_end >= before[-1] and told_end >= before[-1], (now, run_end, told_end, before[-1])


@pytest.mark.parametrize("partitions", [1, 30])
def test_a_lane_of_which_nothing_changes_is_persisted_every_twelve_seconds_or_so(partitions: int) -> None:
    """At the latest, also one of many: whoever reads it knows that its owner is there."""
    with watched(seed(3), topic=LoadTopic(TOPIC, partitions, old=False)) as link:
        link.run()
        link.until(lambda: link.end_of("target") > 50)
        link.life.load.stop()
        link.pass_(10.0)
        begun = WALL_MS + int(link.now * 1000)
        link.pass_(60.0)
        times: dict[LaneKey, list[int]] = defaultdict(lambda: [begun])
        for one in lanes(link.persisted(topics.PROGRESS)):
            if one.updated_at_ms > begun:
                times[one.lane].append(one.updated_at_ms)
        assert len(times) == partitions
        for of_lane in times.values():
            assert max(b - a for a, b in pairwise([*of_lane, begun + 60_000])) < 15_000, of_lane
