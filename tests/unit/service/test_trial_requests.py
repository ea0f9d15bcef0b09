"""Who may have which script tried, and what is refused before there is a process."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from qa.service import Served, serving, until
from qa.trial_stand_in import start_nothing

pytestmark = pytest.mark.unit

TRIALS = "/api/v1/trials"
SCRIPT = "CREATE TABLE t USING rate;\nSELECT value FROM STREAM t"
PREVIEW = {"kind": "preview", "script": SCRIPT}


@pytest.fixture(scope="module")
def trying(migrated: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A service on whose machine there is no Spark."""
    directory: Path = tmp_path_factory.mktemp("trying")
    with serving(str(shutil.copy(migrated, directory)), {}, directory, tries=start_nothing) as made:
        until(lambda: made.instance.acting.acts)
        yield made


def refused(trying: Served, body: object, role: str = "admin") -> Any:
    """The problem that is answered, with its status."""
    found = trying.ask("POST", TRIALS, body, role=role)
    assert found.json["status"] == found.status
    return found.json


@pytest.mark.parametrize(
    ("body", "role", "status", "said"),
    [
        (PREVIEW, "viewer", 403, "operator"),
        ({"kind": "preview", "stream": "pv"}, "viewer", 403, "operator"),
        ({"kind": "preview", "stream": "pv"}, "operator", 404, "no stream 'pv'"),
        ({"kind": "preview"}, "admin", 422, "neither a script nor a stream"),
        (PREVIEW | {"version": 1}, "admin", 422, "of no stream"),
        (PREVIEW | {"stream": "pv", "version": 1}, "admin", 422, "of no stream"),
        (PREVIEW | {"rows": 1001}, "admin", 422, "rows"),
        (PREVIEW | {"seconds": 0}, "admin", 422, "seconds"),
        (PREVIEW | {"start": "@/etc/passwd"}, "admin", 422, "start"),
        (PREVIEW | {"start": "yesterday"}, "admin", 422, "yesterday"),
        (PREVIEW | {"kind": "run"}, "admin", 422, "kind"),
        (PREVIEW | {"master": "local"}, "admin", 422, "master"),
    ],
)
def test_what_may_not_be_tried_is_refused(
    trying: Served, body: dict[str, object], role: str, status: int, said: str
) -> None:
    """By the role, by what there is, and by each field."""
    problem = refused(trying, body, role)
    assert problem["status"] == status and said in problem["detail"]


@pytest.mark.parametrize(
    ("body", "field", "said"),
    [
        ([], None, "body: Input should be an object"),
        (PREVIEW | {"what": 1}, "what", "body: what: Extra inputs are not permitted"),
        (PREVIEW | {"rows": "many"}, "rows", "body: rows: Input should be a valid integer"),
    ],
)
def test_a_body_of_another_shape_is_refused_with_what_to_do(
    trying: Served, body: object, field: str | None, said: str
) -> None:
    """By its field, if it is one."""
    problem = refused(trying, body)
    assert (problem["status"], problem["field"], problem["detail"]) == (422, field, said)
    assert problem["hint"] == "see /api/v1/openapi.json for what is expected"


def test_what_needs_no_spark_is_told_with_its_place(trying: Served) -> None:
    """A script that cannot be cut into statements has no trial."""
    problem = refused(trying, {"kind": "validation", "script": "SELECT 1;\nSELECT 'open"})
    assert (problem["status"], problem["place"]["line"]) == (422, 2)
    assert problem["place"]["excerpt"].endswith("^")


def test_a_trial_is_shown_to_who_asked_and_to_admins(trying: Served) -> None:
    """To anybody else there is none; a version that was saved is tried by operators."""
    stored = trying.instance.stored.streams
    found = trying.ask("POST", TRIALS, PREVIEW, role="admin")
    assert found.status == 202 and stored.all() == []
    trial = f"{TRIALS}/{found.json['id']}"
    assert found.headers["location"] == trial
    until(lambda: trying.get(trial, "admin")["state"] == "failed")
    (problem,) = trying.get(trial, "admin")["problems"]
    assert "pyspark" in problem["message"] and problem["hint"] and problem["statement"] is None
    for method, path in (("GET", trial), ("GET", f"{trial}/events"), ("DELETE", trial)):
        assert trying.ask(method, path, role="approver").status == 404
        assert trying.ask(method, path, role="viewer").status == 403
    assert b"event: ended" in trying.ask("GET", f"{trial}/events", role="admin").body


def test_a_script_is_not_saved_where_it_cannot_be_looked_at(trying: Served) -> None:
    """It is not known whether it can run, and a service without Spark would not run it."""
    request = {"stream": "pv", "script": SCRIPT}
    assert trying.ask("POST", "/api/v1/streams/create/plan", request, role="viewer").status == 403
    found = trying.ask("POST", "/api/v1/streams/create/plan", request, role="operator")
    assert (found.status, found.json["title"]) == (409, "not validated")
    assert "pyspark" in found.json["detail"] and "pip install" in found.json["hint"]


def test_a_service_may_run_no_previews(migrated: Path, tmp_path: Path) -> None:
    """Validations go on: nothing is saved without one."""
    with serving(str(shutil.copy(migrated, tmp_path)), {}, tmp_path, tries=start_nothing, previews=0) as made:
        until(lambda: made.instance.acting.acts)
        assert refused(made, PREVIEW)["title"] == "previews off"
        assert made.ask("POST", TRIALS, PREVIEW | {"kind": "validation"}, role="admin").status == 202
