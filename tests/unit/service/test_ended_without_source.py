"""A way back whose cluster is gone is ended by a person's word: the service goes on with it, and says what it left."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from anabranch.config.migration_file import migration_fields
from anabranch.kafka.cluster import Cluster
from anabranch.migration.ends import End
from anabranch.migration.journal import run_fields
from anabranch.migration.kept import StoredRun
from anabranch.migration.legs import Leg
from anabranch.migration.lost_steps import lost_switch_steps
from anabranch.migration.options import UnknownGroups
from anabranch.migration.run import WaveRun, WaveRunState, begun, finished, lost_meanwhile
from anabranch.migration.spec import Migration, Wave
from anabranch.migration.steps import MigrationStep, Part, StepKind, start_steps, switch_steps
from anabranch.service.verbs import migration_waves
from qa.service import Served, until
from tests.unit.link_lab import Lab

pytestmark = pytest.mark.test

WAVE = Wave("orders", ("orders",), ("shop",))
MOVE = Migration("move", "old", "new", (WAVE,))
BODY = {"migration": "move", "wave": "orders", "reason": "old is gone"}
PATH = "/api/v1/migrations/give-up/plan"


def ran(number: int, what: str, steps: tuple[MigrationStep, ...], leg: int, until_: StepKind | None = None) -> WaveRun:
    """A run that went well, or as it comes to a step of the kind."""
    run = WaveRun(f"run-{number}", "move", "orders", what, steps, number, leg=leg)
    while run.step is not None and run.step.kind is not until_:
        run = finished(begun(run), number)
    return run


def keep(served: Served, *runs: WaveRun) -> None:
    """Have the store have these."""
    stored = served.instance.migrating.stored.migrations
    stored.add("move", migration_fields(MOVE), "mei", 0)
    for one in runs:
        kept = one.id, "move", "orders", one.state.is_open, one.state.value, 1, one.began_ms, "mei", "", run_fields(one)
        stored.begin(StoredRun(*kept))


def wave_of(served: Served) -> Any:
    """Where it stands."""
    return served.get("/api/v1/migrations/move")["migration"]["waves"][0]


def test_a_way_back_is_ended_without_its_cluster(both: Lab, served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """Refused while the cluster answers, and without that word; then all is as before, and what is left is named."""
    monkeypatch.setattr(migration_waves, "LOOK_LOST_S", 0.3)
    for broker in both.here.brokers:
        broker.kill()
    legs = [Leg(MOVE, WAVE, number) for number in range(2)]
    keep(
        served,
        ran(1, "start", start_steps(legs[0]), 0),
        ran(2, "switch", switch_steps(legs[0], Part.ALL), 0),
        ran(3, "reverse", switch_steps(legs[1], Part.ALL), 1, StepKind.PUBLISH_GROUPS),
    )
    until(lambda: "old" in (wave_of(served)["run"]["waits"] or ""))
    refused = served.ask("POST", PATH, BODY, role="operator")
    assert refused.status == 409 and "--reason WHY --source-lost" in refused.json["hint"], refused.body

    with monkeypatch.context() as patch:

        async def answers(_: Cluster, __: float) -> tuple[str, ...]:
            return ("old:9092",)

        patch.setattr(migration_waves, "answering", answers)
        there = served.ask("POST", PATH, {**BODY, "source_lost": True}, role="operator")
        assert there.status == 409 and "old answers at old:9092: it is not lost" in there.json["detail"], there.body

    planned = served.ask("POST", PATH, {**BODY, "source_lost": True}, role="operator").json
    assert planned["plan"]["goes_on"] is False
    (left,) = planned["plan"]["left_out"]
    assert left.startswith("pause link move-orders-back")
    done = served.ask("POST", f"/api/v1/plans/{planned['id']}/apply", {"hash": planned["hash"]}, role="operator")
    until(lambda: served.get(f"/api/v1/operations/{done.json['id']}")["state"] != "running")
    report = served.get(f"/api/v1/operations/{done.json['id']}")["report"]
    back = "once old answers `anabranch migrate reconcile move --wave orders` puts it back"
    told = [f"not put back on old: {left}", back]
    assert (report["state"], report["doubts"]) == (WaveRunState.CANCELLED.value, told)
    stood = wave_of(served)
    assert (stood["state"], stood["at"], stood["is_gone"], stood["lost"]) == ("switched", "new", True, "")
    assert stood["doubts"] == report["doubts"]
    assert served.ask("POST", PATH, {**BODY, "source_lost": True}, role="operator").status == 409


def test_a_switch_is_ended_without_its_target(both: Lab, served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """Behind the point of no return, too: nobody was let go there, so all is on the source; what is left is named."""
    monkeypatch.setattr(migration_waves, "LOOK_LOST_S", 0.3)
    for broker in both.there.brokers:
        broker.kill()
    leg = Leg(MOVE, WAVE)
    keep(
        served,
        ran(1, "start", start_steps(leg), 0),
        ran(2, "switch", switch_steps(leg, Part.ALL), 0, StepKind.PUBLISH_GROUPS),
    )
    refused = served.ask("POST", PATH, {**BODY, "source_lost": True, "target_lost": True}, role="operator")
    assert refused.status == 422 and "with both gone nothing can be ended" in refused.body.decode(), refused.body
    planned = served.ask("POST", PATH, {**BODY, "target_lost": True}, role="operator").json
    assert planned["plan"]["goes_on"] is False and "--target-lost" in planned["command"]
    (left,) = planned["plan"]["left_out"]
    assert left.startswith("pause link move-orders")
    done = served.ask("POST", f"/api/v1/plans/{planned['id']}/apply", {"hash": planned["hash"]}, role="operator")
    until(lambda: served.get(f"/api/v1/operations/{done.json['id']}")["state"] != "running")
    report = served.get(f"/api/v1/operations/{done.json['id']}")["report"]
    back = "once new answers `anabranch migrate reconcile move --wave orders` puts it back"
    told = [f"not put back on new: {left}", back]
    assert (report["state"], report["doubts"]) == (WaveRunState.CANCELLED.value, told)
    stood = wave_of(served)
    assert (stood["state"], stood["at"], stood["gone"], stood["lost"]) == ("copying", "old", "new", "")


def test_a_word_about_what_has_ended_changes_nothing(served: Served) -> None:
    """It came too late."""
    run = ran(3, "switch", switch_steps(Leg(MOVE, WAVE), Part.ALL), 0, StepKind.PREFLIGHT)
    keep(served, replace(run, state=WaveRunState.CANCELLED, over_ms=5))
    asyncio.run(served.instance.migrating.leave(run.id, End.SOURCE, "mei: gone"))
    assert served.instance.migrating.stored.migrations.run(run.id).journal["lost"] == ""


def test_a_switch_without_its_source_is_not_ended_without_its_target(
    both: Lab, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing could be asked of the wave then; it goes on once the target answers.  Also where both race."""
    monkeypatch.setattr(migration_waves, "LOOK_LOST_S", 0.3)
    for broker in (*both.here.brokers, *both.there.brokers):
        broker.kill()
    leg = Leg(MOVE, WAVE)
    away = lost_switch_steps(leg, Part.ALL, UnknownGroups.EARLIEST)
    run = ran(2, "switch", away, 0, StepKind.PUBLISH_GROUPS)
    keep(served, ran(1, "start", start_steps(leg), 0), run)
    refused = served.ask("POST", PATH, {**BODY, "target_lost": True}, role="operator")
    assert refused.status == 409 and "its applications belong on new, and nowhere else" in refused.json["detail"]
    assert lost_meanwhile(run, "mei: gone", End.TARGET) == run
