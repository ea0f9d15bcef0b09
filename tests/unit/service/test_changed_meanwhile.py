"""What is under way goes by the file and the holds that it was planned by: neither is changed in between."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from anabranch.config.migration_file import migration_fields
from anabranch.migration.journal import run_fields
from anabranch.migration.kept import RunTakenError, StoredRun
from anabranch.migration.legs import Leg
from anabranch.migration.run import WaveRun, begun, finished, lost_meanwhile, put_back, turned
from anabranch.migration.spec import FenceKind, Hooks, JobKind, Migration, Readers, StreamJob, Wave
from anabranch.migration.steps import MigrationStep, Part, StepKind, cancel_steps, start_steps, switch_steps
from anabranch.operations.migrations import waves
from anabranch.operations.migrations.dryrun import SeenStep
from anabranch.service.verbs import migration_waves
from qa.service import Served, until
from tests.unit.link_lab import Lab

pytestmark = pytest.mark.test

WAVE = Wave("orders", ("orders",), ("shop",), fences=(FenceKind.ACL, FenceKind.OBSERVE))
MOVE = Migration("move", "old", "new", (WAVE,))


def ran(number: int, what: str, steps: tuple[MigrationStep, ...], until_: StepKind | None = None) -> WaveRun:
    """A run that went well, or as it comes to a step of the kind."""
    run = WaveRun(f"run-{number}", "move", "orders", what, steps, number)
    while run.step is not None and run.step.kind is not until_:
        run = finished(begun(run), number)
    return run


def keep(served: Served, migration: Migration, *runs: WaveRun) -> None:
    """Have the store have these."""
    stored = served.instance.migrating.stored.migrations
    stored.add("move", migration_fields(migration), "mei", 0)
    for one in runs:
        kept = one.id, "move", "orders", one.state.is_open, one.state.value, 1, one.began_ms, "mei", "", run_fields(one)
        stored.begin(StoredRun(*kept))


def changes(served: Served, migration: Migration) -> Any:
    """What a plan to change the file is answered."""
    body = {"migration": migration_fields(migration)}
    return served.ask("POST", "/api/v1/migrations/set/plan", body, role="approver")


@pytest.mark.parametrize("what", ["holds", "document"])
def test_a_switch_does_not_begin_that_was_held_or_changed_while_it_was_planned(
    both: Lab, served: Served, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """Clusters are looked at for seconds: what somebody said in between counts."""
    keep(served, MOVE, ran(1, "start", start_steps(Leg(MOVE, WAVE))))
    stored = served.instance.migrating.stored.migrations
    slower = replace(MOVE, limits=replace(MOVE.limits, most_lag=5))
    others: dict[str, Any] = {"holds": {"orders": "month's end"}, "document": migration_fields(slower)}
    looks: list[int] = []

    async def looked(*_: object) -> tuple[SeenStep, ...]:
        looks.append(1)
        if len(looks) == 2:
            stored.change(replace(stored.get("move"), **{what: others[what]}))
        return ()

    monkeypatch.setattr(waves, "dry_run", looked)
    body = {"migration": "move", "wave": "orders"}
    planned = served.ask("POST", "/api/v1/migrations/switch/plan", body, role="approver").json
    done = served.ask("POST", f"/api/v1/plans/{planned['id']}/apply", {"hash": planned["hash"]}, role="approver")
    until(lambda: served.get(f"/api/v1/operations/{done.json['id']}")["state"] != "running")
    assert len(looks) == 2
    problem = served.get(f"/api/v1/operations/{done.json['id']}")["problem"]
    assert "somebody has changed migration 'move' since it was read" in problem["detail"]
    assert [run.id for run in stored.runs_of("move")] == ["run-1"]


@pytest.mark.parametrize("is_alike", [True, False])
def test_a_switch_does_not_begin_that_was_planned_while_another_one_was_under_way(
    both: Lab, served: Served, monkeypatch: pytest.MonkeyPatch, is_alike: bool
) -> None:
    """It ends while clusters are looked at: its applications are on the target, and would be led there once more.

    One that does just the same is waited for: whoever was killed asks once more, and hears of its end.
    """
    if not is_alike:
        monkeypatch.setattr(migration_waves, "_under_way", lambda *_: None)
    under_way = ran(2, "switch", switch_steps(Leg(MOVE, WAVE), Part.ALL), StepKind.STOP_LINK)
    keep(served, MOVE, ran(1, "start", start_steps(Leg(MOVE, WAVE))), under_way)
    stored = served.instance.migrating.stored.migrations
    looks: list[int] = []

    def ended() -> bool:
        """Whether it has; the instance goes on with it, too."""
        done, kept = finished(begun(under_way), 3), stored.run(under_way.id)
        try:
            stored.keep(under_way.id, kept.revision, done.state.value, run_fields(done), is_open=False)
        except RunTakenError:
            return not stored.run(under_way.id).is_open
        return True

    async def looked(*_: object) -> tuple[SeenStep, ...]:
        looks.append(1)
        if len(looks) == 2:
            await asyncio.to_thread(until, ended)
        return ()

    monkeypatch.setattr(waves, "dry_run", looked)
    body = {"migration": "move", "wave": "orders"}
    planned = served.ask("POST", "/api/v1/migrations/switch/plan", body, role="approver").json
    done = served.ask("POST", f"/api/v1/plans/{planned['id']}/apply", {"hash": planned["hash"]}, role="approver")
    until(lambda: served.get(f"/api/v1/operations/{done.json['id']}")["state"] != "running")
    assert len(looks) == 2
    found = served.get(f"/api/v1/operations/{done.json['id']}")
    if is_alike:
        assert (found["state"], found["report"]["run"]) == ("done", under_way.id)
        assert f"run {under_way.id} does that already" in str(planned["plan"]["reasons"])
    else:
        assert "since this was planned" in found["problem"]["detail"]
    assert [run.id for run in stored.runs_of("move")] == ["run-1", "run-2"]


def test_what_a_switch_has_steps_for_is_not_changed_while_it_is_under_way(
    both: Lab, served: Served, tmp_path: Path
) -> None:
    """Of a job that was taken out nothing could be put back, and a fence that was, would be lifted by nobody later.

    What a person may have to see to meanwhile is: hooks and limits; and all of it while a wave is only being started.
    """
    for broker in both.here.brokers:
        broker.kill()
    job = StreamJob("sums", JobKind.SPARK, f"{tmp_path}/checkpoints/sums")
    wave = replace(WAVE, jobs=(job,))
    move = replace(MOVE, waves=(wave,))
    leg = Leg(move, wave)
    keep(
        served,
        move,
        ran(1, "start", start_steps(leg)),
        ran(2, "switch", switch_steps(leg, Part.ALL), StepKind.QUIET),
    )
    for what, value in (
        ("jobs", ()),
        ("groups", ("shop", "billing")),
        ("fences", (FenceKind.OBSERVE,)),
        ("principals", ("User:shop",)),
        ("readers", Readers.DENY),
    ):
        refused = changes(served, replace(move, waves=(replace(wave, **{what: value}),)))
        assert refused.status == 409, refused.body
        assert refused.json["detail"] == (f"wave orders of migration move: switch is under way, and goes by its {what}")
    allowed = replace(move, waves=(replace(wave, hooks=Hooks(release="go")),), limits=replace(move.limits, most_lag=5))
    assert changes(served, allowed).status == 200


def test_a_wave_that_is_being_started_may_still_be_made_yours(both: Lab, served: Served) -> None:
    """Its copy takes hours, and nothing of it rests on groups and fences."""
    for broker in both.here.brokers:
        broker.kill()
    keep(served, MOVE, ran(1, "start", start_steps(Leg(MOVE, WAVE)), StepKind.CATCH_UP))
    other = replace(WAVE, groups=("shop", "billing"), fences=(FenceKind.OBSERVE,))
    assert changes(served, replace(MOVE, waves=(other,))).status == 200


@pytest.mark.parametrize("is_cancelled", [False, True])
def test_a_fence_that_was_left_on_a_lost_cluster_stays_among_the_fences(
    both: Lab, served: Served, is_cancelled: bool
) -> None:
    """What it denies there is put back by a reconcile, or a cancel, which are told of it for a wave with that fence."""
    for broker in both.here.brokers:
        broker.kill()
    leg = Leg(MOVE, WAVE)
    left = lost_meanwhile(ran(2, "switch", switch_steps(leg, Part.ALL), StepKind.JOURNAL), "mei: old is gone")
    left = turned(left, 2, left.lost)
    while left.state.is_open:
        left = put_back(left, 2)
    over = ran(3, "cancel", cancel_steps(leg, purge=False)[:-1])
    keep(served, MOVE, ran(1, "start", start_steps(leg)), left, *((over,) if is_cancelled else ()))
    refused = changes(served, replace(MOVE, waves=(replace(WAVE, fences=(FenceKind.OBSERVE,)),)))
    assert (refused.status, "with fence acl" in refused.json["detail"]) == (409, True), refused.body
    assert changes(served, replace(MOVE, limits=replace(MOVE.limits, most_lag=5))).status == 200
