"""Comparisons on simulated clusters: what is pinned, what is refused, and what is stored before a job begins."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from anabranch.config.verifyspec import VerifyOptions
from anabranch.errors import InvalidFieldError
from anabranch.kafka.cluster import Cluster
from anabranch.model.clock import now_ms
from anabranch.model.plans import PlanChangedError
from anabranch.operations.jobs import runlogs
from anabranch.operations.jobs.readerjob import ReaderJob
from anabranch.operations.verify import ending
from anabranch.operations.verify import show as showing
from anabranch.operations.verify import start as starting
from anabranch.operations.verify import stop as stopping
from anabranch.operations.verify.resume import NothingToResumeError
from anabranch.operations.verify.shown import shown
from anabranch.operations.verify.start import VerifyPlan, VerifyRunningError
from anabranch.state.codecs.verified import LaneVerified, RunState, VerifyRun, VerifyStatus
from anabranch.state.topics.verified import VerifiedTopic
from qa import comparing as verify
from tests.unit.link_lab import BLANK, LINK, SOURCE_END, TARGET_END, A, B, Lab, lab

pytestmark = pytest.mark.unit

OPTIONS = {"reader": "records", "levels": "both", "rate_limit": None, "samples": 20, "values": False}


@pytest.fixture
def both() -> Iterator[Lab]:
    """The clusters, for one test."""
    with lab() as made:
        yield made


def plan(both: Lab, *, resume: bool = False, fresh: bool = False) -> VerifyPlan:
    """Plan a comparison."""
    if resume:
        return verify.plan_resume(both.source, both.target, LINK)
    return verify.plan(both.source, both.target, LINK, VerifyOptions(fresh=fresh))


def file(both: Lab, run: VerifyRun, *lanes: LaneVerified) -> None:
    """File a comparison as its job does."""

    async def ask(cluster: Cluster) -> None:
        verified = VerifiedTopic(cluster)
        await verified.ensure()
        await verified.persist(run, lanes)

    both.on(both.target, ask)


def test_a_comparison_tells_of_all_that_the_link_copies(both: Lab) -> None:
    """Lanes are pinned at the ends of both logs; what was not copied at all is a doubt, and never equal."""
    spec = plan(both)
    assert [(one.source, one.source_to, one.target_to) for one in spec.pins] == [
        (A, SOURCE_END, TARGET_END),
        (B, SOURCE_END, TARGET_END),
    ]
    assert list(spec.doubts) == [str(BLANK)]
    assert (spec.since, spec.again) == ({}, {})


def test_a_comparison_goes_on_where_the_last_one_ended(both: Lab) -> None:
    """At that offset and no other, and what differed is looked at again; resumed, it keeps its pins."""
    lane = str(both.lanes[0].lane)
    done = VerifyRun(LINK, "verify-1", RunState.STOPPED, 1, 2, 10, 10, 20, 200, 1, OPTIONS, {lane: (28, 13)})
    file(both, done, LaneVerified(lane, "verify-1", (10, 20), (0, 10), ((0, 0),), 2))
    spec = plan(both)
    assert (spec.since, spec.again) == ({lane: (20, 10)}, {lane: ((0, 0),)})
    assert [(one.source_to, one.target_to) for one in spec.pins] == [(SOURCE_END, TARGET_END)] * 2
    resumed = plan(both, resume=True)
    assert [(one.lane, one.source_to, one.target_to) for one in resumed.pins] == [(lane, 28, 13)]
    assert resumed.since == {lane: (20, 10)}
    file(both, replace(done, state=RunState.DONE))
    with pytest.raises(NothingToResumeError):
        plan(both, resume=True)


def test_one_comparison_of_a_link_runs_at_a_time(both: Lab) -> None:
    """A second one is refused while the first is heard of, and stopping is asked of that very run."""
    running = VerifyRun(LINK, "verify-1", RunState.RUNNING, 1, now_ms(), 10, 1, 20, 200, 0, OPTIONS, {})
    file(both, running)
    for resume in (False, True):
        with pytest.raises(VerifyRunningError):
            plan(both, resume=resume)
    assert verify.stop(both.target, LINK).asked

    async def stops(cluster: Cluster) -> dict[str, str]:
        verified = VerifiedTopic(cluster)
        await verified.sync()
        return verified.stops

    assert both.on(both.target, stops) == {LINK: "verify-1"}
    file(both, replace(running, updated_at_ms=1))
    assert not verify.show(both.target, LINK).running
    assert not verify.stop(both.target, LINK).asked
    assert plan(both).pins


def test_a_comparison_that_was_killed_on_this_machine_is_over_at_once(both: Lab, tmp_path: Path) -> None:
    """By the file that its process held; of one that holds it, or was started elsewhere, only silence tells."""
    run = VerifyRun(LINK, "verify-1", RunState.RUNNING, 1, now_ms(), 10, 1, 20, 200, 0, OPTIONS, {})
    file(both, run)

    def look() -> VerifyStatus | None:
        return both.on(both.target, lambda cluster: ending.conclude_killed(cluster, LINK, tmp_path))

    assert look() is None
    with runlogs.open_log(runlogs.lock_of(tmp_path, run.run)):
        assert look() is None
    file(both, replace(run, run="verify-2"))
    assert look() is None
    with pytest.raises(VerifyRunningError):
        plan(both)
    file(both, run)
    found = look()
    assert found is not None and (found.run.state, found.run.why) == (RunState.FAILED, ending.KILLED)
    assert plan(both).pins and look() is None


def test_a_comparison_is_started_as_it_was_planned(both: Lab) -> None:
    """Where another one began since, it is not; what was compared before is forgotten only then."""
    lane = str(both.lanes[0].lane)
    done = VerifyRun(LINK, "verify-1", RunState.DONE, 1, 2, 10, 10, 20, 200, 0, OPTIONS, {})
    file(both, done, LaneVerified(lane, "verify-1", (10, 20), (0, 10), (), 2))
    seen = plan(both, fresh=True)
    assert [one.lane for one in seen.forgets] == [lane] and plan(both).forgets == ()
    told = shown(seen)
    assert [(one.lane, one.source_from, one.source_to, one.differs) for one in told.forgets] == [(str(A), 10, 20, 0)]
    assert (seen.since, [one.lane for one in verify.show(both.target, LINK).lanes]) == ({}, [lane])
    file(both, replace(done, run="verify-2"))
    with pytest.raises(PlanChangedError):
        verify.prepare(both.target, seen)
    assert [one.lane for one in verify.show(both.target, LINK).lanes] == [lane]
    verify.prepare(both.target, plan(both, fresh=True))
    assert verify.show(both.target, LINK).lanes == ()
    file(both, replace(done, run="verify-3", state=RunState.RUNNING, updated_at_ms=now_ms()))
    with pytest.raises(VerifyRunningError):
        verify.prepare(both.target, seen)


def test_nothing_is_forgotten_for_a_job_that_cannot_be_started(both: Lab, tmp_path: Path) -> None:
    """A wrong master is known before; what was compared stays."""
    lane = str(both.lanes[0].lane)
    done = VerifyRun(LINK, "verify-1", RunState.DONE, 1, 2, 10, 10, 20, 200, 0, OPTIONS, {})
    file(both, done, LaneVerified(lane, "verify-1", (10, 20), (0, 10), (), 2))
    seen, job = plan(both, fresh=True), ReaderJob(both.source, both.target, "lokal", tmp_path)
    with pytest.raises(InvalidFieldError):
        both.on(both.target, lambda cluster: starting.apply(cluster, seen, job))
    assert [one.lane for one in verify.show(both.target, LINK).lanes] == [lane]
    assert not list(tmp_path.iterdir())


def test_whoever_follows_a_comparison_hears_of_it_until_it_ends(both: Lab) -> None:
    """And of one that has ended, or was silent for long, at once."""
    running = VerifyRun(LINK, "verify-1", RunState.RUNNING, 1, now_ms(), 10, 1, 20, 200, 0, OPTIONS, {})
    done, heard = replace(running, state=RunState.DONE, done=10), list[VerifyRun]()
    file(both, running)

    async def follow(cluster: Cluster) -> VerifyStatus:
        async def tell(found: VerifyStatus) -> None:
            heard.append(found.run)
            await VerifiedTopic(cluster).persist(done, [])

        return await showing.follow(cluster, LINK, tell, 0.0)

    assert both.on(both.target, follow).run == done
    assert heard == [running]
    assert both.on(both.target, follow).run == done
    silent = replace(running, updated_at_ms=1)
    file(both, silent)
    assert both.on(both.target, follow).run == silent
    assert len(heard) == 1


def test_a_comparison_is_stopped_only_if_it_is_the_one_that_was_meant(both: Lab) -> None:
    """The one that was meant has ended, and the next one goes on."""
    running = VerifyRun(LINK, "verify-1", RunState.RUNNING, 1, now_ms(), 10, 1, 20, 200, 0, OPTIONS, {})
    file(both, running)
    meant = both.on(both.target, lambda cluster: stopping.plan(cluster, LINK))
    file(both, replace(running, run="verify-2"))
    with pytest.raises(PlanChangedError):
        both.on(both.target, lambda cluster: stopping.apply(cluster, meant))
    meant = both.on(both.target, lambda cluster: stopping.plan(cluster, LINK))
    file(both, replace(running, run="verify-2", updated_at_ms=now_ms() + 1))
    assert both.on(both.target, lambda cluster: stopping.apply(cluster, meant)).asked


@pytest.mark.parametrize("state", RunState)
def test_a_comparison_whose_job_was_killed_can_be_resumed_at_once(both: Lab, state: RunState) -> None:
    """The verb that followed it tells so; an end that the job has told stays, and so does another run's state."""
    mine = VerifyRun(LINK, "verify-1", state, 1, now_ms(), 10, 5, 20, 200, 1, OPTIONS, {})
    file(both, mine)

    def conclude() -> VerifyStatus | None:
        return both.on(both.target, lambda cluster: ending.conclude(cluster, LINK, mine.run, "killed"))

    status = conclude()
    assert status is not None
    found = status.run
    is_told = state is RunState.RUNNING
    assert (found.state, found.why) == ((RunState.FAILED, "killed") if is_told else (state, ""))
    assert (found.run, found.done, found.options) == (mine.run, mine.done, mine.options)
    if state is not RunState.DONE:
        plan(both, resume=True)
    other = replace(mine, run="verify-2", state=RunState.RUNNING)
    file(both, other)
    assert conclude() is None
    with pytest.raises(VerifyRunningError):
        plan(both)
