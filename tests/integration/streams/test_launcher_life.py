"""What a service tells the jobs of a stream whose versions name launchers; the jobs are stand-ins."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from qa.service import until
from qa.stream_lab import SCRIPT, StandInService, stand_ins

pytestmark = pytest.mark.test
NAME = "counts"


def told(service: StandInService, run: dict[str, Any]) -> dict[str, Any]:
    """The specification of a run."""
    file = service.directory / "jobs" / "streams" / NAME / f"{run['id']}.json"
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return found


def ran(service: StandInService, verb: str, fence: int) -> dict[str, Any]:
    """Start it, or again; its run."""
    service.done(verb, stream=NAME)
    until(lambda: service.is_in(NAME, "running", fence))
    run: dict[str, Any] = service.run_of(NAME)
    return run


def test_a_version_runs_where_it_says_and_its_job_is_told_where_checkpoints_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An unknown name is refused as it is saved, and as it runs where the service's file has it no more."""
    shared = tmp_path / "shared"
    monkeypatch.setenv("ANABRANCH_LAUNCHERS", json.dumps({"big": {"kind": "local", "checkpoints": str(shared)}}))
    with stand_ins(tmp_path) as lab:
        service = lab.serve(str(tmp_path / "store.db"))
        status, problem = service.plan("create", stream=NAME, script=SCRIPT, launcher="bog")
        assert status in (400, 422) and "there is default, big" in problem["detail"], problem
        service.done("create", stream=NAME, script=SCRIPT)
        first = ran(service, "start", 1)
        spec = told(service, first)
        here = spec["checkpoints"]
        assert (first["launcher"], spec["former"], spec["has_run"]) == ("default", [], False)

        service.done("edit", stream=NAME, launcher="big")
        service.done("publish", stream=NAME, version=2)
        assert service.stream(NAME)["checkpoints"] == here, "where the run has them"
        second = ran(service, "restart", 2)
        spec = told(service, second)
        there = f"file://{shared}/{NAME}/{Path(here).name}"
        assert (second["launcher"], spec["checkpoints"]) == ("big", there)
        assert (spec["former"], spec["has_run"]) == ([here], True)
        assert service.stream(NAME)["checkpoints"] == there
        diff = [one["settings"]["launcher"] for one in service.stream(NAME)["versions"]]
        assert diff == ["big", "default"]

        service.done("stop", stream=NAME)
        until(lambda: service.is_in(NAME, "stopped"))
        service.kill()
        monkeypatch.setenv("ANABRANCH_LAUNCHERS", "{}")
        service = lab.serve(str(tmp_path / "store.db"))
        service.done("start", stream=NAME)
        until(lambda: service.is_in(NAME, "failed"))
        found = service.stream(NAME)["stream"]["why"]
        assert "no launcher 'big'; there is default" in found and "--launcher default" in found
        service.done("rollback", stream=NAME)
        spec = told(service, ran(service, "start", 4))
        assert spec["checkpoints"] == here and set(spec["former"]) == {here, there}
