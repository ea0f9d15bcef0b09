"""A start from a saved checkpoint whose version names a launcher with its checkpoints in other storage."""

from __future__ import annotations

from pathlib import Path

import pytest

from anabranch.operations.jobs.stream_launchers import LauncherKind, StreamLauncher
from anabranch.operations.jobs.submission import Submission
from anabranch.service.job_settings import JobSettings
from qa.service import serving, until
from tests.unit.service.test_changes import ended

pytestmark = pytest.mark.unit
FILE = "def main(job):\n    pass\n"


def test_it_is_refused_before_anything_is_moved(empty_store: str, tmp_path: Path) -> None:
    """The plan says that it is not there, and where a start would have the checkpoints."""
    far = StreamLauncher("far", LauncherKind.LOCAL, Submission("local[1]"), "s3://bucket/streams")
    jobs = JobSettings("local[1]", "local[1]", tmp_path / "jobs", launchers={"far": far})
    with serving(empty_store, {}, tmp_path, jobs=jobs) as served:
        until(lambda: served.instance.acting.acts)
        asked = {"stream": "pv", "script": FILE, "kind": "pyspark", "launcher": "far"}
        plan = served.ask("POST", "/api/v1/streams/create/plan", asked, role="admin").json
        begun = served.ask("POST", f"/api/v1/plans/{plan['id']}/apply", {"hash": plan["hash"]}, role="admin")
        ended(served, begun.headers["location"])
        start = {"stream": "pv", "checkpoint": "friday"}
        told = served.ask("POST", "/api/v1/streams/start/plan", start, role="operator")
        assert (told.status, told.json["title"]) == (409, "saved not there")
        assert "s3://bucket/streams/pv/" in told.json["detail"]
